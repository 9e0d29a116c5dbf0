#include "server/host/resolve_path.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/host/patient_open.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

constexpr char kTooManyLinks[] = "csi-proxy/too-many-links";

std::string RootsText(const PathRoots& roots) {
  return absl::StrJoin(roots.roots(), ", ", [](std::string* out, const WindowsPath& root) {
    absl::StrAppend(out, root.ToString());
  });
}

// Returns true if the entry does not exist, false if it exists but could not be opened.
bool IsAbsent(const absl::Status& status) {
  return IsFileNotFound(status) ||
         HasWin32Code(status, {win32_error::kInvalidDrive, win32_error::kNotReady,
                               win32_error::kDeletePending, win32_error::kUnrecognizedVolume});
}

// One walk along a path. The nested Walker of FollowAbove() shares the count of steps.
class Walker {
 public:
  Walker(machine::Os& os, const CallContext& context, const PathRoots* roots,
         const ResolveOptions& options, int* steps)
      : os_(os), context_(context), roots_(roots), options_(options), steps_(steps) {}

  absl::StatusOr<ResolvedPath> Run(const WindowsPath& path) {
    const size_t components = path.components().size();
    pending_.reserve(components);
    ABSL_RETURN_IF_ERROR(EnterDrive(path));
    at_.names.reserve(components);
    at_.held.reserve(components + 1);
    while (!pending_.empty() && !at_.held.empty()) {
      if (at_.link.has_value()) {
        ABSL_RETURN_IF_ERROR(FollowReparsePoint());
        continue;
      }
      if (!at_.attributes.is_directory) break;
      size_t steps = 1;
      absl::StatusOr<std::unique_ptr<machine::File>> child = OpenNext(&steps);
      if (IsAbsent(child.status())) break;
      if (!child.ok()) return FailedAt(current_->Child(pending_.back()).ToString(), child.status());
      for (; steps > 0; --steps) {
        current_->Append(pending_.back());
        at_.names.push_back(std::move(pending_.back()));
        pending_.pop_back();
        if (from_link_ > 0) --from_link_;
      }
      ABSL_RETURN_IF_ERROR(Hold(*std::move(child)));
      // A volume that is mounted at the end of the path is not entered.
      if (pending_.empty() && options_.follow_last && at_.link.has_value() &&
          !at_.link->volume.has_value()) {
        ABSL_RETURN_IF_ERROR(FollowReparsePoint());
      }
    }
    at_.missing.assign(pending_.rbegin(), pending_.rend());
    at_.dangling = from_link_ > 0 || (at_.held.empty() && entered_by_link_);
    return std::move(at_);
  }

 private:
  void Prepend(const std::vector<std::string>& components) {
    pending_.insert(pending_.end(), components.rbegin(), components.rend());
  }

  // Opens the entry of the next component, and sets `*steps` to the number of components opened.
  // With kPeek, first tries to open the whole path with one system call. This usually succeeds,
  // because few paths have a link before their last component. Go plans the same for os.Root
  // (github.com/golang/go/issues/73080).
  absl::StatusOr<std::unique_ptr<machine::File>> OpenNext(size_t* steps) {
    const bool is_snapshot = options_.access == machine::Access::kPeek;
    if (is_snapshot && at_.is_root() && pending_.size() > 1) {
      const std::vector<std::string> names(pending_.rbegin(), pending_.rend());
      auto end = TwiceIfInvalid([&] { return at_.at().OpenBelow(names, options_.access); });
      *steps = pending_.size();
      if (end.ok() || IsFileNotFound(end.status())) return end;
      // Falls back to a walk: the path contains a link, a component that the error must name, or
      // one that another program holds.
    }
    *steps = 1;
    return Open(pending_.back(),
                is_snapshot || pending_.size() == 1 ? options_.access : machine::Access::kRead);
  }

  absl::StatusOr<std::unique_ptr<machine::File>> Open(const std::string& name,
                                                      machine::Access access) {
    return options_.is_patient ? OpenPatiently(context_, at_.at(), name, access)
                               : TwiceIfInvalid([&] { return at_.at().Open(name, access); });
  }

