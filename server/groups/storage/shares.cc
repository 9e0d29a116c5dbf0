// StageShare and UnstageShare. A link is created before its mapping and, as a rule, removed after
// it. So a killed call leaves no mapping without a link, and can be repeated without a record of
// its steps.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/locks.h"
#include "server/groups/smb/mapping.h"
#include "server/groups/storage/calls.h"
#include "server/groups/try_thrice.h"
#include "server/host/mount_point.h"
#include "server/names/win32_error.h"

namespace csi_proxy::storage {
namespace {

// A search for links is repeated only if it took less than this.
constexpr absl::Duration kShortLook = absl::Seconds(1);
constexpr size_t kMaxOtherLinks = 16;

// The entry at the target, read without access to a server. Empty if the target does not exist.
struct TargetEntry {
  bool is_directory = false;
  bool is_file = false;
  // The target of a link or of a mounted folder.
  std::optional<std::string> target;

  friend bool operator==(const TargetEntry&, const TargetEntry&) = default;
};

absl::StatusOr<TargetEntry> LookAt(host::Host& host, const CallContext& context,
                                   const ConfinedPath& path) {
  const auto link = host.filesystem().PeekLink(context, path);
  if (absl::IsNotFound(link.status())) return TargetEntry{};
  if (!link.ok()) return link.status();
  TargetEntry entry;
  entry.is_directory = link->is_directory;
  entry.is_file = !link->is_link && !link->is_directory;
  if (link->is_link) entry.target = link->target;
  return entry;
}

absl::Status NotADirectory(const ConfinedPath& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("target_path: ", path.path.ToString(), " is a file"));
}

class ShareStager {
 public:
  ShareStager(const groups::HandlerDeps& deps, const CallContext& context, const UncPath& remote,
              host::SmbCredentials credentials, const ConfinedPath& target)
      : deps_(deps),
        context_(context),
        remote_(remote),
        share_(remote.Share()),
        credentials_(std::move(credentials)),
        target_(target) {}

  absl::StatusOr<StageShareResponse> Run() {
    ABSL_RETURN_IF_ERROR(RunLocked());
    response_.share = share_;
    return std::move(response_);
  }

 private:
  void AddStep(StorageStep step) { clock_.Add(step, &response_); }

  absl::Status RunLocked() {
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockShare(*deps_.locks, context_, share_));
    ABSL_ASSIGN_OR_RETURN(const auto entry, LookAt(*deps_.host, context_, target_));
    ABSL_RETURN_IF_ERROR(CheckTarget(entry));
    // Checks the mapping before it creates the link: where mappings are bound to credentials, the
    // link must never lead to a mapping with other credentials.
    host::SmbAccess access;
    ABSL_ASSIGN_OR_RETURN(const auto found,
                          smb::FindMapping(deps_, context_, remote_, credentials_, &access));
    if (found == smb::LookupResult::kRemoved) AddStep(StorageStep::kUnmapped);
    if (found == smb::LookupResult::kUsable) {
      ABSL_RETURN_IF_ERROR(CheckFolder(access));
      return LinkOnce();
    }
    ABSL_RETURN_IF_ERROR(LinkOnce());
    const absl::Status mapped = smb::Map(deps_, context_, remote_, credentials_, &access);
    if (!mapped.ok()) return is_link_ours_ && !MayBeMapped() ? RemoveLinkAfter(mapped) : mapped;
    AddStep(StorageStep::kMapped);
    const absl::Status checked = CheckFolder(access);
    if (checked.ok() || !is_link_ours_) return checked;
    // Only this call can use the mapping now, because it holds the share's lock.
    if (found == smb::LookupResult::kNone) {
      smb::Unmap(deps_, context_.Afterwards(smb::kToUndo), share_).IgnoreError();
    }
    return RemoveLinkAfter(checked);
  }

  // Returns an error if the folder cannot be opened. Returns OK if the user may not read a share's
  // root, because the user may still have rights below it.
  absl::Status CheckFolder(const host::SmbAccess& access) {
    const std::string path = remote_.ToString();
    switch (access.kind) {
      case host::SmbAccess::Kind::kReached:
        return absl::OkStatus();
      case host::SmbAccess::Kind::kDenied:
        if (remote_.components().empty()) return absl::OkStatus();
        return absl::FailedPreconditionError(absl::StrCat(
            "remote_path: the server denies the user access to ", path,
            ": check the permissions of the folder. If they are right, unstage all of ", share_,
            " on this node, so that it is mapped again"));
      case host::SmbAccess::Kind::kNoFolder:
        return absl::NotFoundError(
            absl::StrCat("remote_path: share ", share_, " exists, but not its folder ", path));
      case host::SmbAccess::Kind::kDfsLink:
        return absl::FailedPreconditionError(
            absl::StrCat("remote_path: ", path,
                         ": a global mapping cannot follow a DFS link: name the share that it "
                         "leads to, which `Get-DfsnFolderTarget` shows"));
      case host::SmbAccess::Kind::kNotReached:
        return Prefixed("remote_path", access.error);
    }
    return absl::OkStatus();
  }

