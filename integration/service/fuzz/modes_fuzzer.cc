// Sends a request to a service over its socket and to a node in this process. Compares the answers,
// and every 64th time the nodes.
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "csi_proxy/testing/node.h"
#include "integration/support/bindings.h"
#include "server/service/open_node.h"
#include "server/service/options.h"
#include "server/service/server.h"
#include "server/service/versioned_services.h"
#include "server/simulator/admin.pb.h"
#include "server/simulator/scenario.h"
#include "server/simulator/simulated_host.h"

namespace csi_proxy::integration {
namespace {

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::cerr << result.status() << "\n";
  abort();
}

// One of the two nodes, with its clients.
struct Side {
  ClientOptions options;
  std::shared_ptr<Connection> connection = nullptr;
  std::map<const Binding*, CallFunction> calls;

  const CallFunction& CallOf(const Binding& binding) {
    CallFunction& call = calls[&binding];
    if (connection == nullptr) connection = Must(Connect(options));
    if (call == nullptr) call = binding.open(connection);
    return call;
  }
};

// Volumes arrive at once, so that no input has to wait.
constexpr char kScenario[] = R"(
  disk { number: 1 size_bytes: 10737418240 page83: 'a'
         location: 'PCI Slot 1 : Adapter 0 : Port 0 : Target 0 : LUN 0' }
  disk { number: 2 size_bytes: 10737418240 page83: 'b' offline: true
         location: 'PCI Slot 1 : Adapter 0 : Port 0 : Target 1 : LUN 0' }
  service { name: 'MSiSCSI' })";

class Sides {
 public:
  Sides() {
    char directory[] = "/tmp/csi-proxy-modes-XXXXXX";
    if (mkdtemp(directory) == nullptr) abort();
    Options options;
    options.host = HostKind::kSimulated;
    options.place.socket_dir = directory;
    options.working_dirs = {R"(C:\var\lib\kubelet)"};
    machine_ = Must(machine::simulator::LoadScenario(kScenario, "fuzz"));
    node_ = Must(NewNode(options, OpenSimulatedMachine(machine_)));
    server_ = Must(Server::Start(options, *node_, {}));
    remote_.options.mode = Mode::kRemote;
    remote_.options.socket_dir = directory;
    NodeOptions quiet;
    quiet.log = [](Severity, absl::string_view) {};
    embedded_node_ = Must(SimulatedNode::Create(kScenario, quiet));
    embedded_.options = embedded_node_->client_options();
  }

  void Compare(const Binding& binding, const pb::MethodDescriptor& method,
               const pb::Message& request) {
    const Answer remote = Call(remote_, binding, method, request);
    const Answer embedded = Call(embedded_, binding, method, request);
    if (remote.status != embedded.status || remote.response != embedded.response) {
      std::cerr << binding.name() << " " << method.name() << " {\n"
                << request.DebugString() << "}\nremote: " << remote.status << "\n"
                << remote.response << "embedded: " << embedded.status << "\n"
                << embedded.response;
      abort();
    }
    if (++calls_ % 64 == 0) CompareNodes();
  }

 private:
  struct Answer {
    absl::Status status;
    std::string response;
  };

  static Answer Call(Side& side, const Binding& binding, const pb::MethodDescriptor& method,
                     const pb::Message& request) {
    const auto response = NewMessage(method.output_type());
    Answer answer;
    answer.status = side.CallOf(binding)(method.name(), request, response.get(), {});
    answer.response = response->DebugString();
    return answer;
  }

  // Resets both nodes after the comparison: inputs that fail only after many others are hard to
  // reproduce.
  void CompareNodes() {
    csi_proxy::simulated::DumpStateResponse embedded;
    if (!embedded.ParseFromString(Must(embedded_node_->Administer("DumpState", "")))) abort();
    const std::string remote = machine::simulator::StateToProto(machine_->Snapshot()).DebugString();
    if (remote != embedded.node().DebugString()) {
      std::cerr << "remote:\n" << remote << "embedded:\n" << embedded.node().DebugString();
      abort();
    }
    machine_->Reset();
    Must(embedded_node_->Administer("Reset", ""));
  }

  std::shared_ptr<machine::simulator::Machine> machine_;
  std::unique_ptr<ManagedNode> node_;
  std::unique_ptr<Server> server_;
  std::optional<SimulatedNode> embedded_node_;
  Side remote_, embedded_;
  uint64_t calls_ = 0;
};

}  // namespace
}  // namespace csi_proxy::integration

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace csi_proxy::integration;
  static Sides* const sides = new Sides();
  if (size < 2) return 0;
  const Binding& binding = AllVersions()[data[0] % AllVersions().size()];
  const pb::MethodDescriptor& method =
      *binding.service->method(data[1] % binding.service->method_count());
  const auto request = NewMessage(method.input_type());
  // Skips requests that do not parse: generated clients cannot send them.
  if (!request->ParseFromArray(data + 2, static_cast<int>(size - 2))) return 0;
  sides->Compare(binding, method, *request);
  return 0;
}
