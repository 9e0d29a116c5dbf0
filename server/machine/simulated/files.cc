#include "server/machine/simulated/files.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace csi_proxy::machine::simulated {
namespace {

// Adds an entry where `at`, followed as far as it goes, ends; the volume must have room.
absl::StatusOr<Tree::Id> AddEntry(const Resolved& at, Tree::Entry entry,
                                  absl::string_view operation) {
  if (at.place.has_value()) {
    const absl::Status writable = CheckWritable(*at.place, entry.size_bytes, operation);
    if (!writable.ok()) return writable;
  }
  return at.tree->Add(at.entry, std::move(entry));
}

// Where the parent of a new entry is: `at` lacks its last component and nothing else.
absl::Status CheckParent(const Resolved& at, const std::string& path) {
  if (at.found()) return absl::AlreadyExistsError(absl::StrCat(path, " exists already"));
  if (at.tree == nullptr || at.missing.size() > 1 || at.dangling ||
      at.at().kind != Tree::Kind::kDirectory) {
    return MissingError(path);
  }
  return absl::OkStatus();
}

absl::Status CheckNotWriteProtected(const Resolved& at, const std::string& operation) {
  if (at.place.has_value() && at.place->disk->read_only) {
    return Failure(operation, kErrorWriteProtect);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> EntryExists(NodeState& state, const ConfinedPath& path) {
  const absl::StatusOr<Resolved> at = Resolve(state, path);
  if (!at.ok()) return at.status();
  return at->found();
}

absl::Status MakeEntryDirectories(NodeState& state, const ConfinedPath& path) {
  const std::string text = path.path.ToString();
  const std::string operation = absl::StrCat("creating directory ", text);
  absl::StatusOr<Resolved> at = Resolve(state, path, {.follow_last = true});
  if (!at.ok()) return at.status();
  if (at->dangling) {
    return absl::AlreadyExistsError(
        absl::StrCat("a link that leads nowhere is in the way of ", text));
  }
  if (at->tree == nullptr) return Failure(operation, kErrorNotReady, absl::StatusCode::kNotFound);
  if (at->at().kind != Tree::Kind::kDirectory) {
    return absl::AlreadyExistsError(absl::StrCat("a file is in the way of ", text));
  }
  for (const std::string& name : at->missing) {
    const absl::StatusOr<Tree::Id> made = AddEntry(*at, Tree::Directory(name), operation);
    if (!made.ok()) return made.status();
    at->entry = *made;
  }
  return absl::OkStatus();
}

absl::Status RemoveEntry(NodeState& state, const ConfinedPath& path, bool recursive) {
  const std::string text = path.path.ToString();
  absl::StatusOr<Resolved> at = Resolve(state, path);
  if (!at.ok()) return at.status();
  if (!at->found()) return recursive ? absl::OkStatus() : MissingError(text);
  const Tree::Entry& entry = at->at();
  if (entry.mounted.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("volume ", entry.mounted->ToString(), " is mounted at ", text));
  }
  if (at->entry == Tree::kRoot) {
    return absl::FailedPreconditionError(absl::StrCat(text, " is the root of a drive"));
  }
  if (!recursive && !entry.children.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("directory ", text, " is not empty"));
  }
  const absl::Status writable = CheckNotWriteProtected(*at, absl::StrCat("removing ", text));
  if (!writable.ok()) return writable;
  at->tree->Remove(at->entry);
  return absl::OkStatus();
}

absl::Status RemoveEntryContents(NodeState& state, const ConfinedPath& path) {
  const std::string text = path.path.ToString();
  absl::StatusOr<Resolved> at = Resolve(state, path);
  if (!at.ok()) return at.status();
  if (!at->found()) return MissingError(text);
  const Tree::Entry& entry = at->at();
  if (entry.kind != Tree::Kind::kDirectory || entry.mounted.has_value()) {
    const bool leads_on = entry.kind == Tree::Kind::kLink || entry.mounted.has_value();
    return absl::FailedPreconditionError(absl::StrCat(
        text, leads_on ? " is a link or mount point, not a directory" : " is no directory"));
  }
  const absl::Status writable = CheckNotWriteProtected(*at, absl::StrCat("emptying ", text));
  if (!writable.ok()) return writable;
  at->tree->RemoveChildren(at->entry);
  return absl::OkStatus();
}

absl::StatusOr<LinkInfo> DescribeLink(NodeState& state, const ConfinedPath& path) {
  const absl::StatusOr<Resolved> at = Resolve(state, path);
  if (!at.ok()) return at.status();
  if (!at->found()) return MissingError(path.path.ToString());
  const Tree::Entry& entry = at->at();
  LinkInfo info;
  if (entry.mounted.has_value()) {
    info.is_link = true;
    info.target = entry.mounted->ToString();
    info.target_exists = FindVolume(state, *entry.mounted).ok();
  } else if (entry.kind == Tree::Kind::kLink) {
    info.is_link = true;
    info.target = entry.target;
    const absl::StatusOr<Resolved> end = Resolve(state, path, {.follow_last = true});
    // Whether something is there outside the roots is not the caller's to know.
    if (absl::IsPermissionDenied(end.status())) return end.status();
    // Links that never end lead nowhere.
    info.target_exists = end.ok() && end->found();
  }
  return info;
}

absl::Status MakeLinkEntry(NodeState& state, const std::string& target, const ConfinedPath& link) {
  const std::string text = link.path.ToString();
  // Links at the roots are trusted (see Resolve), so no caller may place one there.
  if (link.roots != nullptr && !IsBelow(*link.roots, link.path)) {
    return absl::PermissionDeniedError(
        absl::StrCat("a link cannot take the place of ", text, ", a root itself"));
  }
  absl::StatusOr<Resolved> at = Resolve(state, link);
  if (!at.ok()) return at.status();
  if (absl::Status status = CheckParent(*at, text); !status.ok()) return status;
  return AddEntry(*at, Tree::Link(link.path.components().back(), target),
                  absl::StrCat("creating link ", text))
      .status();
}

absl::Status WriteFileEntry(NodeState& state, const ConfinedPath& path, uint64_t size_bytes,
                            bool read_only) {
  const std::string text = path.path.ToString();
  const std::string operation = absl::StrCat("writing ", text);
  absl::StatusOr<Resolved> at = Resolve(state, path);
  if (!at.ok()) return at.status();
  if (at->found()) {
    if (at->at().kind != Tree::Kind::kFile) {
      return absl::AlreadyExistsError(absl::StrCat(text, " exists and is no file"));
    }
    const uint64_t old_size = at->at().size_bytes;
    if (at->place.has_value() && size_bytes > old_size) {
      const absl::Status writable = CheckWritable(*at->place, size_bytes - old_size, operation);
      if (!writable.ok()) return writable;
    }
    at->tree->SetFile(at->entry, size_bytes, read_only);
    return absl::OkStatus();
  }
  if (absl::Status status = CheckParent(*at, text); !status.ok()) return status;
  return AddEntry(*at, Tree::File(path.path.components().back(), size_bytes, read_only), operation)
      .status();
}

}  // namespace csi_proxy::machine::simulated
