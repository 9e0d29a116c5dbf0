// Controls services through the service control manager, and reads the firmware, both without WMI.
#include "server/host/system_host.h"

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/machine/layouts.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

absl::Status ServiceError(const std::string& name, absl::string_view what,
                          const absl::Status& status) {
  if (HasWin32Code(status, win32_error::kServiceDoesNotExist)) {
    return absl::NotFoundError(absl::StrCat("there is no service ", name));
  }
  return Prefixed(absl::StrCat(what, " service ", name), status);
}

}  // namespace

absl::StatusOr<std::string> SystemHost::GetBiosSerialNumber(const CallContext& context) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::StatusOr<machine::Bytes> table = os_.GetSmbiosTable();
  if (!table.ok()) return Prefixed("reading the SMBIOS table", table.status());
  return machine::ParseSystemSerialNumber(*table);
}

absl::StatusOr<ServiceInfo> SystemHost::GetService(const CallContext& context,
                                                   const std::string& name) {
  ABSL_RETURN_IF_ERROR(context.Check());
  absl::StatusOr<ServiceInfo> service = os_.GetService(name);
  if (!service.ok()) return ServiceError(name, "asking for", service.status());
  return service;
}

absl::StatusOr<std::vector<std::string>> SystemHost::ListActiveDependents(
    const CallContext& context, const std::string& name) {
  ABSL_RETURN_IF_ERROR(context.Check());
  absl::StatusOr<std::vector<std::string>> names = os_.ListActiveDependents(name);
  if (!names.ok()) {
    return ServiceError(name, "listing what depends on", names.status());
  }
  return names;
}

absl::Status SystemHost::RequestStart(const CallContext& context, const std::string& name) {
  ABSL_RETURN_IF_ERROR(context.Check());
  return ServiceError(name, "starting", os_.StartService(name));
}

absl::Status SystemHost::RequestStop(const CallContext& context, const std::string& name) {
  ABSL_RETURN_IF_ERROR(context.Check());
  const absl::Status stopped = ServiceError(name, "stopping", os_.StopService(name));
  if (HasWin32Code(stopped, win32_error::kServiceNotActive)) return absl::OkStatus();
  if (HasWin32Code(stopped, win32_error::kDependentServicesRunning)) {
    const absl::StatusOr<std::vector<std::string>> dependents = os_.ListActiveDependents(name);
    if (!dependents.ok() || dependents->empty()) return stopped;
    return absl::FailedPreconditionError(
        absl::StrCat(dependents->front(), " is running and depends on ", name));
  }
  if (!HasWin32Code(stopped, win32_error::kServiceCannotAcceptControl)) return stopped;
  // Windows returns the same error for a service that is already stopping.
  const absl::StatusOr<ServiceInfo> service = os_.GetService(name);
  if (service.ok() &&
      (service->state == ServiceState::kStopPending || service->state == ServiceState::kStopped)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(stopped.message());
}

}  // namespace csi_proxy::host