  absl::Status CheckTarget(const TargetEntry& entry) {
    if (entry.is_file) return NotADirectory(target_);
    if (!entry.target.has_value() || smb::IsTarget(*entry.target, remote_)) {
      return absl::OkStatus();
    }
    return absl::AlreadyExistsError(absl::StrCat("target_path: ", target_.path.ToString(),
                                                 " leads to ", *entry.target, ", not to ",
                                                 remote_.ToString()));
  }

  // Unless the link exists, creates it in place of an empty directory.
  absl::Status LinkOnce() {
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPath(*deps_.locks, context_, target_));
    host::FilesystemHost& files = deps_.host->filesystem();
    ABSL_ASSIGN_OR_RETURN(const auto entry, LookAt(*deps_.host, context_, target_));
    ABSL_RETURN_IF_ERROR(CheckTarget(entry));
    if (entry.target.has_value()) return absl::OkStatus();
    if (entry.is_directory) {
      ABSL_RETURN_IF_ERROR(Prefixed("target_path", files.Remove(context_, target_, false)));
      AddStep(StorageStep::kRemovedDirectory);
    }
    absl::Status made = files.CreateLinkToShare(context_, remote_, target_);
    if (absl::IsNotFound(made)) {
      const ConfinedPath above{target_.path.Parent(), target_.roots};
      ABSL_RETURN_IF_ERROR(files.MakeDirectories(context_, above));
      AddStep(StorageStep::kMadeDirectory);
      made = files.CreateLinkToShare(context_, remote_, target_);
    }
    ABSL_RETURN_IF_ERROR(made);
    is_link_ours_ = true;
    AddStep(StorageStep::kLinked);
    return absl::OkStatus();
  }

  // Returns true if the share is mapped after a failed attempt, or if this is unknown. The caller
  // then keeps the link, and the next call checks again.
  bool MayBeMapped() {
    const auto mapping = deps_.host->smb().GetMapping(context_, share_);
    return !mapping.ok() || mapping->has_value();
  }

  // Removes the link of a failed call. Returns the error of the call.
  absl::Status RemoveLinkAfter(const absl::Status& failed) {
    const absl::Status removed = RemoveLink(context_.Afterwards(smb::kToUndo));
    if (removed.ok() || absl::IsNotFound(removed)) return failed;
    return Appended(failed, absl::StrCat("and the link ", target_.path.ToString(),
                                         " could not be removed: ", removed.message()));
  }

  absl::Status RemoveLink(const CallContext& context) {
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPath(*deps_.locks, context, target_));
    ABSL_ASSIGN_OR_RETURN(const auto entry, LookAt(*deps_.host, context, target_));
    // Another program has replaced or removed the link.
    if (!entry.target.has_value() || !smb::IsTarget(*entry.target, remote_)) {
      return absl::OkStatus();
    }
    return deps_.host->filesystem().Remove(context, target_, false);
  }

  const groups::HandlerDeps& deps_;
  const CallContext& context_;
  const UncPath& remote_;
  const std::string share_;
  const host::SmbCredentials credentials_;
  const ConfinedPath& target_;
  bool is_link_ours_ = false;
  StepClock clock_;
  StageShareResponse response_;
};

class ShareUnstager {
 public:
  ShareUnstager(const groups::HandlerDeps& deps, const CallContext& context,
                const std::optional<UncPath>& remote, const ConfinedPath& target)
      : deps_(deps), host_(*deps.host), context_(context), remote_(remote), target_(target) {}

