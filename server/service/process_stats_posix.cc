#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/service/process_stats.h"

namespace csi_proxy::service {

ProcessStats ReadProcessStats() {
  ProcessStats stats{.cpu_seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  std::ifstream("/proc/self/statm") >> stats.virtual_bytes >> stats.resident_bytes;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  stats.virtual_bytes *= page;
  stats.resident_bytes *= page;
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  stats.open_descriptors = static_cast<double>(std::distance(descriptors, end(descriptors)));
  return stats;
}

}  // namespace csi_proxy::service
