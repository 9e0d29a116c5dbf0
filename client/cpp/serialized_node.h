// A node of this process by group and version. Embedded mode and the C interface open it.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/node.h"
#include "server/rpc/served_version.h"

namespace csi_proxy::client {

// The version's Api, which keeps `node` alive. UNIMPLEMENTED when there is no such version.
absl::StatusOr<std::shared_ptr<void>> OpenEmbedded(std::shared_ptr<Node> node,
                                                   absl::string_view group,
                                                   absl::string_view version);

// Every rpc of every version, for callers that have bytes. Thread-safe.
class SerializedNode {
 public:
  explicit SerializedNode(std::shared_ptr<Node> node);

  // Calls `path`, as `/v1.Volume/MountVolume`. UNIMPLEMENTED when there is no such rpc;
  // INVALID_ARGUMENT when `request` is not a message of the rpc's. `response` is only written when
  // OK is returned.
  absl::Status Call(absl::string_view path, const CallContext& context, absl::string_view request,
                    std::string* response) const;

 private:
  struct Row {
    const rpc::UnaryMethod* method;
    std::shared_ptr<void> api;
  };
  const std::shared_ptr<Node> node_;
  absl::flat_hash_map<absl::string_view, Row> rows_;
};

}  // namespace csi_proxy::client
