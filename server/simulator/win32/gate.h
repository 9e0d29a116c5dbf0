// Wraps every call of the simulated Win32: applies the core's fault table first, and returns errors
// as Windows does.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/base/win32_error.h"
#include "server/simulator/core.h"
#include "server/simulator/failure.h"

namespace csi_proxy::machine::simulator {

// Converts an error to a Win32Status(), regardless of the simulation's status code.
inline absl::Status AsWin32(const absl::Status& status) {
  if (status.ok()) return status;
  // A fault may set only a status code, which becomes Windows' general error.
  return Win32Status(Win32CodeOf(status).value_or(win32_error::kGeneralFailure), status.message());
}
template <typename T>
absl::StatusOr<T> AsWin32(absl::StatusOr<T> result) {
  if (!result.ok()) return AsWin32(result.status());
  return result;
}

// Thread-safe. REQUIRES: the core outlives the gate.
class Gate {
 public:
  explicit Gate(Core* core) : core_(core) {}

  // Runs the call `operation`, such as `win32.Open`, on `resource` by Core::Run().
  template <typename Action>
  auto Run(absl::string_view operation, absl::string_view resource, Action action) const
      -> decltype(action(std::declval<NodeState&>())) {
    return AsWin32(core_->Run(CallContext(), operation, resource, std::move(action)));
  }

  // Runs an action that no fault may stop, such as closing.
  template <typename Action>
  void Finish(Action action) const {
    core_->Change(std::move(action));
  }

 private:
  Core* core_;
};

}  // namespace csi_proxy::machine::simulator
