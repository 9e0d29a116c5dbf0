#include "server/groups/storage/target.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"

namespace csi_proxy::storage {
namespace {

using host::IscsiPortal;
using host::IscsiSession;

constexpr size_t kMaxPortals = 16;

// How long to wait for the disk locks of the sessions that the call would end. A disk that is still
// locked then counts as in use.
constexpr absl::Duration kDiskLocks = absl::Seconds(1);

// The total time for ending sessions that do not show the unstaged disk.
constexpr absl::Duration kOthersEnd = absl::Seconds(5);

// Parses a portal. The last colon begins the port if it is the only one or follows a bracket.
absl::StatusOr<IscsiPortal> ParsePortal(const std::string& field, absl::string_view text) {
  absl::string_view address = text;
  const size_t colon = text.rfind(':');
  const bool has_port = colon != absl::string_view::npos && colon > 0 &&
                        (text[colon - 1] == ']' || text.find(':') == colon);
  uint32_t port = 0;
  if (has_port) {
    address = text.substr(0, colon);
    if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": the port is not from 1 to 65535"));
    }
  }
  if (absl::ConsumePrefix(&address, "[") && !absl::ConsumeSuffix(&address, "]")) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": has no closing bracket"));
  }
  return iscsi::ReadPortal(field, field, std::string(address), port);
}

absl::StatusOr<bool> IsInUse(const groups::HandlerDeps& deps, const CallContext& context,
                             uint32_t disk, bool is_unstaged, host::NodeVolumes* seen) {
  host::VolumeHost& host = deps.host->volume();
  const auto volumes = host.LookAtDisk(context, disk, deps.roots.get(), seen);
  // Disks and volumes may disappear at any time.
  if (absl::IsNotFound(volumes.status())) return false;
  if (!volumes.ok()) return volumes.status();
  for (const host::VolumeView& volume : *volumes) {
    if (!volume.mounts.empty()) return true;
  }
  if (is_unstaged || !volumes->empty()) return !is_unstaged;
  // The volume of an online disk may not have arrived yet.
  const auto online = deps.host->disk().IsOnline(context, disk);
  if (absl::IsNotFound(online.status())) return false;
  if (!online.ok() || !*online) return online;
  ABSL_ASSIGN_OR_RETURN(const size_t promised,
                        deps.host->disk().CountPromisedVolumes(context, disk));
  return promised > 0;
}

}  // namespace

bool IsSame(const IscsiPortal& a, const IscsiPortal& b) {
  return a.port == b.port && EqualNames(a.address, b.address);
}

absl::StatusOr<std::vector<IscsiPortal>> ReadPortals(absl::string_view field,
                                                     const std::vector<std::string>& texts) {
  if (texts.size() > kMaxPortals) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": are more than ", kMaxPortals));
  }
  std::vector<IscsiPortal> portals;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string at = absl::StrCat(field, "[", i, "]");
    ABSL_ASSIGN_OR_RETURN(auto portal, ParsePortal(at, texts[i]));
    for (const IscsiPortal& other : portals) {
      if (IsSame(other, portal))
        return absl::InvalidArgumentError(absl::StrCat(at, ": is given twice"));
    }
    portals.push_back(std::move(portal));
  }
  return portals;
}

absl::Status NoSessionError(const std::vector<absl::Status>& failed) {
  if (failed.empty()) {
    return absl::UnavailableError("portals: the session ended at once: repeat the call");
  }
  const auto refusal = std::ranges::find_if_not(failed, absl::IsUnavailable);
  return absl::Status(
      refusal == failed.end() ? absl::StatusCode::kUnavailable : refusal->code(),
      absl::StrCat("portals: ",
                   absl::StrJoin(failed, "; ", [](std::string* out, const absl::Status& status) {
                     absl::StrAppend(out, status.message());
                   })));
}

