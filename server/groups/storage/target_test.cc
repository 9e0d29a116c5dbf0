#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "server/groups/storage/target_testing.h"
#include "server/machine/access.h"

namespace csi_proxy::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum StorageStep;

TEST_F(TargetTest, StageTargetDoesAllStepsOnceAndSkipsThemWhenRepeated) {
  const auto staged = Stage(TargetRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  EXPECT_THAT(staged->steps,
              ElementsAre(kAddedPortal, kConnectedTarget, kBroughtOnline, kInitialized,
                          kPartitioned, kFormatted, kMadeDirectory, kMounted));
  EXPECT_THAT(staged->failed_portals, IsEmpty());
  EXPECT_TRUE(At(0).connected && At(0).persistent);
  EXPECT_TRUE(Writes());
  const auto again = Stage(TargetRequest());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->volume_id, staged->volume_id);
  EXPECT_EQ(again->size_bytes, staged->size_bytes);
  EXPECT_THAT(again->steps, IsEmpty());
}

TEST_F(TargetTest, StageTargetStagesTheRequestedLun) {
  const auto staged = StageLun("1", kTarget);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 11u);
  // A LUN may have leading zeros.
  EXPECT_EQ(StageLun("01", kTarget)->disk_number, 11u);
  const auto other = StageLun("0", kTarget);
  ExpectFailed(other, absl::StatusCode::kAlreadyExists, "another volume is mounted");
}

TEST_F(TargetTest, StageTargetReturnsNotFoundForAMissingLun) {
  ExpectFailed(StageLun("7", kTarget), absl::StatusCode::kNotFound,
               "lun_id: target iqn.2026-01.example:data shows no disk with LUN 7");
  // The call's own deadline applies if it is earlier.
  StageTargetRequest request = TargetRequest();
  request.lun_id = "7";
  const absl::Status late =
      process_.storage->StageTarget(process_.context.WithTimeout(absl::Milliseconds(300)), request)
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
}

// The disk arrives while the call waits.
TEST_F(TargetTest, StageTargetWaitsForTheDisk) {
  NodeState state = node_->Snapshot();
  std::vector<machine::simulator::Disk> disks;
  Change([&](NodeState& now) { std::swap(disks, now.iscsi_portals[0].targets[0].disks); });
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(400));
    Change([&](NodeState& now) { std::swap(disks, now.iscsi_portals[0].targets[0].disks); });
  });
  const auto staged = Stage(TargetRequest());
  later.join();
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  EXPECT_EQ(std::count(staged->steps.begin(), staged->steps.end(), kRescanned), 1);
}

TEST_F(TargetTest, WithoutMultipathOneReachablePortalIsEnough) {
  StageTargetRequest request = TargetRequest();
  request.portals.push_back("10.0.0.6");
  ASSERT_TRUE(node_->SetServerReachable("10.0.0.5", false).ok());
  const auto staged = Stage(request);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_FALSE(At(0).connected);
  EXPECT_TRUE(At(1).connected);
  ASSERT_EQ(staged->failed_portals.size(), 1u);
  EXPECT_EQ(staged->failed_portals[0].portal, "10.0.0.5");
  EXPECT_THAT(staged->failed_portals[0].message, HasSubstr("Connection failed"));
  // The first portal answers again, but is not needed.
  ASSERT_TRUE(node_->SetServerReachable("10.0.0.5", true).ok());
  const auto again = Stage(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
  EXPECT_FALSE(At(0).connected);
}

TEST_F(TargetTest, StageTargetIsUnavailableIfNoPortalAnswers) {
  StageTargetRequest request = TargetRequest();
  request.portals.push_back("10.0.0.6");
  for (const char* address : {"10.0.0.5", "10.0.0.6"}) {
    ASSERT_TRUE(node_->SetServerReachable(address, false).ok());
  }
  ExpectFailed(Stage(request), absl::StatusCode::kUnavailable,
               "portals: registering portal 10.0.0.5:3260");
  // A registered portal must also answer.
  Change([](NodeState& state) { state.iscsi_portals[0].registered = true; });
  ExpectFailed(Stage(request), absl::StatusCode::kUnavailable, "asking portal 10.0.0.5:3260");
}

TEST_F(TargetTest, TheErrorForAStoppedInitiatorNamesTheCommandThatStartsIt) {
  Change([](NodeState& state) {
    state.services.emplace_back().name = "MSiSCSI";  // Stopped.
  });
  StageTargetRequest request = TargetRequest();
  for (int i = 6; i <= 10; ++i) request.portals.push_back(absl::StrCat("10.0.0.", i));
  const auto refused = Stage(request);
  ExpectFailed(refused, absl::StatusCode::kFailedPrecondition,
               "start it with `csi-proxyctl system start-service --name=MSiSCSI`");
  const std::vector<std::string> told =
      absl::StrSplit(std::string(refused.status().message()), "does not run");
  EXPECT_EQ(told.size(), 2u) << refused.status();
}

TEST_F(TargetTest, TheErrorPrefersARefusalOverAnUnreachablePortal) {
  StageTargetRequest request = TargetRequest();
  request.portals.insert(request.portals.begin(), "10.0.0.6");
  ASSERT_TRUE(node_->SetServerReachable("10.0.0.6", false).ok());
  request.chap_secret = "not-the-secret";
  const auto refused = Stage(request);
  ExpectFailed(refused, absl::StatusCode::kFailedPrecondition, "Authentication failed");
  EXPECT_FALSE(absl::StrContains(refused.status().message(), "not-the-secret"));
  request = TargetRequest();
  request.iqn = "iqn.2026-01.example:none";
  ExpectFailed(Stage(request), absl::StatusCode::kNotFound, "no portal offers target");
}

// The portal was registered before the array created the target.
TEST_F(TargetTest, StageTargetRefreshesARegisteredPortal) {
  Change([](NodeState& state) { state.iscsi_portals[0].registered = true; });
  const auto staged = Stage(TargetRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->steps.front(), kRefreshedPortal);
  // A target may be reachable by a portal that cannot be refreshed.
  ASSERT_TRUE(Unstage().ok());
  Fail("wmi.Invoke/MSFT_iSCSITargetPortal.Update", 0x80041001);
  const auto again = Stage(TargetRequest());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->steps.front(), kConnectedTarget);
}

