// Keeps the open entries of a node's trees, with the access and sharing of each open.
//
// Every open is checked against every other open of the same entry: each must share the access that
// the other has
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819). A
// deleted entry cannot be opened any more. Its name is removed when the handle that deleted it is
// closed (FILE_DISPOSITION_POSIX_SEMANTICS) or, on file systems without these semantics, when the
// last handle is closed
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/machine/access.h"
#include "server/names/volume_id.h"
#include "server/simulator/state.h"
#include "server/simulator/tree.h"
#include "server/simulator/win32/paths.h"

namespace csi_proxy::machine::simulator {

// The access of an open, and the access that it shares with other opens.
struct OpenMode {
  uint32_t access = 0;
  uint32_t share = 0;
};

// Returns the mode in which the product opens an entry for `access`.
inline OpenMode ModeOf(Access access) { return {AccessMask(access), ShareOf(access)}; }

// Returns true if an entry cannot be open in both modes: the later open must fail with
// ERROR_SHARING_VIOLATION.
bool Conflict(const OpenMode& one, const OpenMode& other);

// Not thread-safe. REQUIRES: used only within the calls of a core.
class OpenEntries {
 public:
  using Key = std::pair<VolumeId, Tree::Id>;

  static Key KeyOf(const PathEnd& end) { return {end.place.volume->id, end.entry}; }

  // Returns OK if an entry can be opened beside its other opens, including those of the node's
  // other processes. Otherwise returns Windows' error, with `operation()` in its text.
  absl::Status Check(NodeState& state, const PathEnd& end, const OpenMode& mode,
                     absl::FunctionRef<std::string()> operation);
  void Add(const Key& key, const OpenMode& mode);
  // Closes an open. `deleted_it` says whether that open deleted the entry.
  void Remove(NodeState& state, const Key& key, const OpenMode& mode, bool deleted_it);

  // Marks an entry as deleted by an open; the entry stays until Remove().
  void SetDeleted(const Key& key);
  bool IsDeleted(const Key& key) const;
  // Returns the error of opening a deleted entry, or of making another entry with its name.
  static absl::Status DeletePending(const NodeState& state, absl::string_view operation);

 private:
  struct Entry {
    absl::InlinedVector<OpenMode, 2> opens;
    bool deleted = false;
    // True if the handle that deleted the entry is closed.
    bool closed = false;
  };

  using Entries = absl::flat_hash_map<Key, Entry>;

  // Removes a deleted entry from its tree if its name goes now (see the top). Returns `it`. Returns
  // end() if `it` has been erased, because the entry has no opens and no removal is due later.
  Entries::iterator RemoveIfDue(NodeState& state, Entries::iterator it);

  Entries entries_;
};

// Returns the opens of an entry by the node's other processes.
std::vector<OtherOpen> OtherOpensOf(NodeState& state, const OpenEntries::Key& key);

}  // namespace csi_proxy::machine::simulator
