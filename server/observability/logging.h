// The log of the service: spdlog, in the line format of klog that operators' tools know.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace csi_proxy::observability {

struct LogOptions {
  // As klog's -v: 0 start, stop and failures; 2 every call; 4 and more details.
  int verbosity = 0;
  // To standard error instead of files, as klog has it by default.
  bool to_stderr = true;
  bool also_to_stderr = false;
  std::string file;
  // Where `csi-proxy.log` goes when `file` is empty.
  std::string directory;
  size_t file_max_megabytes = 1800;
};

// Sets up the process's log; to be called once, before threads are started. INVALID_ARGUMENT or
// PERMISSION_DENIED when the file cannot be opened.
absl::Status InitLogging(const LogOptions& options);

}  // namespace csi_proxy::observability
