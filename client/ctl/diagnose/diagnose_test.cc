#include "client/ctl/diagnose/diagnose.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "client/ctl/pipes_testing.h"
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

// A node with one fault of each kind.
constexpr char kOneOfEachDisk[] = R"({"disks": [
  {"number": 0, "is_boot": true, "is_system": true, "is_online": true, "is_read_only": true},
  {"number": 1, "is_online": true, "size_bytes": "1024", "bus_type": "SAS", "serial_number": "s1"},
  {"number": 2, "offline_reason": "Policy", "size_bytes": "1024", "serial_number": "s2"},
  {"number": 3, "is_online": true, "is_read_only": true, "page83": "p3"},
  {"number": 4, "offline_reason": "Collision", "unique_id": "u4"},
  {"number": 5, "offline_reason": "Snapshot", "size_bytes": "1024", "serial_number": "s5"},
  {"number": 6, "is_online": true, "content": "an ext4 file system"}]})";

constexpr char kOneOfEachMount[] = R"({"mounts": [
  {"path": "C:\\k\\alive", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{1}\\"},
  {"path": "C:\\k\\alive2", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{1}\\"},
  {"path": "C:\\k\\gone", "kind": "MOUNTED_VOLUME", "target": "\\\\?\\Volume{2}\\",
   "state": "DANGLING"},
  {"path": "C:\\k\\link", "kind": "SYMLINK", "target": "C:\\k\\none", "state": "DANGLING"},
  {"path": "C:\\k\\share", "kind": "SYMLINK", "target": "\\\\h\\s\\", "state": "DISCONNECTED"},
  {"path": "C:\\k\\well", "kind": "JUNCTION", "target": "C:\\k\\alive"}],
  "filled_staging_folders": ["C:\\k\\plugins\\globalmount"]})";

constexpr char kOneOfEachMapping[] = R"({"mappings": [
  {"remote_path": "\\\\h\\s", "status": "Disconnected", "links": ["C:\\k\\share"]},
  {"remote_path": "\\\\h\\t", "status": "Disconnected"},
  {"remote_path": "\\\\h\\u", "status": "OK"},
  {"remote_path": "\\\\h\\v", "status": "OK", "links": ["C:\\k\\v"]}]})";

constexpr char kFullVolume[] = R"({"total_bytes": "10240", "available_bytes": "9"})";

constexpr char kIllVolume[] = R"({"volumes": [
  {"volume_id": "\\\\?\\Volume{1}\\", "abnormal": true, "message": "the volume is dirty"}]})";

// Counts of a service that a client floods although it may do little.
constexpr char kFlood[] =
    R"(csi_proxy_client_limited_total{client_image="a.exe",limit="calls"} 10228
grpc_server_handled_total{grpc_service="v1.Disk",grpc_method="Rescan",grpc_code="ResourceExhausted"} 10000
grpc_server_handled_total{grpc_service="v1.Disk",grpc_method="ListDiskIDs",grpc_code="ResourceExhausted"} 228
csi_proxy_flag{flag="max-workers",default="16"} 4
csi_proxy_flag{flag="max-queued",default="384"} 97
csi_proxy_flag{flag="require-privacy",default="true"} 0
csi_proxy_long_call_seconds{rpc="volume.UnmountVolume"} 75.4
)";
void MakeIll(FakePipes* pipes) {
  pipes->answers["storage.ListDisks"].json = kOneOfEachDisk;
  pipes->answers["storage.ListMounts"].json = kOneOfEachMount;
  pipes->answers["storage.ListSmbMappings"].json = kOneOfEachMapping;
  pipes->answers["storage.ListVolumeHealth"].json = kIllVolume;
  pipes->answers["storage.GetPathStats"].json = kFullVolume;
}

class DiagnoseTest : public testing::Test {
 protected:
  Diagnosis Look(const FetchMetrics& fetch = nullptr) {
    const auto diagnosis = Diagnose(rpcs_, fetch);
    EXPECT_TRUE(diagnosis.ok()) << diagnosis.status();
    return diagnosis.value_or(Diagnosis());
  }

  static std::string Shown(const Diagnosis& diagnosis) {
    return absl::StrCat(PartText(diagnosis), ToText(diagnosis));
  }

