#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status_macros.h"
#include "server/machine/reparse_point.h"
#include "server/names/unicode.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/devices.h"
#include "server/simulator/win32/layouts_encode.h"
#include "server/simulator/win32/paths.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::Access;
using machine::Bytes;
using machine::File;
using machine::FileAttributes;

constexpr int64_t kMaxNameLength = 255;
// The maximum number of entries that ListNext() returns, about as many as the buffer of the real
// call holds.
constexpr size_t kListedAtOnce = 400;

bool IsName(absl::string_view name) {
  const int64_t length = Utf16Length(name);
  return length > 0 && length <= kMaxNameLength && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](char c) {
           // Of the forbidden characters, only these two sort behind `A`.
           if (c >= 'A' && c != '\\' && c != '|') return false;
           return (c >= 0 && c < ' ') || absl::StrContains(R"(\/:*?"<>|)", c);
         });
}

// Returns true for a link or mount point. Their tags have the bit of a name surrogate.
bool IsLink(const Tree::Entry& entry) {
  return entry.kind == Tree::Kind::kLink || entry.mounted.has_value();
}

bool IsReparsePoint(const Tree::Entry& entry) { return IsLink(entry) || entry.reparse_tag != 0; }

// Returns the reparse tag or 0. Junctions and mounted folders have one tag and differ by target
// (learn.microsoft.com/windows/win32/fileio/reparse-point-tags).
uint32_t TagOf(const Tree::Entry& entry) {
  if (!IsLink(entry)) return entry.reparse_tag;
  const bool is_symlink = entry.kind == Tree::Kind::kLink && !entry.junction;
  return is_symlink ? machine::kReparseTagSymlink : machine::kReparseTagMountPoint;
}

// Fails with ERROR_NOT_A_REPARSE_POINT if the entry is not a reparse point.
absl::StatusOr<Bytes> ReparseData(const Tree::Entry& entry, absl::string_view operation) {
  if (entry.mounted.has_value()) return machine::MakeMountPoint(*entry.mounted);
  if (entry.reparse_tag != 0) return machine::MakeReparseHeader(entry.reparse_tag);
  if (entry.kind != Tree::Kind::kLink) return Failure(operation, win32_error::kNotAReparsePoint);
  if (absl::StartsWith(entry.target, "\\\\")) {
    ABSL_ASSIGN_OR_RETURN(const UncPath target, UncPath::Parse("target", entry.target));
    return machine::MakeSymlink(target);
  }
  ABSL_ASSIGN_OR_RETURN(const WindowsPath target, WindowsPath::Parse("target", entry.target));
  return entry.junction ? machine::MakeJunction(target) : machine::MakeSymlink(target);
}

// Returns true if a reparse point has the length that its header says.
bool HasOwnLength(const Bytes& data) {
  constexpr size_t kHeader = 8;
  if (data.size() < kHeader || data.size() > machine::kMaxReparseData) return false;
  return data.size() == kHeader + (size_t{data[4]} | size_t{data[5]} << 8);
}

// Makes an empty directory the reparse point that `data` describes, as far as a tree supports it: a
// symbolic link with an absolute path, a junction, or the mount point of a volume
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/4aeefef8-92c3-4abc-af7a-a610caf8a165).
absl::Status SetReparseData(Tree& tree, Tree::Id id, const Bytes& data,
                            absl::string_view operation) {
  if (!HasOwnLength(data)) return Failure(operation, win32_error::kInvalidReparseData);
  const absl::StatusOr<machine::ReparsePoint> point = machine::ParseReparsePoint(data);
  if (absl::IsFailedPrecondition(point.status())) {
    return Failure(operation, win32_error::kNotSupported);
  }
  if (!point.ok()) return Failure(operation, win32_error::kInvalidReparseData);
  const Tree::Entry& entry = tree.at(id);
  if (entry.kind == Tree::Kind::kFile) return Failure(operation, win32_error::kDirectory);
  if (!entry.children.empty()) return Failure(operation, win32_error::kDirNotEmpty);
  if (IsReparsePoint(entry) && point->tag != TagOf(entry)) {
    return Failure(operation, win32_error::kReparseTagMismatch);
  }
  if (point->volume.has_value()) {
    tree.SetMounted(id, *point->volume, /*by_hand=*/true);
    return absl::OkStatus();
  }
  const bool is_junction = point->tag == machine::kReparseTagMountPoint;
  const bool is_whole = WindowsPath::Parse("target", point->target).ok() ||
                        (!is_junction && UncPath::Parse("target", point->target).ok());
  if (point->is_relative || !is_whole) return Failure(operation, win32_error::kNotSupported);
  tree.SetLink(id, point->target, is_junction);
  return absl::OkStatus();
}

