#include <filesystem>
#include <string>

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

}  // namespace csi_proxy::sidecars
