#include "server/host/simulated/smb.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/windows_path.h"
#include "server/host/simulated/hosts.h"

namespace csi_proxy::host::simulated {
namespace {

constexpr uint32_t kErrorLogonFailure = 1326;

class SimulatedSmbHost final : public SmbHost {
 public:
  explicit SimulatedSmbHost(Core* core) : core_(core) {}

  absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                       const std::string& share) override {
    if (absl::Status s = core_->Begin(context, "smb.GetMapping", share); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const SmbMappingState* mapping = FindMapping(core_->state, share);
    if (mapping == nullptr) return std::nullopt;
    return SmbMapping{.remote_path = mapping->remote_path,
                      .is_healthy = FindReadableShare(core_->state, share) != nullptr};
  }

  absl::Status CreateMapping(const CallContext& context, const std::string& share,
                             const SmbCredentials& credentials, bool require_privacy) override {
    if (absl::Status s = core_->Begin(context, "smb.CreateMapping", share); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    if (FindMapping(core_->state, share) != nullptr) {
      return absl::AlreadyExistsError(absl::StrCat(share, " is mapped already"));
    }
    const absl::StatusOr<UncPath> path = UncPath::Parse("share", share);
    if (!path.ok()) return path.status();
    const std::string operation = absl::StrCat("mapping ", share);
    SmbServer* const server = FindServer(core_->state, path->host());
    if (server == nullptr) {
      return Failure(operation, kErrorBadNetpath, absl::StatusCode::kNotFound);
    }
    if (!server->reachable) return Failure(operation, kErrorBadNetpath);
    if (FindShare(*server, path->share()) == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("server ", server->name, " has no share ", path->share()));
    }
    const bool known =
        std::any_of(server->users.begin(), server->users.end(), [&](const SmbUser& user) {
          return EqualNames(user.name, credentials.username) &&
                 user.password == credentials.password;
        });
    if (!known) {
      return Failure(operation, {kErrorLogonFailure, "The user name or password is incorrect."},
                     absl::StatusCode::kFailedPrecondition);
    }
    if (require_privacy && !server->supports_privacy) {
      return Failure(operation, {kErrorAccessDenied, "The server does not support encryption."},
                     absl::StatusCode::kFailedPrecondition);
    }
    SmbMappingState mapping;
    mapping.remote_path = share;
    mapping.username = credentials.username;
    core_->state.smb_mappings.push_back(std::move(mapping));
    return absl::OkStatus();
  }

  absl::Status RemoveMapping(const CallContext& context, const std::string& share) override {
    if (absl::Status s = core_->Begin(context, "smb.RemoveMapping", share); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const size_t removed = std::erase_if(
        core_->state.smb_mappings,
        [&](const SmbMappingState& mapping) { return EqualNames(mapping.remote_path, share); });
    if (removed == 0) return absl::NotFoundError(absl::StrCat(share, " is not mapped"));
    return absl::OkStatus();
  }

 private:
  Core* const core_;
};

// The element whose name is `name`, or null.
template <typename Container>
auto* FindByName(Container& container, absl::string_view name) {
  const auto found = std::find_if(container.begin(), container.end(), [&](const auto& element) {
    return EqualNames(element.name, name);
  });
  return found != container.end() ? &*found : nullptr;
}

}  // namespace

SmbServer* FindServer(NodeState& state, absl::string_view name) {
  return FindByName(state.smb_servers, name);
}

SmbShare* FindShare(SmbServer& server, absl::string_view name) {
  return FindByName(server.shares, name);
}

SmbMappingState* FindMapping(NodeState& state, absl::string_view share) {
  const auto found = std::find_if(
      state.smb_mappings.begin(), state.smb_mappings.end(),
      [&](const SmbMappingState& mapping) { return EqualNames(mapping.remote_path, share); });
  return found != state.smb_mappings.end() ? &*found : nullptr;
}

SmbShare* FindReadableShare(NodeState& state, const std::string& share) {
  const SmbMappingState* mapping = FindMapping(state, share);
  if (mapping == nullptr || mapping->broken) return nullptr;
  const absl::StatusOr<UncPath> path = UncPath::Parse("share", share);
  if (!path.ok()) return nullptr;
  SmbServer* const server = FindServer(state, path->host());
  if (server == nullptr || !server->reachable) return nullptr;
  return FindShare(*server, path->share());
}

std::unique_ptr<SmbHost> NewSmbHost(Core* core) { return std::make_unique<SimulatedSmbHost>(core); }

}  // namespace csi_proxy::host::simulated