absl::StatusOr<std::optional<MountedVolume>> FindMounted(host::Host& host,
                                                         const CallContext& context,
                                                         const ConfinedPath& path) {
  const auto link = host.filesystem().PeekLink(context, path);
  if (absl::IsNotFound(link.status())) return std::nullopt;
  ABSL_RETURN_IF_ERROR(link.status());
  if (!link->volume.has_value()) return std::nullopt;
  const auto disk = host.volume().GetDiskNumber(context, *link->volume);
  if (absl::IsNotFound(disk.status())) return std::nullopt;
  ABSL_RETURN_IF_ERROR(disk.status());
  return MountedVolume{*link->volume, *disk};
}

absl::StatusOr<UnusedSessions> EndUnusedSessions(
    const groups::HandlerDeps& deps, const CallContext& context, const std::string& iqn,
    const std::function<bool(const IscsiSession&)>& may_end, std::optional<uint32_t> unstaged) {
  host::IscsiHost& iscsi = deps.host->iscsi();
  UnusedSessions result;
  ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockTarget(*deps.locks, context, iqn));
  const auto is_unstaged = [&](const IscsiSession& session) {
    return unstaged.has_value() && session.Shows(*unstaged);
  };

  std::set<uint32_t> disks;
  ABSL_ASSIGN_OR_RETURN(auto sessions, iscsi.GetSessions(context, iqn));
  std::erase_if(sessions, [&](const IscsiSession& session) { return !may_end(session); });
  if (sessions.empty()) return result;
  for (const IscsiSession& session : sessions) {
    for (const host::IscsiConnection& connection : session.connections) {
      disks.insert(connection.disks.begin(), connection.disks.end());
    }
  }
  std::vector<ResourceLocks::Lock> disk_locks;
  std::set<uint32_t> unused;
  host::NodeVolumes seen;
  const CallContext waiting = context.WithTimeout(kDiskLocks);
  for (const uint32_t disk : disks) {
    auto disk_lock = groups::LockDisk(*deps.locks, waiting, disk);
    ABSL_RETURN_IF_ERROR(context.Check());
    bool in_use = !disk_lock.ok();
    if (disk_lock.ok()) {
      disk_locks.push_back(*std::move(disk_lock));
      const auto used = IsInUse(deps, context, disk, disk == unstaged, &seen);
      // Another tenant's disk that does not answer must not keep the caller's session open.
      const bool is_others =
          unstaged.has_value() && std::ranges::none_of(sessions, [&](const IscsiSession& session) {
            return is_unstaged(session) && session.Shows(disk);
          });
      if (!used.ok() && (!is_others || !context.Check().ok())) return used.status();
      in_use = used.value_or(true);
    }
    if (!in_use) unused.insert(disk);
  }

  // A session may have gained a disk before the locks were taken.
  ABSL_ASSIGN_OR_RETURN(sessions, iscsi.GetSessions(context, iqn));
  std::stable_partition(sessions.begin(), sessions.end(), is_unstaged);
  const CallContext others_end = context.WithTimeout(kOthersEnd);
  absl::Status failed;
  for (const IscsiSession& session : sessions) {
    std::set<uint32_t> shown;
    for (const host::IscsiConnection& connection : session.connections) {
      shown.insert(connection.disks.begin(), connection.disks.end());
    }
    if (!may_end(session)) continue;
    if (!std::ranges::includes(unused, shown)) {
      std::ranges::set_difference(shown, unused,
                                  std::inserter(result.disks_in_use, result.disks_in_use.end()));
      continue;
    }
    const bool is_others = unstaged.has_value() && !is_unstaged(session);
    absl::Status ended;
    if (!deps.stages->EndUnlessUsed(iqn, session, [&] {
          ended = iscsi.EndSessions(is_others ? others_end : context, iqn, {session.id}, shown);
        })) {
      result.is_being_staged = true;
      result.disks_in_use.insert(shown.begin(), shown.end());
      continue;
    }
    if (const absl::Status over = context.Check(); !over.ok()) return ended.ok() ? over : ended;
    result.ended = result.ended || ended.ok();
    if (ended.ok()) continue;
    if (is_others) {
      result.disks_in_use.insert(shown.begin(), shown.end());
    } else {
      failed.Update(ended);
    }
  }
  if (!failed.ok()) return failed;
  return result;
}

}  // namespace csi_proxy::storage
