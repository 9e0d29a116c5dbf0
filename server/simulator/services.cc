#include "server/simulator/services.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::machine::simulator {
namespace {

absl::StatusOr<Service*> FindOrNotFound(NodeState& state, absl::string_view name) {
  Service* service = FindService(state, name);
  if (service != nullptr) return service;
  return absl::NotFoundError(absl::StrCat("there is no service ", name));
}

bool DependsOn(const Service& service, absl::string_view name) {
  return std::any_of(service.depends_on.begin(), service.depends_on.end(),
                     [&](const std::string& other) { return EqualNames(other, name); });
}

// Appends the active services that depend on `name`, directly or indirectly. Each service comes
// once, after the services that depend on it.
void CollectDependents(const NodeState& state, absl::string_view name, std::set<std::string>* seen,
                       std::vector<std::string>* dependents) {
  for (const Service& service : state.services) {
    if (!DependsOn(service, name) || !seen->insert(FoldName(service.name)).second) continue;
    CollectDependents(state, service.name, seen, dependents);
    if (service.state != ServiceState::kStopped) dependents->push_back(service.name);
  }
}

// Starts a service after its dependencies. Dependencies form no circle (CheckState()), so the
// recursion ends.
absl::Status Start(NodeState& state, Service& service, SteadyTime now) {
  const std::string operation = absl::StrCat("starting service '", service.name, "'");
  if (service.start_type == ServiceStartType::kDisabled) {
    return Failure(operation, win32_error::kServiceDisabled, absl::StatusCode::kFailedPrecondition);
  }
  SteadyTime ready = now;
  for (const std::string& name : service.depends_on) {
    Service* needed = FindService(state, name);
    if (needed == nullptr) return Failure(operation, win32_error::kServiceDependencyFailed);
    if (needed->state == ServiceState::kStopped && !Start(state, *needed, now).ok()) {
      return Failure(operation, win32_error::kServiceDependencyFailed);
    }
    if (needed->state == ServiceState::kStartPending) {
      ready = std::max(ready, needed->pending_until);
    }
  }
  service.state = ServiceState::kStartPending;
  service.pending_until = ready + service.start_latency;
  return absl::OkStatus();
}

}  // namespace

Service* FindService(NodeState& state, absl::string_view name) {
  for (Service& service : state.services) {
    if (EqualNames(service.name, name)) return &service;
  }
  return nullptr;
}

bool AnyServicePending(const NodeState& state) {
  return std::any_of(state.services.begin(), state.services.end(), [](const Service& service) {
    return service.state == ServiceState::kStartPending ||
           service.state == ServiceState::kStopPending;
  });
}

void AdvanceServices(NodeState& state, SteadyTime now) {
  for (Service& service : state.services) {
    if (service.pending_until > now) continue;
    if (service.state == ServiceState::kStartPending) service.state = ServiceState::kRunning;
    if (service.state == ServiceState::kStopPending) service.state = ServiceState::kStopped;
  }
}

void RestartServices(NodeState& state, SteadyTime now) {
  for (Service& service : state.services) service.state = ServiceState::kStopped;
  for (Service& service : state.services) {
    const bool by_itself = service.start_type == ServiceStartType::kBoot ||
                           service.start_type == ServiceStartType::kSystem ||
                           service.start_type == ServiceStartType::kAutomatic;
    // A service with a disabled dependency stays stopped, as on Windows.
    if (by_itself && service.state == ServiceState::kStopped) (void)Start(state, service, now);
  }
  AdvanceServices(state, now);
}

absl::StatusOr<std::vector<std::string>> ListActiveDependents(NodeState& state,
                                                              const std::string& name) {
  ABSL_ASSIGN_OR_RETURN(Service* const service, FindOrNotFound(state, name));
  std::set<std::string> seen;
  std::vector<std::string> dependents;
  CollectDependents(state, service->name, &seen, &dependents);
  return dependents;
}

absl::Status RequestStart(NodeState& state, const std::string& name, SteadyTime now) {
  ABSL_ASSIGN_OR_RETURN(Service* const service, FindOrNotFound(state, name));
  switch (service->state) {
    case ServiceState::kStopped:
      break;
    case ServiceState::kRunning:
    case ServiceState::kStartPending:
      return absl::AlreadyExistsError(absl::StrCat("service '", name, "' is running"));
    default:
      return Failure(absl::StrCat("starting service '", name, "'"),
                     win32_error::kServiceCannotAcceptControl);
  }
  absl::Status status = Start(state, *service, now);
  AdvanceServices(state, now);
  return status;
}

absl::Status RequestStop(NodeState& state, const std::string& name, SteadyTime now) {
  ABSL_ASSIGN_OR_RETURN(Service* const service, FindOrNotFound(state, name));
  if (service->state == ServiceState::kStopped) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> dependents,
                        ListActiveDependents(state, name));
  if (!dependents.empty()) {
    // The last dependent to be stopped depends on `name` directly.
    return absl::FailedPreconditionError(
        absl::StrCat("service ", dependents.back(), " is running and depends on ", name));
  }
  if (service->state != ServiceState::kRunning && service->state != ServiceState::kPaused) {
    return Failure(absl::StrCat("stopping service '", name, "'"),
                   win32_error::kServiceCannotAcceptControl, absl::StatusCode::kFailedPrecondition);
  }
  service->state = ServiceState::kStopPending;
  service->pending_until = now + service->stop_latency;
  AdvanceServices(state, now);
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulator
