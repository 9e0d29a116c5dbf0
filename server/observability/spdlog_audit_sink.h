// Writes the audit record to the log, one line a call.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <utility>

#include "server/base/audit.h"
#include "server/observability/logging.h"

namespace csi_proxy::observability {

// Thread-safe.
class SpdlogAuditSink final : public AuditLog {
 public:
  // To `logger`, at every verbosity; null for nowhere.
  SpdlogAuditSink(std::shared_ptr<spdlog::logger> logger, LogFormat format)
      : logger_(std::move(logger)), format_(format) {}
  void Record(const AuditRecord& record) override;

 private:
  const std::shared_ptr<spdlog::logger> logger_;
  const LogFormat format_;
};

}  // namespace csi_proxy::observability
