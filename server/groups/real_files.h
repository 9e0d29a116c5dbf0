// Real directories under the Windows host, for tests on Windows. Wine cannot create links, so links
// are recorded beside placeholder directories; all else is the file system's own.
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

  // Returns an Os with real files and links; `rest` is all else. Must not outlive this object.
  virtual std::unique_ptr<machine::Os> NewOs(std::unique_ptr<machine::Os> rest) = 0;

  // Act as an attacker or an administrator. Create missing parent directories.
  virtual absl::Status MakeLink(const std::string& path, const std::string& target) = 0;
  virtual absl::Status WriteFile(const std::string& path, uint64_t size_bytes) = 0;

  // Lists the entries of the tests' part of C: outside the kubelet's directory, one a line.
  virtual std::string ListOutside() = 0;
};

// Creates an empty kubelet's directory on C:. Returns null unless HaveRealFiles().
std::unique_ptr<RealFiles> NewRealFiles();

// Returns true if there is a C:.
bool HaveRealFiles();

}  // namespace csi_proxy::groups