  // Appends an entry to the held ones, and sets `attributes` and `link` from it.
  absl::Status Hold(std::unique_ptr<machine::File> file) {
    at_.held.push_back(std::move(file));
    const absl::StatusOr<machine::FileAttributes> attributes = at_.at().GetAttributes();
    if (!attributes.ok()) return FailedAt(current_->ToString(), attributes.status());
    at_.attributes = *attributes;
    at_.link.reset();
    if (!machine::IsNameSurrogate(*attributes)) return absl::OkStatus();
    const absl::StatusOr<machine::Bytes> data = at_.at().ReadReparsePoint();
    if (!data.ok()) return FailedAt(current_->ToString(), data.status());
    absl::StatusOr<machine::ReparsePoint> point = machine::ParseReparsePoint(*data);
    if (!point.ok()) return FailedAt(current_->ToString(), point.status());
    at_.link = *std::move(point);
    return absl::OkStatus();
  }

  // Enters a root directory. Holds nothing if the root does not exist.
  absl::Status EnterRoot(const std::string& root) {
    at_ = ResolvedPath();
    absl::StatusOr<std::unique_ptr<machine::File>> file = os_.OpenRoot(root);
    if (IsAbsent(file.status())) return absl::OkStatus();
    if (!file.ok()) return FailedAt(root, file.status());
    at_.root = root;
    return Hold(*std::move(file));
  }

  // Enters the root of the path's drive and prepends the path's components to the pending ones.
  absl::Status EnterDrive(const WindowsPath& path) {
    current_ = path.Root();
    is_in_mount_ = false;
    Prepend(path.components());
    return EnterRoot(current_->ToString());
  }

  // Returns the words for an entry in an error: its kind and its path. An entry behind a link may
  // be another tenant's, so the words then name the link of the caller's path instead.
  std::string NameOf(const std::string& entry, absl::string_view kind) const {
    return first_link_.has_value()
               ? absl::StrCat("an entry behind the link ", first_link_->ToString())
               : absl::StrCat(kind, entry);
  }

  // Returns `error` with the name of its entry. The text of Windows' errors may contain a path, so
  // behind a link only their code is kept.
  absl::Status FailedAt(const std::string& entry, const absl::Status& error) const {
    const std::string name = NameOf(entry, "");
    const auto code = Win32CodeOf(error);
    if (!first_link_.has_value() || !code.has_value()) return Prefixed(name, error);
    return Win32Status(*code, absl::StrCat(name, ": ", Win32Text(*code)));
  }

  absl::Status CountStep(const WindowsPath& where) {
    ABSL_RETURN_IF_ERROR(context_.Check());
    if (++*steps_ <= options_.max_steps) return absl::OkStatus();
    auto error = absl::FailedPreconditionError(
        absl::StrCat(NameOf(where.ToString(), ""), ": the path has too many links"));
    error.SetPayload(kTooManyLinks, absl::Cord());
    return error;
  }

  // Returns true if a link or mount point at `where` must stay within the roots. A link at or above
  // a root is the administrator's, so it may lead anywhere.
  bool Confines(const WindowsPath& where) const {
    return roots_ != nullptr && IsBelow(*roots_, where);
  }

  // Follows the link or mount point at the end of the held entries.
  absl::Status FollowReparsePoint() {
    const machine::ReparsePoint link = *at_.link;
    const WindowsPath current = *current_;
    ABSL_RETURN_IF_ERROR(CountStep(current));
    if (options_.refuse_links && (roots_ == nullptr || Confines(current))) {
      return absl::FailedPreconditionError(absl::StrCat(
          current.ToString(), " is a link or a mounted folder, which this call does not follow"));
    }
    return link.volume.has_value() ? EnterMount(*link.volume, current) : FollowLink(link, current);
  }

  absl::Status EnterMount(const VolumeId& volume, const WindowsPath& current) {
    if (Confines(current)) {
      ABSL_RETURN_IF_ERROR(CheckMount(volume, current));
      const std::vector<std::string> names = NamesBelow(*roots_, current);
      const bool is_kubelets = names.size() == 1 && IsKubeletsFolder(names[0]);
      is_in_mount_ = !is_kubelets;
    }
    entered_by_link_ = false;
    return EnterRoot(volume.ToString());
  }

