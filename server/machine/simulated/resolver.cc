#include "server/machine/simulated/resolver.h"

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/machine/simulated/smb.h"

namespace csi_proxy::machine::simulated {
namespace {

std::string RootsText(const PathRoots& roots) {
  return absl::StrJoin(roots.roots(), ", ", [](std::string* out, const WindowsPath& root) {
    absl::StrAppend(out, root.ToString());
  });
}

// The volume in whose tree a path's last entry lies; nothing when the path leads nowhere.
std::optional<VolumeId> HoldingVolume(NodeState& state, const WindowsPath& path);

// One walk along a path; links above the roots are walked by nested ones that share the steps.
class Walker {
 public:
  Walker(NodeState& state, const PathRoots* roots, const ResolveOptions& options, int* steps)
      : state_(state), roots_(roots), options_(options), steps_(steps) {}

  absl::StatusOr<Resolved> Walk(const WindowsPath& path) {
    EnterDrive(path);
    while (!pending_.empty() && at_.tree != nullptr) {
      const Tree::Entry& here = at_.at();
      if (here.mounted.has_value()) {
        if (absl::Status status = EnterMount(*here.mounted); !status.ok()) return status;
        continue;
      }
      const std::optional<Tree::Id> child = at_.tree->Find(at_.entry, pending_.front());
      if (!child.has_value()) break;
      const Tree::Entry& entry = at_.tree->at(*child);
      const bool follow =
          entry.kind == Tree::Kind::kLink && (pending_.size() > 1 || options_.follow_last);
      names_.push_back(pending_.front());
      pending_.pop_front();
      if (from_link_ > 0) --from_link_;
      if (!follow) {
        at_.entry = *child;
      } else if (absl::Status status = FollowLink(std::string(entry.target)); !status.ok()) {
        return status;
      }
    }
    at_.missing.assign(pending_.begin(), pending_.end());
    at_.dangling = from_link_ > 0 || (at_.tree == nullptr && entered_by_link_);
    return at_;
  }

 private:
  // Where the walk is, as the caller would name it.
  WindowsPath Here() const {
    // Made of checked components, so it parses.
    return *WindowsPath::Parse(
        "path", absl::StrCat(absl::string_view(&drive_, 1), ":\\", absl::StrJoin(names_, "\\")));
  }

  void Prepend(const std::vector<std::string>& components) {
    pending_.insert(pending_.begin(), components.begin(), components.end());
  }

  // Goes to the root of the path's drive, with the path before what is pending.
  void EnterDrive(const WindowsPath& path) {
    drive_ = path.drive();
    names_.clear();
    Prepend(path.components());
    EnterVolume(FindDrive(state_, drive_));
  }

  void EnterVolume(const absl::StatusOr<VolumePlace>& place) {
    at_ = Resolved();
    if (!place.ok() || place->volume->file_system.empty()) return;
    at_.place = *place;
    at_.tree = &place->volume->tree;
  }

  absl::Status CountStep(const WindowsPath& where) {
    if (++*steps_ <= options_.max_steps) return absl::OkStatus();
    return Failure(absl::StrCat("following the links at ", where.ToString()), kErrorCantResolveName,
                   absl::StatusCode::kFailedPrecondition);
  }

  // Whether a link or mount point here is bound to the roots: not the administrator's own.
  bool Confines(const WindowsPath& where) const {
    return roots_ != nullptr && IsBelow(*roots_, where);
  }

  absl::Status EnterMount(const VolumeId& id) {
    const WindowsPath here = Here();
    if (absl::Status status = CountStep(here); !status.ok()) return status;
    if (Confines(here)) {
      for (const WindowsPath& root : roots_->roots()) {
        if (HoldingVolume(state_, root) != id) continue;
        return absl::PermissionDeniedError(absl::StrCat("the mount point ", here.ToString(),
                                                        " leads to the volume of ", root.ToString(),
                                                        ", outside ", RootsText(*roots_)));
      }
    }
    EnterVolume(FindVolume(state_, id));
    entered_by_link_ = false;
    return absl::OkStatus();
  }

