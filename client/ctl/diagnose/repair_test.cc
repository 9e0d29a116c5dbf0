#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/diagnose/diagnose.h"
#include "client/ctl/diagnose/fake_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::diagnose {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
      const bool looks = call.find(".List") != std::string::npos ||
                         call.find(".GetVolumeHealth") != std::string::npos;
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

TEST_F(RepairTest, EachKindIsMendedByItsOwnCallAndNoOther) {
  struct Case {
    const char* kind;
    const char* call;
    const char* where;
  };
  for (const Case& c :
       {Case{kOfflineDisks, "v1 disk.SetDiskState disk_number: 2 is_online: true", "disk 2"},
        Case{kDanglingMounts, R"(v1 filesystem.Rmdir path: "C:\\k\\gone")", R"(C:\k\gone)"},
        Case{kDanglingLinks, R"(v1 filesystem.Rmdir path: "C:\\k\\link")", R"(C:\k\link)"},
        Case{kLeakedMappings, R"(v1alpha1 storage.UnstageShare remote_path: "\\\\h\\u")",
             R"(\\h\u)"}}) {
    pipes_.sent.clear();
    const Repairs repairs = Mend({c.kind});
    EXPECT_THAT(Summary(repairs), ElementsAre(absl::StrCat(c.where, " DONE")));
    EXPECT_THAT(Changes(), ElementsAre(c.call));
    EXPECT_THAT(plan_, HasSubstr(c.where));
    EXPECT_EQ(ExitCodeOf(repairs), kOk);
  }
  pipes_.sent.clear();
  EXPECT_THAT(Summary(Mend({kReadOnlyDisks})), ElementsAre("disk 0 REFUSED", "disk 3 DONE"));
  EXPECT_THAT(Changes(), ElementsAre("v1alpha1 storage.SetDiskReadOnly disk_number: 3"));
  pipes_.sent.clear();
  EXPECT_THAT(Summary(Mend({kDisconnectedMappings})),
              ElementsAre(R"(\\h\s REFUSED)", R"(\\h\t DONE)"));
  EXPECT_THAT(Changes(), ElementsAre(R"(v1alpha1 storage.UnstageShare remote_path: "\\\\h\\t")"));
}

TEST_F(RepairTest, WhatIsForAPersonToDoIsRefused) {
  for (const char* kind : {kCollidingDisks, kUnhealthyVolumes, kDisconnectedLinks}) {
    const Repairs repairs = Mend({kind});
    ASSERT_EQ(repairs.acts_size(), 1) << kind;
    EXPECT_EQ(repairs.acts(0).result(), REFUSED);
    EXPECT_EQ(ExitCodeOf(repairs), kFindings);
    EXPECT_THAT(ToText(repairs), HasSubstr("none: "));
  }
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(plan_, "") << "there was nothing to consent to";
}

TEST_F(RepairTest, WithoutConsentNothingChanges) {
  const Repairs repairs = Mend({std::begin(kKinds), std::end(kKinds)}, false);
  EXPECT_EQ(repairs.acts_size(), 11);
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(ExitCodeOf(repairs), kFindings);
  EXPECT_EQ(repairs.acts(0).result(), ONLY_SHOWN);
}

TEST_F(RepairTest, ADiskComesBeforeTheMountsItMayBringBack) {
  EXPECT_THAT(Summary(Mend({kDanglingMounts, kOfflineDisks})),
              ElementsAre("disk 2 DONE", R"(C:\k\gone DONE)"));
}

TEST_F(RepairTest, WhatIsWellAgainIsNotTouched) {
  while_asking_ = [this] {
    pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
      {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{2}\\"}]})";
  };
  const Repairs repairs = Mend({kDanglingMounts});
  EXPECT_THAT(Summary(repairs), ElementsAre(R"(C:\k\gone WELL_AGAIN)"));
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(ExitCodeOf(repairs), kOk);
}

TEST_F(RepairTest, WhatIsSomethingElseByNowIsNotTouched) {
  while_asking_ = [this] {
    // Now another disk has the number, another volume is mounted, and a link leads to the share.
    pipes_.answers["storage.ListDisks"].json = R"({"disks": [
      {"number": 2, "offline_reason": "Policy", "size_bytes": "1024", "serial_number": "other"}]})";
    pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
      {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{3}\\",
       "state": "DANGLING"}]})";
    pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\t", "status": "Disconnected", "links": ["C:\\k\\new"]}]})";
  };
  const Repairs repairs = Mend({kOfflineDisks, kDanglingMounts, kDisconnectedMappings});
  EXPECT_THAT(Summary(repairs), ElementsAre("disk 2 CHANGED", R"(C:\k\gone CHANGED)",
                                            R"(\\h\s REFUSED)", R"(\\h\t CHANGED)"));
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(ExitCodeOf(repairs), kFindings);
}

// A driver that maps a share makes the link a moment later.
TEST_F(RepairTest, AMappingLeaksOnlyIfNoLinkFollows) {
  EXPECT_THAT(Summary(Mend({kOfflineDisks})), ElementsAre("disk 2 DONE"));
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

// A stage comes between the last look and UnstageShare.
TEST_F(RepairTest, AMappingThatTheServiceKeepsIsNotDone) {
  for (const char* kept : {R"({"other_links": ["C:\\k\\new"]})", R"({"incomplete": true})"}) {
    pipes_.answers["storage.UnstageShare"].json = kept;
    EXPECT_THAT(Summary(Mend({kLeakedMappings})), ElementsAre(R"(\\h\u CHANGED)"));
  }
}

TEST_F(RepairTest, AMappingStaysWhenLinksMayBeMissing) {
  while_waiting_ = [this] {
    pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\u", "status": "OK"}], "incomplete": true})";
  };
  const Repairs repairs = Mend({kLeakedMappings});
  EXPECT_THAT(Summary(repairs), ElementsAre(R"(\\h\u FAILED)"));
  EXPECT_THAT(repairs.acts(0).detail(), HasSubstr("which mappings leak"));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RepairTest, WhatCannotBeLookedAtAgainIsNotTouched) {
  while_asking_ = [this] {
    pipes_.answers["storage.ListMounts"].status = absl::InternalError("gone mad");
  };
  const Repairs repairs = Mend({kDanglingLinks});
  ASSERT_EQ(repairs.acts_size(), 1);
  EXPECT_EQ(repairs.acts(0).result(), FAILED);
  EXPECT_THAT(repairs.acts(0).detail(), HasSubstr("gone mad"));
  EXPECT_THAT(Changes(), IsEmpty());
}

TEST_F(RepairTest, AFailureDoesNotKeepTheOthersFromTheirTurn) {
  pipes_.answers["disk.SetDiskState"].status = absl::InternalError("error 5");
  const Repairs repairs = Mend({kOfflineDisks, kDanglingMounts});
  EXPECT_THAT(Summary(repairs), ElementsAre("disk 2 FAILED", R"(C:\k\gone DONE)"));
  EXPECT_EQ(repairs.acts(0).detail(), "INTERNAL: error 5");
  EXPECT_EQ(ExitCodeOf(repairs), kCallFailed);
}

TEST_F(RepairTest, NothingToRepairIsSuccessWhenAllWasSeen) {
  EXPECT_EQ(ExitCodeOf(Mend({kOldClients})), kOk);
  EXPECT_EQ(plan_, "");
  pipes_.answers["storage.ListSmbMappings"].status = absl::InternalError("WMI");
  EXPECT_EQ(ExitCodeOf(Mend({kOldClients})), kCallFailed);
}

}  // namespace
}  // namespace csi_proxy::ctl::diagnose
