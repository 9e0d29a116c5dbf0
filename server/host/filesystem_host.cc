// Operations on directories and links. Each works on a handle that ResolvePath() has opened.
#include "server/host/filesystem_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/mount_point.h"
#include "server/host/patient_open.h"
#include "server/host/remove_tree.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

// The maximum of attempts to make a directory that another program creates or removes.
constexpr int kAttempts = 16;

// Resolves a path as a snapshot, which does not keep other programs from changing its entries.
absl::StatusOr<ResolvedPath> LookAt(machine::Os& os, const CallContext& context,
                                    const ConfinedPath& path, bool follow_last) {
  return ResolvePath(os, context, path,
                     {.follow_last = follow_last, .access = machine::Access::kPeek});
}

// Describes the entry where `walked` ends. Leaves `target_exists` false.
LinkInfo InfoOf(const ResolvedPath& walked) {
  LinkInfo info;
  info.is_directory = walked.is_directory();
  info.is_link = walked.link.has_value();
  info.real_path = walked.Path();
  if (info.is_link) {
    info.target = walked.link->target;
    info.volume = walked.link->volume;
  }
  return info;
}

// Removes the mount where `walked` ends. Leaves the content of the volume alone.
absl::Status EndMount(const HostDeps& deps, const CallContext& context, ResolvedPath* walked) {
  machine::File& directory = *walked->held[walked->held.size() - 2];
  return EndMountBeforeDeletion(deps, context, directory, walked->names.back(), walked->Path(),
                                &walked->held.back());
}

absl::Status MakeLink(machine::Os& os, const CallContext& context,
                      const absl::StatusOr<machine::Bytes>& data, const ConfinedPath& link) {
  if (!data.ok()) return data.status();
  const std::string text = link.path.ToString();
  const std::string operation = absl::StrCat("creating link ", text);
  // Calls trust links at the roots (see ResolvePath()), so no caller may create one there.
  if (link.roots != nullptr && !IsBelow(*link.roots, link.path)) {
    return absl::PermissionDeniedError(
        absl::StrCat("a link cannot replace ", text, ", a working directory"));
  }
  ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(os, context, link));
  if (walked.found()) return absl::AlreadyExistsError(absl::StrCat(text, " exists already"));
  if (walked.held.empty() || walked.missing.size() > 1 || walked.dangling ||
      !walked.is_directory()) {
    return MissingError(link.path);
  }
  const std::string& name = walked.missing.front();
  absl::StatusOr<std::unique_ptr<machine::File>> made =
      TwiceIfInvalid([&] { return walked.at().CreateDirectory(name); });
  if (!made.ok()) return Prefixed(operation, made.status());
  const absl::Status written = (*made)->WriteReparsePoint(*data);
  if (written.ok()) return written;
  // Removes the directory again, so that no half-made link stays.
  made->reset();
  absl::StatusOr<std::unique_ptr<machine::File>> again =
      walked.at().Open(name, machine::Access::kDelete);
  const absl::Status undone = again.ok() ? (*again)->Delete() : again.status();
  if (undone.ok()) return Prefixed(operation, written);
  return Prefixed(absl::StrCat(operation, " (the directory made for it was not removed: ",
                               undone.message(), ")"),
                  written);
}

}  // namespace

absl::StatusOr<bool> FilesystemHost::Exists(const CallContext& context, const ConfinedPath& path) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, LookAt(os_, context, path, false));
  if (walked.found()) return true;
  return Reaches(context, walked);
}

absl::Status FilesystemHost::MakeDirectories(const CallContext& context, const ConfinedPath& path) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = TryMakeDirectories(context, path);
    const bool raced = IsFileNotFound(status) ||
                       HasWin32Code(status, win32_error::kAlreadyExists) ||
                       HasWin32Code(status, win32_error::kFileExists);
    if (!raced) break;
  }
  return status;
}

