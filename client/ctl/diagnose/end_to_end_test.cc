// The real program finds faults of a simulated node and repairs them.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/ctl/end_to_end_testing.h"

namespace csi_proxy::integration {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int kOk = 0, kFailed = 1, kFindings = 5;
constexpr char kPlugins[] = R"(C:\var\lib\kubelet\plugins\)";

class DiagnoseTest : public CtlTest {
 protected:
  void SetUp() override {
    CtlTest::SetUp();
    // Removes the offline, read-only disk of the scenario.
    Do("sim detach-disk --disk-number=3");
    const Result well = Ctl("diagnose");
    ASSERT_EQ(well.exit_code, kOk) << well.output;
  }

  // Runs a command that must succeed.
  void Do(const std::string& arguments) {
    const Result result = Ctl(arguments);
    ASSERT_EQ(result.exit_code, 0) << arguments << "\n" << result.output;
  }

  static std::string Path(absl::string_view name) { return absl::StrCat(kPlugins, name); }

  // Mounts the only volume of a disk.
  void Mount(int disk, absl::string_view name) {
    std::string id =
        Ctl(absl::StrCat("volume list-volumes-on-disk --output=table --disk-number=", disk)).output;
    ASSERT_TRUE(absl::StartsWith(id, "volume_ids  ")) << id;
    id = absl::StrCat(" --volume-id='", absl::StripSuffix(id.substr(12), "\n"), "'");
    Do("filesystem mkdir --path='" + Path(name) + "'");
    Do("volume mount-volume --target-path='" + Path(name) + "'" + id);
  }

  void PartitionAndMount(int disk, absl::string_view name) {
    Do(absl::StrCat("disk partition-disk --disk-number=", disk));
    std::string id =
        Ctl(absl::StrCat("volume list-volumes-on-disk --output=table --disk-number=", disk)).output;
    ASSERT_TRUE(absl::StartsWith(id, "volume_ids  ")) << id;
    Do(absl::StrCat("volume format-volume --volume-id='", absl::StripSuffix(id.substr(12), "\n"),
                    "'"));
    Mount(disk, name);
  }

  // Makes a link to a directory that does not exist.
  void MakeDanglingLink(const std::string& name) {
    Do("sim make-link --path='" + Path(name) + "' --target='" + Path("gone") + "'");
  }

  void ExpectWell() {
    const Result result = Ctl("diagnose");
    EXPECT_EQ(result.exit_code, kOk) << result.output;
    EXPECT_THAT(result.output, HasSubstr("\"findings\": []"));
  }

  // Expects one finding, of this kind and at this place.
  void ExpectIll(const std::string& kind, const std::string& where) {
    const Result result = Ctl("diagnose --output=table");
    EXPECT_EQ(result.exit_code, kFindings) << result.output;
    EXPECT_THAT(result.output, HasSubstr(absl::StrCat("\n", kind, "  ", where, "  ")));
    EXPECT_THAT(result.output, HasSubstr("\n1 finding\n"));
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
};

TEST_F(DiagnoseTest, AnOfflineDiskComesOnline) {
  Do("disk set-disk-state --disk-number=2 --is-online=false");
  Mend("offline-disks", "disk 2");
  EXPECT_THAT(Ctl("disk get-disk-state --disk-number=2").output, HasSubstr("true"));
}

TEST_F(DiagnoseTest, AReadOnlyDiskBecomesWritable) {
  Do("storage set-disk-read-only --disk-number=2 --read-only");
  Mend("read-only-disks", "disk 2");
}

TEST_F(DiagnoseTest, TheSystemDiskIsNotTouched) {
  const Result refused = Ctl("storage set-disk-read-only --disk-number=0 --read-only");
  EXPECT_EQ(refused.exit_code, kFailed);
  EXPECT_THAT(refused.output, HasSubstr("FAILED_PRECONDITION"));
}

TEST_F(DiagnoseTest, ACollidingDiskIsForAPerson) {
  Do(R"(sim attach-disk --json '{"disk": {"number": 7, "size_bytes": "1073741824",
        "offline": true, "offline_reason": "OFFLINE_COLLISION"}}')");
  ExpectIll("colliding-disks", "disk 7");
  const Result result = Ctl("repair --yes --what=colliding-disks,offline-disks");
  EXPECT_EQ(result.exit_code, kFindings);
  EXPECT_THAT(result.output, AllOf(HasSubstr("\"result\": \"REFUSED\""), HasSubstr("a person")));
  EXPECT_THAT(Ctl("disk get-disk-state --disk-number=7").output, HasSubstr("false"));
}

TEST_F(DiagnoseTest, AnUnhealthyVolumeIsForAPerson) {
  Do(R"(sim attach-disk --json '{"disk": {"number": 7, "size_bytes": "10737418240", "style": "GPT",
        "partition": [{"size_bytes": "5368709120", "volume": {"file_system": "NTFS",
        "dirty": true}}]}}')");
  ExpectWell();  // no pod uses the disk
  Mount(7, "dirty");
  const Result result = Ctl("diagnose");
  EXPECT_EQ(result.exit_code, kFindings);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("\"kind\": \"unhealthy-volumes\""), HasSubstr("plugins\\\\dirty")));
  EXPECT_EQ(Ctl("repair --yes --what=unhealthy-volumes").exit_code, kFindings);
}

