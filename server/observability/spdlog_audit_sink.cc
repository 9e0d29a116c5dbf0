#include "server/observability/spdlog_audit_sink.h"

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "server/observability/json_line.h"

namespace csi_proxy::observability {

void SpdlogAuditSink::Record(const AuditRecord& record) {
  if (logger_ == nullptr) return;
  if (format_ == LogFormat::kJson) {
    logger_->info(JsonLine(absl::Now(), record));
    return;
  }
  const Peer& peer = record.context.peer();
  logger_->info("audit pipe={} method={} pid={} image=\"{}\" code={} ms={:.3f} {}",
                record.context.pipe(), record.method, peer.process_id,
                absl::CEscape(peer.image_path), absl::StatusCodeToString(record.status.code()),
                absl::ToDoubleMilliseconds(record.duration), record.subject);
}

}  // namespace csi_proxy::observability
