// Tests which services a connection to one pipe can reach.
#include <google/protobuf/empty.pb.h>

#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/remote_channel.h"
#include "gtest/gtest.h"
#include "integration/support/bindings.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

absl::Status CallOn(const ServerProcess& server, const Binding& pipe, const std::string& path) {
  const auto channel =
      client::RemoteChannel::Open(server.client_options(), pipe.group, pipe.version);
  if (!channel.ok()) return channel.status();
  google::protobuf::Empty request, response;
  return (*channel)->Call(path.c_str(), client::MakeCallContext({}, {}), request, &response);
}

TEST(IsolationTest, APipeServesItsOwnServiceHealthAndNothingElse) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  for (const Binding& pipe : AllVersions()) {
    for (const Binding& other : AllVersions()) {
      const std::string path =
          absl::StrCat("/", other.service->full_name(), "/", other.service->method(0)->name());
      if (pipe.service == other.service) continue;
      const absl::Status status = CallOn(**server, pipe, path);
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented)
          << path << " on " << pipe.name() << ": " << status;
    }
    const absl::Status health = CallOn(**server, pipe, "/grpc.health.v1.Health/Check");
    EXPECT_TRUE(health.ok()) << pipe.name() << ": " << health;
    EXPECT_EQ(CallOn(**server, pipe, "/csi_proxy.simulated.Admin/Reset").code(),
              absl::StatusCode::kUnimplemented);
  }
}

TEST(IsolationTest, OpensThePipesThatAreAskedForAlone) {
  const auto server =
      ServerProcess::Start({"-api-groups=disk,volume", "--api-versions", "v1,disk/v1beta2"});
  ASSERT_TRUE(server.ok()) << server.status();
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator((*server)->directory())) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names, (std::set<std::string>{"csi-proxy-admin.sock", "csi-proxy.lock",
                                          "csi-proxy-disk-v1.sock", "csi-proxy-disk-v1beta2.sock",
                                          "csi-proxy-volume-v1.sock"}));
}

TEST(IsolationTest, APipeThatIsNotServedIsUnavailableToItsClient) {
  const auto server = ServerProcess::Start({"--api-versions=v1"});
  ASSERT_TRUE(server.ok()) << server.status();
  ClientOptions options = (*server)->client_options();
  options.connect_timeout = absl::Milliseconds(50);
  const std::shared_ptr<Connection> connection = Connect(options).value();
  for (const Binding& binding : AllVersions()) {
    const absl::Status served = connection->Check(binding.group, binding.version);
    EXPECT_EQ(served.ok(), binding.version == "v1") << binding.name();
    if (served.ok()) continue;
    EXPECT_TRUE(absl::IsUnavailable(served)) << served;
    const pb::MethodDescriptor& method = *binding.service->method(0);
    EXPECT_EQ(binding.open(connection)(method.name(), *NewMessage(method.input_type()),
                                       NewMessage(method.output_type()).get(), {}),
              served);
  }
}

TEST(IsolationTest, RefusesFlagsThatNameNothing) {
  for (const char* flag :
       {"--api-groups=disks", "--api-versions=v9", "--api-versions=disk/v2", "--bogus",
        "--preface-timeout=soon", "--host=mac", "--working-dir=tmp"}) {
    const auto server = ServerProcess::Start({flag});
    ASSERT_FALSE(server.ok()) << flag;
    EXPECT_TRUE(absl::StrContains(server.status().message(), "did not start")) << server.status();
  }
}

}  // namespace
}  // namespace csi_proxy::integration
