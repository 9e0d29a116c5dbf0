// An attacker's names and ids must not alter a WMI query, reach another object, or change the node.
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

// Returns texts that might end a literal, a path or a name, or break a parser.
std::vector<std::string> HostileTexts() {
  std::vector<std::string> texts = {
      "'",
      "''",
      "\"",
      "\\",
      "\\'",
      "\\\\",
      "x' OR '1'='1",
      "x' OR Number >= 0 --",
      "x\\' OR \\'1\\'=\\'1",
      "x' OR Name LIKE '%",
      "' UNION SELECT * FROM Win32_Process WHERE '1'='1",
      "x\" OR \"1\"=\"1",
      "SELECT * FROM MSFT_Disk",
      "ASSOCIATORS OF {Win32_Service.Name=\"RpcSs\"}",
      "x} WHERE ResultClass = MSFT_Disk",
      "Win32_Process.Handle=4",
      "%",
      "_",
      "[a-z]%",
      "NULL",
      "TRUE",
      "$(calc)",
      "`calc`",
      "; Remove-Item C:\\",
      "| calc",
      "\n",
      "\r\nx",
      "\t",
      "\x01",
      "\x7f",
      "..\\..\\x",
      "/etc/passwd",
      "\\\\.\\PhysicalDrive0",
      "\\\\?\\GLOBALROOT\\Device\\Harddisk0\\Partition1",
      "C:\\Windows",
      "*",
      "?",
      "<script>",
      "\xc3\x28",
      "\xed\xa0\x80",
      "\xf0\x9f\x92\xbe",
      "\xe2\x80\xae",
  };
  texts.emplace_back("a\0b", 3);
  texts.emplace_back("\0", 1);
  texts.emplace_back("iqn.2026-01.example.storage:open\0' OR 1=1", 41);
  texts.emplace_back(64 * 1024, 'a');
  texts.emplace_back(64 * 1024, '\'');
  texts.emplace_back(64 * 1024, '\\');
  return texts;
}

class HostileIdsTest : public HandlerTest {
 protected:
  // Calls with `text` in every field for a name or id.
  std::vector<std::pair<const char*, absl::Status>> TryAll(const std::string& text) {
    const iscsi::TargetPortal portal{.target_address = "10.0.0.5", .target_port = 3260};
    const iscsi::TargetPortal hostile{.target_address = text, .target_port = 3260};
    const std::string path = Below("pods");
    iscsi::ConnectTargetRequest connect;
    connect.target_portal = portal;
    connect.iqn = text;
    std::vector<std::pair<const char*, absl::Status>> answers = {
        {"GetDiskNumberByName disk_name",
         disk_->GetDiskNumberByName(context_, {.disk_name = text}).status()},
        {"IsVolumeFormatted", volume_->IsVolumeFormatted(context_, {.volume_id = text}).status()},
        {"FormatVolume of the storage group",
         storage_->FormatVolume(context_, {.volume_id = text, .overwrite = true}).status()},
        {"GetVolumeHealth", storage_->GetVolumeHealth(context_, {.volume_id = text}).status()},
        {"FormatVolume", volume_->FormatVolume(context_, {.volume_id = text}).status()},
        {"ResizeVolume", volume_->ResizeVolume(context_, {.volume_id = text}).status()},
        {"GetVolumeStats", volume_->GetVolumeStats(context_, {.volume_id = text}).status()},
        {"GetDiskNumberFromVolumeID",
         volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = text}).status()},
        {"WriteVolumeCache", volume_->WriteVolumeCache(context_, {.volume_id = text}).status()},
        {"MountVolume",
         volume_->MountVolume(context_, {.volume_id = text, .target_path = path}).status()},
        {"UnmountVolume",
         volume_->UnmountVolume(context_, {.volume_id = text, .target_path = path}).status()},
        {"AddTargetPortal", iscsi_->AddTargetPortal(context_, {.target_portal = hostile}).status()},
        {"RemoveTargetPortal",
         iscsi_->RemoveTargetPortal(context_, {.target_portal = hostile}).status()},
        {"DiscoverTargetPortal",
         iscsi_->DiscoverTargetPortal(context_, {.target_portal = hostile}).status()},
        {"ConnectTarget", iscsi_->ConnectTarget(context_, connect).status()},
        {"DisconnectTarget",
         iscsi_->DisconnectTarget(context_, {.target_portal = portal, .iqn = text}).status()},
        {"GetTargetDisks",
         iscsi_->GetTargetDisks(context_, {.target_portal = portal, .iqn = text}).status()},
        {"GetService", system_->GetService(context_, {.name = text}).status()},
        {"StartService", system_->StartService(context_, {.name = text}).status()},
        {"StopService", system_->StopService(context_, {.name = text, .force = true}).status()},
    };
    for (const std::string& remote :
         {absl::StrCat("\\\\fileserver.example\\", text), absl::StrCat("\\\\", text, "\\data")}) {
      answers.emplace_back(
          "NewSmbGlobalMapping",
          smb_->NewSmbGlobalMapping(context_,
                                    {.remote_path = remote, .username = "u", .password = "p"})
              .status());
      answers.emplace_back(
          "RemoveSmbGlobalMapping",
          smb_->RemoveSmbGlobalMapping(context_, {.remote_path = remote}).status());
    }
    return answers;
  }
};

TEST_F(HostileIdsTest, HostileIdsAreRefusedAndChangeNothing) {
  ASSERT_TRUE(
      iscsi_->AddTargetPortal(context_, {.target_portal = {.target_address = "10.0.0.5"}}).ok());
  const std::string before =
      machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  for (const std::string& text : HostileTexts()) {
    for (const auto& [call, status] : TryAll(text)) {
      const std::string shown =
          absl::StrCat(call, " ", absl::CHexEscape(text.substr(0, 60)), ": ", status.ToString());
      // NOT_FOUND is right for a text that could be the name of a host that does not exist,
      // PERMISSION_DENIED for one that could be this node's.
      EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsNotFound(status) ||
                  absl::IsUnavailable(status) || absl::IsPermissionDenied(status))
          << shown;
      // The error is short enough for a person or a log.
      EXPECT_LT(status.message().size(), 2048u) << shown.substr(0, 200);
    }
    EXPECT_EQ(machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString(), before)
        << absl::CHexEscape(text.substr(0, 60));
  }
}

// A user name may contain anything but control characters, and reaches the server unchanged.
TEST_F(HostileIdsTest, UserNamesWithSpecialCharactersReachTheServerUnchanged) {
  for (const char* name : {R"(a'b"c)", R"(DOMAIN\user:with:colons)", R"(back\\slash\:)", "100%"}) {
    ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", name, Secret(R"(p:a\s"s'w)")).ok());
    const smb::NewSmbGlobalMappingRequest request{.remote_path = R"(\\fileserver.example\data)",
                                                  .username = name,
                                                  .password = R"(p:a\s"s'w)"};
    const absl::Status mapped = smb_->NewSmbGlobalMapping(context_, request).status();
    EXPECT_TRUE(mapped.ok()) << name << ": " << mapped;
    EXPECT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = request.remote_path}).ok());
  }
}

}  // namespace
}  // namespace csi_proxy::groups
