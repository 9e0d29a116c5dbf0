#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::storage {
namespace {

MountKind KindOf(const host::FoundLink& link) {
  switch (link.kind) {
    case host::LinkKind::kMountedVolume:
      return MountKind::kMountedVolume;
    case host::LinkKind::kSymlink:
      return MountKind::kSymlink;
    case host::LinkKind::kJunction:
      return MountKind::kJunction;
  }
  return MountKind::kSymlink;
}

// Returns `\\host\share` of a mapping. The mapping may be of a folder in the share.
std::string ShareOf(const host::SmbMapping& mapping) {
  const absl::StatusOr<UncPath> path = UncPath::Parse("remote_path", mapping.remote_path);
  return path.ok() ? path->Share() : mapping.remote_path;
}

// The time limit of ListMounts' query for the mappings. Without an answer ListMounts reports links
// to shares as UNDETERMINED.
constexpr absl::Duration kMappingsPatience = absl::Seconds(1);

// Maps a UncPath::Share() to whether a mapping is_connected. Is nullopt if mappings are unknown.
using Connected = std::optional<std::map<std::string, bool>>;

MountState StateOf(const host::FoundLink& link, const Connected& connected) {
  switch (link.end) {
    case host::LinkEnd::kThere:
      return MountState::kAlive;
    case host::LinkEnd::kNowhere:
      return MountState::kDangling;
    case host::LinkEnd::kOnServer: {
      if (!connected.has_value()) return MountState::kUndetermined;
      const auto mapping = connected->find(link.share);
      return mapping != connected->end() && mapping->second ? MountState::kAlive
                                                            : MountState::kDisconnected;
    }
    case host::LinkEnd::kUnknown:
      return MountState::kUndetermined;
  }
  return MountState::kUndetermined;
}

absl::StatusOr<host::LinkList> ListLinks(const groups::HandlerDeps& deps,
                                         const CallContext& context,
                                         const std::vector<ConfinedPath>& starts) {
  ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockListing(*deps.locks, context));
  return deps.host->filesystem().ListLinks(context, starts);
}

}  // namespace

absl::StatusOr<GetPathStatsResponse> StorageService::GetPathStats(
    const CallContext& context, const GetPathStatsRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto path,
                        ConfinedPath::Parse(deps_.roots, "path", request.path, Place::kWithinRoots,
                                            Spelling::kLenient));
  ABSL_ASSIGN_OR_RETURN(const auto stats, deps_.host->filesystem().GetStats(context, path));
  ABSL_ASSIGN_OR_RETURN(const auto total, groups::SignedBytes("total_bytes", stats.total_bytes));
  // A quota may allow more bytes than the file system has.
  const auto available = static_cast<int64_t>(std::min(stats.total_bytes, stats.available_bytes));
  return GetPathStatsResponse{.total_bytes = total,
                              .available_bytes = available,
                              .used_bytes = total - available,
                              .volume_id = stats.volume.has_value() ? stats.volume->ToString() : "",
                              .share = stats.share};
}

absl::StatusOr<ListMountsResponse> StorageService::ListMounts(const CallContext& context,
                                                              const ListMountsRequest& request) {
  std::vector<ConfinedPath> starts = groups::AllRoots(deps_.roots);
  if (!request.path.empty()) {
    ABSL_ASSIGN_OR_RETURN(auto path, ConfinedPath::Parse(deps_.roots, "path", request.path,
                                                         Place::kWithinRoots, Spelling::kLenient));
    starts = {std::move(path)};
  }
  ABSL_ASSIGN_OR_RETURN(auto found, ListLinks(deps_, context, starts));
  Connected connected;
  const bool any_on_server =
      std::any_of(found.links.begin(), found.links.end(),
                  [](const host::FoundLink& link) { return link.end == host::LinkEnd::kOnServer; });
  if (any_on_server) {
    const auto mappings = deps_.host->smb().ListMappings(context.WithTimeout(kMappingsPatience));
    if (const absl::Status over = context.Check(); !over.ok()) {
      return mappings.ok() ? over : mappings.status();
    }
    if (mappings.ok()) connected.emplace();
    for (const host::SmbMapping& mapping : mappings.value_or(std::vector<host::SmbMapping>())) {
      bool& is_connected = (*connected)[ShareOf(mapping)];
      is_connected = is_connected || mapping.is_connected;
    }
  }
  ListMountsResponse response;
  response.incomplete = found.incomplete;
  response.filled_staging_folders = std::move(found.filled_staging_folders);
  for (host::FoundLink& link : found.links) {
    response.mounts.push_back({.path = std::move(link.path),
                               .kind = KindOf(link),
                               .target = std::move(link.target),
                               .state = StateOf(link, connected)});
  }
  return response;
}

