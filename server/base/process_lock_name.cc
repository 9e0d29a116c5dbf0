#include <cstdint>

#include "absl/strings/str_format.h"
#include "server/base/process_locks.h"

namespace csi_proxy {

// FNV-1a: short, and never changes, unlike the hash of a hash table.
std::string ProcessLockName(absl::string_view name) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return absl::StrFormat("csi-proxy-%016x", hash);
}

}  // namespace csi_proxy
