// Tests the limits of a volume's growth, and growth that Windows refuses.
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/fields.h"
#include "server/groups/strict_disk_testing.h"

namespace csi_proxy::groups {
namespace {

using ResizeTest = StrictDiskTest;

TEST_F(ResizeTest, AResizeToTheMaximumUsesTheMaximumThatWindowsReports) {
  const std::string volume = Volume(1);
  const uint64_t before = Size(volume);
  ASSERT_TRUE(node_->GrowDisk(1, 20 * kGiB).ok());
  Behave([](Behaviour& behaviour) { behaviour.resize_reserve_bytes = 8 * kMiB; });
  const absl::Status resized = Resize(volume, 0);
  EXPECT_TRUE(resized.ok()) << resized;
  const uint64_t largest = Size(volume);
  EXPECT_EQ(largest, before + 10 * kGiB - 8 * kMiB);
  // A repeated call finds no more room.
  EXPECT_TRUE(Resize(volume, 0).ok());
  EXPECT_EQ(Size(volume), largest);
}

TEST_F(ResizeTest, AResizeToASizeReachesExactlyThatSizeOrFails) {
  const std::string volume = Volume(1);
  const uint64_t before = Size(volume);
  ASSERT_TRUE(node_->GrowDisk(1, 20 * kGiB).ok());
  Behave([](Behaviour& behaviour) { behaviour.resize_reserve_bytes = kGiB; });
  const absl::Status refused = Resize(volume, before + 10 * kGiB - kMiB);
  EXPECT_TRUE(absl::StrContains(refused.message(), "(4097)")) << refused;
  EXPECT_EQ(Size(volume), before);
  // The provider refuses a size because it has not noticed the growth yet.
  Inject("wmi.Invoke/MSFT_Partition.Resize", 4097);
  const absl::Status resized = Resize(volume, before + kGiB);
  EXPECT_TRUE(resized.ok()) << resized;
  EXPECT_EQ(Size(volume), before + kGiB);
}

// The resize does not need GetSupportedSize, which fails if the service that optimises drives is
// disabled.
TEST_F(ResizeTest, AResizeEndsAtTheNextPartition) {
  const std::vector<std::string> volumes = TwoVolumes();
  Inject("wmi.Invoke/MSFT_Partition.GetSupportedSize", 2, 0);
  const absl::Status beyond = Resize(volumes[0], 3 * kGiB);
  EXPECT_TRUE(absl::IsFailedPrecondition(beyond)) << beyond;
  EXPECT_TRUE(absl::StrContains(beyond.message(), "more than the disk has room for")) << beyond;
  EXPECT_EQ(Size(volumes[0]), kGiB);
  const absl::Status resized = Resize(volumes[0], 0);
  EXPECT_TRUE(resized.ok()) << resized;
  EXPECT_EQ(Size(volumes[0]), 3 * kGiB - 17 * kMiB);
  EXPECT_EQ(Size(volumes[1]), kGiB);
}

// The cloud has grown the disk, and no driver called Rescan.
TEST_F(ResizeTest, AResizeNoticesThatTheDiskHasGrown) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(node_->GrowDisk(1, 20 * kGiB).ok());
  ASSERT_TRUE(Resize(volume, 15 * kGiB).ok());
  EXPECT_EQ(Size(volume), 15 * kGiB);
  ASSERT_TRUE(node_->GrowDisk(1, 30 * kGiB).ok());
  ASSERT_TRUE(Resize(volume, 0).ok());
  EXPECT_GT(Size(volume), 30 * kGiB - 64 * kMiB);
}

TEST_F(ResizeTest, AFailedGrowthBelow100MiBIsNotAnError) {
  const std::string volume = Volume(1);
  const uint64_t full = Size(volume);
  // The disk has no more room.
  EXPECT_TRUE(Resize(volume, full + 99 * kMiB).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Resize(volume, full + 100 * kMiB)));
  EXPECT_EQ(Size(volume), full);
  // Windows refuses or does not answer.
  ASSERT_TRUE(node_->GrowDisk(1, 10 * kGiB + 50 * kMiB).ok());
  for (const uint32_t code : {2, 4097, 4099, 40003, 42008, 42009}) {
    for (const uint64_t asked : {uint64_t{0}, full + 20 * kMiB, full + 99 * kMiB}) {
      Inject("wmi.Invoke/MSFT_Partition.Resize", code, 0);
      Inject("wmi.Invoke/MSFT_Partition.GetSupportedSize", code, 0);
      const absl::Status ignored = Resize(volume, asked);
      EXPECT_TRUE(ignored.ok()) << code << " " << asked << ignored;
      node_->ClearFaults();
      EXPECT_EQ(Size(volume), full);
    }
  }
  Inject("wmi.Query/MSFT_Partition", 0x80041001, 1);
  EXPECT_TRUE(Resize(volume, full + 20 * kMiB).ok());
  // The fault was for one query only.
  EXPECT_TRUE(Resize(volume, full + 20 * kMiB).ok());
  EXPECT_EQ(Size(volume), full + 20 * kMiB);
  EXPECT_TRUE(Resize(volume, 0).ok());
  EXPECT_EQ(Size(volume), full + 50 * kMiB);
}

TEST_F(ResizeTest, AFailedGrowthOf100MiBOrMoreIsAnError) {
  const std::string volume = Volume(1);
  const uint64_t full = Size(volume);
  ASSERT_TRUE(node_->GrowDisk(1, 12 * kGiB).ok());
  for (const uint64_t asked : {uint64_t{0}, full + kGiB}) {
    Inject("wmi.Invoke/MSFT_Partition.Resize", 42008);
    EXPECT_TRUE(absl::IsFailedPrecondition(Resize(volume, asked))) << asked;
    Inject("wmi.Query/MSFT_Partition", 0x80041001, 1);
    EXPECT_TRUE(absl::IsInternal(Resize(volume, asked))) << asked;
  }
}

TEST(SignedBytesTest, SizesBeyondInt64AreInternalErrors) {
  EXPECT_EQ(*SignedBytes("total_bytes", INT64_MAX), INT64_MAX);
  EXPECT_EQ(SignedBytes("total_bytes", uint64_t{1} << 63).status(),
            absl::InternalError("total_bytes: 9223372036854775808 bytes, which is impossible"));
}

}  // namespace
}  // namespace csi_proxy::groups
