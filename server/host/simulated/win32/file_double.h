// Open files of the simulated Win32: entries of the trees of a simulated node's volumes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/host/simulated/state.h"
#include "server/host/simulated/win32/gate.h"
#include "server/host/windows/os.h"

namespace csi_proxy::host::simulated {

// Which entries are open. Nobody shares deletion, so an entry that is open cannot be opened for it,
// nor one that is open for it at all. Not thread-safe: to be used within the calls of a core.
class OpenEntries {
 public:
  using Key = std::pair<VolumeId, Tree::Id>;

  // Whether an entry can be opened beside those who have it open.
  bool Admits(const Key& key, windows::Access access) const;
  void Add(const Key& key, windows::Access access);
  void Remove(const Key& key, windows::Access access);

 private:
  struct Count {
    int all = 0;
    int for_deletion = 0;
  };
  std::map<Key, Count> counts_;
};

// Opens the root directory `C:\` or `\\?\Volume{guid}\`. An open file stays the entry it was opened
// as. When somebody removes that all the same, who is not bound by OpenEntries (the administrator
// of the node, a format), each method fails with ERROR_ACCESS_DENIED, as on a deleted file; when
// its volume goes, with ERROR_NOT_READY.
absl::StatusOr<std::unique_ptr<windows::File>> OpenRootDirectory(
    const Gate& gate, const std::shared_ptr<OpenEntries>& open, const std::string& root);

}  // namespace csi_proxy::host::simulated