absl::Status FilesystemHost::Remove(const CallContext& context, const ConfinedPath& path,
                                    bool recursive) {
  const std::string text = path.path.ToString();
  absl::StatusOr<ResolvedPath> resolved =
      ResolvePath(os_, TeardownStep(context), path, {.access = machine::Access::kDelete});
  if (IsHeldByOthers(resolved.status())) {
    return RemoveHeld(context, path, Prefixed(absl::StrCat("removing ", text), resolved.status()));
  }
  if (!resolved.ok()) return resolved.status();
  ResolvedPath walked = *std::move(resolved);
  if (!walked.found()) {
    if (recursive) return absl::OkStatus();
    // The Go release's text. democratic-csi matches it to recognise that the path does not exist.
    return absl::NotFoundError(absl::StrCat(MissingError(path.path).message(),
                                            ": The system cannot find the file specified."));
  }
  if (walked.is_root()) {
    return absl::FailedPreconditionError(absl::StrCat(text, " is the root of a drive"));
  }
  ABSL_RETURN_IF_ERROR(CheckNotKubelets(deps_, context, path, walked));
  if (recursive && walked.is_directory()) {
    const absl::Status emptied = RemoveBelow(deps_, context, walked.at(), walked.Path());
    if (!emptied.ok()) return Prefixed(absl::StrCat("removing ", text), emptied);
  }
  return RemoveEntry(context, path, &walked);
}

absl::Status FilesystemHost::RemoveLink(const CallContext& context, const ConfinedPath& path,
                                        absl::string_view target) {
  const std::string text = path.path.ToString();
  ABSL_ASSIGN_OR_RETURN(
      ResolvedPath walked,
      ResolvePath(os_, context, path, {.refuse_links = true, .access = machine::Access::kDelete}));
  if (!walked.found()) return MissingError(path.path);
  const LinkInfo info = InfoOf(walked);
  if (!info.is_link) return absl::FailedPreconditionError(absl::StrCat(text, " is no link"));
  ABSL_RETURN_IF_ERROR(CheckNotKubelets(deps_, context, path, walked));
  if (info.target != target) {
    return absl::FailedPreconditionError(
        absl::StrCat(text, " leads to ", info.target, ", not to ", target));
  }
  return RemoveEntry(context, path, &walked);
}

absl::Status FilesystemHost::RemoveEntry(const CallContext& context, const ConfinedPath& path,
                                         ResolvedPath* walked) {
  const std::string text = path.path.ToString();
  const bool had_mount = walked->link.has_value() && walked->link->volume.has_value();
  if (had_mount) {
    const absl::Status ended = EndMount(deps_, context, walked);
    if (!ended.ok()) {
      // Another program may have removed the entry.
      const absl::StatusOr<ResolvedPath> left = ResolvePath(os_, context, path);
      if (left.ok() && !left->found()) return absl::OkStatus();
      return Prefixed(absl::StrCat("removing ", text), ended);
    }
  }
  // Deletes only one entry, because another one may have taken the place of a mounted folder.
  const absl::Status removed = walked->at().Delete();
  if (HasWin32Code(removed, win32_error::kDirNotEmpty)) {
    return absl::FailedPreconditionError(
        absl::StrCat("directory ", text, " is not empty (", kFilesStay, ")"));
  }
  if (removed.ok()) return removed;
  const absl::Status kept = Prefixed(absl::StrCat("removing ", text), removed);
  if (had_mount) {
    return Appended(NameUsers(deps_, context, walked->Path(), kept), kEmptyStays);
  }
  walked->held.pop_back();
  return LeaveEmpty(deps_, context, walked->at(), walked->names.back(), walked->Path(), kept);
}

