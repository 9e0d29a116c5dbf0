#include <spdlog/sinks/win_eventlog_sink.h>

#include <memory>

#include "server/service/event_log.h"

namespace csi_proxy::observability {

spdlog::sink_ptr NewEventLogSink() {
  return std::make_shared<spdlog::sinks::win_eventlog_sink_mt>("csi-proxy");
}

}  // namespace csi_proxy::observability
