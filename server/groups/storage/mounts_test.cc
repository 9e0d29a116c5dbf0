// Tests GetPathStats, ListMounts, RemoveMount and ListSmbMappings on a node with mounts and links
// of the kubelet and of drivers.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/locks.h"
#include "server/groups/testing.h"
#include "server/machine/access.h"
#include "server/simulator/testing.h"

namespace csi_proxy::storage {
namespace {

using groups::Files;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kMore[] = R"(
  smb_server {
    name: "srv" user { name: "u" password: "p" }
    share { name: "data" size_bytes: 1000000 file { path: "sub\\f" kind: FILE size_bytes: 4096 } }
    share { name: "idle" } share { name: "other" }
  }
  smb_server { name: "dead" unreachable: true user { name: "u" password: "p" }
               share { name: "data" } }
  smb_mapping { remote_path: "\\\\srv\\idle" username: "u" idle: true }
  smb_mapping { remote_path: "\\\\srv\\data" username: "u" }
  smb_mapping { remote_path: "\\\\dead\\data" username: "u" }
)";
constexpr char kStage[] = R"(plugins\kubernetes.io\csi\d\globalmount)";

MATCHER_P(IsRefusal, text, "") {
  *result_listener << arg;
  return absl::IsFailedPrecondition(arg) && absl::StrContains(arg.message(), text);
}

class MountsTest : public groups::HandlerTest {
 protected:
  MountsTest()
      : HandlerTest(Files::kSimulated, absl::StrCat(machine::simulator::kTestScenario, kMore)) {
    EXPECT_TRUE(Mkdir(Below(kStage)).ok());
    const absl::Status mounted =
        volume_->MountVolume(context_, {.volume_id = volume_id_, .target_path = Below(kStage)})
            .status();
    EXPECT_TRUE(mounted.ok()) << mounted;
    EXPECT_TRUE(Mkdir(Below(absl::StrCat(kStage, R"(\data)"))).ok());
  }

  void Plant(const std::string& name, const std::string& target, bool junction = false) {
    const absl::Status made = node_->MakeLink(Below(name), target, junction);
    EXPECT_TRUE(made.ok()) << made;
  }
  void SetRoots(const std::vector<std::string>& roots) {
    deps_.roots = *PathRoots::Parse("root", roots);
    Remake();
  }
  ListMountsResponse ListMounts(const std::string& path = "") {
    const auto answer = storage_->ListMounts(context_, {.path = path});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : ListMountsResponse();
  }
  // Returns the states of ListMounts(), by path below the working directory.
  std::map<std::string, MountState> States() {
    std::map<std::string, MountState> states;
    for (const Mount& mount : ListMounts().mounts) {
      states[mount.path.substr(Below("").size())] = mount.state;
    }
    return states;
  }
  absl::StatusOr<GetPathStatsResponse> Stats(const std::string& path) {
    return storage_->GetPathStats(context_, {.path = path});
  }

