// Writes calls to the log: every one at verbosity 2, failures always, but of those that one client
// repeats only the first of a minute and then a count.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "server/base/audit.h"
#include "server/rpc/runtime.h"
#include "server/service/repeats.h"

namespace csi_proxy::observability {

// Thread-safe. A line holds method, peer, code, duration and the error text, which contains no
// secrets because no layer below puts them there. It never holds the request.
class CallLog final : public rpc::CallObserver {
 public:
  // To `logger`; null for nowhere.
  explicit CallLog(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
  ~CallLog() override { WriteCounts(repeats_.TakeEnded(absl::InfiniteFuture())); }
  void OnStart(const rpc::MethodInfo&) override {}
  void OnDone(const rpc::MethodInfo& method, const Peer& peer, const absl::Status& status,
              absl::Duration duration) override;
  // Writes a line for the first, second, fourth, eighth ... event, and at most five a minute for
  // each process.
  void OnLimit(const Peer& peer, rpc::Limit limit, uint64_t times) override;

 private:
  void WriteCounts(const std::vector<Repeats::Count>& counts);

  const std::shared_ptr<spdlog::logger> logger_;
  Repeats repeats_;
  Repeats limits_;
};

// Writes the audit record of calls that would have changed the node and were refused for a field
// that their version lacks: they reach no handler, whose calls have theirs. Thread-safe.
class UnknownFieldAudit final : public rpc::CallObserver {
 public:
  // `audit` is not owned.
  explicit UnknownFieldAudit(AuditLog* audit) : audit_(audit) {}
  void OnStart(const rpc::MethodInfo&) override {}
  void OnDone(const rpc::MethodInfo& method, const Peer& peer, const absl::Status& status,
              absl::Duration duration) override;

 private:
  AuditLog* const audit_;
};

}  // namespace csi_proxy::observability
