// `diagnose` and `repair` as people run them, against a real service.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/ctl/end_to_end_testing.h"

namespace csi_proxy::integration {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;

constexpr int kOk = 0, kFailed = 1, kFindings = 5;
constexpr char kShare[] = R"(\\fileserver.example\data)";
constexpr char kPlugins[] = R"(C:\var\lib\kubelet\plugins\)";

class DiagnoseTest : public CtlTest {
 protected:
  void SetUp() override {
    CtlTest::SetUp();
    // Removes the offline, read-only disk of the scenario.
    Do("sim detach-disk --disk-number=3");
    ExpectWell();
  }

  // Runs a command that must succeed.
  void Do(const std::string& arguments) {
    const Result result = Ctl(arguments);
    ASSERT_EQ(result.exit_code, 0) << arguments << "\n" << result.output;
  }

  static std::string Path(absl::string_view name) { return absl::StrCat(kPlugins, name); }

  // Returns the only volume of a disk.
  std::string VolumeOn(int disk) {
    const std::string id =
        Ctl(absl::StrCat("volume list-volumes-on-disk --output=table --disk-number=", disk)).output;
    EXPECT_TRUE(absl::StartsWith(id, "volume_ids  ")) << id;
    return absl::StrCat("'", absl::StripSuffix(id.substr(12), "\n"), "'");
  }

  void Mount(int disk, absl::string_view name) {
    Do("filesystem mkdir --path='" + Path(name) + "'");
    Do("volume mount-volume --target-path='" + Path(name) + "' --volume-id=" + VolumeOn(disk));
  }

  void PartitionAndMount(int disk, absl::string_view name) {
    Do(absl::StrCat("disk partition-disk --disk-number=", disk));
    Do("volume format-volume --volume-id=" + VolumeOn(disk));
    Mount(disk, name);
  }

  // Makes a link to a directory that does not exist.
  void MakeDanglingLink(const std::string& name) {
    Do("sim make-link --path='" + Path(name) + "' --target='" + Path("gone") + "'");
  }

  // Restarts the service. The node keeps its state, except for the edits of `change`.
  void Restart(const std::function<void(csi_proxy::simulated::Node&)>& change) {
    csi_proxy::simulated::Node node = server_->Dump();
    change(node);
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(node, &text));
    const std::string scenario = testing::TempDir() + "diagnose.textproto";
    std::ofstream(scenario) << absl::StrReplaceAll(text, {{"<secret>", "correct horse"}});
    server_.reset();
    auto server =
        ServerProcess::Start({"--metrics-bind-address=" + metrics_, "--scenario=" + scenario});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  Result Diagnose(const std::string& output) {
    return Ctl("diagnose --metrics=" + metrics_ + " --output=" + output);
  }

  void ExpectWell() {
    const Result result = Diagnose("json");
    EXPECT_EQ(result.exit_code, kOk) << result.output;
    EXPECT_THAT(result.output, HasSubstr("\"findings\": []"));
  }

  // Expects a finding of this kind at this place, and returns the table.
  std::string ExpectIll(const std::string& kind, const std::string& where) {
    const Result result = Diagnose("table");
    EXPECT_EQ(result.exit_code, kFindings) << result.output;
    // Reduces the spaces that align the columns to one.
    EXPECT_THAT(absl::StrJoin(absl::StrSplit(result.output, ' ', absl::SkipEmpty()), " "),
                HasSubstr(absl::StrCat("\n", kind, " ", where)));
    return result.output;
  }

  // Shows the repair without consent, which must change nothing, then repairs.
  void Mend(const std::string& kind, const std::string& where) {
    ExpectIll(kind, where);
    const Result shown = Ctl("repair --what=" + kind);
    EXPECT_EQ(shown.exit_code, kFindings) << shown.output;
    EXPECT_THAT(shown.output, HasSubstr("\"result\": \"ONLY_SHOWN\""));
    ExpectIll(kind, where);
    const Result mended = Ctl("repair --yes --what=" + kind);
    EXPECT_EQ(mended.exit_code, kOk) << mended.output;
    EXPECT_THAT(mended.output, HasSubstr("\"result\": \"DONE\""));
    ExpectWell();
  }