  const std::string volume_id_ = machine::simulator::TestVolume(2).ToString();
};

TEST_F(MountsTest, ListMountsReturnsKindTargetAndStateOfEachEntry) {
  Plant(R"(pods\p1\a)", Below(kStage));
  Plant(R"(pods\p1\b)", R"(\\srv\data)");
  Plant(R"(pods\p1\c)", Below("plugins"), true);
  const ListMountsResponse answer = ListMounts();
  EXPECT_FALSE(answer.incomplete);
  EXPECT_THAT(
      answer.mounts,
      ElementsAre(
          Mount{Below(kStage), MountKind::kMountedVolume, volume_id_, MountState::kAlive},
          Mount{Below(R"(pods\p1\a)"), MountKind::kSymlink, Below(kStage), MountState::kAlive},
          Mount{Below(R"(pods\p1\b)"), MountKind::kSymlink, R"(\\srv\data\)", MountState::kAlive},
          Mount{Below(R"(pods\p1\c)"), MountKind::kJunction, Below("plugins"),
                MountState::kAlive}));
}

// A pod that has lost its mount writes to the node's own disk.
TEST_F(MountsTest, ListMountsReportsAStagingFolderWithFilesButNoMount) {
  const std::string other = R"(plugins\kubernetes.io\csi\e\)";
  const auto write = [this](const std::string& file) {
    EXPECT_TRUE(node_->WriteFile(Below(file), 4096, false).ok()) << file;
  };
  write(absl::StrCat(kStage, R"(\data\f)"));
  ASSERT_TRUE(Mkdir(Below(other + R"(empty\globalmount)")).ok());
  Plant(other + R"(linked\globalmount\link)", Below("pods"));
  write(other + R"(empty\vol_data.json)");
  write(R"(pods\p\volumes\kubernetes.io~empty-dir\d\plugins\x\globalmount\f)");
  EXPECT_THAT(ListMounts().filled_staging_folders, IsEmpty());
  write(other + R"(2\GlobalMount\globalmount\f)");
  ASSERT_TRUE(Mkdir(Below(other + R"(1\globalmount\folder)")).ok());
  EXPECT_THAT(ListMounts().filled_staging_folders,
              ElementsAre(Below(other + R"(1\globalmount)"), Below(other + R"(2\GlobalMount)")));
}

// A pod may swap a directory above the entry after ListMounts.
TEST_F(MountsTest, RemoveMountRemovesOnlyAnEntryWithTheGivenTarget) {
  const auto remove = [this](const std::string& name, const std::string& target) {
    return storage_->RemoveMount(context_, {.path = Below(name), .target = target}).status();
  };
  EXPECT_THAT(remove(kStage, volume_id_), IsRefusal("works"));
  Plant(R"(pods\p1\a\globalmount)", Below("nothing"));
  // The mount in `b` has the target of the driver's mount.
  const std::string same = Below(R"(pods\p1\b\globalmount)");
  ASSERT_TRUE(Mkdir(same).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = volume_id_, .target_path = same}).ok());
  ASSERT_TRUE(node_->DetachDisk(2).ok());
  for (const std::string directory : {R"(pods\p1\a)", R"(pods\p1\b)"}) {
    const std::vector<Mount> seen = ListMounts(Below(directory)).mounts;
    ASSERT_EQ(seen.size(), 1u);
    ASSERT_EQ(seen[0].state, MountState::kDangling);
    ASSERT_TRUE(Rmdir(Below(directory), true).ok());
    Plant(directory, Below(R"(plugins\kubernetes.io\csi\d)"), true);
    EXPECT_THAT(remove(directory + R"(\globalmount)", seen[0].target),
                IsRefusal(directory + " is a link"));
  }
  EXPECT_THAT(remove(kStage, Below("nothing")), IsRefusal(absl::StrCat("leads to ", volume_id_)));
  EXPECT_THAT(remove("plugins", Below("nothing")), IsRefusal("is no link"));
  EXPECT_TRUE(absl::IsInvalidArgument(remove(kStage, "")));
  EXPECT_EQ(States()[kStage], MountState::kDangling);
  EXPECT_TRUE(remove(kStage, volume_id_).ok());
  EXPECT_FALSE(Exists(Below(kStage)));
  EXPECT_TRUE(remove(kStage, volume_id_).ok()) << "again";
  Plant(R"(plugins\share)", R"(\\srv\other)");
  EXPECT_TRUE(remove(R"(plugins\share)", R"(\\srv\other\)").ok());
  // The share is mapped, although Windows reports the mapping as disconnected.
  Plant(R"(plugins\idle)", R"(\\srv\idle)");
  EXPECT_THAT(remove(R"(plugins\idle)", R"(\\srv\idle\)"), IsRefusal("mapped share"));
}

// A mapping that has not been used for a while shows as disconnected, but works.
TEST_F(MountsTest, RemoveMountKeepsALinkIntoTheFolderOfAnIdleMapping) {
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.smb_mappings.push_back({R"(\\SRV\other\Pvc)", "u", false, true, ""});
  });
  const auto remove = [this](const std::string& target) {
    Plant(R"(plugins\l)", target);
    const absl::Status removed =
        storage_->RemoveMount(context_, {.path = Below(R"(plugins\l)"), .target = target + "\\"})
            .status();
    EXPECT_EQ(Exists(Below(R"(plugins\l)")), !removed.ok());
    (void)Rmdir(Below(R"(plugins\l)"));
    return removed;
  };
  EXPECT_THAT(remove(R"(\\srv\other\pvc)"), IsRefusal("mapped share"));
  EXPECT_THAT(remove(R"(\\srv\Other\PVC\deeper)"), IsRefusal("mapped share"));
  for (const char* target : {R"(\\srv\other)", R"(\\srv\other\pvc2)", R"(\\srv\other\sub\pvc)"}) {
    const absl::Status removed = remove(target);
    EXPECT_TRUE(removed.ok()) << target << ": " << removed;
  }
}

