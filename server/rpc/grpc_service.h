// A released version as a service for remote clients.
#pragma once

#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/calls/call_deps.h"
#include "server/calls/served_version.h"
#include "server/rpc/connection_table.h"
#include "server/transport/connection.h"

namespace csi_proxy::rpc {

// The request of a remote call, and the connection that it came over.
struct RemoteCall {
  std::shared_ptr<transport::Connection> connection;
  std::shared_ptr<ServedConnection> served;
  transport::Request request;
  // True if the call may run, and block, on the thread that calls Begin().
  bool may_block = false;
};

// Unary methods that a pipe serves. Thread-safe.
class RemoteService {
 public:
  virtual ~RemoteService() = default;
  virtual bool Has(absl::string_view path) const = 0;
  // Begins a call of one of the service's methods, and answers the call now or later. Called on a
  // thread of the transport. REQUIRES: the service lives until the call's connection is released.
  virtual void Begin(RemoteCall call) = 0;
};

// Serves `methods` of `api`, the version's Api, on the executor of `deps`. REQUIRES: `deps`
// outlives the service.
std::unique_ptr<RemoteService> NewRemoteService(absl::Span<const UnaryMethod> methods,
                                                std::shared_ptr<void> api, const CallDeps* deps);

}  // namespace csi_proxy::rpc
