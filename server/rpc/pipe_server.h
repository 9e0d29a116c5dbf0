// The services of one pipe: a released or the simulation's service, health and reflection. A pod
// may be given only some pipes, so a connection to one must not reach the services of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/rpc/grpc_service.h"
#include "server/transport/connection.h"

namespace csi_proxy::rpc {

struct ServerLimits {
  // The limit of a request, in bytes. The longest requests of released rpcs contain two paths, to
  // make an SMB mapping or a symbolic link. A path has at most 32,767 UTF-16 units of up to three
  // bytes in UTF-8, so two paths have 196,602 bytes. A user's name and a password add at most 3 KB.
  size_t max_request_bytes = 256 << 10;
  // The maximum of calls under way on a client's main connection, and on each further connection
  // (SETTINGS_MAX_CONCURRENT_STREAMS). HTTP/2 holds back further calls at the client. A group must
  // have room for all calls of a client with 16 connections, so that it refuses none of them.
  uint32_t calls_of_main_connection = 108;
  uint32_t calls_of_further_connection = 12;
};

// Immutable.
class PipeServer {
 public:
  // `full_name` must be the service's name in the rpc's path: `v1.Volume`.
  PipeServer(std::string name, std::string full_name, std::unique_ptr<RemoteService> service,
             const ServerLimits& limits);

  const std::string& name() const { return name_; }
  const std::string& full_name() const { return full_name_; }
  RemoteService& service() const { return *service_; }

  // Returns the limits of the connection's session.
  transport::SessionOptions OptionsFor(const ServedConnection& connection) const;

 private:
  const std::string name_;
  const std::string full_name_;
  const std::unique_ptr<RemoteService> service_;
  const ServerLimits limits_;
};

// Returns the methods of the pipe for the calls of one connection.
std::unique_ptr<transport::Service> ServiceFor(std::shared_ptr<const PipeServer> server,
                                               std::shared_ptr<ServedConnection> connection);

}  // namespace csi_proxy::rpc
