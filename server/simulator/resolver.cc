#include "server/simulator/resolver.h"

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/simulator/smb.h"

namespace csi_proxy::machine::simulator {
namespace {

// The maximum number of links and mount points that Windows follows in a path.
constexpr int kMaxSteps = 63;

// Walks along one path.
class Walker {
 public:
  Walker(NodeState& state, absl::string_view path, bool follow_last)
      : state_(state), path_(path), follow_last_(follow_last) {}

  // Walks `names` from the root of a volume. `root` is an error if the drive is missing.
  absl::StatusOr<Resolved> Walk(const absl::StatusOr<VolumePlace>& root,
                                const std::vector<std::string>& names) {
    Prepend(names);
    EnterVolume(root);
    while (!pending_.empty() && at_.tree != nullptr) {
      const Tree::Entry& here = at_.at();
      if (here.mounted.has_value()) {
        ABSL_RETURN_IF_ERROR(CountStep());
        EnterVolume(FindVolume(state_, *here.mounted));
        entered_by_link_ = false;
        continue;
      }
      const std::optional<Tree::Id> child = at_.tree->Find(at_.entry, pending_.front());
      if (!child.has_value()) break;
      const Tree::Entry& entry = at_.tree->at(*child);
      const bool follow = entry.kind == Tree::Kind::kLink && (pending_.size() > 1 || follow_last_);
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
  void Prepend(const std::vector<std::string>& components) {
    pending_.insert(pending_.begin(), components.begin(), components.end());
  }

  void EnterVolume(const absl::StatusOr<VolumePlace>& place) {
    at_ = Resolved();
    if (!place.ok()) return;
    at_.place = *place;
    if (!place->volume->file_system.empty()) at_.tree = &place->volume->tree;
  }

  absl::Status CountStep() {
    if (++steps_ <= kMaxSteps) return absl::OkStatus();
    return Failure(absl::StrCat("following the links of ", path_), win32_error::kCannotResolveName,
                   absl::StatusCode::kFailedPrecondition);
  }

  absl::Status FollowLink(const std::string& target) {
    ABSL_RETURN_IF_ERROR(CountStep());
    entered_by_link_ = true;
    if (absl::StartsWith(target, "\\\\")) {
      ABSL_ASSIGN_OR_RETURN(const UncPath path, UncPath::Parse("link target", target));
      at_ = ResolveUnc(state_, path);
      from_link_ += static_cast<int>(at_.missing.size());
      Prepend(at_.missing);
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(const WindowsPath path, WindowsPath::Parse("link target", target));
    from_link_ += static_cast<int>(path.components().size());
    Prepend(path.components());
    EnterVolume(FindDrive(state_, path.drive()));
    return absl::OkStatus();
  }

  NodeState& state_;
  const absl::string_view path_;
  const bool follow_last_;
  int steps_ = 0;
  Resolved at_;
  std::deque<std::string> pending_;
  // The number of pending components that come from a link's target.
  int from_link_ = 0;
  // True if the tree was entered by a link rather than a mount point or the caller's drive.
  bool entered_by_link_ = false;
};

}  // namespace

absl::StatusOr<Resolved> Resolve(NodeState& state, const WindowsPath& path, bool follow_last) {
  return Walker(state, path.ToString(), follow_last)
      .Walk(FindDrive(state, path.drive()), path.components());
}

absl::StatusOr<Resolved> ResolveBelow(NodeState& state, const VolumePlace& root,
                                      const std::vector<std::string>& names,
                                      absl::string_view path) {
  return Walker(state, path, false).Walk(root, names);
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

}  // namespace csi_proxy::machine::simulator
