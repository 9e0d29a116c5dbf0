#include <utility>

#include "absl/strings/str_cat.h"
#include "server/groups/handlers.h"
#include "server/groups/locks.h"
#include "server/groups/paths.h"

namespace csi_proxy::filesystem {
namespace {

class FilesystemService final : public Service {
 public:
  explicit FilesystemService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<PathExistsResponse> PathExists(const CallContext& context,
                                                const PathExistsRequest& request) override {
    const auto path = groups::ParseConfinedPath(deps_.roots, "path", request.path);
    if (!path.ok()) return path.status();
    const auto exists = host().Exists(context, *path);
    if (!exists.ok()) return exists.status();
    return PathExistsResponse{.exists = *exists};
  }

  absl::StatusOr<MkdirResponse> Mkdir(const CallContext& context,
                                      const MkdirRequest& request) override {
    const auto path = groups::ParseConfinedPath(deps_.roots, "path", request.path);
    if (!path.ok()) return path.status();
    if (absl::Status s = host().MakeDirectories(context, *path); !s.ok()) return s;
    return MkdirResponse{};
  }

  absl::StatusOr<RmdirResponse> Rmdir(const CallContext& context,
                                      const RmdirRequest& request) override {
    const auto path = groups::ParseConfinedPathBelow(deps_.roots, "path", request.path);
    if (!path.ok()) return path.status();
    const auto lock = Lock(context, *path);
    if (!lock.ok()) return lock.status();
    if (absl::Status s = host().Remove(context, *path, request.force); !s.ok()) return s;
    return RmdirResponse{};
  }

  absl::StatusOr<RmdirContentsResponse> RmdirContents(
      const CallContext& context, const RmdirContentsRequest& request) override {
    const auto path = groups::ParseConfinedPathBelow(deps_.roots, "path", request.path);
    if (!path.ok()) return path.status();
    const auto lock = Lock(context, *path);
    if (!lock.ok()) return lock.status();
    if (absl::Status s = host().RemoveContents(context, *path); !s.ok()) return s;
    return RmdirContentsResponse{};
  }

  absl::StatusOr<CreateSymlinkResponse> CreateSymlink(
      const CallContext& context, const CreateSymlinkRequest& request) override {
    const auto source = groups::ParseConfinedPath(deps_.roots, "source_path", request.source_path);
    if (!source.ok()) return source.status();
    const auto target =
        groups::ParseConfinedPathBelow(deps_.roots, "target_path", request.target_path);
    if (!target.ok()) return target.status();
    const auto lock = Lock(context, *target);
    if (!lock.ok()) return lock.status();
    if (absl::Status s = host().CreateLink(context, *source, *target); !s.ok()) return s;
    return CreateSymlinkResponse{};
  }

  absl::StatusOr<IsSymlinkResponse> IsSymlink(const CallContext& context,
                                              const IsSymlinkRequest& request) override {
    const auto path = groups::ParseConfinedPathLeniently(deps_.roots, "path", request.path);
    if (!path.ok()) return path.status();
    const auto link = host().ReadLink(context, *path);
    if (!link.ok()) return link.status();
    return IsSymlinkResponse{.is_symlink = link->is_link && link->target_exists};
  }

 private:
  host::FilesystemHost& host() { return deps_.host->filesystem(); }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, const ConfinedPath& path) {
    return groups::LockPath(*deps_.locks, context, path);
  }

  const groups::Deps deps_;
};

}  // namespace

std::unique_ptr<Service> NewFilesystemService(const groups::Deps& deps) {
  return std::make_unique<FilesystemService>(deps);
}

}  // namespace csi_proxy::filesystem
