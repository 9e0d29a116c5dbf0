#include "server/rpc/socket_directory_posix.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace csi_proxy::rpc {
namespace {

constexpr char kLockName[] = "csi-proxy.lock";

absl::Status ErrnoStatus(absl::string_view operation, absl::string_view path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(operation, " ", path));
}

std::string TemporaryName(const std::string& file_name) {
  return absl::StrCat(".", file_name, ".new");
}

int OpenWithoutLinks(const std::string& path) {
  open_how how{};
  how.flags = O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how)));
}

}  // namespace

absl::StatusOr<SocketDirectory> SocketDirectory::Open(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus("mkdir", path);
  UniqueFd directory(OpenWithoutLinks(path));
  if (!directory.valid()) {
    if (errno == ELOOP) {
      return absl::PermissionDeniedError(
          absl::StrCat("socket directory ", path, ": a component is a symbolic link"));
    }
    return ErrnoStatus("open", path);
  }
  struct stat info;
  if (fstat(directory.get(), &info) != 0) return ErrnoStatus("stat", path);
  if (info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("socket directory ", path, " belongs to uid ",
                                                    info.st_uid, ", not to ", geteuid()));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("socket directory ", path, " is writable by users other than its owner"));
  }
  UniqueFd lock(
      openat(directory.get(), kLockName, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return ErrnoStatus("open lock file in", path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus("lock", path);
    return absl::FailedPreconditionError(absl::StrCat("another csi-proxy serves ", path,
                                                      "; stop it or choose another --socket-dir"));
  }
  return SocketDirectory(path, std::move(directory), std::move(lock));
}

absl::StatusOr<UniqueFd> SocketDirectory::Bind(const std::string& file_name) {
  const std::string temporary = TemporaryName(file_name);
  if (unlinkat(directory_.get(), temporary.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoStatus("remove stale", temporary);
  }
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus("socket", file_name);
  // Binds through the open directory, because the directory cannot be replaced, and because a long
  // path would exceed the 108 bytes of sun_path (unix(7)).
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string bind_path = absl::StrCat("/proc/self/fd/", directory_.get(), "/", temporary);
  if (bind_path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket name too long: ", file_name));
  }
  memcpy(address.sun_path, bind_path.c_str(), bind_path.size() + 1);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus("bind", file_name);
  }
  if (fchmodat(directory_.get(), temporary.c_str(), 0600, 0) != 0) {
    return ErrnoStatus("chmod", file_name);
  }
  if (listen(fd.get(), SOMAXCONN) != 0) return ErrnoStatus("listen", file_name);
  return fd;
}

absl::Status SocketDirectory::Publish(const std::string& file_name) {
  if (renameat(directory_.get(), TemporaryName(file_name).c_str(), directory_.get(),
               file_name.c_str()) != 0) {
    return ErrnoStatus("publish", file_name);
  }
  return absl::OkStatus();
}

void SocketDirectory::Remove(const std::string& file_name) {
  unlinkat(directory_.get(), file_name.c_str(), 0);
  unlinkat(directory_.get(), TemporaryName(file_name).c_str(), 0);
}

}  // namespace csi_proxy::rpc
