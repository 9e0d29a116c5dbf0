// Adds remote mode to every program that links this file.
#include "client/cpp/backends.h"
#include "client/cpp/remote_channel.h"

namespace csi_proxy::client {
namespace {

constexpr RemoteBackend kBackend = {
    .open = [](const ClientOptions& options, absl::string_view group,
               absl::string_view version) -> absl::StatusOr<std::shared_ptr<Channel>> {
      return RemoteChannel::Open(options, group, version);
    }};

[[maybe_unused]] const RemoteBackend* const kBefore = RegisterBackend(&kBackend);

}  // namespace
}  // namespace csi_proxy::client

// Linkers are told to need it.
extern "C" void csi_proxy_remote_backend() {}
