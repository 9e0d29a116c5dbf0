// Simulated machines that behave as Windows occasionally does, for tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/groups/strict_disk_testing.h"
#include "server/host/odd_machine_testing.h"
#include "server/names/win32_error.h"

namespace csi_proxy::groups {

// The simulated Win32, with a callback of the test before some calls.
class InterruptedOs final : public host::OddOs {
 public:
  explicit InterruptedOs(machine::simulator::Machine& node) : OddOs(node) {}

  // Called before each Control(). Returns the error that Control() fails with, or 0.
  std::function<uint32_t(uint32_t code, machine::DeviceAccess access)> before_control;
  std::function<void()> before_list;
  // True if every flush succeeds, even of a read-only file system.
  bool flushes_anything = false;

  absl::Status Flush(const std::string& volume) override {
    return flushes_anything ? absl::OkStatus() : OddOs::Flush(volume);
  }
  absl::StatusOr<machine::Bytes> Control(const std::string& device, machine::DeviceAccess access,
                                         uint32_t code, const machine::Bytes& input,
                                         size_t max_output) override {
    const uint32_t error = before_control ? before_control(code, access) : 0;
    if (error != 0) return Win32Status(error, "refused");
    return OddOs::Control(device, access, code, input, max_output);
  }
  absl::StatusOr<std::vector<std::string>> ListVolumes() override {
    if (before_list) before_list();
    return OddOs::ListVolumes();
  }
};

// The simulated WMI. It does not show disk 1 before the first rescan.
class ForgetfulSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  using SimulatedSession::SimulatedSession;

  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override {
    auto objects = SimulatedSession::DoQuery(context, space, wql);
    if (!objects.ok() || knows_) return objects;
    std::erase_if(*objects, [](const cim::Object& object) {
      return object.class_name() == "MSFT_Disk" && object.GetUint32("Number").value_or(0) == 1;
    });
    return objects;
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    knows_ |= method == "UpdateHostStorageCache";
    return SimulatedSession::DoInvoke(context, space, path, method, arguments);
  }

 private:
  bool knows_ = false;
};

}  // namespace csi_proxy::groups
