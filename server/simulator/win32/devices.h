// The devices and files of the simulated Os: the answers of disks and volumes to control codes, in
// Windows' layouts, and the entries that are opened by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/machine/os.h"
#include "server/names/win32_error.h"
#include "server/simulator/core.h"
#include "server/simulator/failure.h"
#include "server/simulator/state.h"
#include "server/simulator/win32/open_entries.h"

namespace csi_proxy::machine::simulator {

// Converts an error to a Win32Status(), regardless of the simulation's status code.
inline absl::Status AsWin32(const absl::Status& status) {
  if (status.ok()) return status;
  // A fault may set only a status code. It becomes Windows' general error.
  return Win32Status(Win32CodeOf(status).value_or(win32_error::kGeneralFailure), status.message());
}
template <typename T>
absl::StatusOr<T> AsWin32(absl::StatusOr<T> result) {
  if (!result.ok()) return AsWin32(result.status());
  return result;
}

// Runs the calls of the simulated Os, and converts their errors by AsWin32(). Thread-safe.
// REQUIRES: the core outlives the gate.
class Gate {
 public:
  explicit Gate(Core* core) : core_(core) {}

  // Runs a call on `resource` by Core::Run(). `operation` names the call, such as `win32.Open`.
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

// Implements Os::Control(). A disk and a volume accept the codes of layouts.h that kControlCodes
// lists for them. Any other code that `access` allows fails with ERROR_INVALID_FUNCTION. A disk is
// `\\.\PhysicalDriveN` or DevicePath(N).
absl::StatusOr<machine::Bytes> ControlDevice(NodeState& state, const std::string& device,
                                             machine::DeviceAccess access, uint32_t code,
                                             const machine::Bytes& input, size_t max_output);

// Implements Os::Read() of a disk or a volume. Fails with ERROR_NOT_READY for an offline disk, and
// with ERROR_FILE_NOT_FOUND for a volume of an offline disk.
absl::StatusOr<machine::Bytes> ReadDevice(NodeState& state, const std::string& device,
                                          uint64_t offset, size_t size);

// Opens the root directory `C:\` or `\\?\Volume{guid}\`. A File always refers to the entry that it
// was opened for. If the node's administrator or a format removes the entry (neither respects
// OpenEntries), every method fails with ERROR_ACCESS_DENIED, as on a deleted file. If the volume
// goes away, every method fails with ERROR_NOT_READY.
absl::StatusOr<std::unique_ptr<machine::File>> OpenRootDirectory(
    const Gate& gate, const std::shared_ptr<OpenEntries>& open, const std::string& root);

}  // namespace csi_proxy::machine::simulator