class FileDouble final : public File {
 public:
  // REQUIRES: `key` has been added to `open`, for `access`.
  FileDouble(const Gate& gate, std::shared_ptr<OpenEntries> open, OpenEntries::Key key,
             Access access, std::string path)
      : gate_(gate),
        open_(std::move(open)),
        key_(std::move(key)),
        access_(access),
        path_(std::move(path)) {}

  ~FileDouble() override {
    gate_.Finish(
        [&](NodeState& state) { open_->Remove(state, key_, ModeOf(access_), deleted_it_); });
  }

  absl::StatusOr<FileAttributes> GetAttributes() override {
    return OnEntry<absl::StatusOr<FileAttributes>>(
        "win32.GetAttributes", path_,
        [&] { return absl::StrCat("asking for the attributes of ", path_); },
        [&](NodeState&, const PathEnd& end, const auto&) {
          const Tree::Entry& entry = end.at();
          FileAttributes attributes;
          attributes.is_directory = entry.kind != Tree::Kind::kFile;
          attributes.is_reparse_point = IsReparsePoint(entry);
          attributes.reparse_tag = TagOf(entry);
          return attributes;
        });
  }

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) override {
    return OpenAt("win32.Open", {name}, access);
  }

  absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                  Access access) override {
    return OpenAt("win32.OpenBelow", names, access);
  }

  absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) override {
    std::string path = PathOf(name);
    const absl::StatusOr<Tree::Id> id = OnEntry<absl::StatusOr<Tree::Id>>(
        "win32.CreateDirectory", path, [&] { return absl::StrCat("creating directory ", path); },
        [&](NodeState& state, const PathEnd& end, const auto& operation) {
          return CreateIn(state, end, name, operation);
        });
    return NewFile(std::move(path), Access::kWriteAttributes, id);
  }

  absl::StatusOr<std::vector<std::string>> List() override {
    using Result = absl::StatusOr<std::vector<std::string>>;
    return OnEntry<Result>(
        "win32.List", path_, [&] { return absl::StrCat("listing ", path_); },
        [&](NodeState&, const PathEnd& end, const auto& operation) -> Result {
          if (end.at().kind == Tree::Kind::kFile) {
            return Failure(operation(), win32_error::kInvalidParameter);
          }
          std::vector<std::string> names;
          for (const auto& [key, id] : end.at().children) {
            names.push_back(end.tree().at(id).name);
          }
          return names;
        });
  }

  // Lists entries by name, from behind the last listed name, even if entries have come or gone.
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool restart) override {
    using Result = absl::StatusOr<std::vector<machine::DirectoryEntry>>;
    return OnEntry<Result>(
        "win32.List", path_, [&] { return absl::StrCat("listing ", path_); },
        [&](NodeState&, const PathEnd& end, const auto& operation) -> Result {
          if (end.at().kind == Tree::Kind::kFile) {
            return Failure(operation(), win32_error::kInvalidParameter);
          }
          const auto& children = end.at().children;
          if (restart) listed_.clear();
          std::vector<machine::DirectoryEntry> entries;
          auto child = listed_.empty() ? children.begin() : children.upper_bound(listed_);
          for (; child != children.end() && entries.size() < kListedAtOnce; ++child) {
            const Tree::Entry& entry = end.tree().at(child->second);
            entries.push_back({.name = entry.name,
                               .is_directory = entry.kind != Tree::Kind::kFile,
                               .is_reparse_point = IsReparsePoint(entry)});
            listed_ = child->first;
          }
          return entries;
        });
  }

  absl::StatusOr<std::vector<machine::FileUser>> ListUsers(const std::string& name) override {
    using Result = absl::StatusOr<std::vector<machine::FileUser>>;
    const std::string path = PathOf(name);
    return OnEntry<Result>(
        "win32.ListUsers", path, [&] { return absl::StrCat("asking who uses ", path); },
        [&](NodeState& state, const PathEnd& end, const auto& operation) -> Result {
          const std::optional<Tree::Id> child = end.tree().Find(end.entry, name);
          if (!child.has_value()) return Failure(operation(), win32_error::kFileNotFound);
          std::vector<machine::FileUser> users;
          for (const OtherOpen& other :
               OtherOpensOf(state, OpenEntries::KeyOf({end.place, *child}))) {
            if (other.process_id == 0) continue;
            users.push_back({other.process_id, other.image_name});
          }
          return users;
        });
  }

  absl::Status Delete() override {
    return OnEntry<absl::Status>(
        "win32.Delete", path_, [&] { return absl::StrCat("deleting ", path_); },
        [&](NodeState&, const PathEnd& end, const auto& operation) {
          if (access_ != Access::kDelete) return Failure(operation(), win32_error::kAccessDenied);
          if (!end.at().children.empty()) return Failure(operation(), win32_error::kDirNotEmpty);
          if (IsWriteProtected(end.place)) return Failure(operation(), win32_error::kWriteProtect);
          open_->SetDeleted(key_);
          deleted_it_ = true;
          return absl::OkStatus();
        });
  }

  absl::StatusOr<Bytes> ReadReparsePoint() override {
    return OnEntry<absl::StatusOr<Bytes>>(
        "win32.ReadReparsePoint", path_,
        [&] { return absl::StrCat("reading the reparse point ", path_); },
        [&](NodeState&, const PathEnd& end, const auto& operation) {
          return ReparseData(end.at(), operation());
        });
  }

  absl::Status WriteReparsePoint(const Bytes& data) override {
    return OnEntry<absl::Status>(
        "win32.WriteReparsePoint", path_,
        [&] { return absl::StrCat("making ", path_, " a reparse point"); },
        [&](NodeState&, const PathEnd& end, const auto& operation) -> absl::Status {
          if (access_ != Access::kWriteAttributes) {
            return Failure(operation(), win32_error::kAccessDenied);
          }
          if (IsWriteProtected(end.place)) return Failure(operation(), win32_error::kWriteProtect);
          return SetReparseData(end.tree(), end.entry, data, operation());
        });
  }

  absl::Status DeleteReparsePoint(uint32_t tag) override {
    return OnEntry<absl::Status>(
        "win32.DeleteReparsePoint", path_,
        [&] { return absl::StrCat("making ", path_, " a plain directory"); },
        [&](NodeState& state, const PathEnd& end, const auto& operation) -> absl::Status {
          if (access_ != Access::kWriteAttributes) {
            return Failure(operation(), win32_error::kAccessDenied);
          }
          if (!IsReparsePoint(end.at()))
            return Failure(operation(), win32_error::kNotAReparsePoint);
          if (tag != TagOf(end.at())) return Failure(operation(), win32_error::kReparseTagMismatch);
          if (IsWriteProtected(end.place)) return Failure(operation(), win32_error::kWriteProtect);
          if (end.at().mounted.has_value() && state.behaviour.stale_mount_entries) {
            KeepStaleFolder(state, *end.at().mounted, FolderName(*end.place.volume, end.entry));
          }
          end.tree().SetMounted(end.entry, std::nullopt);
          return absl::OkStatus();
        });
  }

 private:
  std::string PathOf(absl::string_view name) const {
    return absl::StrCat(path_, absl::EndsWith(path_, "\\") ? "" : "\\", name);
  }

  // Calls `action(state, PathEnd, operation)` with this entry. `operation()` names the call in
  // errors.
  template <typename Result, typename Operation, typename Action>
  Result OnEntry(absl::string_view method, absl::string_view resource, const Operation& operation,
                 Action action) {
    return gate_.Run(method, resource, [&](NodeState& state) -> Result {
      const absl::StatusOr<VolumePlace> place = FindVolume(state, key_.first);
      if (!place.ok()) return Failure(operation(), win32_error::kNotReady);
      if (!place->volume->tree.Has(key_.second)) {
        return Failure(operation(), win32_error::kAccessDenied);
      }
      return action(state, PathEnd{*place, key_.second}, operation);
    });
  }

  absl::StatusOr<std::unique_ptr<File>> OpenAt(absl::string_view method,
                                               const std::vector<std::string>& names,
                                               Access access) {
    std::string path = PathOf(absl::StrJoin(names, "\\"));
    const absl::StatusOr<Tree::Id> id = OnEntry<absl::StatusOr<Tree::Id>>(
        method, path, [&] { return absl::StrCat("opening ", path); },
        [&](NodeState& state, const PathEnd& end, const auto& operation) {
          return OpenIn(state, end, names, access, operation);
        });
    return NewFile(std::move(path), access, id);
  }

  absl::StatusOr<Tree::Id> OpenIn(NodeState& state, const PathEnd& end,
                                  const std::vector<std::string>& names, Access access,
                                  absl::FunctionRef<std::string()> operation) {
    PathEnd opened = end;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!IsName(names[i])) return Failure(operation(), win32_error::kInvalidName);
      if (i > 0 && IsLink(opened.at())) {
        return Failure(operation(), win32_error::kReparsePointEncountered);
      }
      if (opened.at().kind == Tree::Kind::kFile) {
        return Failure(operation(), win32_error::kPathNotFound);
      }
      const std::optional<Tree::Id> child = opened.tree().Find(opened.entry, names[i]);
      if (!child.has_value()) {
        return Failure(operation(), i + 1 < names.size() ? win32_error::kPathNotFound
                                                         : win32_error::kFileNotFound);
      }
      opened.entry = *child;
    }
    const absl::Status free = open_->Check(state, opened, ModeOf(access), operation);
    if (!free.ok()) return free;
    open_->Add(OpenEntries::KeyOf(opened), ModeOf(access));
    return opened.entry;
  }

  absl::StatusOr<Tree::Id> CreateIn(NodeState& state, const PathEnd& end, const std::string& name,
                                    absl::FunctionRef<std::string()> operation) {
    if (!IsName(name)) return Failure(operation(), win32_error::kInvalidName);
    if (end.at().kind == Tree::Kind::kFile) return Failure(operation(), win32_error::kPathNotFound);
    // No entry can be made in a link.
    if (IsLink(end.at())) return Failure(operation(), win32_error::kBadPathName);
    if (open_->IsDeleted(key_)) return OpenEntries::DeletePending(state, operation());
    if (const auto there = end.tree().Find(end.entry, name); there.has_value()) {
      const absl::Status free = open_->Check(state, {end.place, *there}, {}, operation);
      // Check() may have removed the entry.
      if (free.ok()) return Failure(operation(), win32_error::kAlreadyExists);
      if (!IsFileNotFound(free)) return free;
    }
    ABSL_RETURN_IF_ERROR(CheckWritable(end.place, 0, operation()));
    const absl::StatusOr<Tree::Id> made = end.tree().Add(end.entry, Tree::Directory(name));
    if (made.ok()) open_->Add({key_.first, *made}, ModeOf(Access::kWriteAttributes));
    return made;
  }

  // Returns the file of an entry that was opened under `path`.
  absl::StatusOr<std::unique_ptr<File>> NewFile(std::string path, Access access,
                                                const absl::StatusOr<Tree::Id>& id) {
    if (!id.ok()) return id.status();
    return std::make_unique<FileDouble>(gate_, open_, OpenEntries::Key(key_.first, *id), access,
                                        std::move(path));
  }

  const Gate gate_;
  const std::shared_ptr<OpenEntries> open_;
  const OpenEntries::Key key_;
  const Access access_;
  bool deleted_it_ = false;
  // The last name that ListNext() returned, by FoldName().
  std::string listed_;
  // The path by which the file was opened. Errors and fault rules name the file by this path.
  const std::string path_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<File>> OpenRootDirectory(const Gate& gate,
                                                        const std::shared_ptr<OpenEntries>& open,
                                                        const std::string& root) {
  using Result = absl::StatusOr<OpenEntries::Key>;
  const Result key = gate.Run("win32.Open", root, [&](NodeState& state) -> Result {
    ABSL_ASSIGN_OR_RETURN(const VolumePlace place,
                          FindRoot(state, root, absl::StrCat("opening ", root)));
    const PathEnd opened{place, Tree::kRoot};
    const absl::Status free = open->Check(state, opened, ModeOf(Access::kRead),
                                          [&] { return absl::StrCat("opening ", root); });
    if (!free.ok()) return free;
    open->Add(OpenEntries::KeyOf(opened), ModeOf(Access::kRead));
    return OpenEntries::KeyOf(opened);
  });
  if (!key.ok()) return key.status();
  return std::make_unique<FileDouble>(gate, open, *key, Access::kRead, root);
}

}  // namespace csi_proxy::machine::simulator
