// The files of one volume or share: directories, files, links and mount points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/names/volume_id.h"

namespace csi_proxy::machine::simulator {

// Keeps the entries in one table, as NTFS does, and not in nested nodes, so that no function needs
// to recurse into a deep tree. Names are compared ignoring case but kept as given. Copies are
// independent. Not thread-safe.
class Tree {
 public:
  // Names an entry while it exists. No two entries ever get the same id, even in different trees,
  // with two exceptions: all roots have kRoot, and a copy of a tree has the ids of the original.
  using Id = uint64_t;
  static constexpr Id kRoot = 0;
  // The maximum size of a file in bytes: NTFS's limit with its usual clusters of 4 KiB.
  static constexpr uint64_t kMaxFileBytes = uint64_t{1} << 44;

  enum class Kind { kDirectory, kFile, kLink };

  struct Entry {
    Kind kind = Kind::kDirectory;
    std::string name;
    // The size of a file.
    uint64_t size_bytes = 0;
    bool read_only = false;
    // The target of a link, `C:\a\b` or `\\host\share\a`. Links are directory links.
    std::string target;
    // True for a junction: a link to a path on a drive, with the reparse tag of a mount point.
    bool junction = false;
    // The volume that is mounted at a directory.
    std::optional<VolumeId> mounted;
    // True if a program made the mount without the mount manager, which then does not list it.
    bool mounted_by_hand = false;
    // The reparse tag of a directory or file that is no link, or 0.
    uint32_t reparse_tag = 0;

    // Set by the tree.
    Id parent = kRoot;
    std::map<std::string, Id> children;  // by FoldName()
    size_t path_length = 0;              // of the path from the root, in bytes
  };

  // Return new entries, to be passed to Add().
  static Entry Directory(std::string name);
  static Entry File(std::string name, uint64_t size_bytes, bool read_only);
  static Entry Link(std::string name, std::string target, bool junction = false);

  // Makes a tree with only a root directory.
  Tree();

  bool Has(Id id) const { return entries_.contains(id); }
  const Entry& at(Id id) const { return entries_.at(id); }
  // Returns a directory's entry by name; nullopt if the entry is missing, or if `directory` is not
  // a directory.
  std::optional<Id> Find(Id directory, absl::string_view name) const;
  // Returns the names from the root down to the entry, joined by `\`; empty for the root.
  std::string PathOf(Id id) const;
  // Returns all entries but the root, by name, each directory before its content.
  std::vector<Id> Walk() const;

  // Returns the directories at which the mount manager lists the volume, in Walk()'s order.
  std::vector<Id> MountsOf(const VolumeId& volume) const;

  // Adds an entry to a directory. Returns ALREADY_EXISTS if the name is taken, FAILED_PRECONDITION
  // if `directory` is not a directory, INTERNAL if the path is longer than Windows allows.
  absl::StatusOr<Id> Add(Id directory, Entry entry);
  // Removes an entry with all below it. REQUIRES: the entry is not the root.
  void Remove(Id id);
  // Removes all entries below a directory.
  void RemoveChildren(Id id);
  // Mounts `volume` at an entry, or ends the entry's mount if `volume` is nullopt. A link becomes a
  // directory, and a reparse tag is cleared.
  void SetMounted(Id directory, std::optional<VolumeId> volume, bool by_hand = false);
  // Makes an empty directory a link, or changes a link's target.
  void SetLink(Id id, std::string target, bool junction = false);
  void SetFile(Id file, uint64_t size_bytes, bool read_only);
  // Exchanges the names of two entries of one directory. REQUIRES: the names are of equal length.
  void ExchangeNames(Id one, Id other);

  // size() returns the number of entries without the root. file_bytes() returns the sum of the
  // files' sizes, each rounded up to 4 KiB.
  size_t size() const { return entries_.size() - 1; }
  uint64_t file_bytes() const { return file_bytes_; }

  static uint64_t RoundedSize(uint64_t size_bytes);

 private:
  // ForgetMount() must be called before an entry's mount is changed or the entry is removed.
  // NoteMount() must be called after an entry is added or mounted.
  void ForgetMount(Id id);
  void NoteMount(Id id);

  std::unordered_map<Id, Entry> entries_;
  // The directories with a mount that the mount manager knows, by volume.
  std::set<std::pair<VolumeId, Id>> mounts_;
  uint64_t file_bytes_ = 0;
};

}  // namespace csi_proxy::machine::simulator
