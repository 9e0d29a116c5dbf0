#include "client/cpp/backends.h"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/pipe_path.h"

namespace csi_proxy::client {
namespace {

// Null for a mode that is not linked. Set before any constructor runs.
constinit std::atomic<const RemoteBackend*> remote_backend = nullptr;
constinit std::atomic<const EmbeddedBackend*> embedded_backend = nullptr;

absl::Status NotLinked(absl::string_view mode, absl::string_view library) {
  return absl::UnimplementedError(
      absl::StrCat("mode ", mode, ": this program is not linked with ", library));
}

// A mode, and why it is that one.
struct Choice {
  Mode mode;
  std::string reason;
  // The reason is one against embedding.
  bool not_embedded = false;
};

// The mode that the environment asks for; kAuto when it asks for none.
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

absl::StatusOr<Choice> Choose(const std::string& path) {
  const absl::StatusOr<Mode> pinned = Pinned();
  if (!pinned.ok()) return pinned.status();
  if (*pinned != Mode::kAuto) return Choice{*pinned, "CSI_PROXY_MODE says so"};
  if (embedded_backend == nullptr) {
    return Choice{Mode::kRemote, "csi_proxy::embedded is not linked"};
  }
  const bool is_there = PipeIsThere(path);
  if (is_there && remote_backend != nullptr) {
    return Choice{Mode::kRemote, absl::StrCat("there is a pipe ", path)};
  }
  const absl::Status may = embedded_backend.load()->may_be_chosen();
  // Then the service is the only hope, and its absence the thing to tell of.
  if (!may.ok() && remote_backend != nullptr) {
    return Choice{Mode::kRemote, std::string(may.message()), /*not_embedded=*/true};
  }
  if (absl::IsFailedPrecondition(may)) return may;
  return Choice{Mode::kEmbedded, is_there ? std::string("csi_proxy::client is not linked")
                                          : absl::StrCat("there is no pipe ", path)};
}

void Say(const ClientOptions& options, const std::string& line) {
  if (options.log) {
    options.log(line);
  } else {
    std::cerr << line + "\n";
  }
}

}  // namespace

absl::StatusOr<Opened> Open(const ClientOptions& options, absl::string_view group,
                            absl::string_view version) {
  Mode mode = options.mode;
  std::string why_not_embedded;
  if (mode == Mode::kAuto) {
    absl::StatusOr<Choice> choice = Choose(PipePath(options, group, version));
    if (!choice.ok()) return choice.status();
    mode = choice->mode;
    if (choice->not_embedded) why_not_embedded = absl::StrCat("; ", choice->reason);
    Say(options, absl::StrCat("csi_proxy: ", group, " ", version, " is ",
                              mode == Mode::kRemote ? "remote" : "embedded", ": ", choice->reason));
  }
  Opened opened;
  if (mode == Mode::kRemote) {
    if (remote_backend == nullptr) return NotLinked("remote", "csi_proxy::client");
    absl::StatusOr<std::shared_ptr<Channel>> channel =
        remote_backend.load()->open(options, group, version);
    if (!channel.ok()) {
      return absl::Status(channel.status().code(),
                          absl::StrCat(channel.status().message(), why_not_embedded));
    }
    opened.channel = *std::move(channel);
    return opened;
  }
  if (embedded_backend == nullptr) return NotLinked("embedded", "csi_proxy::embedded");
  absl::StatusOr<std::shared_ptr<void>> api =
      embedded_backend.load()->open(options, group, version);
  if (!api.ok()) return api.status();
  opened.api = *std::move(api);
  return opened;
}

const RemoteBackend* RegisterBackend(const RemoteBackend* backend) {
  return remote_backend.exchange(backend);
}
const EmbeddedBackend* RegisterBackend(const EmbeddedBackend* backend) {
  return embedded_backend.exchange(backend);
}

}  // namespace csi_proxy::client