absl::Status FilesystemHost::RemoveHeld(const CallContext& context, const ConfinedPath& path,
                                        const absl::Status& kept) {
  absl::StatusOr<ResolvedPath> walked = ResolvePath(os_, context, path);
  if (!walked.ok() || !walked->found()) return kept;
  ABSL_RETURN_IF_ERROR(CheckNotKubelets(deps_, context, path, *walked));
  if (!walked->link.has_value()) return NameUsers(deps_, context, walked->Path(), kept);
  walked->held.pop_back();
  return LeaveEmpty(deps_, context, walked->at(), walked->names.back(), walked->Path(), kept);
}

absl::Status FilesystemHost::RemoveContents(const CallContext& context, const ConfinedPath& path) {
  const std::string text = path.path.ToString();
  ABSL_ASSIGN_OR_RETURN(ResolvedPath walked, ResolvePath(os_, context, path));
  if (!walked.found()) return MissingError(path.path);
  if (!walked.is_directory()) {
    return absl::FailedPreconditionError(
        absl::StrCat(text, walked.link.has_value() ? " is a link or mount point, not a directory"
                                                   : " is not a directory"));
  }
  ABSL_RETURN_IF_ERROR(CheckNotKubelets(deps_, context, path, walked));
  return Prefixed(absl::StrCat("emptying ", text),
                  RemoveBelow(deps_, context, walked.at(), walked.Path()));
}

absl::Status FilesystemHost::CreateLink(const CallContext& context, const ConfinedPath& source,
                                        const ConfinedPath& link) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked,
                        ResolvePath(os_, context, source, {.follow_last = true}));
  // Does not access the server, because a server that does not answer would block a pod's link for
  // minutes. The Go release does not access the server either.
  if (!walked.found() && !walked.server.has_value()) return MissingError(source.path);
  if (walked.found() && !walked.attributes.is_directory) {
    return absl::FailedPreconditionError(
        absl::StrCat(source.path.ToString(), " is not a directory"));
  }
  return MakeLink(os_, context, machine::MakeSymlink(source.path), link);
}

absl::Status FilesystemHost::CreateLinkToShare(const CallContext& context, const UncPath& target,
                                               const ConfinedPath& link) {
  return MakeLink(os_, context, machine::MakeSymlink(target), link);
}

absl::StatusOr<LinkInfo> FilesystemHost::ReadLink(const CallContext& context,
                                                  const ConfinedPath& path) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, LookAt(os_, context, path, false));
  if (!walked.found()) return MissingError(path.path);
  LinkInfo info = InfoOf(walked);
  if (!info.is_link) return info;
  if (info.volume.has_value()) {
    const absl::Status there = os_.GetFileSystem(info.volume->ToString()).status();
    info.target_exists = there.ok() || HasWin32Code(there, win32_error::kUnrecognizedVolume);
    return info;
  }
  const absl::StatusOr<ResolvedPath> end = LookAt(os_, context, path, true);
  // Callers must not learn which paths exist outside the roots. If the call has ended, it is
  // unknown whether the target exists.
  if (absl::IsPermissionDenied(end.status())) return end.status();
  ABSL_RETURN_IF_ERROR(context.Check());
  // A link into a loop of links has no target.
  if (!end.ok()) return info;
  ABSL_ASSIGN_OR_RETURN(const bool reached, Reaches(context, *end));
  info.target_exists = end->found() || reached;
  return info;
}

absl::StatusOr<LinkInfo> FilesystemHost::PeekLink(const CallContext& context,
                                                  const ConfinedPath& path) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, LookAt(os_, context, path, false));
  if (!walked.found()) return MissingError(path.path);
  return InfoOf(walked);
}

