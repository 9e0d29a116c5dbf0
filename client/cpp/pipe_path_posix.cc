#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "client/cpp/pipe_path.h"

namespace csi_proxy::client {
namespace {

constexpr char kDefaultSocketDir[] = "/run/csi-proxy";

}  // namespace

std::string PipePath(const ClientOptions& options, absl::string_view name) {
  std::string directory = options.socket_dir;
  if (directory.empty()) {
    const char* const set = std::getenv("CSI_PROXY_SOCKET_DIR");
    directory = set != nullptr && *set != '\0' ? set : kDefaultSocketDir;
  }
  return absl::StrCat(directory, "/", name, ".sock");
}

bool PipeExists(const std::string& path) {
  struct stat info;
  // The pipe may exist in a directory that this user may not search.
  if (stat(path.c_str(), &info) != 0) return errno == EACCES;
  return S_ISSOCK(info.st_mode);
}

}  // namespace csi_proxy::client
