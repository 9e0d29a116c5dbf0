// Win32 calls by path: attributes, links, volumes, and creating and removing directories. The
// product makes them by handle; the Go release, with which the double is tested, makes them by
// path. For paths of a drive that the node does not have, Wine answers, because programs have files
// of their own.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "integration/wine/double/hooks_windows.h"
#include "integration/wine/double/open_file_windows.h"
#include "integration/wine/double/simulated_node.h"
#include "integration/wine/double/win32_answers_windows.h"
#include "server/machine/reparse_point.h"
#include "server/names/volume_id.h"
#include "server/simulator/win32/paths.h"

namespace csi_proxy::node_double {
namespace {

using machine::simulator::NodeState;
using machine::simulator::PathEnd;
using machine::simulator::Tree;

// The attributes of an entry itself, without following it.
struct Entry {
  DWORD attributes = 0;
  DWORD reparse_tag = 0;
  std::optional<VolumeId> mounted;
};

// Returns `C:\a\b` for a drive's path with or without `\\?\`; nullopt for any other path.
std::optional<std::string> DrivePath(absl::string_view path) {
  absl::ConsumePrefix(&path, R"(\\?\)");
  if (path.size() < 3 || !absl::ascii_isalpha(path[0]) || path.substr(1, 2) != ":\\") {
    return std::nullopt;
  }
  // A root keeps its backslash.
  if (path.size() > 3) absl::ConsumeSuffix(&path, "\\");
  return std::string(path);
}

Entry Describe(const Tree::Entry& entry) {
  Entry described;
  if (entry.kind != Tree::Kind::kFile) described.attributes |= FILE_ATTRIBUTE_DIRECTORY;
  if (entry.kind == Tree::Kind::kLink || entry.mounted.has_value()) {
    described.attributes |= FILE_ATTRIBUTE_REPARSE_POINT;
    const bool is_symlink = entry.kind == Tree::Kind::kLink && !entry.junction;
    described.reparse_tag =
        is_symlink ? machine::kReparseTagSymlink : machine::kReparseTagMountPoint;
  } else if (entry.reparse_tag != 0) {
    described.attributes |= FILE_ATTRIBUTE_REPARSE_POINT;
    described.reparse_tag = entry.reparse_tag;
  }
  if (described.attributes == 0) described.attributes = FILE_ATTRIBUTE_NORMAL;
  described.mounted = entry.mounted;
  return described;
}

absl::StatusOr<Entry> Look(const std::string& path) {
  return TheNode().node->core()->Change([&](NodeState& state) -> absl::StatusOr<Entry> {
    const absl::StatusOr<PathEnd> end = machine::simulator::FindPath(state, path, "path");
    if (!end.ok()) return end.status();
    return Describe(end->at());
  });
}

// Returns the node's entry at a path; nullopt if the path is Wine's.
std::optional<Entry> LookAt(LPCWSTR path) {
  const std::optional<std::string> drive_path = DrivePath(TextOf(path));
  if (!drive_path.has_value()) return std::nullopt;
  absl::StatusOr<Entry> entry = Look(*drive_path);
  if (!entry.ok()) return std::nullopt;
  return *std::move(entry);
}

// Returns `\\host\share\a` for a server's path with or without `\\?\UNC\`; nullopt for any other
// path.
std::optional<std::string> ServerPath(const std::string& path) {
  absl::string_view server = path;
  if (absl::ConsumePrefix(&server, R"(\\?\UNC\)")) return absl::StrCat(R"(\\)", server);
  // Other paths that begin with `\\?\` or `\\.\` are this computer's.
  if (!absl::StartsWith(path, R"(\\)") || absl::StartsWith(path, R"(\\?)") ||
      absl::StartsWith(path, R"(\\.)")) {
    return std::nullopt;
  }
  return path;
}

// A search that has returned its only result.
struct PathSearch final : Opened {};

// Returns `path`, or the end of the links there.
std::string EndOf(std::string path) {
  TheNode().node->core()->Change([&](NodeState& state) {
    // At most 32 links, because links may form a circle.
    for (int i = 0; i < 32; ++i) {
      const absl::StatusOr<PathEnd> end = machine::simulator::FindPath(state, path, "path");
      if (!end.ok() || end->at().kind != Tree::Kind::kLink) break;
      const std::optional<std::string> target = DrivePath(end->at().target);
      if (!target.has_value()) break;
      path = *target;
    }
  });
  return path;
}

// Calls `change` on the parent directory of an entry. Returns nullopt if the node does not have
// that directory, or if it is the root, where programs have their own entries.
template <typename Change>
std::optional<absl::Status> ChangeParent(LPCWSTR path, Change change) {
  const std::optional<std::string> at = DrivePath(TextOf(path));
  if (!at.has_value() || at->rfind('\\') < 3) return std::nullopt;
  const std::string parent = at->substr(0, at->rfind('\\'));
  return TheNode().node->core()->Change([&](NodeState& state) -> std::optional<absl::Status> {
    const absl::StatusOr<PathEnd> end = machine::simulator::FindPath(state, parent, "parent");
    if (!end.ok()) return std::nullopt;
    return change(end->tree(), end->entry, at->substr(at->rfind('\\') + 1));
  });
}

}  // namespace

HANDLE OpenPath(LPCWSTR path, bool follow) {
  std::optional<std::string> at = DrivePath(TextOf(path));
  if (!at.has_value()) return nullptr;
  if (follow) at = EndOf(*std::move(at));
  std::string root;
  std::vector<std::string> names;
  const absl::Status found = TheNode().node->core()->Change([&](NodeState& state) -> absl::Status {
    const absl::StatusOr<PathEnd> end = machine::simulator::FindPath(state, *at, "path");
    if (!end.ok()) return end.status();
    if (follow && end->at().mounted.has_value()) {
      root = end->at().mounted->ToString();
      return absl::OkStatus();
    }
    root = end->place.volume->id.ToString();
    names = absl::StrSplit(end->tree().PathOf(end->entry), '\\', absl::SkipEmpty());
    return absl::OkStatus();
  });
  if (!found.ok()) return nullptr;
  auto file = TheNode().os->OpenRoot(root);
  for (size_t i = 0; i < names.size() && file.ok(); ++i) {
    auto next = (*file)->Open(names[i], machine::Access::kRead);
    file = std::move(next);
  }
  if (!Answer(file)) return INVALID_HANDLE_VALUE;
  return NewFake(std::make_shared<OpenFile>(*std::move(file), FILE_READ_ATTRIBUTES, names.empty()));
}

namespace hooks {

DWORD WINAPI GetFileAttributesW(LPCWSTR path) {
  if (const auto server = ServerPath(TextOf(path)); server.has_value()) {
    return Answer(TheNode().os->Reach(*server)) ? FILE_ATTRIBUTE_DIRECTORY
                                                : INVALID_FILE_ATTRIBUTES;
  }
  const std::optional<Entry> entry = LookAt(path);
  return entry.has_value() ? entry->attributes : ::GetFileAttributesW(path);
}

BOOL WINAPI GetFileAttributesExW(LPCWSTR path, GET_FILEEX_INFO_LEVELS level, LPVOID information) {
  const std::optional<Entry> entry = LookAt(path);
  if (!entry.has_value() || level != GetFileExInfoStandard) {
    return ::GetFileAttributesExW(path, level, information);
  }
  auto* const data = static_cast<WIN32_FILE_ATTRIBUTE_DATA*>(information);
  *data = {};
  data->dwFileAttributes = entry->attributes;
  return TRUE;
}

HANDLE WINAPI FindFirstFileW(LPCWSTR path, LPWIN32_FIND_DATAW found) {
  const std::optional<Entry> entry = LookAt(path);
  if (!entry.has_value()) return ::FindFirstFileW(path, found);
  *found = {};
  found->dwFileAttributes = entry->attributes;
  // learn.microsoft.com/windows/win32/api/minwinbase/ns-minwinbase-win32_find_dataw
  found->dwReserved0 = entry->reparse_tag;
  const std::string text = *DrivePath(TextOf(path));
  const std::wstring name = win32::Utf16(text.substr(text.rfind('\\') + 1));
  name.copy(found->cFileName, std::min<size_t>(name.size(), MAX_PATH - 1));
  return NewFake(std::make_shared<PathSearch>());
}

BOOL WINAPI FindNextFileW(HANDLE search, LPWIN32_FIND_DATAW found) {
  return IsFake(search) ? Refuse(ERROR_NO_MORE_FILES) : ::FindNextFileW(search, found);
}

BOOL WINAPI FindClose(HANDLE search) {
  if (!IsFake(search)) return ::FindClose(search);
  const bool closable = FindFakeOf<PathSearch>(search) != nullptr;
  return closable && CloseFake(search) ? TRUE : Refuse(ERROR_INVALID_HANDLE);
}

BOOL WINAPI GetVolumePathNameW(LPCWSTR path, LPWSTR name, DWORD size) {
  std::optional<std::string> at = DrivePath(TextOf(path));
  if (!at.has_value() || !LookAt(path).has_value()) return ::GetVolumePathNameW(path, name, size);
  // GetVolumePathNameW returns the volume of the link's target
  // (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumepathnamew).
  at = EndOf(*std::move(at));
  // Finds the deepest mount point on the path, or the drive's root.
  while (at->size() > 3) {
    const absl::StatusOr<Entry> entry = Look(*at);
    if (entry.ok() && entry->mounted.has_value()) return AnswerText(*at + "\\", name, size);
    at->resize(std::max<size_t>(at->rfind('\\'), 3));
  }
  return AnswerText(*at, name, size);
}

BOOL WINAPI GetVolumeNameForVolumeMountPointW(LPCWSTR path, LPWSTR name, DWORD size) {
  const std::string text = TextOf(path);
  const std::optional<std::string> at = DrivePath(text);
  if (at.has_value() && at->size() == 3) {
    const absl::StatusOr<std::string> volume = TheNode().os->GetVolumeOfDrive((*at)[0]);
    return Answer(volume) && AnswerText(*volume, name, size);
  }
  if (!absl::EndsWith(text, "\\") || !LookAt(path).has_value()) {
    return ::GetVolumeNameForVolumeMountPointW(path, name, size);
  }
  const std::optional<VolumeId> mounted = LookAt(path)->mounted;
  if (!mounted.has_value()) return Refuse(ERROR_NOT_A_REPARSE_POINT);
  return AnswerText(mounted->ToString(), name, size);
}

BOOLEAN WINAPI CreateSymbolicLinkW(LPCWSTR link, LPCWSTR target, DWORD flags) {
  const std::optional<std::string> path = DrivePath(TextOf(link));
  // The node has only links to directories.
  if (!path.has_value() || path->size() == 3 || (flags & SYMBOLIC_LINK_FLAG_DIRECTORY) == 0) {
    return ::CreateSymbolicLinkW(link, target, flags);
  }
  const size_t name = path->rfind('\\') + 1;
  // Removes `\\?\` and, like Windows, keeps the rest of such a path unchanged.
  std::string leads_to = TextOf(target);
  if (absl::StartsWith(leads_to, R"(\\?\)")) leads_to.erase(0, 4);
  const absl::Status made = TheNode().node->core()->Change([&](NodeState& state) -> absl::Status {
    const std::string parent = path->substr(0, std::max<size_t>(name - 1, 3));
    const absl::StatusOr<PathEnd> end = machine::simulator::FindPath(state, parent, "link");
    if (!end.ok()) return end.status();
    if (end->tree().Find(end->entry, path->substr(name)).has_value()) {
      return Win32Status(ERROR_ALREADY_EXISTS, "link");
    }
    return end->tree()
        .Add(end->entry, Tree::Link(path->substr(name), std::move(leads_to)))
        .status();
  });
  return Answer(made) ? TRUE : FALSE;
}

BOOL WINAPI CreateDirectoryW(LPCWSTR path, LPSECURITY_ATTRIBUTES security) {
  const auto made = ChangeParent(path, [](Tree& tree, Tree::Id parent, const std::string& name) {
    if (tree.Find(parent, name).has_value()) return Win32Status(ERROR_ALREADY_EXISTS, "directory");
    return tree.Add(parent, Tree::Directory(name)).status();
  });
  return made.has_value() ? Answer(*made) : ::CreateDirectoryW(path, security);
}

BOOL WINAPI RemoveDirectoryW(LPCWSTR path) {
  const auto removed = ChangeParent(path, [](Tree& tree, Tree::Id parent, const std::string& name) {
    const std::optional<Tree::Id> entry = tree.Find(parent, name);
    if (!entry.has_value()) return Win32Status(ERROR_FILE_NOT_FOUND, "directory");
    const Tree::Entry& at = tree.at(*entry);
    if (at.kind == Tree::Kind::kFile) return Win32Status(ERROR_DIRECTORY, "directory");
    if (!at.children.empty()) return Win32Status(ERROR_DIR_NOT_EMPTY, "directory");
    // A mounted folder is refused, because the double does not imitate how the mount manager learns
    // of its removal.
    if (at.mounted.has_value()) return Win32Status(ERROR_NOT_SUPPORTED, "mounted");
    tree.Remove(*entry);
    return absl::OkStatus();
  });
  return removed.has_value() ? Answer(*removed) : ::RemoveDirectoryW(path);
}

BOOL WINAPI DeleteFileW(LPCWSTR path) {
  const auto deleted = ChangeParent(path, [](Tree& tree, Tree::Id parent, const std::string& name) {
    const std::optional<Tree::Id> entry = tree.Find(parent, name);
    if (!entry.has_value()) return Win32Status(ERROR_FILE_NOT_FOUND, "file");
    // Links to directories count as directories.
    if (tree.at(*entry).kind != Tree::Kind::kFile) return Win32Status(ERROR_ACCESS_DENIED, "file");
    if (tree.at(*entry).read_only) return Win32Status(ERROR_ACCESS_DENIED, "file");
    tree.Remove(*entry);
    return absl::OkStatus();
  });
  return deleted.has_value() ? Answer(*deleted) : ::DeleteFileW(path);
}

}  // namespace hooks
}  // namespace csi_proxy::node_double
