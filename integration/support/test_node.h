// A node that a test calls, and whose administrator it plays, whatever the mode.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/client_options.h"
#include "server/machine/simulated/admin.pb.h"

namespace csi_proxy::integration {

// Which host is under the calls; both act on the same simulated node.
enum class NodeKind {
  // The simulated node's own.
  kSimulated,
  // That of a real node, over doubles of WMI and Win32.
  kWindows,
};

// What the environment variable CSI_PROXY_TEST_NODE says: `windows`, or the simulated one.
NodeKind NodeUnderTest();

class TestNode {
 public:
  virtual ~TestNode() = default;

  // How clients reach it.
  virtual ClientOptions client_options() const = 0;

  // Calls the node's admin service.
  virtual absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                             google::protobuf::Message* response) = 0;

  absl::Status Reset();
  absl::Status InjectFault(const std::string& textproto);
  // Lets an operation of the simulated host fail once, INTERNAL; a real node's host fails where it
  // does the same.
  absl::Status FailOnce(const std::string& operation);
  csi_proxy::simulated::Node Dump();
};

// A node of NodeUnderTest() in this process.
absl::StatusOr<std::unique_ptr<TestNode>> NewEmbeddedNode();

// What the environment variable CSI_PROXY_TEST_MODE says: `embedded`, or else a service.
absl::StatusOr<std::unique_ptr<TestNode>> NewTestNode();

}  // namespace csi_proxy::integration
