// The way of every call of the simulated Win32: past the core's fault table, and back with errors
// as Windows gives them.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/simulator/core.h"

namespace csi_proxy::machine::simulated {

// The error as Win32Status() has it, whatever status code the simulation gave it.
absl::Status AsWin32(const absl::Status& status);
template <typename T>
absl::StatusOr<T> AsWin32(absl::StatusOr<T> result) {
  if (!result.ok()) return AsWin32(result.status());
  return result;
}

// Thread-safe. The core is not owned.
class Gate {
 public:
  explicit Gate(Core* core) : core_(core) {}

  // The call `operation`, such as `win32.Open`, on `resource`, as Core::Run().
  template <typename Action>
  auto Run(absl::string_view operation, absl::string_view resource, Action action) const
      -> decltype(action(std::declval<NodeState&>())) {
    return AsWin32(core_->Run(CallContext(), operation, resource, std::move(action)));
  }

  // Runs an action that nothing can stop, such as closing.
  template <typename Action>
  void Finish(Action action) const {
    core_->Change(std::move(action));
  }

 private:
  Core* core_;
};

}  // namespace csi_proxy::machine::simulated
