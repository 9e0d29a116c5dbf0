// Tests the locks within one process. integration/ tests several processes.
#include "server/locks/process_locks.h"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/locks/resource_locks.h"

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

TEST_F(ProcessLocksTest, NamesAreStableShortAndDistinct) {
  // The UUIDs are those of Python's uuid.uuid5(uuid.NAMESPACE_OID, name).
  EXPECT_EQ(ProcessLockName("disk/1"), "csi-proxy-abc21149-a391-55c6-a544-b5c186a0998a");
  EXPECT_EQ(ProcessLockName(std::string(100'000, 'x')),
            "csi-proxy-eca5855f-b47d-5a78-baa6-de4090ab1997");
}

TEST_F(ProcessLocksTest, OneProcessHoldsALockAndOthersWaitUntilTheirDeadline) {
  // Each ProcessLocks stands for a process.
  const auto one = Open(), two = Open();
  auto held = one->Acquire(CallContext(), "disk/1");
  ASSERT_TRUE(held.ok()) << held.status();
  struct Slot final : SlotHolder {
    void Lend() override { yielded = true; }
    bool yielded = false;
  } slot, kept;
  absl::Status waited, other;
  // On another thread, because the thread that holds a Windows mutex may take it again.
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
TEST_F(ProcessLocksTest, ALockDirectoryThatOthersMayWriteToIsRefused) {
  std::filesystem::create_directory(directory_);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  EXPECT_TRUE(absl::IsPermissionDenied(NewProcessLocks(directory_).status()));
}

TEST_F(ProcessLocksTest, AFileOrLinkInPlaceOfTheLockDirectoryIsAnError) {
  std::ofstream(directory_) << "x";
  EXPECT_FALSE(NewProcessLocks(directory_).ok());
  std::filesystem::remove(directory_);
  std::filesystem::create_directory_symlink("/tmp", directory_);
  EXPECT_FALSE(NewProcessLocks(directory_).ok());
}
#endif

}  // namespace
}  // namespace csi_proxy
