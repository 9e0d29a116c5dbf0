#include <string>
#include <utility>

#include "server/base/status_macros.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"

namespace csi_proxy::filesystem {
namespace {

class FilesystemService final : public Service {
 public:
  explicit FilesystemService(const groups::HandlerDeps& deps) : deps_(deps) {}

  absl::StatusOr<PathExistsResponse> PathExists(const CallContext& context,
                                                const PathExistsRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto path,
                          Confine("path", request.path, Place::kWithinRoots, request.context));
    ABSL_ASSIGN_OR_RETURN(const auto exists, host().Exists(context, path));
    return PathExistsResponse{.exists = exists};
  }

  absl::StatusOr<MkdirResponse> Mkdir(const CallContext& context,
                                      const MkdirRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto path,
                          Confine("path", request.path, Place::kWithinRoots, request.context));
    ABSL_RETURN_IF_ERROR(host().MakeDirectories(context, path));
    return MkdirResponse{};
  }

  absl::StatusOr<RmdirResponse> Rmdir(const CallContext& context,
                                      const RmdirRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto path,
                          Confine("path", request.path, Place::kBelowRoots, request.context));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, path));
    ABSL_RETURN_IF_ERROR(host().Remove(context, path, request.force));
    return RmdirResponse{};
  }

  absl::StatusOr<RmdirContentsResponse> RmdirContents(
      const CallContext& context, const RmdirContentsRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto path, ConfinedPath::Parse(deps_.roots, "path", request.path,
                                                               Place::kBelowRoots));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, path));
    ABSL_RETURN_IF_ERROR(host().RemoveContents(context, path));
    return RmdirContentsResponse{};
  }

  absl::StatusOr<CreateSymlinkResponse> CreateSymlink(
      const CallContext& context, const CreateSymlinkRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto source, Confine("source_path", request.source_path,
                                                     Place::kWithinRoots, request.source_context));
    ABSL_ASSIGN_OR_RETURN(const auto target, Confine("target_path", request.target_path,
                                                     Place::kBelowRoots, request.target_context));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, target));
    ABSL_RETURN_IF_ERROR(host().CreateLink(context, source, target));
    return CreateSymlinkResponse{};
  }

  absl::StatusOr<IsSymlinkResponse> IsSymlink(const CallContext& context,
                                              const IsSymlinkRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(
        const auto path, ConfinedPath::Parse(deps_.roots, "path", request.path, Place::kWithinRoots,
                                             Spelling::kLenient));
    ABSL_ASSIGN_OR_RETURN(const auto link, host().ReadLink(context, path));
    return IsSymlinkResponse{.is_symlink = link.is_link && link.target_exists};
  }

 private:
  host::FilesystemHost& host() { return deps_.host->filesystem(); }

  // Parses `text` as ConfinedPath::Parse() does. Also returns PERMISSION_DENIED if the path is not
  // in the directory of the context `whose`. Does not check where links lead, because LinkPath
  // makes links from one context's directory to the other's.
  absl::StatusOr<ConfinedPath> Confine(absl::string_view field, absl::string_view text, Place place,
                                       PathContext whose) {
    ABSL_ASSIGN_OR_RETURN(ConfinedPath path, ConfinedPath::Parse(deps_.roots, field, text, place));
    const std::optional<WindowsPath>& directory =
        whose == PathContext::kPod ? deps_.pods_dir : deps_.plugins_dir;
    if (whose != PathContext::kAny && directory.has_value()) {
      ABSL_RETURN_IF_ERROR(PathRoots({*directory}).Check(field, path.path));
    }
    return path;
  }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, const ConfinedPath& path) {
    return groups::LockPath(*deps_.locks, context, path);
  }

  const groups::HandlerDeps deps_;
};

}  // namespace

std::unique_ptr<Service> NewFilesystemService(const groups::HandlerDeps& deps) {
  return std::make_unique<FilesystemService>(deps);
}

}  // namespace csi_proxy::filesystem
