#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/platform/own_file.h"
#include "server/platform/unique_fd.h"

namespace csi_proxy {
namespace {

absl::Status Failure(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

const char* KindOf(const struct stat& file) {
  if (S_ISLNK(file.st_mode)) return "a link";
  if (S_ISDIR(file.st_mode)) return "a directory";
  if (!S_ISREG(file.st_mode)) return "a special file";
  return file.st_nlink > 1 ? "a file with a second name" : "a file";
}

struct Place {
  UniqueFd directory;
  std::string name;
};

// Opens the directory of `path`, each component relative to the one above.
absl::StatusOr<Place> OpenPlace(const std::string& path) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const std::filesystem::path all(path);
  Place place = {.directory = UniqueFd(open(all.is_absolute() ? "/" : ".", kFlags)),
                 .name = all.filename().string()};
  for (const std::filesystem::path& component : all.relative_path().parent_path()) {
    // With O_DIRECTORY and O_NOFOLLOW, a link fails with ENOTDIR too.
    UniqueFd next(openat(place.directory.get(), component.c_str(), kFlags));
    if (!next.valid() && errno == ENOTDIR) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": ", component.string(), " is not a plain directory"));
    }
    place.directory = std::move(next);
    if (!place.directory.valid()) return Failure(path);
  }
  return place;
}

}  // namespace

absl::StatusOr<OwnFile> OwnFile::Make(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const Place place, OpenPlace(path));
  const UniqueFd file(openat(place.directory.get(), place.name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat other;
  if (!file.valid() && errno == EEXIST &&
      fstatat(place.directory.get(), place.name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": ", KindOf(other), " is there"));
  }
  if (!file.valid()) return Failure(path);
  return Adopt(path, file.get());
}

// Does not open the file, because the process may have no descriptor left.
absl::StatusOr<OwnFile> OwnFile::Adopt(std::string path) { return Adopt(std::move(path), -1); }

absl::StatusOr<OwnFile> OwnFile::Adopt(std::string path, intptr_t opened) {
  struct stat file;
  const int failed =
      opened < 0 ? lstat(path.c_str(), &file) : fstat(static_cast<int>(opened), &file);
  if (failed != 0) return Failure(path);
  Id id = {.volume = file.st_dev};
  std::memcpy(id.file.data(), &file.st_ino, sizeof(file.st_ino));
  return OwnFile(std::move(path), id);
}

absl::StatusOr<bool> OwnFile::in_place() const {
  const absl::StatusOr<OwnFile> found = Adopt(path_);
  if (absl::IsNotFound(found.status())) return false;
  if (!found.ok()) return found.status();
  return found->id_ == id_;
}

absl::Status OwnFile::Remove() const {
  ABSL_ASSIGN_OR_RETURN(const bool ours, in_place());
  if (!ours || unlink(path_.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failure(path_);
}

absl::Status RemoveEmptyFile(const std::string& path) {
  const absl::StatusOr<Place> place = OpenPlace(path);
  if (absl::IsNotFound(place.status())) return absl::OkStatus();
  if (!place.ok()) return place.status();
  const int directory = place->directory.get();
  struct stat file;
  if (fstatat(directory, place->name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Failure(path);
  }
  if (!S_ISREG(file.st_mode) || file.st_nlink > 1 || file.st_size > 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", KindOf(file), " is there"));
  }
  const bool gone = unlinkat(directory, place->name.c_str(), 0) == 0 || errno == ENOENT;
  return gone ? absl::OkStatus() : Failure(path);
}

absl::Status CheckDirectoriesOf(const std::string& path) { return OpenPlace(path).status(); }

}  // namespace csi_proxy