// A pod's volume must go although another working directory's disk is broken.
TEST_F(MountsTest, ATeardownBelowALinkNeedsNoOtherWorkingDirectory) {
  const std::string stage = Below(R"(way\globalmount)");
  SetRoots({R"(D:\work)", R"(C:\var\lib\kubelet)"});
  Plant("way", Below(R"(plugins\kubernetes.io\csi\d)"));
  Plant(R"(plugins\d\pods)", Below("pods"));
  Fail("win32.Open", 0, 1117, R"(D:\)");
  const absl::Status unmounted =
      volume_->UnmountVolume(context_, {.volume_id = volume_id_, .target_path = stage}).status();
  EXPECT_TRUE(unmounted.ok()) << unmounted;
  for (const std::string& path : {stage, Below(R"(plugins\d\pods)")}) {
    const absl::Status removed = Rmdir(path);
    EXPECT_TRUE(removed.ok()) << removed;
  }
  // The disk does not answer.
  node_->ClearFaults();
  ASSERT_TRUE(Mkdir(stage).ok());
  Delay("win32.Open", absl::Seconds(4), 0, R"(D:\)");
  const absl::Time begin = absl::Now();
  const absl::Status removed = Rmdir(stage);
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(3));
}

TEST_F(MountsTest, RmdirBelowALinkKeepsWorkingDirectories) {
  ASSERT_TRUE(Mkdir(Below(R"(plugins\above\own)")).ok());
  ASSERT_TRUE(Mkdir(Below(R"(plugins\moved)")).ok());
  ASSERT_TRUE(node_->MakeLink(R"(C:\alias)", Below(R"(plugins\moved)")).ok());
  SetRoots({R"(D:\work)", R"(C:\alias)", Below(R"(plugins\above\own)"), R"(C:\var\lib\kubelet)"});
  Plant("way", Below("plugins"));
  Fail("win32.Open", 0, 1117, R"(D:\)");
  for (const char* name : {R"(way\above)", R"(way\above\own)", R"(way\moved)"}) {
    const absl::Status removed = Rmdir(Below(name), true);
    EXPECT_TRUE(absl::IsPermissionDenied(removed)) << name << ": " << removed;
    EXPECT_THAT(std::string(removed.message()), HasSubstr("leads to a working directory")) << name;
  }
}

// If the link or mount were removed, pods would not find their volumes when the disk returns.
TEST_F(MountsTest, TheKubeletsLinkOrMountStaysWhileItsDiskIsMissing) {
  const std::string pods = Below("pods");
  const auto expect_kept = [&](const std::string& target) {
    const absl::Status removed =
        storage_->RemoveMount(context_, {.path = pods, .target = target}).status();
    EXPECT_THAT(removed, IsRefusal("drain the node"));
    for (const bool force : {false, true}) {
      EXPECT_THAT(Rmdir(pods, force), IsRefusal("drain the node"));
    }
    EXPECT_EQ(States()["pods"], MountState::kDangling);
  };
  ASSERT_TRUE(Rmdir(pods, true).ok());
  Plant("pods", Below("moved"));
  expect_kept(Below("moved"));
  ASSERT_TRUE(node_->RemoveFolder(pods).ok());
  ASSERT_TRUE(Mkdir(pods).ok());
  ASSERT_TRUE(volume_->MountVolume(context_, {.volume_id = volume_id_, .target_path = pods}).ok());
  ASSERT_TRUE(node_->DetachDisk(2).ok());
  expect_kept(volume_id_);
  EXPECT_THAT(
      volume_->UnmountVolume(context_, {.volume_id = volume_id_, .target_path = pods}).status(),
      IsRefusal("drain the node"));
  EXPECT_THAT(
      volume_
          ->MountVolume(context_, {.volume_id = machine::simulator::TestVolume(1).ToString(),
                                   .target_path = pods})
          .status(),
      IsRefusal("drain the node"));
  EXPECT_EQ(States()["pods"], MountState::kDangling);
}

