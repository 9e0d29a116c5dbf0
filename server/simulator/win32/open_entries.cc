#include "server/simulator/win32/open_entries.h"

#include <algorithm>

#include "server/names/win32_error.h"
#include "server/simulator/failure.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr uint32_t kReads = right::kReadData | right::kExecute;
constexpr uint32_t kWrites = right::kWriteData | right::kAppendData;
// The rights that conflict. Opens without any of these rights access only attributes, and block no
// other open.
constexpr uint32_t kCounts = kReads | kWrites | right::kDelete;

// Returns true if an open that shares only `share` forbids this access.
bool Forbids(uint32_t share, uint32_t access) {
  return ((access & kReads) != 0 && (share & share::kRead) == 0) ||
         ((access & kWrites) != 0 && (share & share::kWrite) == 0) ||
         ((access & right::kDelete) != 0 && (share & share::kDelete) == 0);
}

}  // namespace

std::vector<OtherOpen> OtherOpensOf(NodeState& state, const OpenEntries::Key& key) {
  std::vector<OtherOpen> opens;
  for (const OtherOpen& other : state.other_opens) {
    const absl::StatusOr<PathEnd> end = FindPath(state, other.path, "looking");
    if (end.ok() && OpenEntries::KeyOf(*end) == key) opens.push_back(other);
  }
  return opens;
}

bool Conflict(const OpenMode& one, const OpenMode& other) {
  if ((one.access & kCounts) == 0 || (other.access & kCounts) == 0) return false;
  return Forbids(one.share, other.access) || Forbids(other.share, one.access);
}

absl::Status OpenEntries::Check(NodeState& state, const PathEnd& end, const OpenMode& mode,
                                absl::FunctionRef<std::string()> operation) {
  const Key key = KeyOf(end);
  const auto it = RemoveIfDue(state, entries_.find(key));
  if (!end.tree().Has(end.entry)) return Failure(operation(), win32_error::kFileNotFound);
  if (it != entries_.end() && it->second.deleted) return DeletePending(state, operation());
  const auto conflicts = [&](const auto& other) {
    return Conflict(mode, {other.access, other.share});
  };
  const bool conflict = std::ranges::any_of(OtherOpensOf(state, key), conflicts) ||
                        (it != entries_.end() && std::ranges::any_of(it->second.opens, conflicts));
  return conflict ? Failure(operation(), win32_error::kSharingViolation) : absl::OkStatus();
}

void OpenEntries::Add(const Key& key, const OpenMode& mode) { entries_[key].opens.push_back(mode); }

void OpenEntries::Remove(NodeState& state, const Key& key, const OpenMode& mode, bool deleted_it) {
  const auto it = entries_.find(key);
  Entry& entry = it->second;
  entry.opens.erase(
      std::find_if(entry.opens.begin(), entry.opens.end(), [&](const OpenMode& other) {
        return other.access == mode.access && other.share == mode.share;
      }));
  if (deleted_it) entry.closed = true;
  RemoveIfDue(state, it);
}

void OpenEntries::SetDeleted(const Key& key) { entries_.at(key).deleted = true; }

bool OpenEntries::IsDeleted(const Key& key) const {
  const auto it = entries_.find(key);
  return it != entries_.end() && it->second.deleted;
}

absl::Status OpenEntries::DeletePending(const NodeState& state, absl::string_view operation) {
  return Failure(operation, state.behaviour.delete_pending_is_denied ? win32_error::kAccessDenied
                                                                     : win32_error::kDeletePending);
}

OpenEntries::Entries::iterator OpenEntries::RemoveIfDue(NodeState& state, Entries::iterator it) {
  if (it == entries_.end()) return it;
  const auto& [key, entry] = *it;
  const bool is_open = !entry.opens.empty();
  const bool goes = entry.closed && (!state.behaviour.plain_deletion ||
                                     (!is_open && OtherOpensOf(state, key).empty()));
  if (goes) {
    const absl::StatusOr<VolumePlace> place = FindVolume(state, key.first);
    if (place.ok() && place->volume->tree.Has(key.second)) place->volume->tree.Remove(key.second);
  }
  if (is_open || (entry.deleted && !goes)) return it;
  entries_.erase(it);
  return entries_.end();
}

}  // namespace csi_proxy::machine::simulator
