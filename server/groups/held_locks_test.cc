// Each call that changes a resource waits for its lock. The names of the locks are those of
// README.md, because processes of other releases on the node use the same ones.
#include <functional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

class HeldLocksTest : public HandlerTest {};

TEST_F(HeldLocksTest, TwoCallsDoNotChangeTheSameThing) {
  using C = CallContext;
  const std::string listed = Volume(1);
  ASSERT_TRUE(Mkdir(Below("Émpty-σ")).ok());
  // These names differ in case from the locks' names, but mean the same resources.
  const std::string id = absl::AsciiStrToUpper(listed);
  const std::string path = R"(c:\Var\lib\kubelet\émpTY-Σ)";
  const std::string share = "//FileServer.example/Dätǎ/reports";
  const iscsi::TargetPortal portal{.target_address = "Storage.example"};
  const std::string iqn = "iqn.2026-01.example.storage:Öpεn";
  const std::string volume_lock = "volume/" + listed.substr(11, 36);
  const std::string path_lock = R"(path/C:\VAR\LIB\KUBELET\ÉMPTY-Σ)";
  const std::string share_lock = R"(share/\\fileserver.example\dÄtǍ)";
  const std::string portal_lock = "portal/STORAGE.EXAMPLE:3260";
  const std::string session_lock = "session/IQN.2026-01.EXAMPLE.STORAGE:ÖPΕN@STORAGE.EXAMPLE:3260";
  const std::string target_lock = "target/IQN.2026-01.EXAMPLE.STORAGE:ÖPΕN";
  const struct {
    std::string lock;
    const char* rpc;
    std::function<absl::Status(const C&)> call;
  } rows[] = {
      {"disk/1", "PartitionDisk",
       [&](const C& c) { return disk_->PartitionDisk(c, {.disk_number = 1}).status(); }},
      {"disk/3", "SetDiskState online",
       [&](const C& c) {
         return disk_->SetDiskState(c, {.disk_number = 3, .is_online = true}).status();
       }},
      {"disk/2", "SetDiskState offline",
       [&](const C& c) {
         return disk_->SetDiskState(c, {.disk_number = 2, .is_online = false}).status();
       }},
      {"disk/2", "SetDiskReadOnly",
       [&](const C& c) {
         return storage_->SetDiskReadOnly(c, {.disk_number = 2, .read_only = true}).status();
       }},
      {path_lock, "Rmdir",
       [&](const C& c) { return filesystem_->Rmdir(c, {.path = path}).status(); }},
      {path_lock, "RmdirContents",
       [&](const C& c) { return filesystem_->RmdirContents(c, {.path = path}).status(); }},
      {path_lock, "CreateSymlink",
       [&](const C& c) {
         return filesystem_->CreateSymlink(c, {.source_path = Below("pods"), .target_path = path})
             .status();
       }},
      {volume_lock, "MountVolume",
       [&](const C& c) {
         return volume_->MountVolume(c, {.volume_id = id, .target_path = path}).status();
       }},
      {volume_lock, "UnmountVolume",
       [&](const C& c) {
         return volume_->UnmountVolume(c, {.volume_id = id, .target_path = path}).status();
       }},
      {volume_lock, "FormatVolume",
       [&](const C& c) { return volume_->FormatVolume(c, {.volume_id = id}).status(); }},
      {volume_lock, "FormatVolume of the storage group",
       [&](const C& c) {
         return storage_->FormatVolume(c, {.volume_id = id, .overwrite = true}).status();
       }},
      {volume_lock, "ResizeVolume",
       [&](const C& c) { return volume_->ResizeVolume(c, {.volume_id = id}).status(); }},
      {volume_lock, "WriteVolumeCache",
       [&](const C& c) { return volume_->WriteVolumeCache(c, {.volume_id = id}).status(); }},
      {share_lock, "NewSmbGlobalMapping",
       [&](const C& c) {
         return smb_
             ->NewSmbGlobalMapping(c, {.remote_path = share,
                                       .username = R"(EXAMPLE\storage)",
                                       .password = "correct horse"})
             .status();
       }},
      {share_lock, "RemoveSmbGlobalMapping",
       [&](const C& c) {
         return smb_->RemoveSmbGlobalMapping(c, {.remote_path = share}).status();
       }},
      {share_lock, "StageShare",
       [&](const C& c) {
         return storage_
             ->StageShare(c, {.remote_path = share,
                              .target_path = path,
                              .username = R"(EXAMPLE\storage)",
                              .password = "correct horse"})
             .status();
       }},
      {path_lock, "StageShare at a path",
       [&](const C& c) {
         return storage_
             ->StageShare(c, {.remote_path = share,
                              .target_path = path,
                              .username = R"(EXAMPLE\storage)",
                              .password = "correct horse"})
             .status();
       }},
      {share_lock, "UnstageShare",
       [&](const C& c) {
         return storage_->UnstageShare(c, {.target_path = path, .remote_path = share}).status();
       }},
      {path_lock, "UnstageShare at a path",
       [&](const C& c) { return storage_->UnstageShare(c, {.target_path = path}).status(); }},
      {portal_lock, "AddTargetPortal",
       [&](const C& c) { return iscsi_->AddTargetPortal(c, {.target_portal = portal}).status(); }},
      {portal_lock, "RemoveTargetPortal",
       [&](const C& c) {
         return iscsi_->RemoveTargetPortal(c, {.target_portal = portal}).status();
       }},
      {session_lock, "ConnectTarget",
       [&](const C& c) {
         return iscsi_->ConnectTarget(c, {.target_portal = portal, .iqn = iqn}).status();
       }},
      {target_lock, "DisconnectTarget",
       [&](const C& c) {
         return iscsi_->DisconnectTarget(c, {.target_portal = portal, .iqn = iqn}).status();
       }},
      {portal_lock, "StageTarget",
       [&](const C& c) {
         return storage_
             ->StageTarget(
                 c,
                 {.portals = {"Storage.example"}, .iqn = iqn, .lun_id = "0", .target_path = path})
             .status();
       }},
      {target_lock, "UnstageTarget",
       [&](const C& c) {
         return storage_->UnstageTarget(c, {.target_path = Below("absent"), .iqn = iqn}).status();
       }},
      {"service/MSISCSI", "StartService",
       [&](const C& c) { return system_->StartService(c, {.name = "MSiSCSI"}).status(); }},
      {"service/ÜBUNG", "StartService by another case",
       [&](const C& c) { return system_->StartService(c, {.name = "übung"}).status(); }},
      {"service/RPCSS", "StopService",
       [&](const C& c) { return system_->StopService(c, {.name = "RpcSs"}).status(); }},
  };
  const auto everything = [&] {
    return machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  };
  for (const auto& [lock, rpc, call] : rows) {
    SCOPED_TRACE(rpc);
    const auto held = locks_.Acquire(context_, lock);
    ASSERT_TRUE(held.ok());
    const std::string before = everything();
    const absl::Status late = call(context_.WithTimeout(absl::Milliseconds(10)));
    const std::string waited =
        absl::StrCat("the call's deadline has passed while another call holds ", lock);
    // The error of StageTarget also names the portals that it has tried.
    if (absl::string_view(rpc) == "StageTarget") {
      EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
      EXPECT_TRUE(absl::StrContains(late.message(), waited)) << late;
    } else {
      EXPECT_EQ(late, absl::DeadlineExceededError(waited));
    }
    EXPECT_EQ(everything(), before);
  }
  EXPECT_EQ(locks_.size(), 0u);
}

}  // namespace
}  // namespace csi_proxy::groups
