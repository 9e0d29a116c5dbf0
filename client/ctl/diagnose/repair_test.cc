#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "client/ctl/diagnose/diagnose_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::diagnose {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RepairTest : public testing::Test {
 protected:
  RepairTest() { MakeIll(&pipes_); }

  Repairs Mend(const std::vector<std::string>& kinds, bool may = true) {
    const auto repairs = Repair(
        rpcs_, kinds, [this](const Repairs& plan) { plan_ = ToText(plan); },
        [this, may] {
          if (while_asking_) while_asking_();
          return may;
        },
        [this](absl::Duration time) {
          waited_ += time;
          if (while_waiting_) while_waiting_();
        });
    EXPECT_TRUE(repairs.ok()) << repairs.status();
    return repairs.value_or(Repairs());
  }

  static std::vector<std::string> Summary(const Repairs& repairs) {
    std::vector<std::string> lines;
    for (const Act& act : repairs.acts()) {
      lines.push_back(absl::StrCat(act.finding().where(), " ", Result_Name(act.result())));
    }
    return lines;
  }

  // Returns the calls that change the node.
  std::vector<std::string> Changes() const {
    std::vector<std::string> changes;
    for (const std::string& call : pipes_.sent) {
      const bool looks =
          call.find(".List") != std::string::npos || call.find(".Get") != std::string::npos;
      if (!looks) changes.push_back(call);
    }
    return changes;
  }

  const Catalog catalog_;
  FakePipes pipes_;
  Rpcs rpcs_{catalog_, pipes_};
  std::string plan_;
  std::function<void()> while_asking_;
  absl::Duration waited_;
  std::function<void()> while_waiting_;
};

TEST_F(RepairTest, DisksAreRepairedBeforeMounts) {
  EXPECT_THAT(Summary(Mend({kDanglingMounts, "read-only-disks"})),
              ElementsAre("disk 0 REFUSED", "disk 3 DONE", R"(C:\k\gone DONE)"));
}

// Writes to two paths of one LUN destroy its file system.
TEST_F(RepairTest, RepairBringsNoDiskOnlineAndKeepsSecondPathsReadOnly) {
  pipes_.answers["storage.ListDisks"].json = R"({"disks": [
    {"number": 1, "is_online": true, "page83": "p1"},
    {"number": 2, "offline_reason": "Policy", "page83": "P1"},
    {"number": 3, "is_online": true, "unique_id": "u3"},
    {"number": 4, "offline_reason": "Collision", "unique_id": "u3"},
    {"number": 5, "offline_reason": "Redundant Path"},
    {"number": 6, "offline_reason": "Critical Write Failures"},
    {"number": 7, "is_online": true, "eui": "e7"},
    {"number": 8, "is_online": true, "eui": "e7", "is_read_only": true}]})";
  const Repairs repairs =
      Mend({"offline-disks", "colliding-disks", "read-only-disks", "duplicate-ids"});
  EXPECT_THAT(Summary(repairs),
              ElementsAre("disk 2 REFUSED", "disk 4 REFUSED", "disk 5 REFUSED", "disk 6 REFUSED",
                          "disk 8 REFUSED", "disks 7, 8 REFUSED", "disks 1, 2 REFUSED",
                          "disks 3, 4 REFUSED"));
  for (const int path : {0, 1, 2}) {
    EXPECT_THAT(repairs.acts(path).finding().repair(), HasSubstr("Enable-MSDSMAutomaticClaim"));
  }
  EXPECT_THAT(Changes(), IsEmpty());
}

// Another directory may be at the path when the call comes, and a pod's links may be its data.
TEST_F(RepairTest, RepairNamesTheTargetOfEachLinkAndKeepsLinksInsideVolumes) {
  constexpr char kMount[] = R"({"path": "C:\\k\\$0", "kind": "SYMLINK", $1})";
  constexpr char kLost[] = R"("target": "C:\\k\\gone", "state": "DANGLING")";
  constexpr char kUnmapped[] = R"("target": "\\\\n\\s\\", "state": "DISCONNECTED")";
  const std::string volumes = R"(Pods\\u\\volumes\\kubernetes.io~)";
  std::vector<std::string> mounts;
  for (const auto& [path, rest] : std::vector<std::pair<std::string, const char*>>{
           {volumes + R"(csi\\v\\mount)", kLost},
           {R"(plugins\\v)", kUnmapped},
           {volumes + R"(csi\\v\\mount\\l)", kLost},
           {volumes + R"(empty-dir\\e\\l)", kLost},
           {volumes + R"(empty-dir\\e\\plugins\\l)", kUnmapped}}) {
    mounts.push_back(absl::Substitute(kMount, path, rest));
  }
  pipes_.answers["storage.ListMounts"].json =
      absl::StrCat(R"({"mounts": [)", absl::StrJoin(mounts, ","), "]}");
  const Repairs repairs = Mend({kDanglingLinks, kDisconnectedLinks});
  const std::string call = R"(v1alpha1 storage.RemoveMount path: "C:\\k\\)";
  EXPECT_THAT(Changes(), ElementsAre(call + volumes + R"(csi\\v\\mount" target: "C:\\k\\gone")",
                                     call + R"(plugins\\v" target: "\\\\n\\s\\")"));
  for (const Act& act : repairs.acts()) {
    if (act.finding().where() == R"(C:\k\plugins\v)") continue;
    EXPECT_THAT(act.finding().repair(), Not(HasSubstr("csi-proxyctl"))) << "nor a share to map";
  }
}