  absl::StatusOr<UnstageShareResponse> Run() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      ABSL_ASSIGN_OR_RETURN(const auto entry, LookAt(host_, context_, target_));
      if (entry.is_file) return NotADirectory(target_);
      ABSL_ASSIGN_OR_RETURN(const auto share, ShareOf(entry));
      ABSL_ASSIGN_OR_RETURN(const auto done, RunIfStill(entry, share));
      if (done) {
        response_.share = share;
        return std::move(response_);
      }
    }
    return absl::UnavailableError(absl::StrCat("other programs keep changing ",
                                               target_.path.ToString(), ": repeat the call"));
  }

  // Removes the mapping of the request's share unless a link needs it.
  absl::StatusOr<UnstageShareResponse> RunWithoutTarget() {
    response_.share = remote_->Share();
    ABSL_ASSIGN_OR_RETURN(const auto lock,
                          groups::LockShare(*deps_.locks, context_, response_.share));
    ABSL_RETURN_IF_ERROR(UnmapIfLast(context_, TargetEntry{}, response_.share).status());
    return std::move(response_);
  }

 private:
  void AddStep(StorageStep step) { clock_.Add(step, &response_); }

  // Returns the share of the mapping that may be removed, or "". Returns FAILED_PRECONDITION if the
  // entry does not lead to the request's share.
  absl::StatusOr<std::string> ShareOf(const TargetEntry& entry) {
    if (!entry.target.has_value()) return remote_.has_value() ? remote_->Share() : "";
    const absl::StatusOr<UncPath> leads_to = UncPath::Parse("target", *entry.target);
    if (!leads_to.ok() || (remote_.has_value() && !smb::IsTarget(*entry.target, *remote_))) {
      return absl::FailedPreconditionError(
          absl::StrCat("target_path: ", target_.path.ToString(), " leads to ", *entry.target,
                       ", not to ", remote_.has_value() ? remote_->ToString() : "a share"));
    }
    return leads_to->Share();
  }

  // Unstages the target. Without the lock of its share removes only the link. Returns false if
  // `entry` is outdated.
  absl::StatusOr<bool> RunIfStill(const TargetEntry& entry, const std::string& share) {
    if (share.empty()) return RemoveIfStill(entry);
    // Another call may hold this lock while it waits for the server. The link must still be
    // removed.
    const auto lock = groups::LockShare(*deps_.locks, host::TeardownStep(context_), share);
    ABSL_RETURN_IF_ERROR(context_.Check());
    if (!lock.ok()) {
      ABSL_ASSIGN_OR_RETURN(const bool removed, RemoveIfStill(entry));
      if (removed) WarnOfMapping(share, lock.status());
      return removed;
    }
    ABSL_ASSIGN_OR_RETURN(const auto still, LookAt(host_, context_, target_));
    if (still != entry) return false;
    ABSL_ASSIGN_OR_RETURN(const bool was_seen, UnmapOrWarn(entry, share));
    ABSL_ASSIGN_OR_RETURN(const bool removed, RemoveIfStill(entry));
    // The search found links, but none at the target's path: one of the found links may be the
    // target's link by another path. The target's link is removed now, so searches again.
    if (!removed || was_seen) return removed;
    return UnmapOrWarn(TargetEntry{}, share);
  }

  // Calls UnmapIfLast() up to three times. After the last failure adds a warning and returns true
  // if the call has not ended: a target is unstaged even if its mapping cannot be removed.
  absl::StatusOr<bool> UnmapOrWarn(const TargetEntry& entry, const std::string& share) {
    const CallContext step = host::TeardownStep(context_);
    const auto done = groups::TryThrice(
        step, [&] { return UnmapIfLast(step, entry, share); },
        [](const auto& unmapped) { return unmapped.ok(); });
    if (done.ok()) return done;
    ABSL_RETURN_IF_ERROR(context_.Check());
    WarnOfMapping(share, done.status());
    return true;
  }

  void WarnOfMapping(const std::string& share, const absl::Status& why) {
    Warn(absl::StrCat("the mapping was not removed: ", why.message()));
    deps_.shares->RecordRemoval(share, smb::RemovalOutcome::kKept, {.incomplete = true});
  }

  // Removes the mapping unless other links need it. Returns false if a complete search found links,
  // but none at the target's path: one of these may be the target's link by another path.
  absl::StatusOr<bool> UnmapIfLast(const CallContext& context, const TargetEntry& entry,
                                   const std::string& share) {
    ABSL_ASSIGN_OR_RETURN(const auto mapping, smb::FindMappingToRemove(deps_, context, share));
    if (!mapping.has_value()) return true;
    const auto leads_there = [&](const UncPath& target) { return target.Share() == share; };
    const SteadyTime begin = SteadyTime::Now();
    absl::StatusOr<smb::ShareLinks> links = smb::FindLinks(deps_, context, leads_there);
    // The listing may have missed a directory because another process had it open for a moment.
    if (links.ok() && links->incomplete && SteadyTime::Now() - begin < kShortLook) {
      links = smb::FindLinks(deps_, context, leads_there);
    }
    if (!links.ok()) return links.status();
    const std::string own = FoldName(target_.path.ToString());
    const bool was_seen =
        entry.target.has_value() && std::erase_if(links->paths, [&](const std::string& path) {
                                      return FoldName(path) == own;
                                    }) > 0;
    const bool is_aliased = entry.target.has_value() && !was_seen && !links->paths.empty();
    // A mapping with a drive letter is kept, like a mapping with another link.
    if (!mapping->local_path.empty()) links->paths.push_back(mapping->local_path);
    response_.incomplete = links->incomplete;
    response_.other_links.assign(links->paths.begin(),
                                 links->paths.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            links->paths.size(), kMaxOtherLinks)));
    if (is_aliased && !links->incomplete) return false;
    const bool keep = links->incomplete || !links->paths.empty();
    if (!keep) {
      const absl::StatusOr<bool> removed = smb::Unmap(deps_, context, share);
      // An administrator may have removed the mapping in the meantime.
      if (!removed.ok() && !absl::IsNotFound(removed.status())) return removed.status();
      if (removed.ok() && *removed) AddStep(StorageStep::kUnmapped);
    }
    deps_.shares->RecordRemoval(
        share, keep ? smb::RemovalOutcome::kKept : smb::RemovalOutcome::kRemoved, *links);
    return true;
  }

  absl::StatusOr<bool> RemoveIfStill(const TargetEntry& entry) {
    if (!entry.is_directory && !entry.target.has_value()) return true;
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPath(*deps_.locks, context_, target_));
    ABSL_ASSIGN_OR_RETURN(const auto still, LookAt(host_, context_, target_));
    // Another program has removed the entry.
    if (still == TargetEntry{}) return true;
    if (still != entry) return false;
    const absl::Status removed = host_.filesystem().Remove(context_, target_, false);
    if (!removed.ok()) {
      const auto left = LookAt(host_, context_, target_);
      // An entry that could not be deleted is a folder: either `entry` was a folder, or its link
      // has become an empty one.
      const bool is_folder = left.ok() && left->is_directory && !left->target.has_value();
      if (!is_folder || absl::IsFailedPrecondition(removed)) {
        return Prefixed("target_path", removed);
      }
      Warn(absl::StrCat("an empty folder stays: ", removed.message()));
      if (entry.is_directory) return true;
    }
    AddStep(entry.is_directory ? StorageStep::kRemovedDirectory : StorageStep::kUnlinked);
    return true;
  }

  // Adds a warning to the answer and the log.
  void Warn(std::string warning) {
    host_.Warn(absl::StrCat("unstaging ", target_.path.ToString(), ": ", warning));
    response_.warnings.push_back(std::move(warning));
  }

  const groups::HandlerDeps& deps_;
  host::Host& host_;
  const CallContext& context_;
  const std::optional<UncPath>& remote_;
  const ConfinedPath& target_;
  StepClock clock_;
  UnstageShareResponse response_;
};

}  // namespace