  // Returns a line `kind where` per finding, with `!` if it can be repaired.
  static std::vector<std::string> Summary(const Diagnosis& diagnosis) {
    std::vector<std::string> lines;
    for (const Finding& f : diagnosis.findings()) {
      lines.push_back(absl::StrCat(f.kind(), " ", f.where(), f.can_be_repaired() ? " !" : ""));
      EXPECT_NE(f.what(), "") << lines.back();
      EXPECT_NE(f.why(), "") << lines.back();
      EXPECT_NE(f.repair(), "") << lines.back();
      EXPECT_EQ(f.can_be_repaired(), f.repair().substr(0, 5) != "none:") << lines.back();
    }
    return lines;
  }

  const Catalog catalog_;
  FakePipes pipes_;
  Rpcs rpcs_{catalog_, pipes_};
};

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

TEST_F(DiagnoseTest, EachKindOfFindingIsReportedInTheOrderOfRepair) {
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
TEST_F(DiagnoseTest, ADiskThatADriverLeftOfflineIsANote) {
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

TEST_F(DiagnoseTest, AHungDiskIsQueriedForItsSpaceOnce) {
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

// RemoveSmbGlobalMapping would take the folder's path for that of the share.
TEST_F(DiagnoseTest, TheMappingOfASubfolderHasNoAutomaticRepair) {
  pipes_.answers["storage.ListSmbMappings"].json = R"({"mappings": [
      {"remote_path": "\\\\h\\s\\pvc-1", "status": "OK"},
      {"remote_path": "\\\\h\\s\\pvc-2", "status": "Disconnected"}]})";
  EXPECT_THAT(Summary(Look()), ElementsAre(R"(disconnected-mappings \\h\s\pvc-2)",
                                           R"(leaked-mappings \\h\s\pvc-1)"));
}

TEST_F(DiagnoseTest, ClientsOfOldVersionsAreFoundInTheMetrics) {
  const auto fetch = [] {
    return std::string(
        "process_start_time_seconds 1000\n"
        "csi_proxy_api_calls_total{client_image=\"old.exe\",group=\"disk\",version=\"v1beta1\"} 3\n"
        "csi_proxy_api_calls_total{client_image=\"none.exe\",group=\"disk\",version=\"v1beta2\"} "
        "0\n"
        "csi_proxy_api_calls_total{client_image=\"new.exe\",group=\"disk\",version=\"v1\"} 9\n"
        "csi_proxy_api_calls_total{client_image=\"next.exe\",group=\"volume\","
        "version=\"v2alpha1\"} 9\n"
        "csi_proxy_api_calls_total{client_image=\"only.exe\",group=\"system\","
        "version=\"v1alpha1\"} 9\n");
  };
  const Diagnosis diagnosis = Look(fetch);
  EXPECT_THAT(Summary(diagnosis), ElementsAre("old-clients old.exe"));
  const Finding& finding = diagnosis.findings(0);
  EXPECT_EQ(finding.what(), "disk v1beta1");
  EXPECT_EQ(finding.why(), "3 calls since the service began at 1970-01-01T00:16:40+00:00");
  EXPECT_THAT(finding.repair(), HasSubstr("one that calls v1"));
  EXPECT_THAT(diagnosis.not_known(), IsEmpty());
}

TEST_F(DiagnoseTest, UsedFallbacksAreShownButAreNotFindings) {
  const Diagnosis diagnosis = Look([] {
    return std::string(
        "csi_proxy_fallbacks_total{fallback=\"open-repeated\"} 3\n"
        "csi_proxy_fallbacks_total{fallback=\"plain-deletion\"} 0\n"
        "csi_proxy_fallbacks_total{fallback=\"from-a-later-\\nrelease\"} 1\n");
  });
  ASSERT_EQ(diagnosis.fallbacks_size(), 2);
  EXPECT_EQ(diagnosis.fallbacks(1).fallback(), "open-repeated");
  EXPECT_EQ(diagnosis.fallbacks(1).times(), 3);
  EXPECT_EQ(diagnosis.fallbacks(1).doubt(), 15);
  EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  EXPECT_EQ(Shown(diagnosis),
            "fallback from-a-later-\\x0arelease: taken 1 time\n"
            "fallback open-repeated: taken 3 times, see doubt 15 of server/host/doubts.md\n"
            "nothing found\n"
            "what is safe to do, and what never to do: server/troubleshooting.md\n");
}