absl::StatusOr<RemoveMountResponse> StorageService::RemoveMount(const CallContext& context,
                                                                const RemoveMountRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto path,
                        ConfinedPath::Parse(deps_.roots, "path", request.path, Place::kBelowRoots));
  if (request.target.empty()) return absl::InvalidArgumentError("target: is missing");
  const std::string text = path.path.ToString();
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("path: ", text, why));
  };
  // Returns the entry. Its `share` is empty if it does not lead to a server. Refuses an entry that
  // works or may work.
  const auto judge = [&](const host::LinkList& found) -> absl::StatusOr<host::FoundLink> {
    for (const host::FoundLink& link : found.links) {
      if (link.path != text) continue;
      if (link.end == host::LinkEnd::kOnServer || link.end == host::LinkEnd::kNowhere) return link;
      return refuse(link.end == host::LinkEnd::kThere ? " works"
                                                      : ": Windows does not say if it works");
    }
    return refuse(" is no link");
  };
  const auto first = ListLinks(deps_, context, {path});
  if (absl::IsNotFound(first.status())) return RemoveMountResponse{};
  if (!first.ok()) return first.status();
  ABSL_ASSIGN_OR_RETURN(const host::FoundLink link, judge(*first));
  const std::string folder = CanonicalUnc(link.folder);
  std::optional<ResourceLocks::Lock> share_lock;
  if (!link.share.empty()) {
    // A call that stages the share holds this lock, and makes the link before the mapping.
    ABSL_ASSIGN_OR_RETURN(share_lock, groups::LockShare(*deps_.locks, context, link.share));
    ABSL_ASSIGN_OR_RETURN(const auto mappings, deps_.host->smb().ListMappings(context));
    for (const host::SmbMapping& mapping : mappings) {
      // A mapping of a folder around the link's target counts in any state, because an idle mapping
      // shows as disconnected and works. The link also works by a connected mapping of another
      // folder in the share.
      const bool is_around = absl::StartsWith(
          absl::StrCat(folder, "\\"), absl::StrCat(CanonicalUnc(mapping.remote_path), "\\"));
      if ((is_around || mapping.is_connected) && ShareOf(mapping) == link.share) {
        return refuse(" leads to a mapped share: use UnstageShare");
      }
    }
  }
  ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPath(*deps_.locks, context, path));
  // Does not call LockListing(), because calls that need the locks held here would wait meanwhile.
  // Reading one link is fast.
  const auto now = deps_.host->filesystem().ListLinks(context, {path});
  if (absl::IsNotFound(now.status())) return RemoveMountResponse{};
  if (!now.ok()) return now.status();
  ABSL_ASSIGN_OR_RETURN(const host::FoundLink still, judge(*now));
  if (CanonicalUnc(still.folder) != folder) return refuse(" leads elsewhere by now");
  const absl::Status removed = deps_.host->filesystem().RemoveLink(context, path, request.target);
  if (!removed.ok() && !absl::IsNotFound(removed)) return Prefixed("path", removed);
  return RemoveMountResponse{};
}

absl::StatusOr<ListSmbMappingsResponse> StorageService::ListSmbMappings(
    const CallContext& context, const ListSmbMappingsRequest&) {
  ABSL_ASSIGN_OR_RETURN(const auto mappings, deps_.host->smb().ListMappings(context));
  ListSmbMappingsResponse response;
  for (const auto& [share, failure] : deps_.shares->failures()) {
    response.failures.push_back(
        {.share = share,
         .target_path = failure.value.target_path,
         .message = failure.value.message,
         .seconds_ago = absl::ToInt64Seconds(SteadyTime::Now() - failure.since)});
  }
  if (mappings.empty()) return response;
  ABSL_ASSIGN_OR_RETURN(auto found, ListLinks(deps_, context, groups::AllRoots(deps_.roots)));
  std::map<std::string, SmbMapping*> by_path;
  response.incomplete = found.incomplete_outside_pods;
  response.mappings.reserve(mappings.size());
  for (const host::SmbMapping& mapping : mappings) {
    SmbMapping& listed = response.mappings.emplace_back(
        SmbMapping{.remote_path = mapping.remote_path, .status = mapping.status, .links = {}});
    if (!mapping.local_path.empty()) listed.links.push_back(mapping.local_path);
    by_path.emplace(mapping.remote_path, &listed);
  }
  for (const host::FoundLink& link : found.links) {
    if (link.end != host::LinkEnd::kOnServer || link.share.empty()) continue;
    // Adds the link to the mappings of the share and of every folder on the path.
    for (std::string folder = CanonicalUnc(link.folder); folder.size() >= link.share.size();
         folder.resize(folder.rfind('\\'))) {
      const auto mapping = by_path.find(folder);
      if (mapping != by_path.end()) mapping->second->links.push_back(link.path);
    }
  }
  return response;
}

}  // namespace csi_proxy::storage