TEST_F(DiagnoseTest, AMountWhoseDiskWasPulledGoes) {
  PartitionAndMount(1, "pulled");
  PartitionAndMount(2, "stays");
  ExpectWell();
  Do("sim detach-disk --disk-number=1");
  Mend("dangling-mounts", Path("pulled"));
  EXPECT_THAT(Ctl("filesystem path-exists --path='" + Path("pulled") + "'").output,
              HasSubstr("false"));
  EXPECT_THAT(
      Ctl("volume get-volume-id-from-target-path --target-path='" + Path("stays") + "'").output,
      HasSubstr("Volume{"));
}

// The disk is repaired first, and the mount that this restores is left alone.
TEST_F(DiagnoseTest, AMountWhoseDiskIsOfflineComesBackWithIt) {
  PartitionAndMount(1, "offline");
  Do("disk set-disk-state --disk-number=1 --is-online=false");
  const Result mended = Ctl("repair --yes --output=table --what=dangling-mounts,offline-disks");
  EXPECT_EQ(mended.exit_code, kOk) << mended.output;
  EXPECT_THAT(mended.output, HasSubstr("well again, nothing was done"));
  ExpectWell();
  EXPECT_THAT(
      Ctl("volume get-volume-id-from-target-path --target-path='" + Path("offline") + "'").output,
      HasSubstr("Volume{"));
}

TEST_F(DiagnoseTest, ALinkToWhatIsGoneGoes) {
  Do("filesystem mkdir --path='" + Path("here") + "'");
  Do("filesystem create-symlink --source-path='" + Path("here") + "' --target-path='" +
     Path("link") + "'");
  ExpectWell();
  Do("filesystem rmdir --path='" + Path("here") + "'");
  Mend("dangling-links", Path("link"));
}

TEST_F(DiagnoseTest, AMappingThatNobodyLinksToGoes) {
  Do(R"(smb new-smb-global-mapping --remote-path='\\fileserver.example\data' )"
     R"(--username='EXAMPLE\storage' --password='correct horse' --local-path=')" +
     Path("share") + "'");
  ExpectWell();
  Do("sim set-server-reachable --server=fileserver.example --reachable=false");
  const std::string used = Ctl("diagnose --output=table").output;
  EXPECT_THAT(used, AllOf(HasSubstr("\ndisconnected-links     " + Path("share") + "  "),
                          HasSubstr("\ndisconnected-mappings  \\\\fileserver.example\\data  "),
                          HasSubstr("\n2 findings\n")));
  const Result refused = Ctl("repair --yes --what=disconnected-mappings,disconnected-links");
  EXPECT_EQ(refused.exit_code, kFindings);
  EXPECT_THAT(refused.output, Not(HasSubstr("DONE")));
  EXPECT_THAT(Ctl("storage list-smb-mappings").output, HasSubstr("fileserver.example"));
  Do("filesystem rmdir --path='" + Path("share") + "'");
  Mend("disconnected-mappings", "\\\\fileserver.example\\data");
}