  // Returns PERMISSION_DENIED if `volume` holds a root, if the mount at the end of the held entries
  // is in a folder that pods can write to, or if the mount manager does not list the mount. Any
  // program that may write to a folder can make a folder in it lead to any volume, even Windows'.
  absl::Status CheckMount(const VolumeId& volume, const WindowsPath& current) {
    const auto denied = [&](absl::string_view why) {
      return absl::PermissionDeniedError(
          absl::StrCat(NameOf(current.ToString(), "the mount point "), why));
    };
    for (const WindowsPath& root : roots_->roots()) {
      ABSL_ASSIGN_OR_RETURN(const auto holding, HoldingVolume(root));
      if (holding != volume) continue;
      return denied(absl::StrCat(" leads to the volume of ", root.ToString(), ", outside ",
                                 RootsText(*roots_)));
    }
    if (is_in_mount_ || IsPodsDirectory(NamesBelow(*roots_, current.Parent()))) {
      return denied(" is in a folder that a pod can write to: it may lead to any volume");
    }
    const auto folders = os_.ListMountPoints(volume.ToString());
    if (IsAbsent(folders.status())) return absl::OkStatus();
    if (!folders.ok()) return FailedAt(current.ToString(), folders.status());
    ABSL_ASSIGN_OR_RETURN(const bool is_listed, IsListed(*folders, volume));
    if (is_listed) return absl::OkStatus();
    return denied(" is unknown to Windows' mount manager: a program made it without Windows");
  }

  // Returns true if the last held entry is one of `folders`, where `volume` is mounted.
  absl::StatusOr<bool> IsListed(const std::vector<std::string>& folders, const VolumeId& volume) {
    const std::string own = FoldName(at_.Path());
    const auto is_own = [&](absl::string_view folder) {
      return FoldName(absl::StripSuffix(folder, "\\")) == own;
    };
    if (std::ranges::any_of(folders, is_own)) return true;
    // The mount manager may name the folder by another letter or mount point of its volume.
    ABSL_ASSIGN_OR_RETURN(const VolumeId holding, VolumeOf(os_, at_));
    const std::string names = FoldName(absl::StrJoin(at_.names, "\\"));
    for (const std::string& text : folders) {
      const auto folder = WindowsPath::Parse("folder", text);
      if (!folder.ok()) continue;
      int steps = 0;
      const auto walked = Walker(os_, context_, nullptr,
                                 {.access = machine::Access::kPeek, .is_patient = false}, &steps)
                              .Run(*folder);
      ABSL_RETURN_IF_ERROR(context_.Check());
      if (!walked.ok() || !walked->found() || !walked->link.has_value()) continue;
      const auto there = VolumeOf(os_, *walked);
      if (walked->link->volume == volume && there.ok() && *there == holding &&
          FoldName(absl::StrJoin(walked->names, "\\")) == names) {
        return true;
      }
    }
    return false;
  }

  absl::Status FollowLink(const machine::ReparsePoint& link, const WindowsPath& current) {
    entered_by_link_ = true;
    const bool confined = Confines(current);
    const auto leads = [&] {
      return absl::StrCat(NameOf(current.ToString(), "the link "), " leads to ",
                          first_link_.has_value() ? "a target" : link.target);
    };
    const auto leads_out = [&] {
      return absl::PermissionDeniedError(absl::StrCat(leads(), ", outside ", RootsText(*roots_)));
    };
    const auto leads_nowhere = [&](absl::string_view kind) {
      return absl::FailedPreconditionError(
          absl::StrCat(leads(), ", which is not a path of a ", kind));
    };
    // The target is a path on a server. Paths of devices and volumes begin with `\\?\`.
    if (absl::StartsWith(link.target, "\\\\") && !absl::StartsWith(link.target, "\\\\?\\")) {
      if (confined && !pending_.empty()) return leads_out();
      absl::StatusOr<UncPath> server = UncPath::Parse("link target", link.target);
      if (!server.ok()) return leads_nowhere("share");
      at_ = ResolvedPath();
      at_.server = *std::move(server);
      AppendPendingToServer();
      return absl::OkStatus();
    }
    const absl::StatusOr<WindowsPath> target = TargetOf(link, current);
    if (!target.ok()) {
      return confined ? leads_out() : leads_nowhere("drive");
    }
    if (confined && !roots_->Contains(*target)) return leads_out();
    if (roots_ != nullptr && !confined) return FollowAbove(*target);
    if (confined && !first_link_.has_value()) first_link_ = current;
    from_link_ += static_cast<int>(target->components().size());
    return EnterDrive(*target);
  }

  // Returns the drive path of a link's target.
  static absl::StatusOr<WindowsPath> TargetOf(const machine::ReparsePoint& link,
                                              const WindowsPath& current) {
    if (!link.is_relative) return WindowsPath::Parse("link target", link.target);
    WindowsPath path = absl::StartsWith(link.target, "\\") ? current.Root() : current.Parent();
    for (const absl::string_view part : absl::StrSplit(link.target, '\\', absl::SkipEmpty())) {
      if (part == "..") {
        path = path.Parent();
      } else if (part != ".") {
        ABSL_ASSIGN_OR_RETURN(path, path.Join("link target", part));
      }
    }
    return path;
  }

