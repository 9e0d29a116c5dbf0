// Adds embedded mode to every program that links this file.
#include <mutex>
#include <utility>

#include "client/doors.h"
#include "client/embedded/default_host.h"
#include "client/embedded/privilege.h"
#include "client/embedded/versions.h"

namespace csi_proxy::client {
namespace {

// The node of all clients that name none. Made when the first asks; a failure is not kept, for its
// cause may go.
absl::StatusOr<std::shared_ptr<Host>> SharedHost() {
  static std::mutex mutex;
  static std::shared_ptr<Host>* const shared = new std::shared_ptr<Host>();
  std::lock_guard lock(mutex);
  if (*shared == nullptr) {
    absl::StatusOr<std::shared_ptr<Host>> host = NewDefaultHost();
    if (!host.ok()) return host.status();
    *shared = *std::move(host);
  }
  return *shared;
}

constexpr EmbeddedDoor kDoor = {
    .open = [](const ClientOptions& options, absl::string_view group,
               absl::string_view version) -> absl::StatusOr<std::shared_ptr<void>> {
      std::shared_ptr<Host> host = options.host;
      if (host == nullptr) {
        absl::StatusOr<std::shared_ptr<Host>> shared = SharedHost();
        if (!shared.ok()) return shared.status();
        host = *std::move(shared);
      }
      return OpenEmbedded(std::move(host), group, version);
    },
    .may_manage_storage = &MayManageStorage};

[[maybe_unused]] const EmbeddedDoor* const kBefore = SetDoor(&kDoor);

}  // namespace
}  // namespace csi_proxy::client

// Linkers are told to need it.
extern "C" void csi_proxy_embedded_door() {}
