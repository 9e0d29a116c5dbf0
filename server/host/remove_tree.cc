#include "server/host/remove_tree.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/host/mount_point.h"
#include "server/host/patient_open.h"
#include "server/machine/reparse_point.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

// The maximum number of times that a directory is listed to its end. It is listed again if other
// programs add entries to it.
constexpr int kRounds = 8;

std::string Join(const std::string& path, const std::string& name) {
  return absl::StrCat(path, absl::EndsWith(path, "\\") ? "" : "\\", name);
}

// Returns true if the entry no longer exists, or disappears when its last handle is closed.
bool IsGoing(const absl::Status& status) {
  return IsFileNotFound(status) || HasWin32Code(status, win32_error::kDeletePending);
}

// The maximum number of levels of a tree. The longest path of Windows has fewer levels, but a
// program can nest directories deeper by renaming them.
constexpr size_t kMostLevels = 16'384;
// The number of upper levels that keep the names of their entries while lower levels are removed.
// Deeper levels are listed again, because a hostile tree must not take much memory.
constexpr size_t kMostListed = 64;

// A directory that is being emptied. The levels are in a vector, not on the call stack, which a
// deep hostile tree could exhaust.
struct Level {
  machine::File* directory;
  std::unique_ptr<machine::File> owned;
  std::string name;
  bool was_mount = false;
  // The entries that were listed last and are not removed yet.
  std::vector<std::string> names = {};
  // True if the next listing begins with the first entry.
  bool restart = true;
  int rounds = 0;
};

class Remover {
 public:
  Remover(const HostDeps& deps, const CallContext& context, const std::string& path)
      : deps_(deps), context_(context), path_(path) {}

  absl::Status RemoveEntries(machine::File& directory) {
    levels_.push_back({&directory, nullptr, ""});
    while (!levels_.empty()) {
      ABSL_RETURN_IF_ERROR(context_.Check());
      const absl::Status status =
          levels_.back().names.empty() ? ListNext(levels_.back()) : RemoveNext(levels_.back());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  // Returns the path of the current directory.
  std::string Path() const {
    std::string path = path_;
    for (size_t i = 1; i < levels_.size(); ++i) path = Join(path, levels_[i].name);
    return path;
  }

  absl::Status Push(Level level) {
    if (levels_.size() > kMostLevels) {
      return Prefixed(path_, absl::FailedPreconditionError(
                                 absl::StrCat("directories are nested more than ", kMostLevels,
                                              " deep: move an inner one up, and repeat the call")));
    }
    if (levels_.size() > kMostListed) {
      std::vector<std::string>().swap(levels_.back().names);
      levels_.back().restart = true;
    }
    levels_.push_back(std::move(level));
    return absl::OkStatus();
  }

  // Lists the next entries of the current directory. Leaves the directory if there are none.
  absl::Status ListNext(Level& level) {
    const bool restart = std::exchange(level.restart, false);
    absl::StatusOr<std::vector<machine::DirectoryEntry>> entries =
        level.directory->ListNext(restart);
    if (!entries.ok()) return Prefixed(Path(), entries.status());
    if (entries->empty()) return LeaveLevel(level, restart);
    for (machine::DirectoryEntry& entry : *entries) level.names.push_back(std::move(entry.name));
    return absl::OkStatus();
  }

  // Deletes the current directory. If another program has added entries, the directory is listed
  // again. The caller's directory is not deleted, but listed again until a whole listing is empty.
  absl::Status LeaveLevel(Level& level, bool was_empty) {
    const bool is_callers = level.owned == nullptr;
    const absl::Status deleted = is_callers ? absl::OkStatus() : level.owned->Delete();
    level.restart = is_callers ? !was_empty : HasWin32Code(deleted, win32_error::kDirNotEmpty);
    if (level.restart && ++level.rounds < kRounds) return absl::OkStatus();
    if (!deleted.ok() && !IsFileNotFound(deleted)) {
      const absl::Status kept = Prefixed(Path(), deleted);
      return level.was_mount && !level.restart ? Appended(kept, kEmptyStays) : kept;
    }
    levels_.pop_back();
    return absl::OkStatus();
  }

  absl::Status RemoveNext(Level& level) {
    const std::string name = std::move(level.names.back());
    level.names.pop_back();
    absl::StatusOr<std::unique_ptr<machine::File>> file =
        OpenPatiently(context_, *level.directory, name, machine::Access::kDelete);
    if (IsGoing(file.status())) return absl::OkStatus();
    if (!file.ok()) return Leave(level, name, file.status());
    absl::StatusOr<machine::FileAttributes> attributes = (*file)->GetAttributes();
    if (!attributes.ok()) return Prefixed(Join(Path(), name), attributes.status());
    const bool was_mount =
        attributes->is_reparse_point && attributes->reparse_tag == machine::kReparseTagMountPoint;
    if (was_mount) {
      const std::string path = Join(Path(), name);
      const absl::Status ended =
          EndMountBeforeDeletion(deps_, context_, *level.directory, name, path, &*file);
      if (IsGoing(ended)) return absl::OkStatus();
      if (!ended.ok()) return Prefixed(path, ended);
      attributes = (*file)->GetAttributes();
      if (!attributes.ok()) return Prefixed(path, attributes.status());
    }
    if (attributes->is_directory && !machine::IsNameSurrogate(*attributes)) {
      machine::File* const directory = file->get();
      return Push({directory, *std::move(file), name, was_mount});
    }
    const absl::Status deleted = (*file)->Delete();
    if (deleted.ok() || IsFileNotFound(deleted)) return absl::OkStatus();
    file->reset();
    return Leave(level, name, deleted);
  }

  // Ends a mount or a directory link at an entry that cannot be deleted because of `kept`. Returns
  // `kept` with the path, the programs that use the entry, and a note if a mount or link has ended.
  absl::Status Leave(Level& level, const std::string& name, const absl::Status& kept) {
    const std::string path = Join(Path(), name);
    return LeaveEmpty(deps_, context_, *level.directory, name, path, Prefixed(path, kept));
  }

  const HostDeps& deps_;
  const CallContext& context_;
  const std::string& path_;
  std::vector<Level> levels_;
};

}  // namespace

absl::Status RemoveBelow(const HostDeps& deps, const CallContext& context, machine::File& directory,
                         const std::string& path) {
  return Remover(deps, context, path).RemoveEntries(directory);
}

}  // namespace csi_proxy::host
