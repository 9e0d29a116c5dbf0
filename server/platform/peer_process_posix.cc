#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/names/unicode.h"
#include "server/platform/peer_process.h"

namespace csi_proxy {
namespace {

using UniqueFile = std::unique_ptr<FILE, int (*)(FILE*)>;

}  // namespace

Peer PeerOfProcess(int64_t process_id) {
  Peer peer;
  peer.process_id = process_id;
  std::array<char, 4096> image;
  const std::string link = absl::StrCat("/proc/", process_id, "/exe");
  const ssize_t length = readlink(link.c_str(), image.data(), image.size());
  // A file name may be any bytes, but Prometheus rejects all metrics if one label is not UTF-8.
  if (length > 0) {
    peer.image_path =
        ReplaceInvalidUtf8(absl::string_view(image.data(), static_cast<size_t>(length)));
  }
  return peer;
}

// Reads field 22 of /proc/<pid>/stat. Field 2, a name in parentheses, may contain any character, so
// fields are counted from the last parenthesis
// (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
uint64_t StartOfProcess(int64_t process_id) {
  const UniqueFile file(fopen(absl::StrCat("/proc/", process_id, "/stat").c_str(), "re"), &fclose);
  std::array<char, 1024> text;
  if (file == nullptr) return 0;
  const size_t length = fread(text.data(), 1, text.size(), file.get());
  const absl::string_view stat(text.data(), length);
  const std::vector<absl::string_view> behind_name =
      absl::StrSplit(stat.substr(std::min(stat.rfind(')'), stat.size())), ' ');
  uint64_t start = 0;
  return behind_name.size() > 20 && absl::SimpleAtoi(behind_name[20], &start) ? start : 0;
}

// Identifies a tenant by user id and image path. Does not use the cgroup: on Linux only simulations
// and tests run, and all of them may share the machine's cgroup.
std::string TenantOf(const Peer& peer) {
  struct stat process {};
  if (stat(absl::StrCat("/proc/", peer.process_id).c_str(), &process) != 0) return "";
  return absl::StrCat(process.st_uid, " ", peer.image_path);
}

Peer OwnProcess() { return PeerOfProcess(getpid()); }

}  // namespace csi_proxy
