#include "server/machine/simulated/win32/open_entries.h"

#include "server/base/win32_error.h"
#include "server/machine/simulated/windows_error.h"

namespace csi_proxy::machine::simulated {

using machine::Access;

absl::Status OpenEntries::Check(const Key& key, Access access, absl::string_view operation) const {
  const auto it = counts_.find(key);
  if (it == counts_.end()) return absl::OkStatus();
  if (it->second.deleted) return Failure(operation, win32_error::kAccessDenied);
  if (access == Access::kDelete || it->second.for_deletion > 0) {
    return Failure(operation, win32_error::kSharingViolation);
  }
  return absl::OkStatus();
}

void OpenEntries::Add(const Key& key, Access access) {
  Count& count = counts_[key];
  ++count.all;
  if (access == Access::kDelete) ++count.for_deletion;
}

bool OpenEntries::Remove(const Key& key, Access access) {
  const auto it = counts_.find(key);
  if (access == Access::kDelete) --it->second.for_deletion;
  if (--it->second.all > 0) return false;
  const bool deleted = it->second.deleted;
  counts_.erase(it);
  return deleted;
}

void OpenEntries::SetDeleted(const Key& key) { counts_.at(key).deleted = true; }

bool OpenEntries::IsDeleted(const Key& key) const {
  const auto it = counts_.find(key);
  return it != counts_.end() && it->second.deleted;
}

}  // namespace csi_proxy::machine::simulated