// Drivers have left that many on a node (github.com/kubernetes-csi/csi-driver-smb/issues/1035).
TEST_F(DiagnoseTest, SevenHundredLeakedMappingsGoAndThoseInUseStay) {
  constexpr int kLeaked = 700, kUsed = 4;
  csi_proxy::simulated::Node node = server_->Dump();
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
  std::string text;
  ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(node, &text));
  const std::string scenario = testing::TempDir() + "leaks.textproto";
  std::ofstream(scenario) << text;
  server_.reset();
  auto server =
      ServerProcess::Start({"--metrics-bind-address=" + metrics_, "--scenario=" + scenario});
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
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

constexpr char kShare[] = R"(\\fileserver.example\data)";

class AdviceTest : public DiagnoseTest {
 protected:
  void StageShare(const std::string& path) {
    Do(absl::StrCat("storage stage-share --remote-path='", kShare, "' --target-path='", path,
                    R"(' --username='EXAMPLE\storage' --password='correct horse')"));
  }
  // Runs the command that a finding names, with the node's own user and password.
  void MapByHand() {
    std::string text = Ctl("diagnose --output=table").output;
    const size_t begin = text.find("csi-proxyctl smb new-smb-global-mapping");
    ASSERT_NE(begin, std::string::npos) << text;
    text = text.substr(begin, text.find("--password=-", begin) - begin);
    Do(absl::StrCat(absl::StrReplaceAll(absl::StripPrefix(text, "csi-proxyctl "),
                                        {{"--username=...", R"(--username='EXAMPLE\storage')"}}),
                    " --password='correct horse'"));
  }
  void Reboot() { ASSERT_TRUE(Ctl("sim reboot").exit_code == 0); }
  void ChangeMapping(const std::function<void(csi_proxy::simulated::SmbMapping&)>& change) {
    csi_proxy::simulated::Node node = server_->Dump();
    change(*node.mutable_smb_mapping(0));
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(node, &text));
    const std::string scenario = testing::TempDir() + "advice.textproto";
    std::ofstream(scenario) << absl::StrReplaceAll(text, {{"<secret>", "correct horse"}});
    server_.reset();
    auto server =
        ServerProcess::Start({"--metrics-bind-address=" + metrics_, "--scenario=" + scenario});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
};

// The tests above are about findings that `repair` ends, these about findings that need a person.
TEST_F(AdviceTest, EndsWhatAPersonIsToMend) {
  // "pull the other, or give one a new id"
  Do(R"(sim attach-disk --json '{"disk": {"number": 7, "size_bytes": "1073741824",
        "offline": true, "offline_reason": "OFFLINE_COLLISION"}}')");
  ExpectIll("colliding-disks", "disk 7");
  Do("sim detach-disk --disk-number=7");
  ExpectWell();

  // "check the file system (Repair-Volume) when no pod uses it, or replace the disk"
  Do(R"(sim attach-disk --json '{"disk": {"number": 7, "size_bytes": "10737418240", "style": "GPT",
        "partition": [{"size_bytes": "5368709120", "volume": {"file_system": "NTFS",
        "dirty": true}}]}}')");
  Mount(7, "dirty");
  EXPECT_THAT(Ctl("diagnose").output, HasSubstr("unhealthy-volumes"));
  Do("storage unstage-volume --target-path='" + Path("dirty") + "'");
  Do("sim detach-disk --disk-number=7");
  ExpectWell();
}

TEST_F(AdviceTest, EndsLinksThatCannotBeFollowed) {
  // The mapping is missing, as after a reboot. Either `repair` removes the link and the driver
  // stages the share again, or a person maps the share.
  const std::string staged = Path(R"(pv\globalmount)");
  StageShare(staged);
  Reboot();
  Mend("disconnected-links", staged);
  Do("filesystem mkdir --path='" + staged + "'");  // as the kubelet
  StageShare(staged);
  Reboot();
  ExpectIll("disconnected-links", staged);
  MapByHand();
  ExpectWell();

  // A pod's link to the staged link works again once the share is mapped.
  Do(R"(filesystem mkdir --path='C:\var\lib\kubelet\pods\p')");
  Do("filesystem create-symlink --source-path='" + staged +
     R"(' --target-path='C:\var\lib\kubelet\pods\p\mount')");
  Reboot();
  const Result both = Ctl("diagnose --output=table");
  EXPECT_THAT(both.output,
              AllOf(HasSubstr("\n2 findings\n"), HasSubstr("none: mend the link " + staged)));
  MapByHand();
  ExpectWell();
  Do(R"(filesystem rmdir --path='C:\var\lib\kubelet\pods\p\mount')");

  // "it works again when the server answers"
  Do("sim set-server-reachable --server=fileserver.example --reachable=false");
  EXPECT_THAT(Ctl("diagnose --output=table").output,
              AllOf(HasSubstr("Windows shows the share's mapping as Disconnected"),
                    HasSubstr("none: it works again when the server answers")));
  Do("sim set-server-reachable --server=fileserver.example --reachable=true");
  ExpectWell();

  // The mapping shows as OK, but the server denies access.
  ChangeMapping([](csi_proxy::simulated::SmbMapping& mapping) { mapping.set_denied(true); });
  ExpectIll("disconnected-links", staged);
  EXPECT_EQ(Ctl("repair --yes --what=disconnected-links").exit_code, kFindings);
  MapByHand();
  ExpectWell();
}