TEST_F(TargetTest, AnExistingSessionIsMadePersistentAndStaysPersistent) {
  StageTargetRequest request = TargetRequest();
  request.persistent = false;
  ASSERT_TRUE(Stage(request).ok());
  EXPECT_FALSE(At(0).persistent);
  const auto kept = Stage(TargetRequest());
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->steps, ElementsAre(kMadePersistent));
  EXPECT_TRUE(At(0).persistent);
  EXPECT_THAT(Stage(request)->steps, IsEmpty());
  EXPECT_TRUE(At(0).persistent);
}

TEST_F(TargetTest, ARepeatedStageTargetGrowsTheVolumeToTheGrownLun) {
  const auto staged = Stage(TargetRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_TRUE(node_->GrowDisk(10, uint64_t{3} << 30).ok());
  const auto grown = Stage(TargetRequest());
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_THAT(grown->steps, ElementsAre(kGrew));
  EXPECT_GT(grown->size_bytes, 2 * staged->size_bytes);
}

TEST_F(TargetTest, APersistentSessionReturnsAfterAReboot) {
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  ASSERT_TRUE(Writes());
  node_->Reboot();
  EXPECT_TRUE(At(0).connected);
  const auto again = Stage(TargetRequest());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
}

// The mount does not work until the call connects the target again.
TEST_F(TargetTest, StageTargetReopensANonPersistentSessionAfterAReboot) {
  StageTargetRequest request = TargetRequest();
  request.persistent = false;
  const auto staged = Stage(request);
  ASSERT_TRUE(staged.ok()) << staged.status();
  node_->Reboot();
  EXPECT_FALSE(At(0).connected);
  EXPECT_FALSE(Writes());
  const auto again = Stage(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, ElementsAre(kRefreshedPortal, kConnectedTarget));
  EXPECT_EQ(again->volume_id, staged->volume_id);
  EXPECT_TRUE(Writes());
}

// The array removes a staged disk. Its mount, now without a volume, must not prevent staging.
TEST_F(TargetTest, StageTargetReplacesTheMountOfARemovedDisk) {
  ASSERT_TRUE(StageLun("1", kTarget).ok());
  Change([](NodeState& state) {
    auto& disks = state.iscsi_portals[0].targets[0].disks;
    disks.erase(disks.begin() + 1);
  });
  const auto staged = StageLun("0", kTarget);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(std::count(staged->steps.begin(), staged->steps.end(), kUnmounted), 1);
  EXPECT_TRUE(Writes());
}

TEST_F(TargetTest, UnstageTargetEndsTheSessionAndItDoesNotReturnAfterAReboot) {
  const auto staged = Stage(TargetRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  const auto unstaged = Unstage();
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_EQ(unstaged->volume_id, staged->volume_id);
  EXPECT_THAT(unstaged->steps, ElementsAre(kFlushed, kTakenOffline, kUnmounted, kRemovedDirectory,
                                           kDisconnectedTarget));
  EXPECT_FALSE(At(0).connected || At(0).persistent);
  EXPECT_TRUE(node_->Snapshot().iscsi_portals[0].registered);
  const auto again = Unstage();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
  node_->Reboot();
  EXPECT_FALSE(At(0).connected);
}

TEST_F(TargetTest, UnstageTargetRemovesNamedPortalsThatNoSessionUses) {
  UnstageTargetRequest request = UnstageRequest();
  request.remove_portals = {"10.0.0.5", "10.0.0.6"};
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  const auto unstaged = Unstage(request);
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_EQ(unstaged->steps.back(), kRemovedPortal);
  EXPECT_FALSE(node_->Snapshot().iscsi_portals[0].registered);
  EXPECT_THAT(Unstage(request)->steps, IsEmpty());

  ASSERT_TRUE(Stage(TargetRequest()).ok());
  ASSERT_TRUE(process_.host->iscsi()
                  .Connect(process_.context, {"10.0.0.5", 3260}, "iqn.2026-01.example:other", {})
                  .ok());
  EXPECT_EQ(Unstage(request)->steps.back(), kDisconnectedTarget);
  EXPECT_TRUE(node_->Snapshot().iscsi_portals[0].registered);
}

TEST_F(TargetTest, UnstageTargetKeepsTheSessionIfAnotherLunIsMounted) {
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  ASSERT_TRUE(StageLun("1", kOtherTarget).ok());
  const auto first = Unstage();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->disks_in_use, ElementsAre(11u));
  EXPECT_EQ(first->steps.back(), kRemovedDirectory);
  EXPECT_TRUE(At(0).connected && At(0).persistent);
  EXPECT_TRUE(Writes(kOtherTarget));
  const auto last = Unstage({.target_path = kOtherTarget, .iqn = kIqn});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(last->disks_in_use, IsEmpty());
  EXPECT_FALSE(At(0).connected);
}

TEST_F(TargetTest, UnstageTargetRefusesALunThatIsNotTheMountedOne) {
  ASSERT_TRUE(StageLun("1", kTarget).ok());
  const auto refused = Unstage();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("lun_id: the volume at "));
  EXPECT_TRUE(Writes());
  EXPECT_TRUE(Unstage({.target_path = kTarget, .iqn = kIqn}).ok());
}

