// Logs calls, and writes the audit records of calls that change the node.
#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "absl/time/time.h"
#include "server/base/audit.h"
#include "server/calls/call_deps.h"
#include "server/observability/logging.h"
#include "server/observability/repeats.h"

namespace csi_proxy::observability {

// Logs every call at verbosity 2, otherwise only failures other than NOT_FOUND, ALREADY_EXISTS and
// CANCELLED. Repeated failures of a client are counted, and the counts are logged once a minute. A
// line has method, peer, trace, code, duration and error text, never the request. Error texts
// contain no secrets, because no layer below puts them there. Also audits calls that would have
// changed the node but were refused for a field that their version lacks: no handler audits them,
// because they reach none. Thread-safe.
class CallLog final : public rpc::CallObserver {
 public:
  // Logs to `logger`, and audits to `audit`. Does not own `audit`. Either may be null.
  explicit CallLog(std::shared_ptr<spdlog::logger> logger, AuditLog* audit = nullptr);
  void OnDone(const rpc::MethodInfo& method, const CallContext& call, const absl::Status& status,
              absl::Duration duration) override;
  // Logs a connection beyond the limit if `times` is 1, 2, 4, 8 ..., at most one a minute for each
  // tenant. Calls beyond a limit are logged by OnDone().
  void OnLimit(const Peer& peer, rpc::Limit limit, uint64_t times) override;

 private:
  const std::shared_ptr<spdlog::logger> logger_;
  AuditLog* const audit_;
  Repeats repeats_;
  Repeats limits_;
};

// Writes audit records to the log, one line for each call. Counts repeated calls that were refused
// with INVALID_ARGUMENT, before they changed anything, and logs the counts (see Repeats).
// Thread-safe.
class SpdlogAuditSink final : public AuditLog {
 public:
  // Writes to `logger` at every verbosity; null for nowhere.
  SpdlogAuditSink(std::shared_ptr<spdlog::logger> logger, LogFormat format);
  void Record(const AuditRecord& record) override;

 private:
  const std::shared_ptr<spdlog::logger> logger_;
  const LogFormat format_;
  Repeats repeats_;
};

}  // namespace csi_proxy::observability
