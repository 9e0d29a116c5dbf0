// Adds embedded mode to every program that links this file.
#include <mutex>
#include <utility>

#include "client/cpp/backends.h"
#include "client/cpp/default_node.h"
#include "client/cpp/privilege.h"
#include "client/cpp/serialized_node.h"

namespace csi_proxy::client {
namespace {

// The node of all clients that name none. Made when the first asks; a failure is not kept, for its
// cause may go.
absl::StatusOr<std::shared_ptr<Node>> SharedNode() {
  static std::mutex mutex;
  static std::shared_ptr<Node>* const shared = new std::shared_ptr<Node>();
  std::lock_guard lock(mutex);
  if (*shared == nullptr) {
    absl::StatusOr<std::shared_ptr<Node>> node = NewDefaultNode();
    if (!node.ok()) return node.status();
    *shared = *std::move(node);
  }
  return *shared;
}

constexpr EmbeddedBackend kBackend = {
    .open = [](const ClientOptions& options, absl::string_view group,
               absl::string_view version) -> absl::StatusOr<std::shared_ptr<void>> {
      std::shared_ptr<Node> node = options.node;
      if (node == nullptr) {
        absl::StatusOr<std::shared_ptr<Node>> shared = SharedNode();
        if (!shared.ok()) return shared.status();
        node = *std::move(shared);
      }
      return OpenEmbedded(std::move(node), group, version);
    },
    .may_be_chosen = &MayEmbedUnasked};

[[maybe_unused]] const EmbeddedBackend* const kBefore = RegisterBackend(&kBackend);

}  // namespace
}  // namespace csi_proxy::client

// Linkers are told to need it.
extern "C" void csi_proxy_embedded_backend() {}
