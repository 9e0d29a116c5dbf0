// Writes audit records to the log, a line a call. Repeated calls that were refused before they
// changed anything are counted instead (see Repeats).
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/base/audit.h"
#include "server/service/logging.h"
#include "server/service/repeats.h"

namespace csi_proxy::service {

// Thread-safe.
class SpdlogAuditSink final : public AuditLog {
 public:
  // Writes to `logger` at every verbosity; null for nowhere.
  SpdlogAuditSink(std::shared_ptr<spdlog::logger> logger, LogFormat format)
      : logger_(std::move(logger)), format_(format) {}
  ~SpdlogAuditSink() override { WriteCounts(repeats_.TakeEnded(absl::InfiniteFuture())); }
  void Record(const AuditRecord& record) override;

 private:
  void WriteCounts(const std::vector<Repeats::Count>& counts);

  const std::shared_ptr<spdlog::logger> logger_;
  const LogFormat format_;
  Repeats repeats_;
};

}  // namespace csi_proxy::service