TEST_F(TargetTest, ARepeatedUnstageTargetAlsoWarnsThatTheFolderStays) {
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  ASSERT_TRUE(node_->SetOtherOpens({{kTarget, machine::right::kReadData, /*share=*/3}}).ok());
  for (int i = 0; i < 2; ++i) {
    const Unstaged unstaged = Unstage();
    ASSERT_TRUE(unstaged.ok()) << unstaged.status();
    EXPECT_THAT(unstaged->warnings, ElementsAre(HasSubstr("the folder stays"))) << i;
  }
}

TEST_F(TargetTest, AnUnstageTargetThatFailsOnASessionInUseCanBeRepeated) {
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  Fail("wmi.Invoke/MSFT_iSCSITarget.Disconnect", 0xEFFF0040);
  const auto refused = Unstage();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_TRUE(At(0).connected && At(0).persistent);
  const auto again = Unstage();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, ElementsAre(kDisconnectedTarget));
}

// Without MPIO Windows keeps the second path's disk offline, because both paths' writes would
// destroy the volume.
TEST_F(TargetTest, WithoutMpioSeveralPathsAreRefused) {
  const auto refused = Stage(MultipathRequest());
  ExpectFailed(refused, absl::StatusCode::kFailedPrecondition, "as MPIO does not claim it");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("several, 1, 10,"));
  for (const auto& disk : At(0).disks) EXPECT_TRUE(disk.partitions.empty());
  // A request with a single portal is accepted even if several sessions exist.
  const auto staged = Stage(TargetRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  ASSERT_TRUE(Unstage().ok());
  EXPECT_FALSE(At(0).connected || At(1).connected);
}

TEST_F(TargetTest, StageVolumeRefusesASecondPathToADisk) {
  ASSERT_FALSE(Stage(MultipathRequest()).ok());
  ASSERT_TRUE(Stage(TargetRequest()).ok());
  ASSERT_EQ(At(1).disks.at(0).number, 1u);
  const auto refused = process_.Stage({.number = "1"}, kOtherTarget).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("disk 1 is a second path"));
  EXPECT_FALSE(At(1).disks.at(0).online);
  EXPECT_TRUE(Writes());
}

