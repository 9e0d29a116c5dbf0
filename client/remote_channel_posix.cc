#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "client/remote_channel.h"

namespace csi_proxy::client {

absl::StatusOr<PipeIdentity> LookAtPipe(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("no socket at ", path));
  }
  return PipeIdentity{.device = info.st_dev,
                      .inode = info.st_ino,
                      .changed_seconds = info.st_ctim.tv_sec,
                      .changed_nanoseconds = info.st_ctim.tv_nsec};
}

}  // namespace csi_proxy::client
