#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/sidecars/socket.h"

namespace csi_proxy::sidecars {

absl::StatusOr<std::string> SocketPath(absl::string_view address) {
  constexpr bool kHasDrives = std::filesystem::path::preferred_separator == '\\';
  absl::string_view path = address;
  // gRPC accepts both prefixes (https://github.com/grpc/grpc/blob/master/doc/naming.md).
  if (!absl::ConsumePrefix(&path, "unix://")) absl::ConsumePrefix(&path, "unix:");
  // unix:///C:/csi/csi.sock
  if (kHasDrives && path.size() > 2 && path[0] == '/' && path[2] == ':' &&
      absl::ascii_isalpha(static_cast<unsigned char>(path[1]))) {
    path.remove_prefix(1);
  }
  if (path.empty()) return absl::InvalidArgumentError("empty");
  if (path.size() != address.size()) return std::string(path);
  const size_t colon = path.find(':');
  // A single letter before the colon is a drive.
  if (colon != path.npos && colon != 1 && path.find_first_of("/\\") > colon) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address,
                     "\" is not the address of a Unix socket: give a path, or unix:// and a path"));
  }
  return std::string(path);
}

std::string DescribeMissing(const std::string& path) {
  namespace fs = std::filesystem;
  // Limits the time in a folder that is not a kubelet's.
  constexpr int kMostEntries = 1000;
  constexpr size_t kMostNamed = 5;
  const fs::path socket(std::u8string(path.begin(), path.end()));
  const fs::path plugins = socket.parent_path().parent_path();
  std::error_code error;
  if (fs::symlink_status(socket, error).type() != fs::file_type::not_found) return "";
  std::string found;
  size_t named = 0;
  int entries = 0;
  error.clear();
  fs::recursive_directory_iterator at(plugins, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && at != fs::end(at) && ++entries <= kMostEntries && named < kMostNamed;
       at.increment(error)) {
    if (at.depth() > 0) at.disable_recursion_pending();
    if (at->path().extension() != ".sock") continue;
    const std::u8string name = at->path().u8string();
    absl::StrAppend(&found, ++named > 1 ? ", " : "", std::string(name.begin(), name.end()));
  }
  const std::u8string below = plugins.u8string();
  return absl::StrCat("no such file; sockets found below ", std::string(below.begin(), below.end()),
                      ": ", named > 0 ? found : "none");
}

}  // namespace csi_proxy::sidecars