TEST_F(MountsTest, AnEntryHasTheStateOfTheEndOfItsChainOfLinks) {
  Plant("volume", Below(kStage));
  Plant("volume2", Below("volume"));
  Plant("inside", Below(absl::StrCat(kStage, R"(\data)")));
  Plant("lost", Below(absl::StrCat(kStage, R"(\absent)")));
  Plant("share", R"(\\srv\data)");
  Plant("share2", Below("share"));
  Plant("folder", R"(\\SRV\Data\sub)");
  Plant("gone", Below("nothing"));
  Plant("gone2", Below("gone"));
  Plant("file", Below("file.txt"));
  Plant("loop", Below("loop"));
  Plant("unmapped", R"(\\srv\other)");
  Plant("idle", R"(\\srv\idle)");
  Plant("dead", R"(\\dead\data)");
  Plant("junction", Below("nothing"), true);
  std::map<std::string, MountState> expected = {
      {kStage, MountState::kAlive},
      {"volume", MountState::kAlive},
      {"volume2", MountState::kAlive},
      {"inside", MountState::kAlive},
      {"lost", MountState::kDangling},
      {"share", MountState::kAlive},
      {"share2", MountState::kAlive},
      {"folder", MountState::kAlive},
      {"gone", MountState::kDangling},
      {"gone2", MountState::kDangling},
      {"file", MountState::kDangling},
      {"loop", MountState::kDangling},
      {"unmapped", MountState::kDisconnected},
      {"idle", MountState::kDisconnected},
      {"dead", MountState::kDisconnected},
      {"junction", MountState::kDangling},
  };
  EXPECT_EQ(States(), expected);
  // The disk goes offline and comes back; then it is removed.
  for (const char* name : {kStage, "volume", "volume2", "inside"}) {
    expected[name] = MountState::kDangling;
  }
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 2, .is_online = false}).ok());
  EXPECT_EQ(States(), expected);
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 2, .is_online = true}).ok());
  EXPECT_EQ(States()["volume2"], MountState::kAlive);
  ASSERT_TRUE(node_->DetachDisk(2).ok());
  EXPECT_EQ(States(), expected);
}

TEST_F(MountsTest, ListMountsDoesNotContactFileServers) {
  Plant("dead", R"(\\dead\data)");
  Plant("share", R"(\\srv\data)");
  Fail("win32.Reach");
  EXPECT_EQ(States()["share"], MountState::kAlive);
  EXPECT_EQ(node_->Snapshot().faults.size(), 1u) << "it was never reached";
}

TEST_F(MountsTest, ALinkOutOfTheWorkingDirectoriesRevealsNothingOfItsTarget) {
  Plant(R"(pods\p1\there)", R"(C:\Windows)");
  Plant(R"(pods\p1\not)", R"(C:\absent)");
  Plant(R"(pods\p1\by)", Below(R"(pods\p1\there\System32)"));
  for (const Mount& mount : ListMounts(Below("pods")).mounts) {
    EXPECT_EQ(mount.state, MountState::kUndetermined) << mount.path;
  }
  EXPECT_EQ(ListMounts(Below("pods")).mounts.size(), 3u);
  const auto through = storage_->ListMounts(context_, {.path = Below(R"(pods\p1\there\x)")});
  EXPECT_TRUE(absl::IsPermissionDenied(through.status())) << through.status();
}

TEST_F(MountsTest, ListMountsEntersAMountOnlyIfTheRequestedPathIsInsideIt) {
  Plant(absl::StrCat(kStage, R"(\data\link)"), Below("pods"));
  Plant("way", Below(absl::StrCat(kStage, R"(\data)")));
  EXPECT_THAT(States(), UnorderedElementsAre(Pair(kStage, MountState::kAlive),
                                             Pair("way", MountState::kAlive)));
  const std::string data = Below(absl::StrCat(kStage, R"(\data)"));
  ASSERT_EQ(ListMounts(data).mounts.size(), 1u);
  EXPECT_EQ(ListMounts(data).mounts[0].path, absl::StrCat(data, R"(\link)"));
}

