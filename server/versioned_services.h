// Where the handlers meet gRPC: the only unit of the server that includes generated gRPC code.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/base/audit.h"
#include "server/groups/deps.h"
#include "server/groups/node_services.h"
#include "server/shim/runtime.h"
#include "server/shim/unary_call.h"

namespace csi_proxy {

struct ExtraService {
  std::string pipe_name;
  // As in the rpc's path.
  std::string full_name;
  std::unique_ptr<grpc::Service> service;
};

// The handlers of all groups, and services over them for every released version. Each group has
// threads of its own, so that a pod that floods one pipe does not starve the other groups'.
class VersionedServices {
 public:
  struct Settings {
    shim::Executor::Limits executor;
    std::vector<shim::CallObserver*> observers;
    AuditLog* audit = nullptr;  // required
    const shim::PeerDirectory* peers = nullptr;
    shim::CallGate* gate = nullptr;
    absl::Duration max_call_duration = absl::InfiniteDuration();
  };

  VersionedServices(const Settings& settings, const groups::Deps& deps);
  ~VersionedServices();

  // One per group and version, in that order. They must not outlive the registry.
  std::vector<shim::VersionedService> NewServices();

  // How many calls wait, by group. Thread-safe.
  std::vector<std::pair<std::string, size_t>> Queued() const;

 private:
  struct Group;
  groups::NodeServices services_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace csi_proxy
