// What Prometheus' clients report of their process.
#pragma once

namespace csi_proxy::service {

// On Windows as in client_golang: handles for descriptors, private bytes for virtual ones
// (https://github.com/prometheus/client_golang/blob/v1.20.5/prometheus/process_collector_windows.go).
struct ProcessStats {
  double cpu_seconds = 0, resident_bytes = 0, virtual_bytes = 0, open_descriptors = 0;
};

// Returns 0 for what cannot be read. Thread-safe.
ProcessStats ReadProcessStats();

}  // namespace csi_proxy::service
