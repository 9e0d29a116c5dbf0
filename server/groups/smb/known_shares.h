// Remembers facts about the node's SMB mappings, for the groups smb and storage.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "server/base/condition.h"
#include "server/base/tenant_memory.h"
#include "server/host/smb_host.h"
#include "server/names/windows_path.h"

namespace csi_proxy::smb {

// The links below the working directories to a share or a folder in it.
struct ShareLinks {
  // Sorted.
  std::vector<std::string> paths = {};
  // True if `paths` may lack links outside the directories that a pod can write to.
  bool incomplete = false;
};

// The result of a call that should remove a mapping.
enum class RemovalOutcome { kRemoved, kKept };
// The number of links to the share that the call found, without a link that it removes itself.
enum class LinkCount { kNone, kOne, kSeveral, kUnknown };

inline constexpr std::array kRemovalOutcomes = {"removed", "kept"};
inline constexpr std::array kLinkCounts = {"none", "one", "several", "unknown"};

// A call that failed to map a share or to make a link to it.
struct ShareFailure {
  // The path of the link; empty if the call did not name one.
  std::string target_path;
  std::string message;
};
using ShareFailures = TenantMemory<std::string, ShareFailure>;  // by share

// Thread-safe. REQUIRES: every `share` is a UncPath::Share().
class KnownShares {
 public:
  explicit KnownShares(LineFunction log = [](absl::string_view) {}) : log_(std::move(log)) {}

  // Remembers the credentials of a mapping that this process made. Does not hash them, because
  // Windows also holds them in memory as long as the mapping exists, and an attacker who can read
  // this process's memory can also read a hash's key and guess.
  void Keep(const std::string& share, const host::SmbCredentials& credentials);
  // Forgets the share's credentials, denial and failures. REQUIRES: it is or may get unmapped.
  void Forget(const std::string& share);
  // Returns true if the mapping was made with these credentials, false if it was made with other
  // credentials, and nullopt if this is unknown.
  std::optional<bool> Match(const std::string& share, const host::SmbCredentials& given) const;

  // Records that the server denied `user` the path through a mapping just made for `user`. A later
  // denial then does not show that the mapping is broken, because a new mapping would not help. The
  // user's name identifies the credentials, because the server has accepted the password. Replaces
  // an earlier record of the share. The record is lost when the process ends.
  void NoteDenied(const UncPath& path, const std::string& user);
  // Returns true if NoteDenied() recorded this path and user. If `user` is null, a record of any
  // path and user of the share suffices.
  bool WasDenied(const UncPath& path, const std::string* user) const;

  // Records the result of a call that should map a share. A failure replaces the tenant's earlier
  // failure on the share. A success removes all failures on the share.
  void RecordAttempt(const CallContext& context, const std::string& share,
                     absl::string_view target_path, const absl::Status& result);
  // Returns the last failed attempt on each share, by share.
  std::map<std::string, ShareFailures::Entry> failures() const;

  // Counts a call that should remove a mapping. Logs its outcome if links to the share exist or may
  // exist.
  void RecordRemoval(const std::string& share, RemovalOutcome outcome, const ShareLinks& links);
  using Counts = std::array<std::array<uint64_t, kLinkCounts.size()>, kRemovalOutcomes.size()>;
  Counts counts() const;

 private:
  struct Denial {
    std::string path;  // CanonicalUnc()
    std::string user;
  };
  // The maximum number of shares with a denial. Reached only if other programs remove mappings.
  static constexpr size_t kMostDenials = 1024;

  const LineFunction log_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, host::SmbCredentials> kept_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Denial> denials_ ABSL_GUARDED_BY(mutex_);
  ShareFailures failures_{128};
  Counts counts_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace csi_proxy::smb
