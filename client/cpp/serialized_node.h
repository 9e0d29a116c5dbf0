// Opens the versions of a node in this process, and calls their rpcs with serialized messages.
// Embedded mode and the C interface use them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/node.h"
#include "server/calls/served_version.h"

namespace csi_proxy::client {

struct OpenVersion {
  const char* group;
  const char* version;
  std::shared_ptr<void> api;
  absl::Span<const rpc::UnaryMethod> methods;
};

// Opens every version of every group. REQUIRES: `node` outlives the result.
std::vector<OpenVersion> OpenVersions(Node& node);

// Calls any rpc of any version with serialized messages. Thread-safe.
class SerializedNode {
 public:
  explicit SerializedNode(std::shared_ptr<Node> node);

  // Calls `path`, e.g. `/v1.Volume/MountVolume`. UNIMPLEMENTED if the rpc does not exist;
  // INVALID_ARGUMENT if `request` is not a message of its type; otherwise the rpc's status. Writes
  // `response` only if it returns OK.
  absl::Status Call(absl::string_view path, const CallContext& context, absl::string_view request,
                    std::string* response) const;

 private:
  struct Row {
    const rpc::UnaryMethod* method;
    void* api;
  };
  const std::shared_ptr<Node> node_;
  const std::vector<OpenVersion> versions_;
  absl::flat_hash_map<absl::string_view, Row> rows_;
};

}  // namespace csi_proxy::client
