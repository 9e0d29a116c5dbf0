// Tests which services a connection to one pipe can reach.
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/text_format.h>

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

TEST(IsolationTest, APipeServesOnlyItsOwnServiceAndHealth) {
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

TEST(IsolationTest, TheServerOpensOnlyTheRequestedPipes) {
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

TEST(IsolationTest, AClientsCallToAnUnservedPipeIsUnavailable) {
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

// The contexts work as in the Go release v0.2.2, with either of its flags.
TEST(IsolationTest, EachContextOfTheFirstVersionsIsConfinedToItsDirectory) {
  const struct {
    const char *method, *request;
    const char* refused;  // The field that is outside of its context's directory, if any.
  } cases[] = {
      {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\d")", ""},
      {"Mkdir", R"(path: "C:\\pods\\p" context: POD)", ""},
      {"Mkdir", R"(path: "C:\\pods\\d")", "path"},
      {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\p" context: POD)", "path"},
      {"PathExists", R"(path: "C:\\pods\\p" context: PLUGIN)", "path"},
      {"PathExists", R"(path: "C:\\pods\\p" context: POD)", ""},
      {"LinkPath", R"(source_path: "C:\\pods\\p" target_path: "C:\\pods\\l")", "source_path"},
      {"LinkPath",
       R"(source_path: "C:\\var\\lib\\kubelet\\d" target_path: "C:\\var\\lib\\kubelet\\l")",
       "target_path"},
      {"LinkPath", R"(source_path: "C:\\var\\lib\\kubelet\\d" target_path: "C:\\pods\\l")", ""},
      // A link may lead to the other directory.
      {"Mkdir", R"(path: "C:\\pods\\l\\x" context: POD)", ""},
      {"Rmdir", R"(path: "C:\\pods\\l" context: PLUGIN)", "path"},
      {"Rmdir", R"(path: "C:\\pods\\l" context: POD)", ""},
  };
  for (const bool given : {true, false}) {
    const auto server =
        ServerProcess::Start({R"(-working-dir=C:\var\lib\kubelet)",
                              given ? R"(-kubelet-pod-path=C:\pods)" : R"(-working-dir=C:\pods)"});
    ASSERT_TRUE(server.ok()) << server.status();
    const std::shared_ptr<Connection> connection = Connect((*server)->client_options()).value();
    for (const Binding& binding : AllVersions()) {
      if (binding.service->FindMethodByName("LinkPath") == nullptr) continue;
      const CallFunction call = binding.open(connection);
      for (const auto& [method, text, refused] : cases) {
        SCOPED_TRACE(absl::StrCat(binding.name(), " ", method, " ", text, given ? " given" : ""));
        const pb::MethodDescriptor& rpc = *binding.service->FindMethodByName(method);
        const auto request = NewMessage(rpc.input_type());
        ASSERT_TRUE(pb::TextFormat::ParseFromString(text, request.get()));
        const absl::Status status = call(method, *request, NewMessage(rpc.output_type()).get(), {});
        const std::string field = given ? refused : "";
        EXPECT_EQ(absl::IsPermissionDenied(status), !field.empty()) << status;
        // Not checked without the flags, because then an earlier case may have made a link at the
        // path.
        EXPECT_TRUE(!given || (field.empty() ? status.ok()
                                             : absl::StartsWith(status.message(), field + ": ")))
            << status;
      }
    }
  }
}

TEST(IsolationTest, TheServerRefusesUnknownFlagsAndVersions) {
  for (const char* flag : {"--api-versions=disk/v2", "--bogus"}) {
    const auto server = ServerProcess::Start({flag});
    ASSERT_FALSE(server.ok()) << flag;
    EXPECT_TRUE(absl::StrContains(server.status().message(), "did not start")) << server.status();
  }
}

}  // namespace
}  // namespace csi_proxy::integration
