// Each text in the first columns of ../troubleshooting.md must be part of an error of a simulated
// node.
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_join.h"
#include "server/calls/executor.h"
#include "server/groups/storage/stage_testing.h"
#include "server/machine/access.h"

namespace csi_proxy::storage {
namespace {

using machine::ServiceStartType;
using machine::simulator::PartitionType;

constexpr char kOpen[] = "iqn.2026-01.example.storage:open";

class Night : public StageTest {
 public:
  // Adds a second portal of the target `kOpen`, and the service smphost.
  Night()
      : StageTest(absl::StrCat(machine::simulator::DefaultScenarioText(),
                               "iscsi_portal { address: '10.0.0.6' target { iqn: '", kOpen,
                               "' } } service { name: 'smphost' start_type: MANUAL }")) {}
  void TestBody() override {}

  std::map<std::string, std::function<absl::Status()>> Errors() {
    const CallContext brief = context_.WithTimeout(absl::Milliseconds(50));
    const auto warned = [](const absl::StatusOr<UnstageVolumeResponse>& answer) {
      return answer.ok() ? absl::UnknownError(absl::StrJoin(answer->warnings, "\n"))
                         : answer.status();
    };
    // Holds the file open, like a virus scanner.
    const auto hold = [this](const std::string& path) {
      Change([&](groups::NodeState& state) {
        state.other_opens = {{path, machine::right::kReadData,
                              machine::share::kRead | machine::share::kWrite, 4242, "scanner.exe"}};
      });
    };
    const auto map = [this](const char* remote, const char* username, const char* password) {
      return smb_
          ->NewSmbGlobalMapping(context_,
                                {.remote_path = remote, .username = username, .password = password})
          .status();
    };
    const auto stage_target = [this](const char* iqn, StageTargetRequest request) {
      request.iqn = iqn;
      request.lun_id = "0";
      request.target_path = Target();
      return storage_->StageTarget(context_, request).status();
    };
    const auto list = [this](const CallContext& context) {
      return disk_->ListDiskIDs(context, {}).status();
    };
    return {
        {"an ext2, ext3 or ext4 file system of Linux, and is not formatted",
         [=, this] {
           ChangeDisk(1, [](Disk& disk) { disk.foreign = {{0x438, "\x53\xEF"}}; });
           return StageDisk(1).status();
         }},
        {"has lost its file system (",
         [=, this] {
           EXPECT_TRUE(StageDisk(1).ok());
           ChangeDisk(1, [](Disk& d) { d.partitions.back().volume->file_system.clear(); });
           return StageDisk(1).status();
         }},
        {"as MPIO does not claim it",
         [=, this] {
           return stage_target(kOpen, {.portals = {"10.0.0.5", "10.0.0.6"}, .multipath = true});
         }},
        {"if it is unused, remove its letter",
         [=, this] {
           (void)Volume(1);
           ChangeDisk(1, [](Disk& disk) { disk.partitions.back().volume->drive_letter = 'D'; });
           return StageDisk(1).status();
         }},
        {"is not of the basic data type: another system uses the disk",
         [=, this] {
           (void)Volume(1);
           ChangeDisk(1, [](Disk& disk) {
             disk.partitions.back().type = PartitionType::kLinux;
             disk.partitions.back().volume.reset();
           });
           return StageDisk(1).status();
         }},
        {": no disk has \"", [=, this] { return Stage({.page83 = "none"}).status(); }},
        {"stays online: ",
         [=, this] {
           EXPECT_TRUE(StageDisk(1).ok());
           Fail("wmi.Invoke/MSFT_Disk.Offline", 0, 6);
           return warned(Unstage());
         }},
        {"so no disk was looked at", [=, this] { return warned(Unstage()); }},
        {"WMI shows no disk",
         [=, this] {
           Change([](groups::NodeState& state) {
             for (auto& service : state.services) {
               if (service.name == "smphost") service.start_type = ServiceStartType::kDisabled;
             }
           });
           return list(context_);
         }},
        {"its pod may have written these files since the mount ended",
         [=, this] {
           EXPECT_TRUE(Mkdir(Target() + R"(\files)").ok());
           return Unstage().status();
         }},
        {"open in scanner.exe (pid 4242)",
         [=, this] {
           EXPECT_TRUE(Mkdir(Target()).ok());
           hold(Target());
           return Rmdir(Target());
         }},
        {"the detach is safe",
         [=, this] {
           EXPECT_TRUE(StageDisk(1).ok());
           hold(Target());
           return warned(Unstage());
         }},
        {"because it does not exist (the path exists, but no volume is mounted",
         [=, this] {
           EXPECT_TRUE(Mkdir(Target()).ok());
           return volume_->GetVolumeIDFromTargetPath(context_, {Target()}).status();
         }},
        {"it is outside the working directories", [=, this] { return Mkdir(R"(C:\elsewhere)"); }},
        {R"(, outside C:\var\lib\kubelet)",
         [=, this] {
           EXPECT_TRUE(node_->MakeLink(R"(C:\var\lib\kubelet\moved)", R"(C:\k)", true).ok());
           return Mkdir(R"(C:\var\lib\kubelet\moved\new)");
         }},
        {"The user name or password is incorrect",
         [=, this] { return map(R"(\\fileserver.example\data)", R"(EXAMPLE\storage)", "wrong"); }},
        {"Other connections to the server with other credentials exist",
         [=, this] {
           Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create", 0, 1219);
           return map(R"(\\fileserver.example\data)", R"(EXAMPLE\storage)", "correct horse");
         }},
        {"reaches its TCP port 445",
         [=, this] { return map(R"(\\nowhere.example\data)", "user", "x"); }},
        {"csi-proxy requires encryption",
         [=, this] { return map(R"(\\oldnas.example\public)", "guest", "guest-password"); }},
        {"set the service MSiSCSI to start automatically",
         [=, this] {
           EXPECT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok());
           return stage_target(kOpen, {.portals = {"10.0.0.5"}});
         }},
        {"or the service MSiSCSI does not run",
         [=, this] {
           return iscsi_->DiscoverTargetPortal(context_, {{"10.0.0.7", 3260}}).status();
         }},
        {"Authentication failed",
         [=, this] {
           return stage_target("iqn.2026-01.example.storage:chap",
                               {.portals = {"10.0.0.5"},
                                .chap = ChapUse::kChapOneWay,
                                .chap_username = "node-1",
                                .chap_secret = "another-secret"});
         }},
        {"the call's deadline has passed while another call holds disk/1",
         [=, this] {
           const auto lock = groups::LockDisk(locks_, context_, 1);
           return disk_->PartitionDisk(brief, {1}).status();
         }},
        {"the call's deadline has passed",
         [=, this] {
           Delay("wmi.Query/MSFT_Disk", absl::Hours(1));
           return list(brief);
         }},
        {"Windows has not finished the flush",
         [=, this] {
           EXPECT_TRUE(StageDisk(1).ok());
           Delay("win32.Flush", absl::Seconds(1));
           return warned(
               storage_->UnstageVolume(context_.WithTimeout(absl::Seconds(1)), {Target()}));
         }},
        {"WBEM_E_PROVIDER_LOAD_FAILURE",
         [=, this] {
           Fail("wmi.Query/MSFT_Disk", 0, 0x80041013);
           return list(context_);
         }},
        {"calls of this client are waiting already",
         [] { return rpc::TooManyCallsOfClient(288, 288); }},
    };
  }
};

TEST(TroubleshootingTest, EachTextOnThePageOccursInAnErrorOfANode) {
  std::ifstream page(TROUBLESHOOTING_PAGE);
  std::set<std::string> texts;
  for (std::string line; std::getline(page, line) && line != "## Findings of diagnose";) {
    if (line.rfind("| `", 0) == 0) texts.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::set<std::string> tried;
  for (const auto& [text, unused] : std::make_unique<Night>()->Errors()) {
    tried.insert(text);
    Night night;
    const absl::Status error = night.Errors().at(text)();
    EXPECT_THAT(std::string(error.message()), testing::HasSubstr(text));
  }
  EXPECT_EQ(texts, tried);
}

}  // namespace
}  // namespace csi_proxy::storage
