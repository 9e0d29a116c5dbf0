#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/platform/own_file.h"
#include "server/platform/win32.h"

namespace csi_proxy {
namespace {

constexpr DWORD kItself = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

const char* KindOf(const BY_HANDLE_FILE_INFORMATION& file) {
  if ((file.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) return "a link";
  if ((file.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return "a directory";
  return file.nNumberOfLinks > 1 ? "a file with a second name" : "a file";
}

// Opens `directory` and each directory above it, top down, and appends the handles to `held`.
// Without FILE_SHARE_DELETE, an open directory can be neither renamed nor removed. This holds only
// for handles with more than attribute rights (Access::kLook). Returns FAILED_PRECONDITION if one
// of the directories is a link.
absl::Status HoldDirectories(const std::filesystem::path& directory,
                             std::vector<win32::UniqueHandle>* held) {
  if (!directory.has_relative_path()) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(HoldDirectories(directory.parent_path(), held));
  const std::string name = win32::Utf8(directory.native());
  held->emplace_back(CreateFileW(directory.c_str(), FILE_READ_ATTRIBUTES | FILE_LIST_DIRECTORY,
                                 FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING,
                                 kItself, nullptr));
  FILE_ATTRIBUTE_TAG_INFO found;
  if (!held->back().valid() ||
      !GetFileInformationByHandleEx(held->back().get(), FileAttributeTagInfo, &found,
                                    sizeof(found))) {
    return win32::LastError(name);
  }
  // Name surrogates are symbolic links, junctions and mounted folders. Other reparse points, for
  // example of deduplication, are no links.
  if ((found.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
      IsReparseTagNameSurrogate(found.ReparseTag)) {
    return absl::FailedPreconditionError(absl::StrCat(name, " is a link"));
  }
  return absl::OkStatus();
}

absl::Status HoldDirectoriesOf(const std::string& path, std::vector<win32::UniqueHandle>* held) {
  return HoldDirectories(std::filesystem::path(win32::Utf16(path)).parent_path(), held);
}

}  // namespace

// Uses FILE_FLAG_OPEN_REPARSE_POINT, because without that flag CREATE_NEW on a dangling link
// creates the link's target
// (https://learn.microsoft.com/windows/win32/fileio/symbolic-link-effects-on-file-systems-functions).
absl::StatusOr<OwnFile> OwnFile::Make(const std::string& path) {
  std::vector<win32::UniqueHandle> held;
  ABSL_RETURN_IF_ERROR(HoldDirectoriesOf(path, &held));
  const win32::UniqueHandle file(
      CreateFileW(win32::Utf16(path).c_str(), GENERIC_WRITE | FILE_READ_ATTRIBUTES, kShareAll,
                  nullptr, CREATE_NEW, FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (!file.valid()) {
    absl::Status failure = win32::LastError(path);
    const auto other = win32::OpenWithoutFollowing(path, FILE_READ_ATTRIBUTES);
    BY_HANDLE_FILE_INFORMATION found;
    if (other.ok() && GetFileInformationByHandle(other->get(), &found)) {
      return absl::AlreadyExistsError(absl::StrCat(path, ": ", KindOf(found), " is there"));
    }
    return failure;
  }
  return Adopt(path, reinterpret_cast<intptr_t>(file.get()));
}

absl::StatusOr<OwnFile> OwnFile::Adopt(std::string path) {
  ABSL_ASSIGN_OR_RETURN(const win32::UniqueHandle file,
                        win32::OpenWithoutFollowing(path, FILE_READ_ATTRIBUTES));
  return Adopt(std::move(path), reinterpret_cast<intptr_t>(file.get()));
}

absl::StatusOr<OwnFile> OwnFile::Adopt(std::string path, intptr_t opened) {
  FILE_ID_INFO info;
  if (!GetFileInformationByHandleEx(reinterpret_cast<HANDLE>(opened), FileIdInfo, &info,
                                    sizeof(info))) {
    return win32::LastError(path);
  }
  Id id = {.volume = info.VolumeSerialNumber};
  std::memcpy(id.file.data(), &info.FileId, id.file.size());
  return OwnFile(std::move(path), id);
}

absl::StatusOr<bool> OwnFile::in_place() const {
  const absl::StatusOr<OwnFile> found = Adopt(path_);
  if (IsFileNotFound(found.status())) return false;
  if (!found.ok()) return found.status();
  return found->id_ == id_;
}

absl::Status OwnFile::Remove() const {
  const auto file = win32::OpenWithoutFollowing(path_, DELETE | FILE_READ_ATTRIBUTES);
  if (IsFileNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  ABSL_ASSIGN_OR_RETURN(const OwnFile found, Adopt(path_, reinterpret_cast<intptr_t>(file->get())));
  return found.id_ == id_ ? win32::DeleteOpened(file->get(), path_) : absl::OkStatus();
}

absl::Status RemoveEmptyFile(const std::string& path) {
  std::vector<win32::UniqueHandle> held;
  const absl::Status above = HoldDirectoriesOf(path, &held);
  const auto file = above.ok() ? win32::OpenWithoutFollowing(path, DELETE | FILE_READ_ATTRIBUTES)
                               : absl::StatusOr<win32::UniqueHandle>(above);
  if (IsFileNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  BY_HANDLE_FILE_INFORMATION found;
  if (!GetFileInformationByHandle(file->get(), &found)) return win32::LastError(path);
  constexpr DWORD kNoFile = FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DIRECTORY;
  if ((found.dwFileAttributes & kNoFile) != 0 || found.nNumberOfLinks > 1 ||
      found.nFileSizeLow > 0 || found.nFileSizeHigh > 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", KindOf(found), " is there"));
  }
  return win32::DeleteOpened(file->get(), path);
}

absl::Status CheckDirectoriesOf(const std::string& path) {
  std::vector<win32::UniqueHandle> held;
  return HoldDirectoriesOf(path, &held);
}

}  // namespace csi_proxy
