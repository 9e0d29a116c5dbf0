#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/node_services.h"
#include "server/names/windows_path.h"

namespace csi_proxy::system {
namespace {

using host::ServiceState;

constexpr absl::Duration kStateChange = absl::Seconds(30);
constexpr absl::Duration kFirstPoll = absl::Milliseconds(10);
constexpr absl::Duration kLastPoll = absl::Milliseconds(250);

const char* StateName(ServiceState state) {
  static constexpr const char* kNames[] = {"unknown", "stopped",    "starting", "stopping",
                                           "running", "continuing", "pausing",  "paused"};
  return kNames[static_cast<int>(state)];
}

// Returns INVALID_ARGUMENT for a name that is longer than 256 bytes or contains a slash or
// backslash: learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew.
absl::Status CheckName(const std::string& name) {
  ABSL_RETURN_IF_ERROR(groups::CheckText("name", name, 256));
  if (absl::StrContains(name, '/') || absl::StrContains(name, '\\')) {
    return absl::InvalidArgumentError("name: a service's name must not contain a slash");
  }
  return absl::OkStatus();
}

class SystemService final : public Service {
 public:
  explicit SystemService(const groups::HandlerDeps& deps) : deps_(deps) {}

  absl::StatusOr<GetBIOSSerialNumberResponse> GetBIOSSerialNumber(
      const CallContext& context, const GetBIOSSerialNumberRequest&) override {
    ABSL_ASSIGN_OR_RETURN(auto serial, host().GetBiosSerialNumber(context));
    return GetBIOSSerialNumberResponse{.serial_number = std::move(serial)};
  }

  absl::StatusOr<StartServiceResponse> StartService(const CallContext& context,
                                                    const StartServiceRequest& request) override {
    ABSL_RETURN_IF_ERROR(CheckName(request.name));
    ABSL_RETURN_IF_ERROR(CheckAllowed(request.name));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, request.name));
    const absl::Status asked = host().RequestStart(context, request.name);
    if (!asked.ok() && !absl::IsAlreadyExists(asked)) return asked;
    ABSL_RETURN_IF_ERROR(
        Await(context, request.name, ServiceState::kRunning, absl::IsAlreadyExists(asked)));
    return StartServiceResponse{};
  }

  absl::StatusOr<StopServiceResponse> StopService(const CallContext& context,
                                                  const StopServiceRequest& request) override {
    ABSL_RETURN_IF_ERROR(CheckName(request.name));
    ABSL_RETURN_IF_ERROR(CheckAllowed(request.name));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, request.name));
    if (request.force) {
      ABSL_ASSIGN_OR_RETURN(const auto dependents,
                            host().ListActiveDependents(context, request.name));
      // Checks all dependents before it stops the first, so that a refused call does not stop any.
      for (const std::string& dependent : dependents) {
        ABSL_RETURN_IF_ERROR(CheckAllowed(dependent));
      }
      for (const std::string& dependent : dependents) {
        ABSL_RETURN_IF_ERROR(StopAndAwait(context, dependent));
      }
    }
    ABSL_RETURN_IF_ERROR(StopAndAwait(context, request.name));
    return StopServiceResponse{};
  }

  absl::StatusOr<GetServiceResponse> GetService(const CallContext& context,
                                                const GetServiceRequest& request) override {
    ABSL_RETURN_IF_ERROR(CheckName(request.name));
    ABSL_ASSIGN_OR_RETURN(auto service, host().GetService(context, request.name));
    // The enums have Windows' own numbers.
    return GetServiceResponse{.display_name = std::move(service.display_name),
                              .start_type = static_cast<StartType>(service.start_type),
                              .status = static_cast<ServiceStatus>(service.state)};
  }

 private:
  host::SystemHost& host() { return deps_.host->system(); }

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, const std::string& name) {
    return deps_.locks->Acquire(context, absl::StrCat("service/", FoldName(name)));
  }

  absl::Status CheckAllowed(const std::string& name) const {
    const std::vector<std::string>& allowed = deps_.allowed_services;
    const bool listed = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& other) {
      return EqualNames(name, other);
    });
    if (allowed.empty() || listed) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat("name: service \"", name,
                     "\" may not be started or stopped: see the option allowed_services"));
  }

  absl::Status StopAndAwait(const CallContext& context, const std::string& name) {
    ABSL_RETURN_IF_ERROR(host().RequestStop(context, name));
    return Await(context, name, ServiceState::kStopped);
  }

  // Waits until the service has the state. With `may_start`, starts the service once if it is
  // stopped, because Windows may have reported a service that was stopping as running.
  absl::Status Await(const CallContext& context, const std::string& name, ServiceState wanted,
                     bool may_start = false) {
    const CallContext waiting = context.WithTimeout(kStateChange);
    for (absl::Duration poll = kFirstPoll;; poll = std::min(2 * poll, kLastPoll)) {
      ABSL_ASSIGN_OR_RETURN(const auto service, host().GetService(waiting, name));
      if (service.state == wanted) return absl::OkStatus();
      if (may_start && service.state == ServiceState::kStopped) {
        may_start = false;
        const absl::Status asked = host().RequestStart(context, name);
        if (!asked.ok() && !absl::IsAlreadyExists(asked)) return asked;
      }
      if (absl::Status s = waiting.SleepFor(poll); !s.ok()) {
        return absl::Status(s.code(),
                            absl::StrCat("service ", name, " is still ", StateName(service.state),
                                         ", not ", StateName(wanted), ": ", s.message()));
      }
    }
  }

  const groups::HandlerDeps deps_;
};

}  // namespace

std::unique_ptr<Service> NewSystemService(const groups::HandlerDeps& deps) {
  return std::make_unique<SystemService>(deps);
}

}  // namespace csi_proxy::system
