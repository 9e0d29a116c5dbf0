// Adds embedded mode to programs that link this file.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/backends.h"
#include "client/cpp/default_node.h"
#include "client/cpp/serialized_node.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"

namespace csi_proxy::client {
namespace {

// Returns the node of all connections that do not name one, and opens it the first time. Does not
// keep a failure, because its cause may be temporary.
absl::StatusOr<std::shared_ptr<Node>> SharedNode() {
  static Mutex mutex;
  static std::shared_ptr<Node>* const shared = new std::shared_ptr<Node>();
  const MutexLock lock(mutex);
  if (*shared == nullptr) {
    ABSL_ASSIGN_OR_RETURN(std::shared_ptr<Node> node, NewDefaultNode());
    *shared = std::move(node);
  }
  return *shared;
}

// Answers every call with the error that this release lacks the version.
class NoVersion final : public Channel {
 public:
  explicit NoVersion(absl::Status status) : status_(std::move(status)) {}
  absl::Status Call(const char*, const CallContext&, const google::protobuf::Message&,
                    google::protobuf::Message*) override {
    return status_;
  }

 private:
  const absl::Status status_;
};

class EmbeddedNode final : public Connection {
 public:
  explicit EmbeddedNode(std::shared_ptr<Node> node)
      : node_(std::move(node)), versions_(OpenVersions(*node_)) {}

  Mode mode() const override { return Mode::kEmbedded; }

  absl::Status Check(absl::string_view group, absl::string_view version) const override {
    if (Find(group, version) != nullptr) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat("there is no ", group, " ", version));
  }

  Opened Open(absl::string_view group, absl::string_view version) override {
    if (void* const api = Find(group, version)) return {.api = api};
    return {.channel = std::make_shared<NoVersion>(Check(group, version))};
  }

 private:
  void* Find(absl::string_view group, absl::string_view version) const {
    for (const OpenVersion& open : versions_) {
      if (group == open.group && version == open.version) return open.api.get();
    }
    return nullptr;
  }

  // Declared before `versions_`, because they use the node.
  const std::shared_ptr<Node> node_;
  const std::vector<OpenVersion> versions_;
};

absl::StatusOr<std::shared_ptr<Connection>> ConnectEmbedded(const ClientOptions& options) {
  if (options.node != nullptr) return std::make_shared<EmbeddedNode>(options.node);
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<Node> node, SharedNode());
  if (DefaultNodeIsSimulated()) {
    Log(options, Severity::kWarning,
        "csi_proxy: the node is simulated: ClientOptions::node is null, and this is not Windows");
  }
  return std::make_shared<EmbeddedNode>(std::move(node));
}

constexpr EmbeddedBackend kBackend = {.connect = &ConnectEmbedded,
                                      .may_be_chosen = &MayEmbedUnasked};

[[maybe_unused]] const EmbeddedBackend* const kBefore = RegisterBackend(&kBackend);

}  // namespace
}  // namespace csi_proxy::client

// Linker flags require this symbol, so that the linker keeps this file.
extern "C" void csi_proxy_embedded_backend() {}
