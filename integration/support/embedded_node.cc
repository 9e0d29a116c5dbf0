// Nodes in the test's own process.
#include <cstdlib>
#include <utility>

#include "client/host/node_host.h"
#include "csi_proxy/node.h"
#include "integration/support/server_process.h"
#include "integration/support/test_node.h"
#include "server/host/parts.h"
#include "server/machine/simulated/admin_methods.h"
#include "server/machine/simulated/scenario.h"
#include "server/machine/simulated/win32/os_double.h"
#include "server/machine/simulated/wmi/session.h"

namespace csi_proxy::integration {
namespace {

// A real node's host, and the simulated node it acts on through doubles.
class OnDoubles final : public host::Host {
 public:
  explicit OnDoubles(std::unique_ptr<machine::simulated::Machine> node)
      : node_(std::move(node)),
        host_(host::NewHost(machine::simulated::wmi::NewSimulatedSession(node_->core()),
                            machine::simulated::NewSimulatedOs(node_->core()))) {}
  host::DiskHost& disk() override { return host_->disk(); }
  host::VolumeHost& volume() override { return host_->volume(); }
  host::FilesystemHost& filesystem() override { return host_->filesystem(); }
  host::SmbHost& smb() override { return host_->smb(); }
  host::IscsiHost& iscsi() override { return host_->iscsi(); }
  host::SystemHost& system() override { return host_->system(); }

 private:
  const std::unique_ptr<machine::simulated::Machine> node_;
  const std::unique_ptr<host::Host> host_;
};

absl::StatusOr<client::NodeParts> OpenDoubles(const LogFunction&) {
  auto node =
      machine::simulated::LoadScenario(machine::simulated::DefaultScenarioText(), "default");
  if (!node.ok()) return node.status();
  client::NodeParts parts;
  parts.administer = [node = node->get()](absl::string_view method, const std::string& request) {
    return machine::simulated::CallAdmin(*node, method, request);
  };
  parts.node = std::make_unique<OnDoubles>(*std::move(node));
  return parts;
}

class EmbeddedNode final : public TestNode {
 public:
  explicit EmbeddedNode(std::shared_ptr<Node> host) : host_(std::move(host)) {}

  ClientOptions client_options() const override {
    ClientOptions options;
    options.mode = Mode::kEmbedded;
    options.node = host_;
    return options;
  }

  absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                     google::protobuf::Message* response) override {
    const absl::StatusOr<std::string> answer =
        host_->Administer(method, request.SerializeAsString());
    if (!answer.ok()) return answer.status();
    return response->ParseFromString(*answer)
               ? absl::OkStatus()
               : absl::InternalError("the administrator's answer is of another type");
  }

 private:
  const std::shared_ptr<Node> host_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TestNode>> NewEmbeddedNode() {
  NodeOptions options;
  // Failures are what the tests are after.
  options.log = [](Severity, absl::string_view) {};
  absl::StatusOr<std::shared_ptr<Node>> host =
      NodeUnderTest() == NodeKind::kSimulated
          ? Node::Simulated(std::move(options))
          : client::NewNodeHost(std::move(options), OpenDoubles);
  if (!host.ok()) return host.status();
  return std::make_unique<EmbeddedNode>(*std::move(host));
}

absl::StatusOr<std::unique_ptr<TestNode>> NewTestNode() {
  const char* const mode = std::getenv("CSI_PROXY_TEST_MODE");
  if (mode != nullptr && std::string(mode) == "embedded") return NewEmbeddedNode();
  absl::StatusOr<std::unique_ptr<ServerProcess>> server = ServerProcess::Start();
  if (!server.ok()) return server.status();
  return *std::move(server);
}

}  // namespace csi_proxy::integration
