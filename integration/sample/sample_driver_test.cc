// Tests the driver over its socket, as an orchestrator uses it, in each mode.
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/csi.grpc.pb.h"
#include "integration/support/child_process.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr char kStaging[] = R"(C:\var\lib\kubelet\plugins\sample\globalmount)";
// Kubelet joins paths with `/`.
constexpr char kTarget[] = R"(C:\var\lib\kubelet\pods/target)";

#define ASSERT_RPC_OK(call)                                                 \
  do {                                                                      \
    const grpc::Status status = (call);                                     \
    ASSERT_TRUE(status.ok()) << #call << ": " << status.error_code() << " " \
                             << status.error_message();                     \
  } while (false)

// A running driver with clients of its services.
class Driver {
 public:
  explicit Driver(const std::vector<std::string>& flags)
      : directory_(NewTestDirectory()), endpoint_("unix://" + directory_ + "/csi.sock") {
    std::vector<std::string> command = {SAMPLE_DRIVER_BINARY, "--endpoint=" + endpoint_};
    command.insert(command.end(), flags.begin(), flags.end());
    absl::StatusOr<std::unique_ptr<ChildProcess>> child =
        ChildProcess::Start(command, directory_ + "/log");
    if (!child.ok()) return;
    child_ = *std::move(child);
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (!absl::StrContains(Log(), " serves ") && child_->IsRunning() && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    const auto channel = grpc::CreateChannel(endpoint_, grpc::InsecureChannelCredentials());
    identity = csi::v1::Identity::NewStub(channel);
    controller = csi::v1::Controller::NewStub(channel);
    node = csi::v1::Node::NewStub(channel);
  }
  ~Driver() {
    Stop();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // Stops the driver. Closes the clients first, because the server waits for open connections.
  int Stop() {
    identity.reset();
    controller.reset();
    node.reset();
    const int code = child_ == nullptr ? -1 : child_->Stop(absl::Seconds(20));
    child_.reset();
    return code;
  }

  std::string Log() const {
    std::ifstream file(directory_ + "/log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::unique_ptr<csi::v1::Identity::Stub> identity;
  std::unique_ptr<csi::v1::Controller::Stub> controller;
  std::unique_ptr<csi::v1::Node::Stub> node;

 private:
  const std::string directory_;
  const std::string endpoint_;
  std::unique_ptr<ChildProcess> child_;
};

template <typename Stub, typename Request, typename Response>
grpc::Status Call(Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
  return (stub.*method)(&context, request, response);
}

using ControllerStub = csi::v1::Controller::Stub;
using NodeStub = csi::v1::Node::Stub;

csi::v1::VolumeCapability Mountable() {
  csi::v1::VolumeCapability capability;
  capability.mutable_mount()->set_fs_type("NTFS");
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  return capability;
}

grpc::Status Create(Driver& driver, const std::string& name, int64_t bytes, std::string* id) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(name);
  request.mutable_capacity_range()->set_required_bytes(bytes);
  *request.add_volume_capabilities() = Mountable();
  csi::v1::CreateVolumeResponse response;
  const grpc::Status status =
      Call(*driver.controller, &ControllerStub::CreateVolume, request, &response);
  *id = response.volume().volume_id();
  return status;
}

grpc::Status Delete(Driver& driver, const std::string& id) {
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(id);
  csi::v1::DeleteVolumeResponse response;
  return Call(*driver.controller, &ControllerStub::DeleteVolume, request, &response);
}

grpc::Status Stage(Driver& driver, const std::string& id) {
  csi::v1::NodeStageVolumeRequest request;
  request.set_volume_id(id);
  request.set_staging_target_path(kStaging);
  *request.mutable_volume_capability() = Mountable();
  csi::v1::NodeStageVolumeResponse response;
  return Call(*driver.node, &NodeStub::NodeStageVolume, request, &response);
}

grpc::Status Unstage(Driver& driver, const std::string& id) {
  csi::v1::NodeUnstageVolumeRequest request;
  request.set_volume_id(id);
  request.set_staging_target_path(kStaging);
  csi::v1::NodeUnstageVolumeResponse response;
  return Call(*driver.node, &NodeStub::NodeUnstageVolume, request, &response);
}

grpc::Status Publish(Driver& driver, const std::string& id) {
  csi::v1::NodePublishVolumeRequest request;
  request.set_volume_id(id);
  request.set_staging_target_path(kStaging);
  request.set_target_path(kTarget);
  *request.mutable_volume_capability() = Mountable();
  csi::v1::NodePublishVolumeResponse response;
  return Call(*driver.node, &NodeStub::NodePublishVolume, request, &response);
}

grpc::Status Unpublish(Driver& driver, const std::string& id) {
  csi::v1::NodeUnpublishVolumeRequest request;
  request.set_volume_id(id);
  request.set_target_path(kTarget);
  csi::v1::NodeUnpublishVolumeResponse response;
  return Call(*driver.node, &NodeStub::NodeUnpublishVolume, request, &response);
}

grpc::Status Measure(Driver& driver, const std::string& id, csi::v1::VolumeUsage* usage) {
  csi::v1::NodeGetVolumeStatsRequest request;
  request.set_volume_id(id);
  request.set_volume_path(kTarget);
  csi::v1::NodeGetVolumeStatsResponse response;
  const grpc::Status status = Call(*driver.node, &NodeStub::NodeGetVolumeStats, request, &response);
  if (response.usage_size() != 0) *usage = response.usage(0);
  return status;
}

// Takes a volume through its whole life. Each step runs twice, because an orchestrator that lost an
// answer calls again.
void LiveThrough(Driver& driver) {
  std::string id;
  for (int i = 0; i < 2; ++i) ASSERT_RPC_OK(Create(driver, "pvc-1", 2 * kGiB, &id));
  std::string other;
  EXPECT_EQ(Create(driver, "pvc-1", 3 * kGiB, &other).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Publish(driver, id).error_code(), grpc::StatusCode::NOT_FOUND) << "before a rescan";

  for (int i = 0; i < 2; ++i) ASSERT_RPC_OK(Stage(driver, id));
  for (int i = 0; i < 2; ++i) ASSERT_RPC_OK(Publish(driver, id));
  csi::v1::VolumeUsage usage;
  ASSERT_RPC_OK(Measure(driver, id, &usage));
  for (int i = 0; i < 2; ++i) ASSERT_RPC_OK(Unpublish(driver, id));
  EXPECT_EQ(Measure(driver, id, &usage).error_code(), grpc::StatusCode::NOT_FOUND);
  for (int i = 0; i < 2; ++i) ASSERT_RPC_OK(Unstage(driver, id));
  EXPECT_EQ(Publish(driver, id).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  // Staging a volume again must not format it.
  ASSERT_RPC_OK(Stage(driver, id));
  ASSERT_RPC_OK(Unstage(driver, id));
  for (int i = 0; i < 2; ++i) ASSERT_RPC_OK(Delete(driver, id));
  EXPECT_EQ(Stage(driver, id).error_code(), grpc::StatusCode::NOT_FOUND);
}

// A service with its node, and a driver that uses it.
class RemoteTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    driver_ = NewDriver("remote");
  }

  std::unique_ptr<Driver> NewDriver(const std::string& mode) {
    return std::make_unique<Driver>(
        std::vector<std::string>{"--mode=" + mode, "--socket-dir=" + server_->directory()});
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Driver> driver_;
};

TEST_F(RemoteTest, AVolumeGoesThroughItsWholeLife) {
  const std::string before = server_->Dump().disk(0).DebugString();
  ASSERT_NO_FATAL_FAILURE(LiveThrough(*driver_));
  EXPECT_THAT(server_->Log(), HasSubstr("FormatVolume"));
  EXPECT_THAT(server_->Dump().disk(0).DebugString(), Not(HasSubstr("LINK")));
  EXPECT_EQ(driver_->Stop(), 0);
}

TEST_F(RemoteTest, ARepeatedStageSucceedsAfterAFailure) {
  std::string id;
  ASSERT_RPC_OK(Create(*driver_, "pvc-1", kGiB, &id));
  ASSERT_TRUE(server_->FailOnce("wmi.Invoke/MSFT_Volume.Format").ok());
  const grpc::Status failed = Stage(*driver_, id);
  EXPECT_EQ(failed.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_NE(failed.error_message(), "");
  ASSERT_RPC_OK(Stage(*driver_, id));
}

TEST_F(RemoteTest, AConcurrentOperationOnAVolumeIsRefused) {
  std::string id;
  ASSERT_RPC_OK(Create(*driver_, "pvc-1", kGiB, &id));
  ASSERT_TRUE(
      server_->InjectFault("operation: 'wmi.Invoke/MSFT_Volume.Format' latency_ms: 2000 times: 1")
          .ok());
  grpc::Status first;
  std::thread stager([&] { first = Stage(*driver_, id); });
  // The node removes the fault when the first call hits it.
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (server_->Dump().fault_size() != 0 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  const grpc::Status second = Publish(*driver_, id);
  EXPECT_EQ(second.error_code(), grpc::StatusCode::ABORTED) << second.error_message();
  stager.join();
  EXPECT_TRUE(first.ok()) << first.error_message();
  ASSERT_RPC_OK(Publish(*driver_, id));
}

TEST_F(RemoteTest, TwoVolumesCannotShareATarget) {
  std::string one, two;
  ASSERT_RPC_OK(Create(*driver_, "pvc-1", kGiB, &one));
  ASSERT_RPC_OK(Create(*driver_, "pvc-2", kGiB, &two));
  ASSERT_RPC_OK(Stage(*driver_, one));
  ASSERT_RPC_OK(Publish(*driver_, one));
  EXPECT_FALSE(Stage(*driver_, two).ok());
  EXPECT_EQ(Publish(*driver_, two).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Unstage(*driver_, two).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  csi::v1::VolumeUsage usage;
  EXPECT_EQ(Measure(*driver_, two, &usage).error_code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_RPC_OK(Measure(*driver_, one, &usage));
}

TEST_F(RemoteTest, TheDriverIsNotReadyWithoutTheService) {
  csi::v1::ProbeResponse response;
  ASSERT_RPC_OK(Call(*driver_->identity, &csi::v1::Identity::Stub::Probe, csi::v1::ProbeRequest(),
                     &response));
  EXPECT_TRUE(response.ready().value());
  server_->Stop(absl::Seconds(10));
  ASSERT_RPC_OK(Call(*driver_->identity, &csi::v1::Identity::Stub::Probe, csi::v1::ProbeRequest(),
                     &response));
  EXPECT_FALSE(response.ready().value());
  EXPECT_EQ(server_->Restart(), absl::OkStatus());
  ASSERT_RPC_OK(Call(*driver_->identity, &csi::v1::Identity::Stub::Probe, csi::v1::ProbeRequest(),
                     &response));
  EXPECT_TRUE(response.ready().value());
}

TEST(AutoTest, WithoutAServiceTheDriverRunsEmbedded) {
  const std::string empty = NewTestDirectory();
  Driver driver({"--socket-dir=" + empty});
  ASSERT_NO_FATAL_FAILURE(LiveThrough(driver));
  EXPECT_THAT(driver.Log(), HasSubstr("the mode is embedded"));
  std::filesystem::remove(empty);
}

TEST(FlagsTest, AnUnknownModeIsRefused) {
  Driver driver({"--mode=sideways"});
  EXPECT_EQ(driver.Stop(), 2);
  EXPECT_THAT(driver.Log(), HasSubstr("sideways"));
}

}  // namespace
}  // namespace csi_proxy::integration
