// The invented group, built from its folder by CMake, served and called like the real groups.
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/remote_channel.h"
#include "csi_proxy/garden/served_versions.h"
#include "csi_proxy/garden/v1/client.h"
#include "csi_proxy/garden/v1alpha1/by_name.h"
#include "csi_proxy/garden/v1alpha1/client.h"
#include "server/base/testing_posix.h"
#include "server/names/released_names.h"
#include "server/rpc/grpc_service.h"
#include "server/rpc/listener.h"
#include "server/rpc/pipe_server.h"

namespace csi_proxy::garden {
namespace {

// Numbers its plants, and refuses plants without a name.
class NumberedGarden final : public Service {
 public:
  absl::StatusOr<PlantResponse> Plant(const CallContext& context,
                                      const PlantRequest& request) override {
    if (until != nullptr) until->WaitForNotification();
    {
      const std::lock_guard lock(mutex_);
      pipe_ = context.pipe();
    }
    if (request.name.empty()) return absl::NotFoundError("name: nothing to plant");
    return PlantResponse{.plant_number = 42};
  }
  absl::StatusOr<ListPlantsResponse> ListPlants(const CallContext&,
                                                const ListPlantsRequest&) override {
    return ListPlantsResponse{.labels = {{.latin = "salvia"}}};
  }

  // Returns the pipe of the last call and forgets it; "" before the first call.
  std::string TakePipe() {
    const std::lock_guard lock(mutex_);
    return std::exchange(pipe_, "");
  }

  // If not null, Plant() waits for it.
  absl::Notification* until = nullptr;

 private:
  std::mutex mutex_;
  std::string pipe_;
};

v1alpha1::SowRequest Sage() {
  v1alpha1::SowRequest request;
  request.set_name("sage");
  request.mutable_place()->set_bed("7");
  return request;
}

class GardenServedTest : public testing::Test {
 protected:
  void SetUp() override {
    listener_ = rpc::NewListener({.socket_dir = directory_.path()}, {});
    deps_ = {.executor = &executor_, .inline_calls = &inline_calls_, .gate = &gate_};
    std::vector<std::shared_ptr<const rpc::PipeServer>> pipes;
    for (const auto* version : ServedVersions()) {
      pipes.push_back(std::make_shared<rpc::PipeServer>(
          PipeName("garden", version->name), version->service_name,
          rpc::NewRemoteService(version->methods, version->open(&garden_, nullptr), &deps_),
          rpc::ServerLimits()));
    }
    ASSERT_TRUE(listener_->Listen(std::move(pipes)).ok());
    options_.mode = Mode::kRemote;
    options_.socket_dir = directory_.path();
  }

  void TearDown() override {
    listener_->Stop();
    listener_->CloseLive();
  }

  TemporaryDirectory directory_;
  ClientOptions options_;
  NumberedGarden garden_;
  rpc::Executor executor_{{.max_threads = 4, .max_queued = 16}};
  rpc::InlineCalls inline_calls_{1};
  rpc::CallGate gate_;
  rpc::CallDeps deps_;
  std::unique_ptr<rpc::Listener> listener_;
};

TEST_F(GardenServedTest, EachVersionHasItsOwnPipe) {
  const auto connection = Connect(options_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const v1alpha1::Client old(*connection);
  const auto sown = old.Sow(Sage());
  ASSERT_TRUE(sown.ok()) << sown.status();
  EXPECT_EQ(sown->plant_number(), 42);
  EXPECT_EQ(garden_.TakePipe(), "csi-proxy-garden-v1alpha1");
  const auto labels = old.ListPlants({});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ(labels->labels(0).names().at("latin"), "salvia") << "the override of this folder";

  const v1::Client client(*connection);
  const absl::Status refused = client.Plant({}).status();
  EXPECT_EQ(refused, absl::NotFoundError("name: nothing to plant"));
  EXPECT_EQ(garden_.TakePipe(), "csi-proxy-garden-v1");
}

// A shut gate lets running calls finish and refuses new ones.
TEST_F(GardenServedTest, AShutGateRefusesNewCalls) {
  const v1alpha1::Client client(Connect(options_).value());
  EXPECT_TRUE(client.Sow(Sage()).ok());
  gate_.Shut();
  EXPECT_TRUE(gate_.AwaitEmpty(SteadyTime::Now() + absl::Seconds(30)));
  garden_.TakePipe();
  const absl::Status refused = client.Sow(Sage()).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "the service is stopping")) << refused;
  EXPECT_EQ(garden_.TakePipe(), "") << "it ran";
  EXPECT_TRUE(gate_.AwaitEmpty(SteadyTime::Now()));
}

TEST_F(GardenServedTest, AClientIsRefusedBeyondItsShareOfTheExecutor) {
  // One call runs, one waits, and a third exceeds the client's part.
  rpc::Executor narrow({.max_threads = 2, .max_queued = 2, .client_share = 50});
  deps_.executor = &narrow;
  absl::Notification until;
  garden_.until = &until;
  const v1alpha1::Client client(Connect(options_).value());
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] { EXPECT_TRUE(client.Sow(Sage()).ok()); });
  }
  while (narrow.queued() == 0) absl::SleepFor(absl::Milliseconds(1));
  const absl::Status refused = client.Sow(Sage()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  until.Notify();
  for (std::thread& caller : callers) caller.join();
  deps_.executor = &executor_;
}

TEST_F(GardenServedTest, TheErrorForMalformedBytesNamesTheRequestType) {
  auto channel = client::RemoteChannel::Open(options_, "garden", "v1alpha1");
  ASSERT_TRUE(channel.ok()) << channel.status();
  google::protobuf::BytesValue not_text;  // in the field of SowRequest's name
  not_text.set_value("\xff");
  v1alpha1::SowResponse response;
  EXPECT_EQ((*channel)->Call("/v1alpha1.Garden/Sow", CallContext(), not_text, &response),
            absl::InvalidArgumentError("the request is not a v1alpha1.SowRequest"));
}

TEST_F(GardenServedTest, ClientsCanCallTheGroupInTheirOwnProcess) {
  for (const auto* version : ServedVersions()) {
    if (version->name != std::string("v1alpha1")) continue;
    const v1alpha1::Client client(
        std::static_pointer_cast<v1alpha1::Api>(version->open(&garden_, &deps_)));
    v1alpha1::SowResponse response;
    const absl::Status status = v1alpha1::CallByName(client, "Sow", Sage(), &response);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(response.plant_number(), 42);
    EXPECT_EQ(garden_.TakePipe(), "csi-proxy-garden-v1alpha1");
  }
}

}  // namespace
}  // namespace csi_proxy::garden
