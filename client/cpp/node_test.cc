// Tests Node directly, on a simulated node.
#include "csi_proxy/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/testing/simulated_node.h"

namespace csi_proxy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kSystemVolume[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
constexpr char kStaging[] = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\pvc-1)";

std::string Failure(const absl::StatusOr<std::shared_ptr<Node>>& node) {
  return node.ok() ? "opened" : node.status().ToString();
}

class NodeTest : public testing::Test {
 protected:
  NodeOptions Options() {
    NodeOptions options;
    options.log = [this](Severity severity, absl::string_view line) {
      std::lock_guard lock(mutex_);
      log_.push_back(absl::StrCat(static_cast<int>(severity), " ", line));
    };
    return options;
  }

  std::mutex mutex_;
  std::vector<std::string> log_;
};

TEST_F(NodeTest, ARawDiskBecomesAMountedVolumeAndEachChangeIsLogged) {
  auto node = Node::Simulated(Options());
  ASSERT_TRUE(node.ok()) << node.status();
  const CallContext context;
  ASSERT_TRUE((*node)->disk().PartitionDisk(context, {.disk_number = 1}).ok());
  const auto volumes = (*node)->volume().ListVolumesOnDisk(context, {.disk_number = 1});
  ASSERT_TRUE(volumes.ok()) << volumes.status();
  ASSERT_EQ(volumes->volume_ids.size(), 1u);
  volume::FormatVolumeRequest format;
  format.volume_id = volumes->volume_ids[0];
  ASSERT_TRUE((*node)->volume().FormatVolume(context, format).ok());
  ASSERT_TRUE((*node)->filesystem().Mkdir(context, {.path = kStaging}).ok());
  ASSERT_TRUE((*node)
                  ->volume()
                  .MountVolume(context, {.volume_id = format.volume_id, .target_path = kStaging})
                  .ok());
  EXPECT_THAT(log_,
              ElementsAre(HasSubstr("PartitionDisk"), HasSubstr("started"), HasSubstr("done"),
                          HasSubstr("FormatVolume"), HasSubstr("Mkdir"), HasSubstr("MountVolume")));
}

// Windows cannot cancel a flush. The node is destroyed before the flush ends, and the simulated
// machine afterwards. A flush that no call waits for logs nothing.
TEST_F(NodeTest, AHungFlushDoesNotDelayTheEndOfTheNode) {
  auto opened = client::OpenSimulatedNode(Options(), "default");
  ASSERT_TRUE(opened.ok()) << opened.status();
  for (const char* operation : {"win32.Flush", "wmi.Invoke/MSFT_Disk.Offline"}) {
    machine::simulator::FaultRule slow;
    slow.operation = operation;
    slow.latency = absl::Seconds(8);
    ASSERT_TRUE(opened->machine->InjectFault(slow).ok());
  }
  const std::weak_ptr<machine::simulator::Machine> machine = opened->machine;
  opened->machine = nullptr;
  const absl::Time begin = absl::Now();
  const auto soon = [] { return CallContext().WithTimeout(absl::Milliseconds(100)); };
  const auto flushed =
      opened->node->volume().WriteVolumeCache(soon(), {.volume_id = kSystemVolume});
  EXPECT_TRUE(absl::IsDeadlineExceeded(flushed.status())) << flushed.status();
  const auto offline = opened->node->disk().SetDiskState(soon(), {.disk_number = 1});
  EXPECT_TRUE(absl::IsDeadlineExceeded(offline.status())) << offline.status();
  log_.clear();
  opened->node = nullptr;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(7));
  EXPECT_FALSE(machine.expired());
  while (!machine.expired()) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_THAT(log_, testing::IsEmpty());
}

TEST_F(NodeTest, SecretsStayOutOfTheLog) {
  auto node = Node::Simulated(Options());
  ASSERT_TRUE(node.ok()) << node.status();
  const CallContext context;
  const smb::NewSmbGlobalMappingRequest request = {.remote_path = R"(\\fileserver.example\data)",
                                                   .username = R"(EXAMPLE\storage)",
                                                   .password = "Wr0ngSecret"};
  EXPECT_FALSE((*node)->smb().NewSmbGlobalMapping(context, request).ok());
  ASSERT_THAT(log_, ElementsAre(HasSubstr("NewSmbGlobalMapping")));
  EXPECT_THAT(log_[0], Not(HasSubstr("Wr0ngSecret")));
}

TEST_F(NodeTest, ErrorsNameTheInvalidOption) {
  NodeOptions options;
  options.working_dirs = {"relative"};
  EXPECT_THAT(Failure(Node::Simulated(options)), HasSubstr("INVALID_ARGUMENT: working_dirs"));
  options.working_dirs.clear();
  EXPECT_THAT(Failure(Node::Simulated(options)), HasSubstr("working_dirs: at least one"));
  options = {};
  options.max_calls = 0;
  EXPECT_THAT(Failure(Node::Simulated(options)), HasSubstr("max_calls"));
  options = {};
  options.max_call_duration = absl::ZeroDuration();
  EXPECT_THAT(Failure(Node::Simulated(options)), HasSubstr("max_call_duration"));
  options = {};
  options.metrics_bind_address = "nowhere";
  EXPECT_THAT(Failure(Node::Simulated(options)), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Failure(Node::Simulated({}, "disk { number: ")),
              HasSubstr("INVALID_ARGUMENT: scenario:1:"));
}

TEST_F(NodeTest, CallsFollowTheNodesOptions) {
  NodeOptions options = Options();
  options.working_dirs = {R"(D:\elsewhere)"};
  options.allowed_services = {"MSiSCSI"};
  auto node = Node::Simulated(options);
  ASSERT_TRUE(node.ok()) << node.status();
  const CallContext context;
  EXPECT_TRUE(absl::IsPermissionDenied(
      (*node)->filesystem().PathExists(context, {.path = kStaging}).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(
      (*node)->system().StartService(context, {.name = "RpcSs"}).status()));
  EXPECT_TRUE((*node)->system().StartService(context, {.name = "MSiSCSI"}).ok());
}

}  // namespace
}  // namespace csi_proxy
