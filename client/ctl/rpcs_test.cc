#include "client/ctl/rpcs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/pipes_testing.h"

namespace csi_proxy::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class RpcsTest : public testing::Test {
 protected:
  const Catalog catalog_;
  FakePipes pipes_;
  Rpcs rpcs_{catalog_, pipes_};
};

TEST_F(RpcsTest, CallsUseTheMostPreferredVersionWithAPipe) {
  EXPECT_TRUE(rpcs_.Call("volume.MountVolume").ok());
  EXPECT_TRUE(rpcs_.Call("volume.GetClosestVolumeIDFromTargetPath").ok());
  pipes_.gone = {"volume v1", "volume v2alpha1"};
  EXPECT_TRUE(rpcs_.Call("volume.MountVolume").ok());
  EXPECT_TRUE(absl::IsUnavailable(rpcs_.Call("volume.GetClosestVolumeIDFromTargetPath").status()));
  EXPECT_THAT(pipes_.sent, ElementsAre("v1 volume.MountVolume ",
                                       "v2alpha1 volume.GetClosestVolumeIDFromTargetPath ",
                                       "v1beta3 volume.MountVolume "));
}

TEST_F(RpcsTest, EveryCallThatWasSentIsTimed) {
  pipes_.answers["volume.MountVolume"] = {absl::InternalError("no")};
  EXPECT_FALSE(rpcs_.Call("volume.MountVolume").ok());
  EXPECT_TRUE(rpcs_.Call("volume.mount-volume").ok() == false);
  EXPECT_TRUE(absl::IsInvalidArgument(rpcs_.Call("volume.Mount").status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(rpcs_.Call("volume.MountVolume", {{"no-such-field", "1"}}).status()));
  EXPECT_THAT(rpcs_.times(),
              ElementsAre(Pair(Pair("volume.MountVolume", "v1"), testing::SizeIs(2))));
}

TEST_F(RpcsTest, AnswerFieldsAreReadByName) {
  pipes_.answers["disk.ListDiskIDs"] = {
      absl::OkStatus(), R"({"diskIDs": {"7": {"page83": "x", "serial_number": "s"}}})"};
  pipes_.answers["volume.ListVolumesOnDisk"] = {absl::OkStatus(), R"({"volume_ids": ["a", "b"]})"};
  pipes_.answers["storage.StageVolume"] = {absl::OkStatus(), R"({"steps": ["MOUNTED", "GREW"]})"};
  pipes_.answers["system.GetService"] = {absl::OkStatus(), R"({"status": "RUNNING"})"};
  pipes_.answers["disk.GetDiskStats"] = {absl::OkStatus(), R"({"total_bytes": "5368709120"})"};
  pipes_.answers["disk.GetDiskNumberByName"] = {absl::OkStatus(), R"({"disk_number": "3"})"};
  const Answer ids = *rpcs_.Call("disk.ListDiskIDs");
  ASSERT_TRUE(ids.Entry("disk_ids", 7).has_value());
  EXPECT_EQ(ids.Entry("disk_ids", 7)->Text("serial-number"), "s");
  EXPECT_FALSE(ids.Entry("disk_ids", 8).has_value());
  EXPECT_THAT(rpcs_.Call("volume.ListVolumesOnDisk")->Texts("volume_ids"), ElementsAre("a", "b"));
  EXPECT_THAT(rpcs_.Call("storage.StageVolume")->Texts("steps"), ElementsAre("MOUNTED", "GREW"));
  EXPECT_EQ(rpcs_.Call("system.GetService")->Text("status"), "RUNNING");
  pipes_.answers["storage.ListDisks"] = {absl::OkStatus(), R"({"disks": [{}, {"number": 7}]})"};
  const std::vector<Answer> disks = rpcs_.Call("storage.ListDisks")->Each("disks");
  ASSERT_EQ(disks.size(), 2);
  EXPECT_EQ(disks[1].Number("number"), 7);
  EXPECT_EQ(rpcs_.Call("disk.GetDiskStats")->Number("total_bytes"), 5368709120);
  EXPECT_EQ(rpcs_.Call("disk.GetDiskNumberByName")->Number("disk_number"), 3) << "in decimal";
  EXPECT_THAT(rpcs_.missing_field(), IsEmpty());
}

TEST_F(RpcsTest, AFieldOfAnotherTypeIsReportedAsMissing) {
  const Answer stats = *rpcs_.Call("disk.GetDiskStats");
  EXPECT_FALSE(stats.Flag("total_bytes"));
  EXPECT_EQ(rpcs_.missing_field(), "GetDiskStatsResponse.total_bytes");
  EXPECT_EQ(Answer().Number("anything"), 0) << "a call that failed has no fields to miss";
}

// A secret of `-` must not be read from standard input.
TEST_F(RpcsTest, ASecretThatIsADashIsUsedLiterally) {
  EXPECT_TRUE(rpcs_.Call("smb.NewSmbGlobalMapping", {{"password", "-"}}).ok());
  EXPECT_THAT(pipes_.sent, ElementsAre(HasSubstr("password: \"-\"")));
}

}  // namespace
}  // namespace csi_proxy::ctl
