#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "integration/sample/env/protected_file.h"

namespace csi_proxy::sample {
namespace {

bool Trusted(uid_t owner) { return owner == 0 || owner == geteuid(); }

absl::Status CannotRead(int error, absl::string_view name) {
  const std::string subject = absl::StrCat("file ", name);
  if (error == ENOENT) return absl::NotFoundError(absl::StrCat(subject, ": does not exist"));
  if (error == ELOOP) return absl::FailedPreconditionError(absl::StrCat(subject, ": is a link"));
  return absl::ErrnoToStatus(error, subject);
}

// Opens a directory and checks that only this user and root can change it. Even on failure, the
// caller must close `descriptor` unless it is -1.
absl::Status OpenDirectory(absl::string_view field, const std::string& path, int* descriptor) {
  *descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat facts;
  if (*descriptor < 0 || fstat(*descriptor, &facts) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(field, ": is not a directory that can be read"));
  }
  if (!Trusted(facts.st_uid) || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        field, ": must belong to the driver's user or root, and be writable for nobody else"));
  }
  return absl::OkStatus();
}

// Returns OK for a regular file of root or this user without permissions for others. Otherwise
// returns FAILED_PRECONDITION; the text does not name the file.
absl::Status CheckProtected(const struct stat& facts) {
  if (!S_ISREG(facts.st_mode)) return absl::FailedPreconditionError("is not a regular file");
  if (!Trusted(facts.st_uid)) {
    return absl::FailedPreconditionError("belongs neither to the driver's user nor to root");
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::FailedPreconditionError("has permissions for its group or for others");
  }
  if (static_cast<size_t>(facts.st_size) > kMaxProtectedFileBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("has more than ", kMaxProtectedFileBytes, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPlainFileName(absl::string_view name) {
  constexpr size_t kMaxName = 255;
  const bool plain = absl::c_all_of(
      name, [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; });
  if (!name.empty() && name.size() <= kMaxName && plain && name.front() != '.') {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "is not the plain name of a file (letters, digits, `-`, `_`, `.`)");
}

absl::StatusOr<Secret> ReadProtectedFile(absl::string_view directory_field,
                                         const std::string& directory, const std::string& name) {
  int parent = -1;
  const absl::Cleanup close_parent = [&parent] {
    if (parent >= 0) close(parent);
  };
  if (absl::Status s = OpenDirectory(directory_field, directory, &parent); !s.ok()) return s;
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  const int file =
      openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return CannotRead(errno, name);
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat facts;
  if (fstat(file, &facts) != 0) return CannotRead(errno, name);
  const absl::Status fits = CheckProtected(facts);
  if (!fits.ok()) {
    return absl::Status(fits.code(), absl::StrCat("file ", name, ": ", fits.message()));
  }
  // Reads one byte more than allowed, because the file may have grown since fstat().
  std::string bytes(kMaxProtectedFileBytes + 1, '\0');
  const absl::Cleanup wipe = [&bytes] { Wipe(bytes); };
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(errno, name);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kMaxProtectedFileBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("file ", name, ": has more than ", kMaxProtectedFileBytes, " bytes"));
  }
  return Secret(std::string_view(bytes.data(), size));
}

}  // namespace csi_proxy::sample
