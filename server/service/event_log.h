// The system's own log of services.
#pragma once

#include <spdlog/sinks/sink.h>

namespace csi_proxy::observability {

// A sink for start, stop and failures: the Windows event log, source `csi-proxy`. Null where there
// is none.
spdlog::sink_ptr NewEventLogSink();

}  // namespace csi_proxy::observability