TEST_F(MpioTest, EachPortalHasASessionAndAllShowOneDisk) {
  const auto staged = Stage(MultipathRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->disk_number, 10u);
  EXPECT_EQ(std::count(staged->steps.begin(), staged->steps.end(), kConnectedTarget), 2);
  EXPECT_TRUE(At(0).connected && At(0).persistent && At(1).connected && At(1).persistent);
  EXPECT_THAT(Stage(MultipathRequest())->steps, IsEmpty());
  node_->Reboot();
  EXPECT_TRUE(At(0).connected && At(1).connected);
  EXPECT_THAT(Stage(MultipathRequest())->steps, IsEmpty());
  EXPECT_TRUE(Writes());
  ASSERT_TRUE(Unstage().ok());
  EXPECT_FALSE(At(0).connected || At(0).persistent || At(1).connected || At(1).persistent);
}

TEST_F(MpioTest, ADeadPortalIsReportedAndConnectedByALaterCall) {
  ASSERT_TRUE(node_->SetServerReachable("10.0.0.6", false).ok());
  const auto staged = Stage(MultipathRequest());
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_EQ(staged->failed_portals.size(), 1u);
  EXPECT_EQ(staged->failed_portals[0].portal, "10.0.0.6");
  EXPECT_TRUE(Writes());
  ASSERT_TRUE(node_->SetServerReachable("10.0.0.6", true).ok());
  const auto again = Stage(MultipathRequest());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->failed_portals, IsEmpty());
  EXPECT_THAT(again->steps, ElementsAre(kAddedPortal, kConnectedTarget));
}

TEST_F(TargetTest, StageTargetRefusesInvalidFields) {
  const auto refused = [&](const char* words, auto change) {
    StageTargetRequest request = TargetRequest();
    change(request);
    EXPECT_EQ(Stage(request).status(), absl::InvalidArgumentError(words));
  };
  refused("portals: is empty", [](auto& r) { r.portals.clear(); });
  refused("portals: are more than 16", [](auto& r) { r.portals.resize(17); });
  for (const char* twice : {"FD00::5", "[fd00::5]", "[fd00::5]:3260"}) {
    refused("portals[1]: is given twice", [&](auto& r) { r.portals = {"fd00::5", twice}; });
  }
  refused("portals[0]: must not be empty", [](auto& r) { r.portals[0] = ""; });
  refused("portals[0]: is not a host name or an IP address", [](auto& r) { r.portals[0] = "a b"; });
  refused("portals[0]: has no closing bracket", [](auto& r) { r.portals[0] = "[fd00::5"; });
  refused("portals[0]: 65536 is not from 1 to 65535, or 0 for 3260",
          [](auto& r) { r.portals[0] = "10.0.0.5:65536"; });
  for (const char* port : {"10.0.0.5:", "10.0.0.5:0", "10.0.0.5:x", "[fd00::5]:-1"}) {
    refused("portals[0]: the port is not from 1 to 65535", [&](auto& r) { r.portals[0] = port; });
  }
  refused("portals[0]: must be an IP address when multipath is set", [](auto& r) {
    r.multipath = true;
    r.portals[0] = "nas.example";
  });
  refused("iqn: is not an iSCSI name such as iqn.2026-01.example.storage:disk1",
          [](auto& r) { r.iqn = "data"; });
  refused("chap: CHAP_UNUSED allows no chap_username and chap_secret",
          [](auto& r) { r.chap = ChapUse::kChapUnused; });
  refused("chap_secret: must have 12 to 16 bytes", [](auto& r) { r.chap_secret = "short"; });
  for (const char* lun : {"", "x", "-1", "4294967296"}) {
    refused("lun_id: is not a decimal number", [&](auto& r) { r.lun_id = lun; });
  }
  StageTargetRequest outside = TargetRequest();
  outside.target_path = R"(C:\Windows)";
  EXPECT_TRUE(absl::IsPermissionDenied(Stage(outside).status()));
  UnstageTargetRequest request = UnstageRequest();
  request.lun_id = "x";
  EXPECT_EQ(Unstage(request).status(),
            absl::InvalidArgumentError("lun_id: is not a decimal number"));
  request = UnstageRequest();
  request.remove_portals = {""};
  EXPECT_EQ(Unstage(request).status(),
            absl::InvalidArgumentError("remove_portals[0]: must not be empty"));
  EXPECT_EQ(node_->CountCalls().wmi_calls, 0);
}

}  // namespace
}  // namespace csi_proxy::storage