  // Follows an administrator's link. `current_` keeps the link's name, for errors and for
  // Confines().
  absl::Status FollowAbove(const WindowsPath& target) {
    ResolveOptions options = options_;
    options.follow_last = true;
    options.refuse_links = false;
    options.access = pending_.empty() ? options_.access : machine::Access::kRead;
    ABSL_ASSIGN_OR_RETURN(ResolvedPath walked,
                          Walker(os_, context_, nullptr, options, steps_).Run(target));
    at_ = std::move(walked);
    from_link_ += static_cast<int>(at_.missing.size());
    if (at_.server.has_value()) AppendPendingToServer();
    Prepend(at_.missing);
    return absl::OkStatus();
  }

  // Appends the pending components, because the server resolves them.
  void AppendPendingToServer() {
    for (; !pending_.empty(); pending_.pop_back()) at_.server->Append(pending_.back());
  }

  // Returns the volume of the last entry of `path` that exists, or nullopt if no entry exists.
  absl::StatusOr<std::optional<VolumeId>> HoldingVolume(const WindowsPath& path) {
    int steps = 0;
    ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, Walker(os_, context_, nullptr,
                                                            {.follow_last = true,
                                                             .max_steps = options_.max_steps,
                                                             .access = machine::Access::kPeek},
                                                            &steps)
                                                         .Run(path));
    if (walked.held.empty()) return std::nullopt;
    return VolumeOf(os_, walked);
  }

  machine::Os& os_;
  const CallContext& context_;
  const PathRoots* const roots_;
  const ResolveOptions options_;
  int* const steps_;
  ResolvedPath at_;
  // The path walked so far, as the caller would name it. Set by EnterDrive().
  std::optional<WindowsPath> current_;
  // The components still to walk, in reverse.
  std::vector<std::string> pending_;
  // The number of pending components that come from a link's target.
  int from_link_ = 0;
  // The first link below a root that the walk followed.
  std::optional<WindowsPath> first_link_;
  // True in a volume to which pods can write: one that is mounted below a root, but not at the
  // kubelet's own `plugins` or `pods`.
  bool is_in_mount_ = false;
  // True if the walk entered this tree by a link, not by a mount point or the caller's drive.
  bool entered_by_link_ = false;
};

}  // namespace

std::string ResolvedPath::Path() const { return absl::StrCat(root, absl::StrJoin(names, "\\")); }

absl::StatusOr<ResolvedPath> ResolvePath(machine::Os& os, const CallContext& context,
                                         const ConfinedPath& path, const ResolveOptions& options) {
  ABSL_RETURN_IF_ERROR(context.Check());
  if (path.roots != nullptr) {
    ABSL_RETURN_IF_ERROR(path.roots->Check("path", path.path));
  }
  int steps = 0;
  return Walker(os, context, path.roots.get(), options, &steps).Run(path.path);
}

bool HasTooManyLinks(const absl::Status& error) {
  return error.GetPayload(kTooManyLinks).has_value();
}

absl::StatusOr<VolumeId> VolumeOf(machine::Os& os, const ResolvedPath& walked) {
  if (walked.root.size() != 3) return VolumeId::Parse(walked.root);
  const absl::StatusOr<std::string> name = os.GetVolumeOfDrive(walked.root[0]);
  if (!name.ok()) return Prefixed(walked.root, name.status());
  return VolumeId::Parse(*name);
}

bool IsBelow(const PathRoots& roots, const WindowsPath& path) {
  return !path.components().empty() && roots.Contains(path.Parent());
}

std::vector<std::string> NamesBelow(const PathRoots& roots, const WindowsPath& path) {
  size_t above = path.components().size();
  for (const WindowsPath& root : roots.roots()) {
    const std::vector<std::string>& names = root.components();
    const bool is_kubelets = !names.empty() && IsKubeletsFolder(names.back());
    if (root.Contains(path)) above = std::min(above, names.size() - (is_kubelets ? 1 : 0));
  }
  return {path.components().begin() + static_cast<std::ptrdiff_t>(above), path.components().end()};
}

absl::Status MissingError(const WindowsPath& path) {
  return absl::NotFoundError(
      absl::StrCat("cannot find '", path.ToString(), "' because it does not exist"));
}

}  // namespace csi_proxy::host
