#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "client/ctl/diagnose/diagnose_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/names/refusals.h"

namespace csi_proxy::ctl::diagnose {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The commands that refusals and findings advise must exist.
TEST_F(DiagnoseTest, AdviceNamesOnlyExistingCommands) {
  std::vector<std::string> advice;
  for (const Refuser refuser :
       {Refuser::kWin32, Refuser::kMapping, Refuser::kEncryptedMapping, Refuser::kSignIn,
        Refuser::kInitiator, Refuser::kHresult, Refuser::kStorage}) {
    for (const Refusal& row : AllRefusals(refuser)) advice.emplace_back(row.advice);
  }
  for (const FindingFacts& row : kFindingTable) advice.emplace_back(row.advice);
  int named = 0;
  for (const std::string& text : advice) {
    const std::vector<std::string> parts = absl::StrSplit(text, "csi-proxyctl ");
    for (size_t i = 1; i < parts.size(); ++i) {
      const std::vector<std::string> words = absl::StrSplit(parts[i], absl::ByAnyChar(" ,"));
      ASSERT_GE(words.size(), 2u) << text;
      ++named;
      if (words[0] == "repair") {
        EXPECT_THAT(kKinds, Contains(absl::StripPrefix(words[1], "--what="))) << text;
      } else {
        EXPECT_TRUE(catalog_.Find(words[0], words[1], "").ok()) << text;
      }
    }
  }
  EXPECT_GT(named, 5);
}

TEST_F(DiagnoseTest, EachFindingNamesItsRepairCallOrStatesThatThereIsNone) {
  std::set<std::string> names, kinds;
  for (const FindingFacts& row : kFindingTable) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second);
    if (*row.kind != '\0') kinds.insert(row.kind);
    EXPECT_EQ(row.repair == nullptr, absl::StartsWith(row.advice, "none: "));
    if (row.repair != nullptr) {
      EXPECT_TRUE(catalog_.Find("storage", row.repair, "").ok());
    }
  }
  EXPECT_THAT(kKinds, testing::UnorderedElementsAreArray(kinds));
}

TEST_F(DiagnoseTest, FindingsAreReportedInTheOrderOfRepair) {
  MakeIll(&pipes_);
  const Diagnosis diagnosis = Look();
  EXPECT_THAT(
      Summary(diagnosis),
      ElementsAre("offline-disks disk 5", "read-only-disks disk 0", "read-only-disks disk 3 !",
                  "colliding-disks disk 4", "foreign-disks disk 6",
                  R"(unhealthy-volumes \\?\Volume{1}\)", R"(full-volumes C:\k\alive)",
                  R"(dangling-mounts C:\k\gone !)", R"(dangling-links C:\k\link !)",
                  R"(filled-folders C:\k\plugins\globalmount)", R"(disconnected-mappings \\h\s)",
                  R"(disconnected-mappings \\h\t !)", R"(leaked-mappings \\h\u !)",
                  R"(disconnected-links C:\k\share)"));
  EXPECT_EQ(diagnosis.findings(0).what(), "1024 bytes, serial s5");
  EXPECT_EQ(diagnosis.findings(0).size_bytes(), 1024);
  EXPECT_THAT(Shown(diagnosis),
              AllOf(HasSubstr("  1 KiB, serial s5  "), Not(HasSubstr("1024 bytes"))));
  EXPECT_EQ(diagnosis.findings(0).why(), "Windows says: Snapshot");
  EXPECT_EQ(diagnosis.findings(4).why(), "it holds an ext4 file system");
  EXPECT_EQ(diagnosis.findings(5).what(), "the volume is dirty");
  EXPECT_EQ(diagnosis.findings(5).why(), R"(mounted at C:\k\alive)");
  EXPECT_EQ(diagnosis.findings(6).why(),
            "only 9 bytes of 10 KiB are left: writes fail or soon will");
  EXPECT_EQ(diagnosis.findings(7).what(), R"(volume \\?\Volume{2}\)");
  EXPECT_EQ(diagnosis.findings(8).what(), R"(symlink C:\k\none)");
  EXPECT_THAT(diagnosis.findings(10).why(), HasSubstr(R"(C:\k\share)"));
  EXPECT_TRUE(diagnosis.complete());
  EXPECT_EQ(ExitCodeOf(diagnosis), kFindings);
  for (const std::string& call : pipes_.sent) {
    EXPECT_THAT(call, testing::AnyOf(HasSubstr(".List"), HasSubstr(".Get"))) << call;
  }
}

