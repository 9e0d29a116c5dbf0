// The service: serves one node on a pipe for each released version.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/node/managed_node.h"
#include "server/service/options.h"
#include "server/service/versioned_services.h"

namespace csi_proxy {

// Thread-safe.
class Server {
 public:
  // Serves `node`, which must outlive the server. All pipes answer when this returns. Returns
  // INVALID_ARGUMENT if an option names no released version, else Listener::Listen()'s error.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options,
                                                       const ManagedNode& node,
                                                       std::vector<ExtraService> extra);
  ~Server();

  // Returns the names of the pipes, in order.
  std::vector<std::string> PipeNames() const;

  // Accepts no new connections, refuses new calls, waits at most `grace` for calls under way, then
  // cancels them. Idempotent.
  void Stop(absl::Duration grace);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace csi_proxy