  absl::Status FollowLink(const std::string& target) {
    const WindowsPath link = Here();
    if (absl::Status status = CountStep(link); !status.ok()) return status;
    entered_by_link_ = true;
    const bool confined = Confines(link);
    const auto leads_out = [&] {
      return absl::PermissionDeniedError(absl::StrCat("the link ", link.ToString(), " leads to ",
                                                      target, ", outside ", RootsText(*roots_)));
    };
    if (absl::StartsWith(target, "\\\\")) {
      if (confined && !pending_.empty()) return leads_out();
      return FollowToServer(target);
    }
    const absl::StatusOr<WindowsPath> path = WindowsPath::Parse("link target", target);
    if (!path.ok()) return path.status();
    if (confined && !roots_->Contains(*path)) return leads_out();
    if (roots_ != nullptr && !confined) return FollowAbove(*path);
    from_link_ += static_cast<int>(path->components().size());
    EnterDrive(*path);
    return absl::OkStatus();
  }

  // Goes where an administrator's link leads, still under the name of the link.
  absl::Status FollowAbove(const WindowsPath& target) {
    ResolveOptions options = options_;
    options.follow_last = true;
    absl::StatusOr<Resolved> resolved = Walker(state_, nullptr, options, steps_).Walk(target);
    if (!resolved.ok()) return resolved.status();
    Continue(*std::move(resolved));
    return absl::OkStatus();
  }

  absl::Status FollowToServer(const std::string& target) {
    const absl::StatusOr<UncPath> path = UncPath::Parse("link target", target);
    if (!path.ok()) return path.status();
    Continue(ResolveUnc(state_, *path));
    return absl::OkStatus();
  }

  void Continue(Resolved resolved) {
    at_ = std::move(resolved);
    from_link_ += static_cast<int>(at_.missing.size());
    Prepend(at_.missing);
  }

  NodeState& state_;
  const PathRoots* const roots_;
  const ResolveOptions options_;
  int* const steps_;
  Resolved at_;
  char drive_ = 0;
  std::vector<std::string> names_;
  std::deque<std::string> pending_;
  // How many of the pending components come from a link's target.
  int from_link_ = 0;
  // Whether the tree was entered by a link rather than a mount point or the caller's drive.
  bool entered_by_link_ = false;
};

std::optional<VolumeId> HoldingVolume(NodeState& state, const WindowsPath& path) {
  int steps = 0;
  const absl::StatusOr<Resolved> resolved =
      Walker(state, nullptr, {.follow_last = true}, &steps).Walk(path);
  if (!resolved.ok() || !resolved->place.has_value()) return std::nullopt;
  return resolved->place->volume->id;
}

}  // namespace

bool IsBelow(const PathRoots& roots, const WindowsPath& path) {
  return !path.components().empty() && roots.Contains(path.Parent());
}

absl::StatusOr<Resolved> Resolve(NodeState& state, const ConfinedPath& path,
                                 const ResolveOptions& options) {
  if (path.roots != nullptr) {
    if (absl::Status status = path.roots->Check("path", path.path); !status.ok()) return status;
  }
  int steps = 0;
  return Walker(state, path.roots.get(), options, &steps).Walk(path.path);
}

Resolved ResolveUnc(NodeState& state, const UncPath& path) {
  const std::vector<std::string>& components = path.components();
  Resolved at;
  size_t depth = 0;
  if (SmbShare* share = FindReadableShare(state, path.Share()); share != nullptr) {
    at.tree = &share->tree;
    for (; depth < components.size(); ++depth) {
      const std::optional<Tree::Id> child = at.tree->Find(at.entry, components[depth]);
      if (!child.has_value()) break;
      at.entry = *child;
    }
  }
  at.missing.assign(components.begin() + static_cast<std::ptrdiff_t>(depth), components.end());
  return at;
}

absl::Status MissingError(const std::string& path) {
  return absl::NotFoundError(absl::StrCat("cannot find '", path, "' because it does not exist"));
}

}  // namespace csi_proxy::machine::simulated
