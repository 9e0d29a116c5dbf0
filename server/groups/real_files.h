// Real directories under the Windows host, for tests on Windows. Wine can make no links, so those
// are kept beside the directories that stand for them; everything else is the file system's own.
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

  // Files are real ones, with links; all else is `rest`. Must not outlive this.
  virtual std::unique_ptr<machine::Os> NewOs(std::unique_ptr<machine::Os> rest) = 0;

  // Actions of an attacker or an administrator. They make missing parent directories.
  virtual absl::Status MakeLink(const std::string& path, const std::string& target) = 0;
  virtual absl::Status WriteFile(const std::string& path, uint64_t size_bytes) = 0;

  // Every entry of the tests' part of C:, a line each, but those below the kubelet's directory.
  virtual std::string ListOutside() = 0;
};

// With an empty kubelet's directory on C:. Null unless HaveRealFiles().
std::unique_ptr<RealFiles> NewRealFiles();

// True if there is a C:.
bool HaveRealFiles();

}  // namespace csi_proxy::groups