  // Runs the advised command that begins with `command`, with the share's user and password.
  void RunAdvised(const std::string& command) {
    const std::string text = Diagnose("table").output;
    const size_t begin = text.find("csi-proxyctl " + command);
    ASSERT_NE(begin, std::string::npos) << text;
    Do(absl::StrReplaceAll(text.substr(begin + 13, text.find_first_of(",;\n", begin) - begin - 13),
                           {{"--username=...", R"(--username='EXAMPLE\storage')"},
                            {"--password=-", "--password='correct horse'"}}));
  }

  void StageShare(const std::string& path) {
    Do(absl::StrCat("storage stage-share --remote-path='", kShare, "' --target-path='", path,
                    R"(' --username='EXAMPLE\storage' --password='correct horse')"));
  }
};

// A fault, the finding that diagnose reports for it, and the repair.
struct Case {
  std::string kind;
  std::string where;
  std::function<void()> make;
  // For a fault that `repair` does not end: a part of the advice, and the steps that follow it.
  std::string advice = "";
  std::function<void()> follow = nullptr;
};

TEST_F(DiagnoseTest, FollowingTheAdviceEndsEachFinding) {
  const std::string staged = Path(R"(pv\globalmount)");
  const std::string pod = R"(C:\var\lib\kubelet\pods\p)", link = pod + R"(\mount)";
  const auto reach = [this](const char* reachable) {
    Do(absl::StrCat("sim set-server-reachable --server=fileserver.example --reachable=",
                    reachable));
  };
  const auto map = [this] { RunAdvised("smb new-smb-global-mapping"); };
  const auto write = [this](const char* bytes) {
    Do(absl::StrCat("sim write-file --path='", Path(R"(dirty\f)"), "' --size-bytes=", bytes));
  };
  const auto attach = [this](const std::string& disk) {
    Do(R"(sim attach-disk --json '{"disk": {"size_bytes": "10737418240", )" + disk + "}}'");
  };
  const Case cases[] = {
      {"offline-disks", "disk 5",
       [&] { attach(R"("number": 5, "offline": true, "offline_reason": "OFFLINE_SNAPSHOT")"); },
       "none: check its storage", [&] { Do("sim detach-disk --disk-number=5"); }},
      {"foreign-disks", "disk 5",
       [&] { attach(R"("number": 5, "foreign": [{"offset_bytes": 1080, "data": "U+8="}])"); },
       "none: often it is a Linux volume", [&] { Do("sim detach-disk --disk-number=5"); }},
      {"filled-folders", Path(R"(d\globalmount)"),
       [&] { Do("sim write-file --size-bytes=1 --path='" + Path(R"(d\globalmount\f)") + "'"); },
       "move the files aside", [&] { Do("filesystem rmdir --force --path='" + Path("d") + "'"); }},
      {"stopped-initiator", "MSiSCSI",
       [&] {
         Do("system stop-service --name=MSiSCSI");
         ExpectWell();  // No fault while no client uses iSCSI.
         Ctl("storage stage-target --target-path='" + Path("t") +
             "' --iqn=iqn.2026-01.example.storage:open --portals=10.0.0.5 --lun-id=0");
       },
       "runs after a restart", [&] { RunAdvised("system start-service"); }},
      {"read-only-disks", "disk 2",
       [&] { Do("storage set-disk-read-only --disk-number=2 --read-only"); }},
      {"colliding-disks", "disk 7",
       [&] { attach(R"("number": 7, "offline": true, "offline_reason": "OFFLINE_COLLISION")"); },
       "none: find out which of the two disks is the copy",
       [&] { RunAdvised("disk set-disk-state"); }},
      {"duplicate-ids", "disks 8, 9",
       [&] {
         attach(R"("number": 8, "page83": "twin")");
         attach(R"("number": 9, "page83": "twin")");
       },
       "none: give each LUN an identifier of its own",
       [&] { Do("sim detach-disk --disk-number=9"); }},
      {"unhealthy-volumes", R"(\\?\Volume{)",
       [&] {
         attach(R"("number": 6, "style": "GPT", "partition": [{"size_bytes": "5368709120",
                   "volume": {"file_system": "NTFS", "dirty": true}}])");
         ExpectWell();  // No fault while no pod uses the disk.
         Mount(6, "dirty");
       },
       "none: check the file system (Repair-Volume)",
       [&] {
         Restart([](auto& node) {
           for (auto& disk : *node.mutable_disk()) {
             if (disk.number() != 6) continue;
             disk.mutable_partition(0)->mutable_volume()->set_dirty(false);
           }
         });
       }},
      {"full-volumes", Path("dirty"), [&] { write("5332000000"); }, "none: enlarge the claim",
       [&] { write("1"); }},
      {"dangling-mounts", Path("pulled"),
       [&] {
         PartitionAndMount(1, "pulled");
         PartitionAndMount(2, "stays");
         Do("sim detach-disk --disk-number=1");
       }},
      {"dangling-links", Path("link"), [&] { MakeDanglingLink("link"); }},
      {"disconnected-mappings", kShare,
       [&] {
         Do(absl::StrCat("smb new-smb-global-mapping --remote-path='", kShare,
                         R"(' --username='EXAMPLE\storage' --password='correct horse')"));
         reach("false");
       }},
      {"disconnected-mappings", kShare,
       [&] {
         reach("true");
         StageShare(staged);
         reach("false");
       },
       "none: it may work again when the server does", [&] { reach("true"); }},
      {"disconnected-links", staged, [&] { reach("false"); },
       "none: it works again when the server answers", [&] { reach("true"); }},
      {"disconnected-links", staged,
       [&] { Restart([](auto& node) { node.mutable_smb_mapping(0)->set_denied(true); }); },
       "none: check the folder and its permissions on the server; if they are right, map", map},
      {"disconnected-links", staged, [&] { Do("sim reboot"); }},
      {"disconnected-links", staged,
       [&] {
         // The kubelet makes the driver stage the share again; another reboot drops the mapping.
         Do("filesystem mkdir --path='" + staged + "'");
         StageShare(staged);
         Do("sim reboot");
       },
       "or map the share by hand", map},
      {"disconnected-links", link,
       [&] {
         Do("filesystem mkdir --path='" + pod + "'");
         Do("filesystem create-symlink --source-path='" + staged + "' --target-path='" + link +
            "'");
         Do("sim reboot");
       },
       "repair the link " + staged, map},
      {"disconnected-links", link,
       [&] {
         Do("filesystem rmdir --path='" + link + "'");
         Do("storage unstage-share --target-path='" + staged + "'");
         Do("sim make-link --path='" + link + "' --target='" + kShare + "'");
       },
       "none: map the share by hand", [&] { RunAdvised("storage remove-mount"); }},
      {"old-clients", "csi-proxyctl disk v1beta1 1 call since",
       [&] { Do("disk rescan --api=v1beta1"); },
       "one that calls v1; the count starts again when the service restarts",
       [&] {
         Do("disk rescan --api=v1");
         Restart([](auto&) {});
       }},
  };
  // Other tests cover these kinds: the next one, diagnose_test.cc and metrics_test.cc.
  std::set<std::string> kinds = {"leaked-mappings", "long-calls",    "limited-clients",
                                 "low-limits",      "links-outside", "stopped-storage-service"};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.kind + " " + c.where);
    kinds.insert(c.kind);
    c.make();
    if (HasFailure()) return;
    if (c.follow == nullptr) {
      Mend(c.kind, c.where);
      continue;
    }
    EXPECT_THAT(ExpectIll(c.kind, c.where), HasSubstr(c.advice));
    if (absl::StartsWith(c.advice, "none: ")) {
      const Result refused = Ctl("repair --yes --what=" + c.kind);
      EXPECT_THAT(refused.output, Not(HasSubstr("\"DONE\"")));
    }
    c.follow();
    ExpectWell();
  }
  const std::string all = Ctl("repair --what=none").output;
  EXPECT_THAT(all, HasSubstr("There are: "));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(
                  absl::StripSuffix(all.substr(all.find("There are: ") + 11), "\n"), ", ")),
              UnorderedElementsAreArray(kinds));
  EXPECT_THAT(
      Ctl("volume get-volume-id-from-target-path --target-path='" + Path("stays") + "'").output,
      HasSubstr("Volume{"));
}

