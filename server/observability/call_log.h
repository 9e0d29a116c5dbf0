// Writes calls to the log: every one at verbosity 2, failures always.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <utility>

#include "server/shim/runtime.h"

namespace csi_proxy::observability {

// Thread-safe. A line holds method, peer, code, duration and the error text, which contains no
// secrets because no layer below puts them there. It never holds the request.
class CallLog final : public shim::CallObserver {
 public:
  // To `logger`; null for nowhere.
  explicit CallLog(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
  void OnStart(const shim::MethodInfo&) override {}
  void OnDone(const shim::MethodInfo& method, const Peer& peer, const absl::Status& status,
              absl::Duration duration) override;

 private:
  const std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace csi_proxy::observability
