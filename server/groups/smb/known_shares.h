// All that this process remembers of the node's mappings. The groups smb and storage share it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "server/base/condition.h"
#include "server/host/smb_host.h"

namespace csi_proxy::smb {

// The links below the working directories that lead to a share, or below it.
struct ShareLinks {
  // In their order.
  std::vector<std::string> paths;
  // Some may be missing.
  bool incomplete = false;
};

// The fate of a mapping that a call was to remove.
enum class RemovalOutcome { kRemoved, kKept };
// How many links led to the share then.
enum class LinkCount { kNone, kOne, kSeveral, kUnknown };

inline constexpr std::array kRemovalOutcomes = {"removed", "kept"};
inline constexpr std::array kLinkCounts = {"none", "one", "several", "unknown"};

// Thread-safe. A share is as UncPath::Share() has it.
class KnownShares {
 public:
  explicit KnownShares(std::function<void(absl::string_view)> log = [](absl::string_view) {})
      : log_(std::move(log)) {}

  // The credentials with which this process has made a mapping. It keeps the credentials and not a
  // hash of them: Windows has them in memory too, as long as the mapping exists, and an attacker
  // who can read this process's memory can also read a hash's key and guess.
  void Keep(const std::string& share, const host::SmbCredentials& credentials);
  void Forget(const std::string& share);
  // Tells whether a mapping was made with these; nothing when it is not known.
  std::optional<bool> Match(const std::string& share, const host::SmbCredentials& given) const;

  // Remembers that a server denied access through a mapping that was new, so that nobody maps the
  // share again for that. Forgotten when the process ends.
  void NoteMappedInVain(const std::string& share);
  bool IsMappedInVain(const std::string& share) const;

  // Counts the fate of a mapping; the log gets a line when links still led to the share, or might.
  void RecordRemoval(const std::string& share, RemovalOutcome fate, const ShareLinks& links);
  using Counts = std::array<std::array<uint64_t, kLinkCounts.size()>, kRemovalOutcomes.size()>;
  Counts counts() const;

 private:
  const std::function<void(absl::string_view)> log_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, host::SmbCredentials> kept_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> in_vain_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace csi_proxy::smb