// A driver that repeats UnstageVolume would detach a disk that repair has brought online.
TEST_F(DiagnoseTest, ADiskThatADriverLeftOfflineIsReportedAsANote) {
  pipes_.answers["storage.ListDisks"].json =
      R"({"disks": [{"number": 7, "offline_reason": "policy", "is_read_only": true}]})";
  const Diagnosis diagnosis = Look();
  EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  ASSERT_EQ(diagnosis.notes_size(), 1);
  EXPECT_EQ(diagnosis.notes(0).id(), "offline-by-policy");
  EXPECT_THAT(Shown(diagnosis), AllOf(HasSubstr("note: disk 7 "), HasSubstr("nothing found\n")));
}

TEST_F(DiagnoseTest, ADisabledStorageServiceIsAFindingIfNoDiskIsListed) {
  pipes_.answers["system.GetService"].json =
      R"({"display_name": "SMP", "status": "STOPPED", "start_type": "DISABLED"})";
  EXPECT_THAT(Summary(Look()), ElementsAre("stopped-storage-service smphost"));
  pipes_.answers["storage.ListDisks"].json = R"({"disks": [{"is_online": true}]})";
  EXPECT_THAT(Summary(Look()), IsEmpty());
}

TEST_F(DiagnoseTest, ALinkOutOfTheWorkingDirectoriesIsANote) {
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
    {"path": "C:\\k\\out", "kind": "JUNCTION", "target": "D:\\x", "state": "UNDETERMINED"}]})";
  const std::string unknown = "where 1 link leads";
  EXPECT_THAT(Look().not_known(), Contains(HasSubstr(unknown)));
  pipes_.answers["filesystem.PathExists"].status = absl::PermissionDeniedError("outside");
  const Diagnosis diagnosis = Look();
  EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  EXPECT_THAT(Shown(diagnosis), AllOf(HasSubstr("note: C:\\k\\out "), Not(HasSubstr(unknown))));
}

TEST_F(DiagnoseTest, AHealthyNodeHasNoFindings) {
  pipes_.answers["storage.ListDisks"].json = R"({"disks": [{"is_online": true}]})";
  pipes_.answers["storage.ListMounts"].json =
      R"({"mounts": [{"path": "C:\\k\\a", "kind": "SYMLINK"}]})";
  pipes_.answers["storage.ListSmbMappings"].json =
      R"({"mappings": [{"status": "OK", "links": ["C:\\k\\a"]}]})";
  const Diagnosis diagnosis = Look();
  EXPECT_THAT(Summary(diagnosis), IsEmpty());
  EXPECT_THAT(diagnosis.not_known(), ElementsAre(HasSubstr("--metrics=HOST:PORT")));
  EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  EXPECT_THAT(Shown(diagnosis),
              AllOf(HasSubstr("nothing found\n"), EndsWith("server/troubleshooting.md\n")));
}

TEST_F(DiagnoseTest, TheSystemDiskIsNeverRepaired) {
  for (const char* which : {"is_boot", "is_system"}) {
    pipes_.answers["storage.ListDisks"].json =
        absl::Substitute(R"({"disks": [{"offline_reason": "Policy", "$0": true},
                             {"number": 1, "is_online": true, "is_read_only": true, "$0": true}]})",
                         which);
    EXPECT_THAT(Summary(Look()), ElementsAre("offline-disks disk 0", "read-only-disks disk 1"));
  }
}

TEST_F(DiagnoseTest, TheReportListsChecksThatFailed) {
  MakeIll(&pipes_);
  pipes_.answers["storage.ListDisks"].status = absl::InternalError("WMI\x1b");
  pipes_.answers["storage.ListVolumeHealth"].status = absl::NotFoundError("no volume");
  const Diagnosis diagnosis = Look();
  EXPECT_EQ(diagnosis.findings_size(), 8);
  EXPECT_FALSE(diagnosis.complete());
  EXPECT_THAT(diagnosis.not_known(),
              ElementsAre(HasSubstr("old API versions"), "disks: INTERNAL: WMI\x1b",
                          "the health of volumes: NOT_FOUND: no volume"));
  EXPECT_EQ(ExitCodeOf(diagnosis), kFindings);
  EXPECT_THAT(Shown(diagnosis), HasSubstr("not known: disks: INTERNAL: WMI\\x1b\n"));
}