// Without it all pods would lose their volumes when its disk returns.
TEST_F(RepairTest, RepairKeepsTheKubeletsOwnLinksAndMounts) {
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
    {"path": "C:\\k\\Pods", "kind": "SYMLINK", "target": "D:\\pods", "state": "DANGLING"},
    {"path": "C:\\k\\plugins", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{2}\\",
     "state": "DANGLING"}]})";
  const Repairs repairs = Mend({kDanglingMounts, kDanglingLinks});
  EXPECT_THAT(Summary(repairs), ElementsAre(R"(C:\k\plugins REFUSED)", R"(C:\k\Pods REFUSED)"));
  for (const Act& act : repairs.acts()) EXPECT_EQ(act.finding().id(), "kubelets-entry");
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RepairTest, RepairSkipsAFindingThatEndedByItself) {
  while_asking_ = [this] {
    pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
      {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{2}\\"}]})";
  };
  const Repairs repairs = Mend({kDanglingMounts});
  EXPECT_THAT(Summary(repairs), ElementsAre(R"(C:\k\gone WELL_AGAIN)"));
  EXPECT_THAT(ToText(repairs), HasSubstr("works again, nothing was done"));
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(ExitCodeOf(repairs), kOk);
}

TEST_F(RepairTest, RepairSkipsADiskOrMountThatWasReplaced) {
  while_asking_ = [this] {
    // Now another disk has the number, another volume is mounted, and a link leads to the share.
    pipes_.answers["storage.ListDisks"].json = R"({"disks": [
      {"number": 3, "is_online": true, "is_read_only": true, "page83": "other"}]})";
    pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
      {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{3}\\",
       "state": "DANGLING"}]})";
    pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\t", "status": "Disconnected", "links": ["C:\\k\\new"]}]})";
  };
  const Repairs repairs = Mend({"read-only-disks", kDanglingMounts, kDisconnectedMappings});
  EXPECT_THAT(Summary(repairs),
              ElementsAre("disk 0 REFUSED", "disk 3 CHANGED", R"(C:\k\gone CHANGED)",
                          R"(\\h\s REFUSED)", R"(\\h\t CHANGED)"));
  EXPECT_THAT(ToText(repairs), HasSubstr("changed since, nothing was done"));
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(ExitCodeOf(repairs), kFindings);
}

// A driver that maps a share makes the link a moment later.
TEST_F(RepairTest, RepairWaitsForALinkBeforeItRemovesALeakedMapping) {
  EXPECT_THAT(Summary(Mend({"read-only-disks"})), ElementsAre("disk 0 REFUSED", "disk 3 DONE"));
  EXPECT_EQ(waited_, absl::ZeroDuration());
  pipes_.sent.clear();
  while_waiting_ = [this] {
    pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\u", "status": "OK", "links": ["C:\\k\\new"]}]})";
  };
  EXPECT_THAT(Summary(Mend({kLeakedMappings})), ElementsAre(R"(\\h\u WELL_AGAIN)"));
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_GT(waited_, kLinkFollows - absl::Seconds(4));
  EXPECT_LE(waited_, kLinkFollows);
}

// A driver stages the share between the last look and UnstageShare.
TEST_F(RepairTest, AMappingThatTheServiceKeepsIsReportedAsChanged) {
  for (const char* kept : {R"({"other_links": ["C:\\k\\new"]})", R"({"incomplete": true})"}) {
    pipes_.answers["storage.UnstageShare"].json = kept;
    EXPECT_THAT(Summary(Mend({kLeakedMappings})), ElementsAre(R"(\\h\u CHANGED)"));
  }
}

TEST_F(RepairTest, RepairKeepsAMappingIfTheListOfLinksIsIncomplete) {
  while_waiting_ = [this] {
    pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\u", "status": "OK"}], "incomplete": true})";
  };
  const Repairs repairs = Mend({kLeakedMappings});
  EXPECT_THAT(Summary(repairs), ElementsAre(R"(\\h\u FAILED)"));
  EXPECT_THAT(repairs.acts(0).detail(), HasSubstr("leaked mappings"));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RepairTest, AFindingMissingFromAnIncompleteSecondCheckIsNotReportedAsEnded) {
  while_asking_ = [this] {
    pipes_.answers["storage.ListMounts"].json = R"({"mounts": [], "incomplete": true})";
  };
  EXPECT_THAT(Summary(Mend({kDanglingMounts})), ElementsAre(R"(C:\k\gone FAILED)"));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RepairTest, RepairSkipsAFindingIfTheSecondCheckFails) {
  while_asking_ = [this] {
    pipes_.answers["storage.ListMounts"].status = absl::InternalError("gone mad");
  };
  const Repairs repairs = Mend({kDanglingLinks});
  ASSERT_EQ(repairs.acts_size(), 1);
  EXPECT_EQ(repairs.acts(0).result(), FAILED);
  EXPECT_THAT(repairs.acts(0).detail(), HasSubstr("gone mad"));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RepairTest, RepairContinuesAfterAFailure) {
  pipes_.answers["storage.SetDiskReadOnly"].status = absl::InternalError("error 5");
  const Repairs repairs = Mend({"read-only-disks", kDanglingMounts});
  EXPECT_THAT(Summary(repairs),
              ElementsAre("disk 0 REFUSED", "disk 3 FAILED", R"(C:\k\gone DONE)"));
  EXPECT_EQ(repairs.acts(1).detail(), "INTERNAL: error 5");
  EXPECT_EQ(ExitCodeOf(repairs), kCallFailed);
}

TEST_F(RepairTest, ARepairWithNothingToDoSucceedsIfTheCheckIsComplete) {
  EXPECT_EQ(ExitCodeOf(Mend({"old-clients"})), kOk);
  EXPECT_EQ(plan_, "");
  pipes_.answers["storage.ListSmbMappings"].status = absl::InternalError("WMI");
  EXPECT_EQ(ExitCodeOf(Mend({"old-clients"})), kCallFailed);
}

}  // namespace
}  // namespace csi_proxy::ctl::diagnose
