// Which entries of a node's trees are open, and how. Nobody shares deletion, so an entry that is
// open cannot be opened for it, nor one that is open for it at all
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819); a
// deleted one keeps its name until it is closed
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
#pragma once

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/base/volume_id.h"
#include "server/machine/simulated/tree.h"
#include "server/machine/os.h"

namespace csi_proxy::machine::simulated {

// Not thread-safe: to be used within the calls of a core.
class OpenEntries {
 public:
  using Key = std::pair<VolumeId, Tree::Id>;

  // OK when an entry can be opened beside those who have it open; else why not.
  absl::Status Check(const Key& key, machine::Access access, absl::string_view operation) const;
  void Add(const Key& key, machine::Access access);
  // True when the entry was deleted and is to go now.
  bool Remove(const Key& key, machine::Access access);

  void SetDeleted(const Key& key);
  bool IsDeleted(const Key& key) const;

 private:
  struct Count {
    int all = 0;
    int for_deletion = 0;
    bool deleted = false;
  };
  std::map<Key, Count> counts_;
};

}  // namespace csi_proxy::machine::simulated