TEST_F(DiagnoseTest, HungCallsFloodsAndLowLimitsAreFoundInTheMetrics) {
  const Diagnosis diagnosis = Look([] { return std::string(kFlood); });
  EXPECT_THAT(Summary(diagnosis), ElementsAre("long-calls volume.UnmountVolume",
                                              "limited-clients a.exe", "low-limits --max-workers"));
  EXPECT_THAT(diagnosis.findings(0).why(), HasSubstr("75 s"));
  EXPECT_EQ(diagnosis.findings(1).why(),
            "10228 times since the service began; refused calls: v1.Disk/Rescan 10000, "
            "v1.Disk/ListDiskIDs 228");
  EXPECT_EQ(diagnosis.flags(),
            "limits and switches: --max-workers=4 (default 16), --max-queued=97 (default 384), "
            "--require-privacy=false (default true)");
}

// While WMI hangs, each call takes its whole time.
TEST_F(DiagnoseTest, FindingsAreShownWhenTheirCheckEndsAndHungCallsFirst) {
  MakeIll(&pipes_);
  for (const char* rpc :
       {"storage.ListDisks", "storage.ListVolumeHealth", "storage.ListSmbMappings"}) {
    pipes_.answers[rpc].status = absl::DeadlineExceededError("WMI");
  }
  std::vector<std::string> parts;
  const auto diagnosis = Diagnose(
      rpcs_, [] { return std::string(kFlood); },
      [&](const Diagnosis& part) {
        parts.push_back(absl::StrCat(pipes_.sent.size(), " ", PartText(part)));
      });
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  EXPECT_THAT(parts[0], AllOf(StartsWith("0 KIND"), HasSubstr("WmiPrvSE.exe")));
  EXPECT_THAT(parts[1], AllOf(StartsWith("2 KIND"), HasSubstr("filled-folders")));
  EXPECT_THAT(parts[2], AllOf(StartsWith("3 not known: disks: DEADLINE_EXCEEDED"),
                              Not(HasSubstr("filled-folders"))));
}

TEST_F(DiagnoseTest, AStoppedInitiatorIsAFindingIfAClientUsesIscsi) {
  const auto asks = [this](const std::string& metrics) {
    return Summary(Look([&] { return metrics + "csi_proxy_start_time_seconds 1\n"; }));
  };
  const auto calls = [](const char* image) {
    return absl::Substitute(
        "csi_proxy_api_calls_total{client_image=\"$0\",group=\"iscsi\",version=\"v1alpha2\"} 1\n",
        image);
  };
  const auto is_found = ElementsAre("stopped-initiator MSiSCSI");
  pipes_.answers["system.GetService"].json = R"({"display_name": "i", "status": "STOPPED"})";
  EXPECT_THAT(asks(calls("csi-proxyctl.exe")), IsEmpty());
  EXPECT_THAT(asks(calls("driver.exe")), is_found);
  EXPECT_THAT(asks("grpc_server_handled_total{grpc_service=\"v1alpha1.Storage\","
                   "grpc_method=\"StageTarget\",grpc_code=\"OK\"} 1\n"),
              is_found);
  pipes_.answers["iscsi.ListTargetPortals"].json = R"({"target_portals": [{}]})";
  EXPECT_THAT(asks(""), is_found);
  pipes_.answers["system.GetService"].json = R"({"status": "RUNNING"})";
  EXPECT_THAT(asks(calls("driver.exe")), IsEmpty());
}

// Mapping by hand, or removing the link, would not mend these.
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

TEST_F(DiagnoseTest, UnreadableMetricsAreARemarkAndNotAFinding) {
  for (const absl::StatusOr<std::string>& answer : std::vector<absl::StatusOr<std::string>>{
           absl::UnavailableError("nobody there"), std::string("<html>")}) {
    const Diagnosis diagnosis = Look([&] { return answer; });
    EXPECT_THAT(diagnosis.not_known(), ElementsAre(HasSubstr("clients at a limit")));
    EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  }
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
TEST_F(RepairTest, RepairRemovesOnlyTheExpectedTargetAndKeepsPodsLinks) {
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

// A stage comes between the last look and UnstageShare.
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