absl::StatusOr<PathStats> FilesystemHost::GetStats(const CallContext& context,
                                                   const ConfinedPath& path) {
  ABSL_ASSIGN_OR_RETURN(const ResolvedPath walked, LookAt(os_, context, path, true));
  const std::string operation = absl::StrCat("measuring ", path.path.ToString());
  PathStats stats;
  std::string root;
  if (walked.server.has_value()) {
    stats.share = walked.server->Share();
    root = absl::StrCat(walked.server->ToString(), "\\");
    ABSL_ASSIGN_OR_RETURN(const bool mapped, IsMapped(context, *walked.server));
    if (!mapped) {
      return absl::NotFoundError(absl::StrCat(operation, ": ", stats.share, " is not mapped"));
    }
  } else {
    if (!walked.found()) return MissingError(path.path);
    stats.volume = walked.link.has_value() ? walked.link->volume : std::nullopt;
    if (!stats.volume.has_value()) {
      const absl::StatusOr<VolumeId> volume = VolumeOf(os_, walked);
      if (!volume.ok()) return Prefixed(operation, volume.status());
      stats.volume = *volume;
    }
    root = stats.volume->ToString();
  }
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::StatusOr<machine::VolumeSpace> space = [&] {
    std::optional<YieldSlot> yielded;
    if (walked.server.has_value()) yielded.emplace(context);
    return os_.GetSpace(root);
  }();
  if (HasWin32Code(space.status(), win32_error::kUnrecognizedVolume)) {
    return absl::FailedPreconditionError(absl::StrCat("volume ", root, " has no file system"));
  }
  if (IsFileNotFound(space.status()) ||
      (!space.ok() && stats.volume.has_value() && IsVolumeGone(os_, *stats.volume))) {
    return absl::NotFoundError(absl::StrCat(operation, ": cannot find ", root));
  }
  if (!space.ok()) return Prefixed(operation, space.status());
  stats.total_bytes = space->total_bytes;
  stats.available_bytes = space->available_bytes;
  return stats;
}

absl::StatusOr<LinkList> FilesystemHost::ListLinks(const CallContext& context,
                                                   const std::vector<ConfinedPath>& starts,
                                                   const LinkWalkLimits& limits) {
  return host::ListLinks(deps_, context, starts, limits);
}

absl::StatusOr<bool> FilesystemHost::IsMapped(const CallContext& context, const UncPath& server) {
  const std::string path = CanonicalUnc(server.ToString());
  ABSL_ASSIGN_OR_RETURN(const auto mappings, smb_.ListMappings(context));
  return std::any_of(mappings.begin(), mappings.end(), [&](const SmbMapping& mapping) {
    return absl::StartsWith(absl::StrCat(path, "\\"), absl::StrCat(mapping.remote_path, "\\"));
  });
}

absl::StatusOr<bool> FilesystemHost::Reaches(const CallContext& context,
                                             const ResolvedPath& walked) {
  if (!walked.server.has_value()) return false;
  ABSL_ASSIGN_OR_RETURN(const bool mapped, IsMapped(context, *walked.server));
  if (!mapped) return false;
  const YieldSlot yielded(context);
  return os_.Reach(walked.server->ToString()).ok();
}

absl::Status FilesystemHost::TryMakeDirectories(const CallContext& context,
                                                const ConfinedPath& path) {
  const std::string text = path.path.ToString();
  ABSL_ASSIGN_OR_RETURN(ResolvedPath walked,
                        ResolvePath(os_, context, path, {.follow_last = true}));
  ABSL_ASSIGN_OR_RETURN(const bool reached, Reaches(context, walked));
  if (reached) return absl::OkStatus();
  if (walked.dangling) {
    return absl::AlreadyExistsError(
        absl::StrCat("a link without a target is in the way of ", text));
  }
  if (walked.held.empty()) {
    return absl::NotFoundError(absl::StrCat("creating directory ", text, ": there is no drive ",
                                            std::string(1, path.path.drive()), ":"));
  }
  if (!walked.attributes.is_directory) {
    return absl::AlreadyExistsError(absl::StrCat("a file is in the way of ", text));
  }
  for (const std::string& name : walked.missing) {
    absl::StatusOr<std::unique_ptr<machine::File>> made =
        TwiceIfInvalid([&] { return walked.at().CreateDirectory(name); });
    if (!made.ok()) return Prefixed(absl::StrCat("creating directory ", text), made.status());
    walked.held.push_back(*std::move(made));
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::host