absl::StatusOr<StageShareResponse> StorageService::StageShare(const CallContext& context,
                                                              const StageShareRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto remote, smb::ParsePathToMap(deps_, request.remote_path));
  ABSL_RETURN_IF_ERROR(smb::CheckCredentials(request.username, request.password));
  ABSL_ASSIGN_OR_RETURN(const auto target,
                        ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                            Place::kBelowRoots, Spelling::kLenient));
  auto staged =
      ShareStager(deps_, context, remote, {request.username, Secret(request.password)}, target)
          .Run();
  deps_.shares->RecordAttempt(context, remote.Share(), target.path.ToString(), staged.status());
  return staged;
}

absl::StatusOr<UnstageShareResponse> StorageService::UnstageShare(
    const CallContext& context, const UnstageShareRequest& request) {
  std::optional<UncPath> remote;
  if (!request.remote_path.empty()) {
    ABSL_ASSIGN_OR_RETURN(auto parsed, smb::ParseRemotePath(request.remote_path));
    remote = std::move(parsed);
    if (request.target_path.empty()) {
      const ConfinedPath none = groups::AllRoots(deps_.roots).front();
      return ShareUnstager(deps_, context, remote, none).RunWithoutTarget();
    }
  }
  ABSL_ASSIGN_OR_RETURN(const auto target,
                        ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                            Place::kBelowRoots, Spelling::kLenient));
  return ShareUnstager(deps_, context, remote, target).Run();
}

}  // namespace csi_proxy::storage
