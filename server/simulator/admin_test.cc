#include "server/simulator/admin.h"

#include "server/node/simulated_host.h"
#include "server/simulator/admin.pb.h"
#include "server/simulator/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

namespace proto = ::csi_proxy::simulated;

class AdminTest : public testing::Test {
 protected:
  template <typename Request, typename Response>
  absl::StatusCode Call(const char* method, const Request& request, Response* response) {
    const absl::StatusOr<std::string> answer =
        CallAdmin(*node_, method, request.SerializeAsString());
    message_ = std::string(answer.status().message());
    if (answer.ok()) response->ParseFromString(*answer);
    return answer.status().code();
  }

  CallContext context_;
  std::shared_ptr<Machine> node_ = *LoadScenario(DefaultScenarioText(), "default.textproto");
  std::unique_ptr<host::Host> host_ = NewSimulatedHost(*node_);
  std::string message_;
};

TEST_F(AdminTest, EveryMethodCanBeCalledByName) {
  const auto* service = kAdminServiceName;
  const auto* descriptor =
      proto::ResetRequest::descriptor()->file()->pool()->FindServiceByName(service);
  ASSERT_NE(descriptor, nullptr);
  for (int i = 0; i < descriptor->method_count(); ++i) {
    // Many methods refuse an empty request, but none may be unknown.
    const auto answer = CallAdmin(*node_, descriptor->method(i)->name(), "");
    EXPECT_FALSE(absl::IsUnimplemented(answer.status())) << descriptor->method(i)->name();
  }
  EXPECT_THAT(CallAdmin(*node_, "None", "").status(), HasCode(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(CallAdmin(*node_, "Reset", "\x07").status(),
              HasCode(absl::StatusCode::kInvalidArgument));
  proto::DumpStateResponse dump;
  const auto answer = CallAdmin(*node_, "DumpState", "");
  ASSERT_TRUE(answer.ok() && dump.ParseFromString(*answer)) << answer.status();
  EXPECT_EQ(dump.node().SerializeAsString(), StateToProto(node_->Snapshot()).SerializeAsString());
}

TEST_F(AdminTest, DisksCanBeAttachedGrownAndDetached) {
  proto::AttachDiskRequest attach;
  proto::AttachDiskResponse attached;
  attach.mutable_disk()->set_size_bytes(1 << 30);
  attach.set_choose_number(true);
  ASSERT_EQ(Call("AttachDisk", attach, &attached), absl::StatusCode::kOk) << message_;
  const uint32_t number = attached.disk_number();
  EXPECT_THAT(host_->disk().GetSize(context_, number), Yields(uint64_t{1} << 30));
  attach.set_choose_number(false);
  attach.mutable_disk()->set_number(number);
  EXPECT_EQ(Call("AttachDisk", attach, &attached), absl::StatusCode::kAlreadyExists);
  attach.mutable_disk()->set_number(99);
  attach.mutable_disk()->set_size_bytes(1);
  EXPECT_EQ(Call("AttachDisk", attach, &attached), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(message_.find("size_bytes"), std::string::npos) << message_;

  proto::GrowDiskRequest grow;
  proto::GrowDiskResponse grown;
  grow.set_disk_number(number);
  grow.set_size_bytes(uint64_t{2} << 30);
  EXPECT_EQ(Call("GrowDisk", grow, &grown), absl::StatusCode::kOk);
  proto::DetachDiskRequest detach;
  proto::DetachDiskResponse detached;
  detach.set_disk_number(number);
  EXPECT_EQ(Call("DetachDisk", detach, &detached), absl::StatusCode::kOk);
  EXPECT_EQ(Call("DetachDisk", detach, &detached), absl::StatusCode::kNotFound);
}

TEST_F(AdminTest, SharesAndPasswordsOfAServerCanBeChanged) {
  proto::AddShareRequest share;
  proto::AddShareResponse shared;
  share.set_server("fileserver.example");
  share.set_share("new");
  EXPECT_EQ(Call("AddShare", share, &shared), absl::StatusCode::kOk);
  EXPECT_EQ(Call("AddShare", share, &shared), absl::StatusCode::kAlreadyExists);

  const std::string remote = "\\\\fileserver.example\\new";
  proto::SetSmbPasswordRequest password;
  proto::SetSmbPasswordResponse set;
  password.set_server("fileserver.example");
  password.set_user("me");
  password.set_password("mine");
  EXPECT_EQ(Call("SetSmbPassword", password, &set), absl::StatusCode::kOk);
  ASSERT_THAT(host_->smb().CreateMapping(context_, remote, {"me", Secret("mine")}, true), IsOk());

  proto::BreakMappingRequest breaking;
  proto::BreakMappingResponse broken;
  breaking.set_share(remote);
  EXPECT_EQ(Call("BreakMapping", breaking, &broken), absl::StatusCode::kOk);
  // The share cannot be reached, although Windows shows the mapping as OK.
  const auto mapping = host_->smb().GetMapping(context_, remote);
  EXPECT_EQ(host_->smb().Reach(context_, *UncPath::Parse("path", remote))->kind,
            host::SmbAccess::Kind::kNotReached);

  proto::SetServerReachableRequest reach;
  proto::SetServerReachableResponse reached;
  reach.set_server("nowhere");
  EXPECT_EQ(Call("SetServerReachable", reach, &reached), absl::StatusCode::kNotFound);
  reach.set_server("10.0.0.5");
  EXPECT_EQ(Call("SetServerReachable", reach, &reached), absl::StatusCode::kOk);
  EXPECT_THAT(host_->iscsi().AddPortal(context_, {"10.0.0.5", 3260}),
              HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(AdminTest, CountCallsCountsCallsOfWmiAndWin32) {
  const auto counts = [&] {
    proto::CountCallsResponse response;
    EXPECT_EQ(Call("CountCalls", proto::CountCallsRequest(), &response), absl::StatusCode::kOk)
        << message_;
    return response;
  };
  const proto::CountCallsResponse before = counts();
  const auto disks = host_->disk().ListDisks(context_, host::AskDisks::kNothing);
  ASSERT_THAT(disks, IsOk());
  const proto::CountCallsResponse listed = counts();
  EXPECT_EQ(listed.wmi_calls() - before.wmi_calls(), 1);
  EXPECT_EQ(listed.wmi_objects() - before.wmi_objects(), static_cast<int64_t>(disks->size()));
  EXPECT_EQ(listed.win32_calls(), before.win32_calls());
  // A refused call counts as well.
  FaultRule refused;
  refused.operation = "win32.Control";
  refused.code = absl::StatusCode::kInternal;
  refused.error = KnownError(5);
  ASSERT_THAT(node_->InjectFault(refused), IsOk());
  EXPECT_THAT(host_->disk().GetSize(context_, 0), HasCode(kPrecondition));
  EXPECT_EQ(counts().win32_calls() - listed.win32_calls(), 1);
  node_->ClearFaults();
  for (int i = 0; i < 100; ++i) EXPECT_THAT(host_->disk().GetSize(context_, 0), IsOk());
  EXPECT_EQ(counts().win32_calls() - listed.win32_calls(), 101);
}

TEST_F(AdminTest, FaultsFilesAndBehaviourCanBeSetDumpedAndReset) {
  proto::InjectFaultRequest inject;
  proto::InjectFaultResponse injected;
  inject.mutable_fault()->set_operation("wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache");
  inject.mutable_fault()->set_code("INTERNAL");
  inject.mutable_fault()->mutable_error()->set_code(4);
  EXPECT_EQ(Call("InjectFault", inject, &injected), absl::StatusCode::kOk) << message_;
  EXPECT_THAT(host_->disk().Rescan(context_), HasCode(absl::StatusCode::kInternal));
  inject.mutable_fault()->set_operation("none");
  EXPECT_EQ(Call("InjectFault", inject, &injected), absl::StatusCode::kInvalidArgument);
  proto::ClearFaultsResponse cleared;
  EXPECT_EQ(Call("ClearFaults", proto::ClearFaultsRequest(), &cleared), absl::StatusCode::kOk);
  EXPECT_THAT(host_->disk().Rescan(context_), IsOk());

  proto::MakeDirectoryRequest directory;
  proto::MakeDirectoryResponse made;
  directory.set_path("C:\\trap");
  EXPECT_EQ(Call("MakeDirectory", directory, &made), absl::StatusCode::kOk);
  proto::WriteFileRequest file;
  proto::WriteFileResponse written;
  file.set_path("C:\\trap\\f");
  file.set_size_bytes(10);
  EXPECT_EQ(Call("WriteFile", file, &written), absl::StatusCode::kOk);
  proto::MakeLinkRequest link;
  proto::MakeLinkResponse linked;
  link.set_path("C:\\var\\lib\\kubelet\\escape");
  link.set_target("C:\\trap");
  EXPECT_EQ(Call("MakeLink", link, &linked), absl::StatusCode::kOk);
  EXPECT_THAT(host_->filesystem().Exists(context_, Kubelet("escape\\f")), HasCode(kDenied));

  proto::SetBehaviourRequest behaviour;
  proto::SetBehaviourResponse set;
  behaviour.mutable_behaviour()->set_automount_disabled(true);
  EXPECT_EQ(Call("SetBehaviour", behaviour, &set), absl::StatusCode::kOk);
  EXPECT_TRUE(node_->Snapshot().behaviour.automount_disabled);
  behaviour.mutable_behaviour()->set_volume_cache_ms(4294967295);
  EXPECT_EQ(Call("SetBehaviour", behaviour, &set), absl::StatusCode::kInvalidArgument);

  proto::SetOtherOpensRequest opens;
  proto::SetOtherOpensResponse opened;
  proto::OtherOpen* const open = opens.add_other_open();
  open->set_path("C:\\trap");
  open->add_access(proto::WRITING);
  EXPECT_EQ(Call("SetOtherOpens", opens, &opened), absl::StatusCode::kOk);
  EXPECT_EQ(node_->Snapshot().other_opens.size(), 1u);
  open->set_path("trap");
  EXPECT_EQ(Call("SetOtherOpens", opens, &opened), absl::StatusCode::kInvalidArgument);

  proto::DumpStateRequest ask;
  proto::DumpStateResponse dump;
  EXPECT_EQ(Call("DumpState", ask, &dump), absl::StatusCode::kOk);
  EXPECT_TRUE(dump.json().empty());
  ask.set_json(true);
  EXPECT_EQ(Call("DumpState", ask, &dump), absl::StatusCode::kOk);
  EXPECT_NE(dump.json().find("escape"), std::string::npos);
  EXPECT_EQ(dump.node().SerializeAsString(), StateToProto(node_->Snapshot()).SerializeAsString());

  proto::ResetResponse reset;
  EXPECT_EQ(Call("Reset", proto::ResetRequest(), &reset), absl::StatusCode::kOk);
  EXPECT_THAT(host_->filesystem().Exists(context_, Kubelet("escape")), Yields(false));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