// A driver has left about 700 mappings on a node
// (github.com/kubernetes-sigs/azurefile-csi-driver/issues/1925).
TEST_F(DiagnoseTest, RepairRemoves700LeakedMappingsAndKeepsThoseInUse) {
  constexpr int kLeaked = 700, kUsed = 4;
  Restart([](csi_proxy::simulated::Node& node) {
    csi_proxy::simulated::SmbServer& many = *node.add_smb_server();
    many.set_name("many.example");
    many.add_user()->set_name("u");
    for (int i = 0; i < kLeaked + kUsed; ++i) {
      many.add_share()->set_name(absl::StrCat("s", i));
      csi_proxy::simulated::SmbMapping& mapping = *node.add_smb_mapping();
      mapping.set_remote_path(absl::StrCat(R"(\\many.example\s)", i));
      mapping.set_username("u");
    }
    node.mutable_smb_mapping(0)->set_local_path("G:");
  });
  for (int i = 1; i < kUsed; ++i) {
    Do(absl::StrCat("sim make-link --path='", Path(absl::StrCat("link", i)),
                    R"(' --target='\\many.example\s)", i, "'"));
  }
  const std::string found = Ctl("diagnose --output=table").output;
  EXPECT_THAT(found, HasSubstr("\n700 findings\n"));
  EXPECT_THAT(found, HasSubstr("\nleaked-mappings  \\\\many.example\\s703  status OK  "));
  EXPECT_THAT(Ctl("repair --what=leaked-mappings").output, Not(HasSubstr("DONE")));
  const Result mended = Ctl("repair --yes --what=leaked-mappings");
  EXPECT_EQ(mended.exit_code, kOk) << mended.output;
  int done = 0;
  for (size_t at = 0; (at = mended.output.find("\"DONE\"", at)) != std::string::npos; ++at) ++done;
  EXPECT_EQ(done, kLeaked);
  ExpectWell();
  std::vector<std::string> left;
  const csi_proxy::simulated::Node after = server_->Dump();
  for (const auto& mapping : after.smb_mapping()) left.push_back(mapping.remote_path());
  EXPECT_THAT(left, ElementsAre(R"(\\many.example\s0)", R"(\\many.example\s1)",
                                R"(\\many.example\s2)", R"(\\many.example\s3)"));
}