TEST_F(DiagnoseTest, AnIncompleteCheckWithoutFindingsIsAFailure) {
  pipes_.answers["storage.ListDisks"].status = absl::InternalError("WMI");
  EXPECT_EQ(ExitCodeOf(Look()), kCallFailed);
  pipes_.answers["storage.ListDisks"].status = absl::OkStatus();
  pipes_.answers["storage.ListMounts"].json = R"({"incomplete": true})";
  EXPECT_EQ(ExitCodeOf(Look()), kCallFailed);
  pipes_.answers["storage.ListMounts"].json = "{}";
  pipes_.answers["storage.ListVolumeHealth"].json = R"({"volumes": [
    {"volume_id": "v1", "message": "not known: WMI"}, {"volume_id": "v2"},
    {"volume_id": "v3", "message": "not known: WMI"}]})";
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [{"path": "C:\k\a", "target": "v1"}]})";
  const Diagnosis silent = Look();
  EXPECT_EQ(ExitCodeOf(silent), kCallFailed);
  EXPECT_THAT(silent.not_known(),
              ElementsAre(HasSubstr("metrics"), "the health of v1 and 1 more: not known: WMI"));
  pipes_.answers["storage.ListVolumeHealth"].json = "{}";
  pipes_.answers["storage.ListDisks"].json =
      R"({"disks": [{"is_online": true, "content": "not known: mute"}]})";
  EXPECT_EQ(ExitCodeOf(Look()), kCallFailed);
}

TEST_F(DiagnoseTest, SpaceIsNotQueriedAgainAfterATimeout) {
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
    {"path": "C:\\k\\a", "target": "v1"}, {"path": "C:\\k\\b", "target": "v2"}]})";
  pipes_.answers["storage.GetPathStats"].status = absl::DeadlineExceededError("slow");
  const Diagnosis diagnosis = Look();
  EXPECT_THAT(diagnosis.not_known(),
              Contains(R"(the free space of 2 volumes, as at C:\k\a: slow)"));
  EXPECT_EQ(ExitCodeOf(diagnosis), kCallFailed);
  int asked = 0;
  for (const std::string& call : pipes_.sent) asked += absl::StrContains(call, "GetPathStats");
  EXPECT_EQ(asked, 1);
}

// A link that leads out of the working directories need not be a fault.
TEST_F(DiagnoseTest, UncheckedLinksAreARemarkAndNotAFinding) {
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
    {"path": "C:\\k\\a", "kind": "SYMLINK", "target": "D:\\", "state": "UNDETERMINED"},
    {"path": "C:\\k\\b", "kind": "MOUNTED_VOLUME", "state": "UNDETERMINED"}]})";
  const Diagnosis diagnosis = Look();
  EXPECT_THAT(diagnosis.not_known(1), StartsWith("where 2 links lead: "));
  EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  for (const std::string& call : pipes_.sent) EXPECT_THAT(call, Not(HasSubstr("IsSymlink")));
}

TEST_F(DiagnoseTest, AServiceWithoutTheStorageGroupIsUnreachable) {
  pipes_.gone.insert("storage v1alpha1");
  const absl::Status status = Diagnose(rpcs_, nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(DiagnoseTest, AnIncompleteListOfLinksReportsNoLeakedMapping) {
  pipes_.answers["storage.ListSmbMappings"].json =
      R"({"mappings": [{"remote_path": "\\\\h\\t", "status": "Disconnected"},
          {"remote_path": "\\\\h\\u", "status": "OK"}], "incomplete": true})";
  const Diagnosis diagnosis = Look();
  EXPECT_THAT(Summary(diagnosis), ElementsAre(R"(disconnected-mappings \\h\t)"));
  EXPECT_THAT(diagnosis.not_known(1), HasSubstr("leaked mappings"));
  EXPECT_FALSE(diagnosis.complete());
}

