// How a client gets to a node: the backends that are linked into the program, and which of them a
// client takes.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/channel.h"
#include "csi_proxy/client_options.h"

namespace csi_proxy::client {

// One version of one group, opened: one of the two.
struct Opened {
  // Remote.
  std::shared_ptr<Channel> channel;
  // Embedded: the version's Api.
  std::shared_ptr<void> api;
};

// Opens the backend that `options` ask for. INVALID_ARGUMENT for a bad CSI_PROXY_MODE;
// UNIMPLEMENTED for a mode that is not linked; UNAVAILABLE, naming it, when a pipe is not there;
// FAILED_PRECONDITION when only embedded mode is linked and kAuto may not choose it here.
absl::StatusOr<Opened> Open(const ClientOptions& options, absl::string_view group,
                            absl::string_view version);

// csi_proxy::client adds these.
struct RemoteBackend {
  absl::StatusOr<std::shared_ptr<Channel>> (*open)(const ClientOptions& options,
                                                   absl::string_view group,
                                                   absl::string_view version);
};

// csi_proxy::embedded adds these.
struct EmbeddedBackend {
  // The result is the version's Api.
  absl::StatusOr<std::shared_ptr<void>> (*open)(const ClientOptions& options,
                                                absl::string_view group, absl::string_view version);
  // OK when kAuto may embed; else why not. FAILED_PRECONDITION when storage would be managed that
  // is not the node's.
  absl::Status (*may_be_chosen)();
};

// Called by the backends before main(), each once. Null removes the backend, for tests.
const RemoteBackend* RegisterBackend(const RemoteBackend* backend);
const EmbeddedBackend* RegisterBackend(const EmbeddedBackend* backend);

}  // namespace csi_proxy::client
