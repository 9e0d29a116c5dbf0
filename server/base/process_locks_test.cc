// Within one process; integration/ tests several.
#include "server/base/process_locks.h"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/resource_locks.h"

namespace csi_proxy {
namespace {

class ProcessLocksTest : public testing::Test {
 protected:
  ProcessLocksTest()
      : directory_((std::filesystem::temp_directory_path() /
                    absl::StrCat("csi-proxy-locks-", absl::ToUnixNanos(absl::Now())))
                       .string()) {}
  ~ProcessLocksTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::unique_ptr<ProcessLocks> Open() {
    auto locks = NewProcessLocks(directory_);
    EXPECT_TRUE(locks.ok()) << locks.status();
    return *std::move(locks);
  }

  const std::string directory_;
};

// Vectors of NIST's SHA examples, and names about as long as a block, made by sha256sum.
TEST_F(ProcessLocksTest, NamesAreStableShortAndDistinct) {
  const std::pair<std::string, const char*> kHashes[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
      {std::string(55, 'x'), "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
      {std::string(63, 'x'), "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
      {std::string(64, 'x'), "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
      {std::string(119, 'x'), "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
      {std::string(120, 'x'), "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
      {"path/C:\\Ä", "d13ac745898ee47937c98025824e8a2e2667c50cb1ea3af99170a4e10ea9191a"},
  };
  for (const auto& [name, hash] : kHashes) {
    EXPECT_EQ(ProcessLockName(name), absl::StrCat("csi-proxy-", hash)) << name.size();
  }
}

TEST_F(ProcessLocksTest, OneHoldsAndOthersWaitTheirTime) {
  // Each stands for another process.
  const auto one = Open(), two = Open();
  auto held = one->Acquire(CallContext(), "disk/1");
  ASSERT_TRUE(held.ok()) << held.status();
  struct Slot final : SlotHolder {
    void Lend() override { yielded = true; }
    bool yielded = false;
  } slot, kept;
  absl::Status waited, other;
  // On another thread, because the owner of a Windows mutex may take it again.
  std::thread([&] {
    const CallContext soon = CallContext().WithTimeout(absl::Milliseconds(50));
    waited = two->Acquire(soon.With(&slot), "disk/1").status();
    other = two->Acquire(CallContext().With(&kept), "disk/2").status();
  }).join();
  EXPECT_TRUE(slot.yielded) << "to others, while it waits";
  EXPECT_FALSE(kept.yielded);
  EXPECT_EQ(waited, absl::DeadlineExceededError(
                        "the call's deadline has passed while another process holds disk/1"));
  EXPECT_TRUE(other.ok()) << other;
  held->reset();
  std::thread([&] { waited = two->Acquire(CallContext(), "disk/1").status(); }).join();
  EXPECT_TRUE(waited.ok()) << waited;
}

TEST_F(ProcessLocksTest, ResourceLocksOfTwoProcessesExcludeEachOther) {
  ResourceLocks one(Open()), two(Open());
  int inside = 0, most = 0, done = 0;
  std::mutex count;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      for (int j = 0; j < 20; ++j) {
        const auto lock = (i % 2 ? one : two).Acquire(CallContext(), "volume/x");
        ASSERT_TRUE(lock.ok()) << lock.status();
        {
          const std::lock_guard guard(count);
          most = std::max(most, ++inside);
        }
        std::this_thread::yield();
        const std::lock_guard guard(count);
        --inside;
        ++done;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(done, 160);
}

#ifndef _WIN32
TEST_F(ProcessLocksTest, ADirectoryThatOthersMayWriteIsRefused) {
  std::filesystem::create_directory(directory_);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  EXPECT_TRUE(absl::IsPermissionDenied(NewProcessLocks(directory_).status()));
}

TEST_F(ProcessLocksTest, AFileOrALinkInTheDirectorysPlaceIsAnError) {
  std::ofstream(directory_) << "x";
  EXPECT_FALSE(NewProcessLocks(directory_).ok());
  std::filesystem::remove(directory_);
  std::filesystem::create_directory_symlink("/tmp", directory_);
  EXPECT_FALSE(NewProcessLocks(directory_).ok());
}
#endif

}  // namespace
}  // namespace csi_proxy
