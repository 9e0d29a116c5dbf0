#include "client/sidecars/program/registration_marker.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/base/own_file.h"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace csi_proxy::sidecars {
namespace {

#ifdef _WIN32
constexpr char kSeparators[] = "/\\";
#else
constexpr char kSeparators[] = "/";
#endif

std::filesystem::path FromUtf8(const std::string& path) {
  return std::filesystem::path(std::u8string(path.begin(), path.end()));
}

// Returns false if the directory is on a volume mounted read-only.
bool Writable([[maybe_unused]] const std::filesystem::path& directory) {
#ifdef _WIN32
  return true;
#else
  return access(directory.c_str(), W_OK) == 0;
#endif
}

}  // namespace

std::string MarkerFile(absl::string_view kubelet_registration_path) {
  const size_t separator = kubelet_registration_path.find_last_of(kSeparators);
  const size_t directory = separator == kubelet_registration_path.npos ? 0 : separator + 1;
  return absl::StrCat(kubelet_registration_path.substr(0, directory), "registration");
}

Marker LookForMarker(const std::string& marker_file) {
  const std::filesystem::path file = FromUtf8(marker_file);
  std::error_code error;
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(file, error))) {
    return Marker::kThere;
  }
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  if (!CheckDirectoriesOf(marker_file).ok() || !Writable(parent)) return Marker::kNoPlace;
  return Marker::kMissing;
}

}  // namespace csi_proxy::sidecars
