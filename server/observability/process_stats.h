// The process metrics that Prometheus' client libraries report.
#pragma once

namespace csi_proxy::observability {

// The metrics of a process. On Windows, as in client_golang, `open_descriptors` counts handles and
// `virtual_bytes` private bytes
// (https://github.com/prometheus/client_golang/blob/v1.20.5/prometheus/process_collector_windows.go).
struct ProcessStats {
  double cpu_seconds = 0, resident_bytes = 0, virtual_bytes = 0, open_descriptors = 0;
};

// Returns the metrics of this process; 0 for a metric that cannot be read. Thread-safe.
ProcessStats ReadProcessStats();

}  // namespace csi_proxy::observability
