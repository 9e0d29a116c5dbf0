#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/connection.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::integration {

class TestNode {
 public:
  virtual ~TestNode() = default;

  // Returns the options with which clients reach the node.
  virtual ClientOptions client_options() const = 0;

  // Calls the node's admin service.
  virtual absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                             google::protobuf::Message* response) = 0;

  absl::Status Reset();
  absl::Status InjectFault(const std::string& textproto);
  // Makes a call of the machine fail once. The rpc that makes the call returns INTERNAL.
  absl::Status FailOnce(const std::string& call);
  csi_proxy::simulated::Node Dump();
};

// Starts a node in this process.
absl::StatusOr<std::unique_ptr<TestNode>> NewEmbeddedNode();

}  // namespace csi_proxy::integration