// The simulated node refuses a mount at an open directory, so the service takes a fallback.
TEST_F(DiagnoseTest, DiagnoseReadsTheServicesFallbacksFromTheMetrics) {
  const std::string diagnose = "diagnose --output=table --metrics=" + metrics_;
  EXPECT_THAT(Ctl(diagnose).output, Not(HasSubstr("mount-directory-let-go")));
  PartitionAndMount(1, "mounted");
  const Result shown = Ctl(diagnose);
  EXPECT_EQ(shown.exit_code, kOk) << shown.output;
  EXPECT_THAT(shown.output,
              HasSubstr("fallback mount-directory-let-go: taken 1 time, see doubt 8"));
  const Result unknown = Ctl(absl::StrCat("diagnose --metrics=127.0.0.1:", FreePort()));
  EXPECT_EQ(unknown.exit_code, kOk);
  EXPECT_THAT(unknown.output, HasSubstr("nothing serves metrics at 127.0.0.1:"));
}

TEST_F(DiagnoseTest, RepairAtATerminalAsksForConfirmation) {
  MakeDanglingLink("link");
  const Result no = CtlAtTerminal("repair --what=dangling-links", "n");
  EXPECT_EQ(no.exit_code, kFindings) << no.output;
  EXPECT_THAT(no.output, AllOf(HasSubstr(Path("link")), HasSubstr("only shown")));
  EXPECT_EQ(CtlAtTerminal("repair --what=dangling-links", "").exit_code, kFindings);
  ExpectIll("dangling-links", Path("link"));
  const Result yes = CtlAtTerminal("repair --what=dangling-links", "y");
  EXPECT_EQ(yes.exit_code, kOk) << yes.output;
  ExpectWell();
}

}  // namespace
}  // namespace csi_proxy::integration
