#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/status_macros.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"
#include "server/groups/smb/mapping.h"

namespace csi_proxy::smb {
namespace {

// The time limit of a search for links. The links do not change the call's answer.
constexpr absl::Duration kLookForLinks = absl::Seconds(2);

class SmbService final : public Service {
 public:
  explicit SmbService(const groups::HandlerDeps& deps) : deps_(deps) {}

  absl::StatusOr<NewSmbGlobalMappingResponse> NewSmbGlobalMapping(
      const CallContext& context, const NewSmbGlobalMappingRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto remote, ParsePathToMap(deps_, request.remote_path));
    ABSL_RETURN_IF_ERROR(CheckCredentials(request.username, request.password));
    std::optional<ConfinedPath> local;
    if (!request.local_path.empty()) {
      ABSL_ASSIGN_OR_RETURN(auto path, ConfinedPath::Parse(deps_.roots, "local_path",
                                                           request.local_path, Place::kBelowRoots));
      local = std::move(path);
    }
    const host::SmbCredentials credentials{request.username, Secret(request.password)};
    auto mapped = Map(context, remote, credentials, local);
    deps_.shares->RecordAttempt(context, remote.Share(),
                                local.has_value() ? local->path.ToString() : "", mapped.status());
    return mapped;
  }

  absl::StatusOr<RemoveSmbGlobalMappingResponse> RemoveSmbGlobalMapping(
      const CallContext& context, const RemoveSmbGlobalMappingRequest& request) override {
    // Adds a missing backslash, because NetApp Trident sends one, and the Go release accepts any
    // number of backslashes before the host.
    const std::string& path = request.remote_path;
    const bool one = path.size() > 1 && path[0] == '\\' && path[1] != '\\' && path[1] != '/';
    ABSL_ASSIGN_OR_RETURN(const auto remote,
                          ParseRemotePath(one ? absl::StrCat("\\", path) : path));
    const std::string share = remote.Share();
    {
      ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockShare(*deps_.locks, context, share));
      ABSL_ASSIGN_OR_RETURN(const auto removed, Unmap(deps_, context, share));
      if (!removed) return absl::NotFoundError(absl::StrCat(share, " is not mapped"));
    }
    LogLinks(context, share);
    return RemoveSmbGlobalMappingResponse{};
  }

 private:
  // Maps the share of `remote`, and makes the link if `local` is given.
  absl::StatusOr<NewSmbGlobalMappingResponse> Map(const CallContext& context, const UncPath& remote,
                                                  const host::SmbCredentials& credentials,
                                                  const std::optional<ConfinedPath>& local) {
    const std::string share = remote.Share();
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockShare(*deps_.locks, context, share));
    // As in the Go release, a missing folder is no error: FindMapping() and Map() only log it.
    host::SmbAccess access;
    ABSL_ASSIGN_OR_RETURN(const auto found,
                          FindMapping(deps_, context, remote, credentials, &access));
    const bool makes = found != LookupResult::kUsable;
    if (makes) {
      ABSL_RETURN_IF_ERROR(smb::Map(deps_, context, remote, credentials, &access));
    }
    if (!local.has_value()) return NewSmbGlobalMappingResponse{};
    const absl::Status linked = Link(context, remote, *local);
    if (linked.ok()) return NewSmbGlobalMappingResponse{};
    // Removes the mapping that this call made, even if its caller has left.
    if (makes) {
      const CallContext afterwards = context.Afterwards(kToUndo);
      if (absl::Status undone = Unmap(deps_, afterwards, share).status(); !undone.ok()) {
        return absl::Status(linked.code(),
                            absl::StrCat(linked.message(), " (and the new mapping of ", share,
                                         " could not be removed: ", undone.message(), ")"));
      }
    }
    return linked;
  }

  // Records the removal of a mapping, with the links to the share. A failed search counts as
  // unknown links, because the answer does not need them.
  void LogLinks(const CallContext& context, const std::string& share) {
    const auto links = FindLinks(deps_, context.WithTimeout(kLookForLinks),
                                 [&](const UncPath& target) { return target.Share() == share; });
    deps_.shares->RecordRemoval(share, RemovalOutcome::kRemoved,
                                links.value_or(ShareLinks{.incomplete = true}));
  }

  // Creates the link, or returns OK if it exists.
  absl::Status Link(const CallContext& context, const UncPath& remote, const ConfinedPath& local) {
    host::FilesystemHost& filesystem = deps_.host->filesystem();
    const absl::Status made = filesystem.CreateLinkToShare(context, remote, local);
    if (!absl::IsAlreadyExists(made)) return made;
    ABSL_ASSIGN_OR_RETURN(const auto existing, filesystem.ReadLink(context, local));
    if (existing.is_link && IsTarget(existing.target, remote)) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat(
        "local_path: ", local.path.ToString(), " exists and is not a link to ", remote.ToString()));
  }

  const groups::HandlerDeps deps_;
};

}  // namespace

std::unique_ptr<Service> NewSmbService(const groups::HandlerDeps& deps) {
  return std::make_unique<SmbService>(deps);
}

}  // namespace csi_proxy::smb