TEST_F(DiagnoseTest, ClientsOfOldVersionsAreFoundInTheMetrics) {
  Do("disk rescan --api=v1beta1");
  const Result found = Ctl("diagnose --output=table --metrics=" + metrics_);
  EXPECT_EQ(found.exit_code, kFindings);
  EXPECT_THAT(found.output, HasSubstr("\nold-clients  csi-proxyctl  disk v1beta1  1 call since"));
  EXPECT_THAT(found.output, HasSubstr("which calls v1\n"));
  const Result unknown = Ctl(absl::StrCat("diagnose --metrics=127.0.0.1:", FreePort()));
  EXPECT_EQ(unknown.exit_code, kOk);
  EXPECT_THAT(unknown.output, HasSubstr("nobody serves metrics at 127.0.0.1:"));
}

// The simulated node refuses a mount at an open directory, so the service takes a fallback.
TEST_F(DiagnoseTest, FallbacksThatTheServiceTookAreInTheMetrics) {
  const std::string diagnose = "diagnose --output=table --metrics=" + metrics_;
  EXPECT_THAT(Ctl(diagnose).output, Not(HasSubstr("mount-directory-let-go")));
  PartitionAndMount(1, "mounted");
  const Result shown = Ctl(diagnose);
  EXPECT_EQ(shown.exit_code, kOk) << shown.output;
  EXPECT_THAT(shown.output,
              HasSubstr("fallback mount-directory-let-go: taken 1 time, see doubt 8"));
}

TEST_F(DiagnoseTest, APersonIsAskedAtATerminal) {
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

TEST_F(DiagnoseTest, WhatChangesBetweenLookAndActIsNotTouched) {
  MakeDanglingLink("link");
  const Result well = CtlAtTerminal("repair --what=dangling-links", "y", [this] {
    Do("filesystem mkdir --path='" + Path("gone") + "'");
  });
  EXPECT_EQ(well.exit_code, kOk) << well.output;
  EXPECT_THAT(well.output, HasSubstr("well again, nothing was done"));
  ExpectWell();
  Do("filesystem rmdir --path='" + Path("gone") + "'");
  const Result changed = CtlAtTerminal("repair --what=dangling-links", "y", [this] {
    Do("filesystem rmdir --path='" + Path("link") + "'");
    Do("sim make-link --path='" + Path("link") + "' --target='" + Path("elsewhere") + "'");
  });
  EXPECT_EQ(changed.exit_code, kFindings) << changed.output;
  EXPECT_THAT(changed.output, HasSubstr("changed since, nothing was done"));
  ExpectIll("dangling-links", Path("link"));
}

TEST_F(DiagnoseTest, AFailureIsToldAndTheRestIsMended) {
  MakeDanglingLink("a");
  MakeDanglingLink("b");
  ASSERT_TRUE(server_
                  ->InjectFault(R"(operation: 'filesystem.Rmdir' code: 'INTERNAL' times: 1
                                   resource: 'C:\\var\\lib\\kubelet\\plugins\\a')")
                  .ok());
  const Result result = Ctl("repair --yes --what=dangling-links");
  EXPECT_EQ(result.exit_code, kFailed) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("\"FAILED\""), HasSubstr("\"DONE\"")));
  Mend("dangling-links", Path("a"));
}

}  // namespace
}  // namespace csi_proxy::integration
