#include "server/simulator/files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/simulator/resolver.h"

namespace csi_proxy::machine::simulator {
namespace {

// Adds an entry at the missing end of `at`. Fails if the volume is read-only or has no room.
absl::StatusOr<Tree::Id> AddEntry(const Resolved& at, Tree::Entry entry,
                                  absl::string_view operation) {
  if (at.place.has_value()) {
    const absl::Status writable = CheckWritable(*at.place, entry.size_bytes, operation);
    if (!writable.ok()) return writable;
  }
  return at.tree->Add(at.entry, std::move(entry));
}

// Returns ALREADY_EXISTS if `at` exists, and NOT_FOUND unless its parent is a directory.
absl::Status CheckParent(const Resolved& at, const std::string& path) {
  if (at.found()) return absl::AlreadyExistsError(absl::StrCat(path, " exists already"));
  if (at.tree == nullptr || at.missing.size() > 1 || at.dangling ||
      at.at().kind != Tree::Kind::kDirectory) {
    return absl::NotFoundError(absl::StrCat("cannot find '", path, "' because it does not exist"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeEntryDirectories(NodeState& state, const WindowsPath& path) {
  const std::string text = path.ToString();
  const std::string operation = absl::StrCat("creating directory ", text);
  ABSL_ASSIGN_OR_RETURN(Resolved at, Resolve(state, path, true));
  if (at.dangling) {
    return absl::AlreadyExistsError(
        absl::StrCat("a link without a target is in the way of ", text));
  }
  if (at.tree == nullptr)
    return Failure(operation, win32_error::kNotReady, absl::StatusCode::kNotFound);
  if (at.at().kind != Tree::Kind::kDirectory) {
    return absl::AlreadyExistsError(absl::StrCat("a file is in the way of ", text));
  }
  for (const std::string& name : at.missing) {
    ABSL_ASSIGN_OR_RETURN(const Tree::Id made, AddEntry(at, Tree::Directory(name), operation));
    at.entry = made;
  }
  return absl::OkStatus();
}

absl::Status MakeLinkEntry(NodeState& state, const std::string& target, const WindowsPath& link,
                           bool junction) {
  const std::string text = link.ToString();
  ABSL_ASSIGN_OR_RETURN(Resolved at, Resolve(state, link, false));
  ABSL_RETURN_IF_ERROR(CheckParent(at, text));
  return AddEntry(at, Tree::Link(link.components().back(), target, junction),
                  absl::StrCat("creating link ", text))
      .status();
}

absl::Status WriteFileEntry(NodeState& state, const WindowsPath& path, uint64_t size_bytes,
                            bool read_only) {
  const std::string text = path.ToString();
  const std::string operation = absl::StrCat("writing ", text);
  ABSL_ASSIGN_OR_RETURN(Resolved at, Resolve(state, path, false));
  if (at.found()) {
    if (at.at().kind != Tree::Kind::kFile) {
      return absl::AlreadyExistsError(absl::StrCat(text, " exists and is not a file"));
    }
    const uint64_t old_size = at.at().size_bytes;
    if (at.place.has_value() && size_bytes > old_size) {
      const absl::Status writable = CheckWritable(*at.place, size_bytes - old_size, operation);
      if (!writable.ok()) return writable;
    }
    at.tree->SetFile(at.entry, size_bytes, read_only);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(CheckParent(at, text));
  return AddEntry(at, Tree::File(path.components().back(), size_bytes, read_only), operation)
      .status();
}

absl::Status RemoveFolderEntry(NodeState& state, const WindowsPath& path) {
  const std::string operation = absl::StrCat("removing directory ", path.ToString());
  ABSL_ASSIGN_OR_RETURN(Resolved at, Resolve(state, path, false));
  if (!at.found()) {
    return Failure(operation, win32_error::kPathNotFound, absl::StatusCode::kNotFound);
  }
  if (at.entry == Tree::kRoot) return Failure(operation, win32_error::kAccessDenied);
  if (at.at().kind == Tree::Kind::kFile) return Failure(operation, win32_error::kDirectory);
  if (!at.at().children.empty()) return Failure(operation, win32_error::kDirNotEmpty);
  if (at.place.has_value()) {
    ABSL_RETURN_IF_ERROR(CheckWritable(*at.place, 0, operation));
  }
  at.tree->Remove(at.entry);
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulator
