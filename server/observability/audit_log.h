// Writes the audit record to the log, one line a call.
#pragma once

#include "server/base/audit.h"
#include "server/observability/logging.h"

namespace csi_proxy::observability {

// Lines go where the log goes, at every verbosity, but not to the event log. Thread-safe.
class AuditLines final : public AuditLog {
 public:
  explicit AuditLines(LogFormat format) : format_(format) {}
  void Record(const AuditRecord& record) override;

 private:
  const LogFormat format_;
};

}  // namespace csi_proxy::observability
