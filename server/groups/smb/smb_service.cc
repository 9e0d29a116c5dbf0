#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "server/base/status_macros.h"
#include "server/groups/handlers.h"
#include "server/groups/paths.h"

namespace csi_proxy::smb {
namespace {

// `domain\user` or `user@domain`, of 256 characters at most each, and a password of at most 256
// UTF-16 units: learn.microsoft.com/windows/win32/api/lmcons (UNLEN, DNLEN, PWLEN).
constexpr size_t kMaxUsername = 512;
constexpr size_t kMaxPassword = 1024;

// The credentials with which this process has made each mapping. It keeps the credentials and not a
// hash of them: Windows has them in memory too, as long as the mapping exists, and an attacker who
// can read this process's memory can also read a hash's key and guess. Thread-safe.
class Credentials {
 public:
  void Keep(const std::string& share, const host::SmbCredentials& credentials) {
    absl::MutexLock lock(&mutex_);
    kept_.insert_or_assign(share, credentials);
  }
  void Forget(const std::string& share) {
    absl::MutexLock lock(&mutex_);
    kept_.erase(share);
  }
  // Nothing when the mapping is not known.
  std::optional<bool> Match(const std::string& share, const host::SmbCredentials& given) const {
    absl::MutexLock lock(&mutex_);
    const auto found = kept_.find(share);
    if (found == kept_.end()) return std::nullopt;
    const bool same_user = EqualNames(found->second.username, given.username);
    return (found->second.password == given.password) && same_user;
  }

 private:
  mutable absl::Mutex mutex_;
  std::unordered_map<std::string, host::SmbCredentials> kept_ ABSL_GUARDED_BY(mutex_);
};

class SmbService final : public Service {
 public:
  explicit SmbService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<NewSmbGlobalMappingResponse> NewSmbGlobalMapping(
      const CallContext& context, const NewSmbGlobalMappingRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto remote, UncPath::Parse("remote_path", request.remote_path));
    ABSL_RETURN_IF_ERROR(groups::CheckText("username", request.username, kMaxUsername));
    ABSL_RETURN_IF_ERROR(groups::CheckText("password", request.password, kMaxPassword, true));
    std::optional<ConfinedPath> local;
    if (!request.local_path.empty()) {
      ABSL_ASSIGN_OR_RETURN(
          auto path, groups::ParseConfinedPathBelow(deps_.roots, "local_path", request.local_path));
      local = std::move(path);
    }
    const std::string share = remote.Share();
    const host::SmbCredentials credentials{request.username, Secret(request.password)};
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, share));

    ABSL_ASSIGN_OR_RETURN(const auto mapping, host().GetMapping(context, share));
    bool reuse = false;
    if (mapping.has_value()) {
      ABSL_ASSIGN_OR_RETURN(const auto healthy, host().IsHealthy(context, *mapping));
      reuse = healthy;
    }
    if (reuse && deps_.bind_smb_credentials) {
      const std::optional<bool> match = bound_.Match(share, credentials);
      if (match == false) {
        return absl::PermissionDeniedError(
            absl::StrCat("username, password: ", share, " is mapped with other credentials"));
      }
      // Nobody knows the owner of a mapping from before the start. Mapping it anew lets the server
      // check the caller's credentials.
      reuse = match.has_value();
    }
    if (!reuse) {
      if (mapping.has_value()) {
        // It does not work, for example after a change of password. The credentials of a mapping
        // cannot be changed in place.
        bound_.Forget(share);
        if (absl::Status s = host().RemoveMapping(context, *mapping);
            !s.ok() && !absl::IsNotFound(s)) {
          return s;
        }
      }
      ABSL_RETURN_IF_ERROR(
          host().CreateMapping(context, share, credentials, deps_.require_privacy));
      if (deps_.bind_smb_credentials) bound_.Keep(share, credentials);
    }
    if (!local.has_value()) return NewSmbGlobalMappingResponse{};
    const absl::Status linked = Link(context, remote, *local);
    if (linked.ok()) return NewSmbGlobalMappingResponse{};
    // Leave nothing half done: remove the mapping that this call made, even if its caller has gone.
    if (!reuse) {
      if (absl::Status undone = Remove(CallContext(), share); !undone.ok()) {
        return absl::Status(linked.code(),
                            absl::StrCat(linked.message(), " (and the mapping of ", share,
                                         " could not be removed again: ", undone.message(), ")"));
      }
    }
    return linked;
  }

  absl::StatusOr<RemoveSmbGlobalMappingResponse> RemoveSmbGlobalMapping(
      const CallContext& context, const RemoveSmbGlobalMappingRequest& request) override {
    // The Go release does not count the backslashes before the host, and NetApp Trident gives one.
    const std::string& path = request.remote_path;
    const bool one = path.size() > 1 && path[0] == '\\' && path[1] != '\\' && path[1] != '/';
    ABSL_ASSIGN_OR_RETURN(const auto remote,
                          UncPath::Parse("remote_path", one ? absl::StrCat("\\", path) : path));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, remote.Share()));
    ABSL_RETURN_IF_ERROR(Remove(context, remote.Share()));
    return RemoveSmbGlobalMappingResponse{};
  }

 private:
  host::SmbHost& host() { return deps_.host->smb(); }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, const std::string& share) {
    return deps_.locks->Acquire(context, absl::StrCat("share/", share));
  }

  absl::Status Remove(const CallContext& context, const std::string& share) {
    bound_.Forget(share);
    ABSL_ASSIGN_OR_RETURN(const auto mapping, host().GetMapping(context, share));
    if (!mapping.has_value()) return absl::NotFoundError(absl::StrCat(share, " is not mapped"));
    return host().RemoveMapping(context, *mapping);
  }

  // Makes the link, or finds that it is there.
  absl::Status Link(const CallContext& context, const UncPath& remote, const ConfinedPath& local) {
    host::FilesystemHost& filesystem = deps_.host->filesystem();
    const absl::Status made = filesystem.CreateLinkToShare(context, remote, local);
    if (!absl::IsAlreadyExists(made)) return made;
    ABSL_ASSIGN_OR_RETURN(const auto existing, filesystem.ReadLink(context, local));
    // With or without a backslash at the end: earlier versions made links to shares without one.
    if (existing.is_link &&
        EqualNames(absl::StripSuffix(existing.target, "\\"), remote.ToString())) {
      return absl::OkStatus();
    }
    return absl::AlreadyExistsError(absl::StrCat(
        "local_path: ", local.path.ToString(), " exists and is not a link to ", remote.ToString()));
  }

  const groups::Deps deps_;
  Credentials bound_;
};

}  // namespace

std::unique_ptr<Service> NewSmbService(const groups::Deps& deps) {
  return std::make_unique<SmbService>(deps);
}

}  // namespace csi_proxy::smb
