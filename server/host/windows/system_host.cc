// The machine and its services: the service control manager and the firmware, no WMI.
#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"
#include "server/host/windows/smbios.h"
#include "server/host/windows/windows_host.h"

namespace csi_proxy::host::windows {
namespace {

class WindowsSystem final : public SystemHost {
 public:
  explicit WindowsSystem(const Parts& parts) : os_(*parts.os) {}

  absl::StatusOr<std::string> GetBiosSerialNumber(const CallContext& context) override {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    const absl::StatusOr<Bytes> table = os_.GetSmbiosTable();
    if (!table.ok()) return Prefixed("reading the SMBIOS table", table.status());
    return ParseSystemSerialNumber(*table);
  }

  absl::StatusOr<ServiceInfo> GetService(const CallContext& context,
                                         const std::string& name) override {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    absl::StatusOr<ServiceInfo> service = os_.GetService(name);
    if (!service.ok()) return Prefixed(absl::StrCat("service ", name), service.status());
    return service;
  }

  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const CallContext& context,
                                                                const std::string& name) override {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    absl::StatusOr<std::vector<std::string>> names = os_.ListActiveDependents(name);
    if (!names.ok()) {
      return Prefixed(absl::StrCat("listing what depends on service ", name), names.status());
    }
    return names;
  }

  absl::Status RequestStart(const CallContext& context, const std::string& name) override {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    return Prefixed(absl::StrCat("starting service ", name), os_.StartService(name));
  }

  absl::Status RequestStop(const CallContext& context, const std::string& name) override {
    if (absl::Status status = context.Check(); !status.ok()) return status;
    const absl::Status stopped =
        Prefixed(absl::StrCat("stopping service ", name), os_.StopService(name));
    if (HasWin32Code(stopped, win32_error::kServiceNotActive)) return absl::OkStatus();
    if (!HasWin32Code(stopped, win32_error::kServiceCannotAcceptControl)) return stopped;
    // So Windows answers for a service that is about to stop, too.
    const absl::StatusOr<ServiceInfo> service = os_.GetService(name);
    if (service.ok() && (service->state == ServiceState::kStopPending ||
                         service->state == ServiceState::kStopped)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(stopped.message());
  }

 private:
  Os& os_;
};

}  // namespace

std::unique_ptr<SystemHost> NewSystemHost(const Parts& parts) {
  return std::make_unique<WindowsSystem>(parts);
}

}  // namespace csi_proxy::host::windows