TEST_F(MountsTest, ThePathOfAListingMayBeALinkOrAFolder) {
  Plant(R"(pods\p1\a)", Below("plugins"));
  Plant("b", Below("plugins"));
  EXPECT_EQ(ListMounts(Below("pods")).mounts.size(), 1u);
  EXPECT_EQ(ListMounts(Below(R"(pods\p1\a)")).mounts.size(), 1u);
  EXPECT_EQ(ListMounts(Below(kStage)).mounts.size(), 1u);
  EXPECT_EQ(ListMounts(R"(C:\var\lib\kubelet)").mounts.size(), 3u);
  EXPECT_EQ(ListMounts(R"(/var/lib/kubelet/pods)").mounts.size(), 1u) << "in any spelling";
  EXPECT_THAT(ListMounts(Below("file.txt")).mounts, IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(storage_->ListMounts(context_, {.path = Below("absent")}).status()));
}

TEST_F(MountsTest, UnreadableEntriesMakeTheListingIncomplete) {
  Plant(R"(pods\p1\a)", Below("plugins"));
  machine::simulator::FaultRule rule;
  rule.operation = "win32.List";
  rule.code = absl::StatusCode::kInternal;
  rule.times = 0;
  rule.error = machine::simulator::KnownError(5);
  rule.resource = R"(C:\var\lib\kubelet\pods)";
  ASSERT_TRUE(node_->InjectFault(rule).ok());
  ListMountsResponse answer = ListMounts();
  EXPECT_EQ(answer.mounts.size(), 1u);
  EXPECT_TRUE(answer.incomplete);
  // A link that vanishes does not make the list incomplete.
  node_->ClearFaults();
  rule.error = machine::simulator::KnownError(2);
  ASSERT_TRUE(node_->InjectFault(rule).ok());
  answer = ListMounts();
  EXPECT_EQ(answer.mounts.size(), 1u);
  EXPECT_FALSE(answer.incomplete);
}

TEST_F(MountsTest, MappingsAreListedWithTheLinksToThem) {
  Plant(R"(pods\p1\a)", R"(\\srv\data)");
  Plant(R"(pods\p1\b)", Below(R"(pods\p1\a)"));
  Plant("c", R"(\\SRV\DATA\sub)");
  Plant("d", R"(\\srv\other)");
  Plant("e", Below("pods"));
  const auto answer = storage_->ListSmbMappings(context_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->incomplete);
  EXPECT_THAT(answer->mappings,
              ElementsAre(SmbMapping{R"(\\dead\data)", "Disconnected", {}},
                          SmbMapping{R"(\\srv\data)",
                                     "OK",
                                     {Below("c"), Below(R"(pods\p1\a)"), Below(R"(pods\p1\b)")}},
                          SmbMapping{R"(\\srv\idle)", "Disconnected", {}}));
}

// A mapping may have a drive letter: -LocalPath of
// learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping.
TEST_F(MountsTest, AMappingsDriveLetterIsListedAmongItsLinks) {
  node_->core()->Change(
      [](machine::simulator::NodeState& state) { state.smb_mappings[1].local_path = "G:"; });
  Plant("c", R"(\\srv\data)");
  const auto answer = storage_->ListSmbMappings(context_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->mappings, Contains(SmbMapping{R"(\\srv\data)", "OK", {"G:", Below("c")}}));
}

// github.com/kubernetes-csi/csi-driver-smb/issues/1035: mappings of a folder for each volume.
TEST_F(MountsTest, AMappingOfASubfolderIsListedWithTheLinksIntoIt) {
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.smb_mappings.push_back({R"(\\SRV\data\Sub)", "u", false, false, ""});
    state.smb_mappings.push_back({R"(\\srv\other\pvc)", "u", false, false, ""});
  });
  Plant("a", R"(\\srv\data)");
  Plant("b", R"(\\srv\data\sub)");
  Plant("c", R"(\\srv\data\sub\deeper)");
  Plant("d", R"(\\srv\data\subway)");
  Plant("e", R"(\\srv\other)");
  const auto answer = storage_->ListSmbMappings(context_, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(
      answer->mappings,
      IsSupersetOf(
          {SmbMapping{R"(\\srv\data)", "OK", {Below("a"), Below("b"), Below("c"), Below("d")}},
           SmbMapping{R"(\\srv\data\sub)", "OK", {Below("b"), Below("c")}},
           SmbMapping{R"(\\srv\other\pvc)", "OK", {}}}));
  EXPECT_EQ(States()["e"], MountState::kAlive) << "Windows has a session for the share";
  const auto removed =
      storage_->RemoveMount(context_, {.path = Below("e"), .target = R"(\\srv\other\)"});
  EXPECT_THAT(removed.status(), IsRefusal("mapped share"));
}

