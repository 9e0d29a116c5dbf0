// Each call that changes a resource waits for its lock. The names of the locks must be those of
// README.md, because processes of other releases on the node use the same names.
#include <functional>
#include <string>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

class HeldLocksTest : public HandlerTest {};

// Returns a function that calls the service's method with the request.
template <typename Service, typename Request, typename Response>
std::function<absl::Status(const CallContext&)> Call(
    Service& service,
    absl::StatusOr<Response> (Service::*method)(const CallContext&, const Request&),
    std::type_identity_t<Request> request) {
  return [=, &service](const CallContext& context) {
    return (service.*method)(context, request).status();
  };
}

TEST_F(HeldLocksTest, CallsWaitForTheLockOfTheResourceThatTheyChange) {
  const std::string listed = Volume(1);
  ASSERT_TRUE(Mkdir(Below("Émpty-σ")).ok());
  ASSERT_TRUE(PlantLink(Below("Lost"), Below("none")).ok());
  // These names differ in case from the locks' names, but name the same resources.
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
    std::function<absl::Status(const CallContext&)> call;
  } rows[] = {
      {"disk/1", "PartitionDisk", Call(*disk_, &disk::Service::PartitionDisk, {.disk_number = 1})},
      {"disk/3", "SetDiskState online",
       Call(*disk_, &disk::Service::SetDiskState, {.disk_number = 3, .is_online = true})},
      {"disk/2", "SetDiskState offline",
       Call(*disk_, &disk::Service::SetDiskState, {.disk_number = 2, .is_online = false})},
      {"disk/2", "SetDiskReadOnly",
       Call(*storage_, &storage::Service::SetDiskReadOnly, {.disk_number = 2, .read_only = true})},
      {path_lock, "Rmdir", Call(*filesystem_, &filesystem::Service::Rmdir, {.path = path})},
      {R"(path/C:\VAR\LIB\KUBELET\LOST)", "RemoveMount",
       Call(*storage_, &storage::Service::RemoveMount,
            {.path = Below("lost"), .target = Below("none")})},
      {path_lock, "RmdirContents",
       Call(*filesystem_, &filesystem::Service::RmdirContents, {.path = path})},
      {path_lock, "CreateSymlink",
       Call(*filesystem_, &filesystem::Service::CreateSymlink,
            {.source_path = Below("pods"), .target_path = path})},
      {volume_lock, "MountVolume",
       Call(*volume_, &volume::Service::MountVolume, {.volume_id = id, .target_path = path})},
      {volume_lock, "FormatVolume",
       Call(*volume_, &volume::Service::FormatVolume, {.volume_id = id})},
      {volume_lock, "FormatVolume of the storage group",
       Call(*storage_, &storage::Service::FormatVolume, {.volume_id = id, .overwrite = true})},
      {volume_lock, "ResizeVolume",
       Call(*volume_, &volume::Service::ResizeVolume, {.volume_id = id})},
      {volume_lock, "WriteVolumeCache",
       Call(*volume_, &volume::Service::WriteVolumeCache, {.volume_id = id})},
      {share_lock, "NewSmbGlobalMapping",
       Call(*smb_, &smb::Service::NewSmbGlobalMapping,
            {.remote_path = share, .username = R"(EXAMPLE\storage)", .password = "correct horse"})},
      {share_lock, "RemoveSmbGlobalMapping",
       Call(*smb_, &smb::Service::RemoveSmbGlobalMapping, {.remote_path = share})},
      {share_lock, "StageShare",
       Call(*storage_, &storage::Service::StageShare,
            {.remote_path = share,
             .target_path = path,
             .username = R"(EXAMPLE\storage)",
             .password = "correct horse"})},
      {path_lock, "StageShare at a path",
       Call(*storage_, &storage::Service::StageShare,
            {.remote_path = share,
             .target_path = path,
             .username = R"(EXAMPLE\storage)",
             .password = "correct horse"})},
      {share_lock, "UnstageShare without a target",
       Call(*storage_, &storage::Service::UnstageShare, {.remote_path = share})},
      {path_lock, "UnstageShare at a path",
       Call(*storage_, &storage::Service::UnstageShare, {.target_path = path})},
      {portal_lock, "AddTargetPortal",
       Call(*iscsi_, &iscsi::Service::AddTargetPortal, {.target_portal = portal})},
      {portal_lock, "RemoveTargetPortal",
       Call(*iscsi_, &iscsi::Service::RemoveTargetPortal, {.target_portal = portal})},
      {session_lock, "ConnectTarget",
       Call(*iscsi_, &iscsi::Service::ConnectTarget, {.target_portal = portal, .iqn = iqn})},
      {target_lock, "DisconnectTarget",
       Call(*iscsi_, &iscsi::Service::DisconnectTarget, {.target_portal = portal, .iqn = iqn})},
      {portal_lock, "StageTarget",
       Call(*storage_, &storage::Service::StageTarget,
            {.portals = {"Storage.example"}, .iqn = iqn, .lun_id = "0", .target_path = path})},
      {target_lock, "UnstageTarget",
       Call(*storage_, &storage::Service::UnstageTarget,
            {.target_path = Below("absent"), .iqn = iqn})},
      {"service/MSISCSI", "StartService",
       Call(*system_, &system::Service::StartService, {.name = "MSiSCSI"})},
      {"service/ÜBUNG", "StartService by another case",
       Call(*system_, &system::Service::StartService, {.name = "übung"})},
      {"service/RPCSS", "StopService",
       Call(*system_, &system::Service::StopService, {.name = "RpcSs"})},
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
    // The error of StageTarget also names the tried portals, and the error of UnstageTarget the
    // step.
    if (absl::EndsWith(rpc, "stageTarget") || absl::EndsWith(rpc, "StageTarget")) {
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