// RemoveSmbGlobalMapping would treat the folder's path as the path of the share.
TEST_F(DiagnoseTest, TheMappingOfASubfolderHasNoAutomaticRepair) {
  pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\s\\pvc-1", "status": "OK"},
      {"remote_path": "\\\\h\\s\\pvc-2", "status": "Disconnected"}]})";
  EXPECT_THAT(Summary(Look()), ElementsAre(R"(disconnected-mappings \\h\s\pvc-2)",
                                           R"(leaked-mappings \\h\s\pvc-1)"));
}

// After a failure to map the share, neither mapping it by hand nor removing the link would help.
TEST_F(DiagnoseTest, AdviceForALinkFitsTheLastFailureOfItsShare) {
  constexpr char kStage[] = R"(C:\\k\\plugins\\v\\globalmount)";
  const std::string link = absl::Substitute(
      R"({"path": "$0", "kind": "SYMLINK", "target": "\\\\old\\s\\", "state": "DISCONNECTED"})",
      kStage);
  const auto look = [&](const std::string& more, const std::string& failure) {
    pipes_.answers["storage.ListMounts"].json = absl::StrCat(R"({"mounts": [)", link, more, "]}");
    pipes_.answers["storage.ListSmbMappings"].json =
        absl::StrCat(R"({"failures": [)", failure, "]}");
    const Diagnosis diagnosis = Look();
    return diagnosis.findings_size() == 1 ? diagnosis.findings(0) : Finding();
  };
  EXPECT_EQ(look("", "").id(), "staging-link");
  const std::string pod = absl::Substitute(
      R"(, {"path": "C:\\k\\p", "kind": "SYMLINK", "target": "$0", "state": "UNDETERMINED"})",
      kStage);
  EXPECT_EQ(look(pod, "").id(), "staging-link-in-use");
  const Finding refused = look(pod, R"({"share": "\\\\old\\s", "message": "1326"})");
  EXPECT_EQ(refused.id(), "link-of-refused-share");
  EXPECT_THAT(refused.why(), HasSubstr("1326"));
  const Finding moved =
      look("", absl::Substitute(R"({"share": "\\\\new\\s", "target_path": "$0"})", kStage));
  EXPECT_EQ(moved.id(), "link-to-old-server");
  EXPECT_THAT(moved.repair(), AllOf(HasSubstr(R"(\\new\s)"), Not(HasSubstr("csi-proxyctl"))));
}

TEST_F(DiagnoseTest, AnUnresponsiveFileServerIsQueriedOnce) {
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
    {"path": "C:\\k\\a", "kind": "SYMLINK", "target": "\\\\h\\s\\"},
    {"path": "C:\\k\\b", "kind": "SYMLINK", "target": "\\\\h\\t\\"},
    {"path": "C:\\k\\c", "kind": "SYMLINK", "target": "\\\\i\\s\\"}]})";
  pipes_.answers["filesystem.IsSymlink"].status = absl::DeadlineExceededError("");
  Look();
  int asked = 0;
  for (const std::string& call : pipes_.sent) asked += absl::StrContains(call, "IsSymlink");
  EXPECT_EQ(asked, 2);
}

// A pod chooses the names of its links, and what they lead to.
TEST_F(DiagnoseTest, AdvisedCommandsQuoteEveryNameSafely) {
  pipes_.answers["storage.ListMounts"].json = R"({"mounts": [
    {"path": "C:\\k\\it's", "target": "\\\\h\\s’; calc; '\\", "kind": "SYMLINK",
     "state": "DISCONNECTED"},
    {"path": "C:\\k\\a\u202eb", "target": "\\\\h\\t\\", "kind": "SYMLINK",
     "state": "DISCONNECTED"}]})";
  const Diagnosis diagnosis = Look();
  ASSERT_EQ(diagnosis.findings_size(), 2);
  EXPECT_THAT(diagnosis.findings(0).repair(),
              AllOf(HasSubstr(R"(--remote-path='\\h\s’’; calc; ''')"),
                    HasSubstr(R"(--path='C:\k\it''s' --target='\\h\s’’; calc; ''\')")));
  EXPECT_THAT(diagnosis.findings(1).repair(),
              AllOf(HasSubstr(R"(--remote-path='\\h\t')"), HasSubstr("not safe to paste"),
                    Not(HasSubstr("--path="))));
  EXPECT_THAT(Shown(diagnosis), HasSubstr(R"(C:\k\a\u202eb)"));
}

}  // namespace
}  // namespace csi_proxy::ctl::diagnose
