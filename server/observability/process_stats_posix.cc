#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "server/observability/process_stats.h"

namespace csi_proxy::observability {

ProcessStats ReadProcessStats() {
  ProcessStats stats{.cpu_seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  std::ifstream("/proc/self/statm") >> stats.virtual_bytes >> stats.resident_bytes;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  stats.virtual_bytes *= page;
  stats.resident_bytes *= page;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error); at != end(at);
       at.increment(error)) {
    ++stats.open_descriptors;
  }
  return stats;
}

}  // namespace csi_proxy::observability