TEST_F(MountsTest, ListSmbMappingsReadsNoDirectoryIfThereAreNoMappings) {
  for (const char* share : {R"(\\srv\data)", R"(\\srv\idle)", R"(\\dead\data)"}) {
    ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = share}).ok()) << share;
  }
  const int64_t before = node_->CountCalls().win32_calls;
  EXPECT_THAT(storage_->ListSmbMappings(context_, {})->mappings, IsEmpty());
  EXPECT_EQ(node_->CountCalls().win32_calls, before);
}

// A pod may make a link to another tenant's pod. The caller must not learn that pod's paths.
TEST_F(MountsTest, AnErrorNamesNoPathBehindALink) {
  const std::string victim = R"(pods\victim\)";
  ASSERT_TRUE(Mkdir(Below(victim + "held")).ok());
  Plant(victim + "out", R"(C:\secret)");
  Plant(victim + "share", R"(\\srv\secret)");
  Plant(victim + "loop", Below(victim + "loop"));
  Plant(R"(pods\p1\way)", Below(R"(pods\victim)"), true);
  ASSERT_TRUE(node_->SetOtherOpens({{Below(victim + "held"), machine::right::kReadData, 0}}).ok());
  const auto way = [](const std::string& name) { return Below(R"(pods\p1\way\)" + name); };
  const absl::Status statuses[] = {
      storage_->RemoveMount(context_, {.path = way("held"), .target = "x"}).status(),
      Stats(way("held")).status(),
      Mkdir(way(R"(held\x)")),
      Mkdir(way(R"(out\x)")),
      Mkdir(way(R"(share\x)")),
      Mkdir(way(R"(loop\x)")),
  };
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(absl::StrCat("an entry behind the link ", Below(R"(pods\p1\way)"))),
                      Not(HasSubstr("victim")), Not(HasSubstr("secret"))));
  }
  EXPECT_TRUE(absl::IsUnavailable(statuses[0])) << statuses[0];
}

TEST_F(MountsTest, GetPathStatsReturnsTheSizesOfTheFileSystemAtThePathsEnd) {
  Plant("way", Below(kStage));
  const std::string system = machine::simulator::TestVolume(1).ToString();
  const std::vector<std::tuple<std::string, std::string, int64_t>> rows = {
      {R"(C:\var\lib\kubelet)", system, 8589934592},
      {Below("pods"), system, 8589934592},
      {Below("file.txt"), system, 8589934592},
      {Below(kStage), volume_id_, 536870912},
      {Below(absl::StrCat(kStage, R"(\data)")), volume_id_, 536870912},
      {Below("way"), volume_id_, 536870912},
      {Below(R"(way\data)"), volume_id_, 536870912},
      {"/var/lib/kubelet/way", volume_id_, 536870912},
  };
  for (const auto& [path, volume, size] : rows) {
    const auto stats = Stats(path);
    ASSERT_TRUE(stats.ok()) << path << ": " << stats.status();
    EXPECT_EQ(stats->volume_id, volume) << path;
    EXPECT_EQ(stats->share, "") << path;
    EXPECT_EQ(stats->total_bytes, size) << path;
    EXPECT_GT(stats->available_bytes, 0) << path;
    EXPECT_EQ(stats->available_bytes + stats->used_bytes, size) << path;
  }
  const int64_t used = Stats(Below(kStage))->used_bytes;
  ASSERT_TRUE(node_->WriteFile(Below(absl::StrCat(kStage, R"(\f)")), int64_t{1} << 20, false).ok());
  EXPECT_GE(Stats(Below("way"))->used_bytes, used + (int64_t{1} << 20));
}

