// Real directories under the Windows host, for tests on Windows. Wine cannot create links, so links
// are recorded beside placeholder directories. All other entries are real.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/machine/os.h"

namespace csi_proxy::groups {

// Thread-safe.
class RealFiles {
 public:
  virtual ~RealFiles() = default;

  // Returns an Os with real files; `rest` makes all other calls. Must not outlive this object.
  virtual std::unique_ptr<machine::Os> NewOs(std::unique_ptr<machine::Os> rest) = 0;

  // Create an entry as an attacker or administrator would, with missing parent directories.
  virtual absl::Status MakeLink(const std::string& path, const std::string& target) = 0;
  virtual absl::Status WriteFile(const std::string& path, uint64_t size_bytes) = 0;

  // Lists the entries of tests on C: outside the kubelet's directory, one per line.
  virtual std::string ListOutside() = 0;
};

#ifdef _WIN32
// Creates a new directory of the kubelet on C:, with empty `pods` and `plugins`.
std::unique_ptr<RealFiles> NewRealFiles();

// Returns true: on Windows the drive C: exists.
bool HaveRealFiles();
#else
inline std::unique_ptr<RealFiles> NewRealFiles() { return nullptr; }
inline bool HaveRealFiles() { return false; }
#endif

}  // namespace csi_proxy::groups
