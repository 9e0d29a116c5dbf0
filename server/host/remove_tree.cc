#include "server/host/remove_tree.h"

#include <memory>
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

// The maximum of repeated listings of a directory if other programs add entries to it.
constexpr int kRounds = 8;

std::string Join(const std::string& path, const std::string& name) {
  return absl::StrCat(path, absl::EndsWith(path, "\\") ? "" : "\\", name);
}

// Returns true if the entry no longer exists, or will not after its last handle is closed.
bool IsGoing(const absl::Status& status) {
  return IsFileNotFound(status) || HasWin32Code(status, win32_error::kDeletePending);
}

// A directory that is being emptied. The levels are in a vector, not on the call stack, which a
// deep hostile tree could exhaust.
struct Level {
  machine::File* directory;
  std::unique_ptr<machine::File> owned;
  std::string path;
  bool was_mount = false;
  std::vector<std::string> names = {};
  int rounds = 0;
};

class Remover {
 public:
  Remover(const HostDeps& deps, const CallContext& context) : deps_(deps), context_(context) {}

  absl::Status RemoveEntries(machine::File& directory, const std::string& path) {
    ABSL_RETURN_IF_ERROR(Push({&directory, nullptr, path}));
    while (!levels_.empty()) {
      ABSL_RETURN_IF_ERROR(context_.Check());
      const absl::Status status =
          levels_.back().names.empty() ? LeaveLevel() : RemoveNext(levels_.back());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Push(Level level) {
    absl::StatusOr<std::vector<std::string>> names = level.directory->List();
    if (!names.ok()) return Prefixed(level.path, names.status());
    level.names = *std::move(names);
    levels_.push_back(std::move(level));
    return absl::OkStatus();
  }

  // Deletes the current directory, which is empty unless another program has added entries. The
  // first level is the caller's and stays.
  absl::Status LeaveLevel() {
    Level& level = levels_.back();
    const bool is_callers = level.owned == nullptr;
    const absl::Status deleted = is_callers ? absl::OkStatus() : level.owned->Delete();
    if ((is_callers || HasWin32Code(deleted, win32_error::kDirNotEmpty)) &&
        ++level.rounds < kRounds) {
      absl::StatusOr<std::vector<std::string>> names = level.directory->List();
      if (!names.ok()) return Prefixed(level.path, names.status());
      level.names = *std::move(names);
      if (!is_callers || !level.names.empty()) return absl::OkStatus();
    }
    if (!deleted.ok() && !IsFileNotFound(deleted)) {
      const absl::Status kept = Prefixed(level.path, deleted);
      const bool is_empty = !HasWin32Code(deleted, win32_error::kDirNotEmpty);
      return level.was_mount && is_empty ? Appended(kept, kEmptyStays) : kept;
    }
    levels_.pop_back();
    return absl::OkStatus();
  }

  absl::Status RemoveNext(Level& level) {
    const std::string name = std::move(level.names.back());
    level.names.pop_back();
    const std::string path = Join(level.path, name);
    absl::StatusOr<std::unique_ptr<machine::File>> file =
        OpenPatiently(context_, *level.directory, name, machine::Access::kDelete);
    if (IsGoing(file.status())) return absl::OkStatus();
    if (!file.ok()) return Leave(level, name, path, file.status());
    absl::StatusOr<machine::FileAttributes> attributes = (*file)->GetAttributes();
    if (!attributes.ok()) return Prefixed(path, attributes.status());
    const bool was_mount =
        attributes->is_reparse_point && attributes->reparse_tag == machine::kReparseTagMountPoint;
    if (was_mount) {
      const absl::Status ended =
          EndMountBeforeDeletion(deps_, context_, *level.directory, name, path, &*file);
      if (IsGoing(ended)) return absl::OkStatus();
      if (!ended.ok()) return Prefixed(path, ended);
      attributes = (*file)->GetAttributes();
      if (!attributes.ok()) return Prefixed(path, attributes.status());
    }
    if (attributes->is_directory && !machine::IsNameSurrogate(*attributes)) {
      machine::File* const directory = file->get();
      return Push({directory, *std::move(file), path, was_mount});
    }
    const absl::Status deleted = (*file)->Delete();
    if (deleted.ok() || IsFileNotFound(deleted)) return absl::OkStatus();
    file->reset();
    return Leave(level, name, path, deleted);
  }

  // Ends a mount or a directory link at an entry that cannot be deleted because of `kept`. Returns
  // `kept` with the path and with what has ended.
  absl::Status Leave(Level& level, const std::string& name, const std::string& path,
                     const absl::Status& kept) {
    return LeaveEmpty(deps_, context_, *level.directory, name, path, Prefixed(path, kept));
  }

  const HostDeps& deps_;
  const CallContext& context_;
  std::vector<Level> levels_;
};

}  // namespace

absl::Status RemoveBelow(const HostDeps& deps, const CallContext& context, machine::File& directory,
                         const std::string& path) {
  return Remover(deps, context).RemoveEntries(directory, path);
}

}  // namespace csi_proxy::host