TEST_F(MountsTest, TheSizesOfAShareComeFromTheServer) {
  Plant("share", R"(\\srv\data)");
  Plant("folder", R"(\\SRV\data\Sub)");
  Plant("chain", Below("share"));
  for (const char* name : {"share", "folder", "chain"}) {
    const auto stats = Stats(Below(name));
    ASSERT_TRUE(stats.ok()) << name << ": " << stats.status();
    EXPECT_EQ(*stats, (GetPathStatsResponse{.total_bytes = 1000000,
                                            .available_bytes = 1000000 - 4096,
                                            .used_bytes = 4096,
                                            .share = R"(\\srv\data)"}))
        << name;
  }
  Plant("absent", R"(\\srv\data\absent)");
  EXPECT_TRUE(absl::IsNotFound(Stats(Below("absent")).status()));
  // The error for a server that does not answer is Windows' own.
  Plant("dead", R"(\\dead\data)");
  const absl::Status dead = Stats(Below("dead")).status();
  EXPECT_TRUE(absl::StrContains(dead.message(), R"(measuring C:\var\lib\kubelet\dead: )")) << dead;
  EXPECT_TRUE(absl::StrContains(dead.message(), "The network path was not found")) << dead;
}

TEST_F(MountsTest, TheErrorSaysWhyAPathHasNoSizes) {
  EXPECT_TRUE(absl::IsNotFound(Stats(Below("absent")).status()));
  Plant("gone", Below("nothing"));
  EXPECT_TRUE(absl::IsNotFound(Stats(Below("gone")).status()));
  Plant("out", R"(C:\Windows)");
  Plant("out2", R"(C:\absent)");
  for (const char* name : {"out", "out2", R"(out\System32)"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Stats(Below(name)).status())) << name;
  }
  Plant("share", R"(\\srv\data)");
  const absl::Status within = Stats(Below(R"(share\sub)")).status();
  EXPECT_TRUE(absl::IsPermissionDenied(within)) << within;
  EXPECT_TRUE(absl::IsInvalidArgument(Stats("").status()));
  Fail("win32.GetSpace", 1, 1005);
  EXPECT_TRUE(absl::IsFailedPrecondition(Stats(Below(kStage)).status()));
  Fail("win32.GetSpace", 1, 1117);
  EXPECT_TRUE(absl::IsInternal(Stats(Below(kStage)).status()));
  ASSERT_TRUE(node_->DetachDisk(2).ok());
  EXPECT_TRUE(absl::IsNotFound(Stats(Below(kStage)).status()));
  EXPECT_TRUE(absl::IsNotFound(Stats(Below(absl::StrCat(kStage, R"(\data)"))).status()));
}

TEST_F(MountsTest, AListingQueriesWmiOnceAndOnlyForShares) {
  const auto asked = [&](auto call) {
    const int64_t before = node_->CountCalls().wmi_calls;
    EXPECT_TRUE(call().ok());
    return node_->CountCalls().wmi_calls - before;
  };
  EXPECT_EQ(asked([&] { return Stats(Below(kStage)).status(); }), 0);
  EXPECT_EQ(asked([&] { return storage_->ListMounts(context_, {}).status(); }), 0);
  for (int i = 0; i < 20; ++i) Plant(absl::StrCat("s", i), R"(\\srv\data)");
  EXPECT_EQ(asked([&] { return storage_->ListMounts(context_, {}).status(); }), 1);
  EXPECT_EQ(asked([&] { return storage_->ListSmbMappings(context_, {}).status(); }), 1);
}

TEST_F(MountsTest, ATenantRunsOneListingAtATime) {
  const Peer one{.process_id = 1, .image_path = "", .tenant = "one"};
  const Peer other{.process_id = 2, .image_path = "", .tenant = "other"};
  const auto held = groups::LockListing(locks_, context_.From(&one, ""));
  const CallContext soon = context_.WithTimeout(absl::Milliseconds(50)).From(&one, "");
  EXPECT_TRUE(absl::IsDeadlineExceeded(storage_->ListMounts(soon, {}).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(storage_->ListSmbMappings(soon, {}).status()));
  EXPECT_TRUE(storage_->ListMounts(context_.From(&other, ""), {}).ok());
  EXPECT_TRUE(storage_->ListSmbMappings(context_.From(&other, ""), {}).ok());
}

}  // namespace
}  // namespace csi_proxy::storage
