#include "csi_proxy/connection.h"

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/released.h"
#include "client/cpp/backends.h"
#include "client/cpp/pipe_path.h"
#include "server/base/status_macros.h"

namespace csi_proxy {
namespace client {
namespace {

// Null if the mode is not linked. Constant-initialized: RegisterBackend() runs before main().
constinit std::atomic<const RemoteBackend*> remote_backend = nullptr;
constinit std::atomic<const EmbeddedBackend*> embedded_backend = nullptr;

absl::Status NotLinked(absl::string_view mode, absl::string_view library) {
  return absl::UnimplementedError(
      absl::StrCat("mode ", mode, ": this program is not linked with ", library));
}

// A mode, and the reason for choosing it.
struct Choice {
  Mode mode;
  std::string reason;
};

// Returns the mode in CSI_PROXY_MODE, or kAuto if the variable does not choose one.
absl::StatusOr<Mode> Pinned() {
  const char* const pinned = std::getenv("CSI_PROXY_MODE");
  if (pinned == nullptr) return Mode::kAuto;
  const absl::string_view mode = pinned;
  if (mode.empty() || mode == "auto") return Mode::kAuto;
  if (mode == "remote") return Mode::kRemote;
  if (mode == "embedded") return Mode::kEmbedded;
  return absl::InvalidArgumentError(
      absl::StrCat("CSI_PROXY_MODE: \"", mode, "\" is not one of auto, remote, embedded"));
}

// Returns the path of the first existing pipe of the service, or "".
std::string FirstPipe(const ClientOptions& options) {
  for (const api::ReleasedVersion& released : api::kReleasedVersions) {
    std::string path = PipePath(options, released.group, released.version);
    if (PipeExists(path)) return path;
  }
  return "";
}

absl::StatusOr<Choice> Choose(const ClientOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const Mode pinned, Pinned());
  if (pinned != Mode::kAuto) return Choice{pinned, "CSI_PROXY_MODE requests it"};
  if (embedded_backend == nullptr) {
    return Choice{Mode::kRemote, "csi_proxy::embedded is not linked"};
  }
  const std::string pipe = FirstPipe(options);
  if (!pipe.empty() && remote_backend != nullptr) {
    return Choice{Mode::kRemote, absl::StrCat("there is a pipe ", pipe)};
  }
  const absl::Status may = embedded_backend.load()->may_be_chosen();
  // This process may not manage storage. Its calls go to the service, or fail without one.
  if (!may.ok() && remote_backend != nullptr) {
    return Choice{Mode::kRemote, std::string(may.message())};
  }
  if (absl::IsFailedPrecondition(may)) return may;
  return Choice{Mode::kEmbedded, pipe.empty() ? "there is no pipe of the service"
                                              : "csi_proxy::client is not linked"};
}

}  // namespace

const RemoteBackend* RegisterBackend(const RemoteBackend* backend) {
  return remote_backend.exchange(backend);
}
const EmbeddedBackend* RegisterBackend(const EmbeddedBackend* backend) {
  return embedded_backend.exchange(backend);
}

void Log(const ClientOptions& options, Severity severity, const LogText& line) {
  options.log ? options.log(severity, line) : LogToStderr(severity, line);
}

}  // namespace client

absl::StatusOr<std::shared_ptr<Connection>> Connect(ClientOptions options) {
  if (options.mode == Mode::kAuto) {
    ABSL_ASSIGN_OR_RETURN(const client::Choice choice, client::Choose(options));
    options.mode = choice.mode;
    client::Log(
        options, Severity::kInfo,
        absl::StrCat("csi_proxy: the mode is ",
                     options.mode == Mode::kRemote ? "remote" : "embedded", ": ", choice.reason));
  }
  if (options.mode == Mode::kRemote) {
    const client::RemoteBackend* const remote = client::remote_backend;
    if (remote == nullptr) return client::NotLinked("remote", "csi_proxy::client");
    return remote->connect(options);
  }
  const client::EmbeddedBackend* const embedded = client::embedded_backend;
  if (embedded == nullptr) return client::NotLinked("embedded", "csi_proxy::embedded");
  return embedded->connect(options);
}

}  // namespace csi_proxy
