#include <string>
#include <utility>
#include <vector>

#include "server/host/devices.h"
#include "server/host/odd_machine_testing.h"
#include "server/names/win32_error.h"
#include "server/simulator/storage.h"

namespace csi_proxy::host {
namespace {

using machine::simulator::kGiB;
using machine::simulator::kMiB;

constexpr char kScenario[] = R"(
  disk { number: 1 size_bytes: 1073741824 }
  disk { number: 2 size_bytes: 1073741824 offline: true }
)";

class BlankTest : public testing::Test {
 protected:
  BlankTest() : node_(*machine::simulator::LoadScenario(kScenario, "test")) {
    os_ = machine::simulator::NewSimulatedOs(node_->core());
  }
  void Write(uint64_t offset, const std::string& bytes) {
    node_->core()->Change([&](machine::simulator::NodeState& state) {
      state.disks[0].foreign = {{offset, bytes}};
    });
  }
  absl::StatusOr<bool> IsBlank(uint64_t offset, uint64_t size, uint32_t disk = 1,
                               Look look = Look::kAtEnds) {
    return host::IsBlank(*os_, context_, disk, offset, size, look);
  }

  const CallContext context_{};
  std::unique_ptr<Machine> node_;
  std::unique_ptr<machine::Os> os_;
};

TEST_F(BlankTest, IsBlankReadsTheHeadAndTheTail) {
  EXPECT_TRUE(*IsBlank(0, kGiB));
  for (const uint64_t at : {uint64_t{0}, kMiB - 1, kMiB, 2 * kMiB - 1, kGiB - kMiB, kGiB - 1}) {
    Write(at, "x");
    EXPECT_FALSE(*IsBlank(0, kGiB)) << at;
  }
  // Bytes between head and tail are not read, because reading a whole disk takes too long.
  for (const uint64_t at : {2 * kMiB, kGiB / 2, kGiB - kMiB - 1}) {
    Write(at, "x");
    EXPECT_TRUE(*IsBlank(0, kGiB)) << at;
  }
}

TEST_F(BlankTest, IsBlankWithThroughoutAlsoReadsPlacesInBetween) {
  const auto is_blank = [this] { return *IsBlank(kMiB, 64 * kMiB, 1, Look::kThroughout); };
  EXPECT_TRUE(is_blank());
  for (uint64_t at = 4 * kMiB; at < 60 * kMiB; at += 8 * kMiB) {
    Write(at, std::string(kMiB / 4, 'x'));
    EXPECT_FALSE(is_blank()) << at;
    Write(at + kMiB / 8, "x");
    EXPECT_TRUE(is_blank()) << "most bytes in between are not read";
  }
}

TEST_F(BlankTest, IsBlankIgnoresBytesOutsideThePart) {
  Write(10 * kMiB - 1, "x");
  EXPECT_TRUE(*IsBlank(10 * kMiB, 100 * kMiB));
  Write(10 * kMiB, "x");
  EXPECT_FALSE(*IsBlank(10 * kMiB, 100 * kMiB));
  Write(110 * kMiB - 1, "x");
  EXPECT_FALSE(*IsBlank(10 * kMiB, 100 * kMiB));
  Write(110 * kMiB, "x");
  EXPECT_TRUE(*IsBlank(10 * kMiB, 100 * kMiB));
}

TEST_F(BlankTest, IsBlankReadsASmallPartCompletely) {
  for (const uint64_t size : {uint64_t{512}, kMiB, 2 * kMiB, 2 * kMiB + 512, 3 * kMiB}) {
    Write(kMiB + size, "x");
    EXPECT_TRUE(*IsBlank(kMiB, size)) << size;
    Write(kMiB + size - 1, "x");
    EXPECT_FALSE(*IsBlank(kMiB, size)) << size;
  }
}

TEST_F(BlankTest, IsBlankFailsIfItCannotReadAPlace) {
  EXPECT_TRUE(absl::IsNotFound(IsBlank(0, kGiB, 7).status()));
  EXPECT_TRUE(HasWin32Code(IsBlank(0, kGiB, 2).status(), win32_error::kNotReady));
  // The disk is smaller than the given range.
  const absl::Status cut = IsBlank(0, 2 * kGiB).status();
  EXPECT_TRUE(absl::IsInternal(cut)) << cut;
  const absl::Status over =
      host::IsBlank(*os_, context_.WithTimeout(absl::ZeroDuration()), 1, 0, kGiB, Look::kAtEnds)
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(over)) << over;
}

}  // namespace
}  // namespace csi_proxy::host
