#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/windows_path.h"
#include "server/host/simulated/hosts.h"

namespace csi_proxy::host::simulated {
namespace {

bool IsActive(const Service& service) { return service.state != ServiceState::kStopped; }

class SimulatedSystemHost final : public SystemHost {
 public:
  explicit SimulatedSystemHost(Core* core) : core_(core) {}

  absl::StatusOr<std::string> GetBiosSerialNumber(const CallContext& context) override {
    if (absl::Status s = core_->Begin(context, "system.GetBiosSerialNumber", ""); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    return core_->state.bios_serial_number;
  }

  absl::StatusOr<ServiceInfo> GetService(const CallContext& context,
                                         const std::string& name) override {
    return With(context, "system.GetService", name,
                [](Service& service) -> absl::StatusOr<ServiceInfo> {
                  return ServiceInfo{.display_name = service.display_name,
                                     .start_type = service.start_type,
                                     .state = service.state};
                });
  }

  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const CallContext& context,
                                                                const std::string& name) override {
    return With(context, "system.ListActiveDependents", name,
                [&](Service& service)
                    ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<std::vector<std::string>> {
                      return ActiveDependents(service);
                    });
  }

  absl::Status RequestStart(const CallContext& context, const std::string& name) override {
    return With(context, "system.RequestStart", name,
                [&](Service& service)
                    ABSL_NO_THREAD_SAFETY_ANALYSIS { return Start(service, absl::Now(), 0); });
  }

  absl::Status RequestStop(const CallContext& context, const std::string& name) override {
    return With(context, "system.RequestStop", name,
                [&](Service& service) ABSL_NO_THREAD_SAFETY_ANALYSIS { return Stop(service); });
  }

 private:
  Service* Find(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    for (Service& service : core_->state.services) {
      if (EqualNames(service.name, name)) return &service;
    }
    return nullptr;
  }

  // Runs `act(Service&)` with all services in the state they are in by now.
  template <typename Act>
  auto With(const CallContext& context, absl::string_view operation, const std::string& name,
            Act act) -> decltype(act(std::declval<Service&>())) {
    if (absl::Status s = core_->Begin(context, operation, name); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::Time now = absl::Now();
    for (Service& service : core_->state.services) {
      if (service.pending_until > now) continue;
      if (service.state == ServiceState::kStartPending) service.state = ServiceState::kRunning;
      if (service.state == ServiceState::kStopPending) service.state = ServiceState::kStopped;
    }
    Service* const service = Find(name);
    if (service == nullptr) return absl::NotFoundError(absl::StrCat("there is no service ", name));
    return act(*service);
  }

  std::vector<std::string> ActiveDependents(const Service& service)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    // Depth first: whoever depends on a dependent comes before it.
    std::vector<std::string> order;
    std::set<std::string> seen;
    std::function<void(const std::string&)> visit =
        [&](const std::string& name) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          for (const Service& other : core_->state.services) {
            const bool depends =
                std::any_of(other.depends_on.begin(), other.depends_on.end(),
                            [&](const std::string& needed) { return EqualNames(needed, name); });
            if (!depends || !IsActive(other) || !seen.insert(other.name).second) continue;
            visit(other.name);
            order.push_back(other.name);
          }
        };
    visit(service.name);
    return order;
  }

  // Starts what the service depends on first, as the service control manager does.
  absl::Status Start(Service& service, absl::Time now, int depth)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    const std::string operation = absl::StrCat("starting service ", service.name);
    if (service.state == ServiceState::kRunning || service.state == ServiceState::kStartPending) {
      return absl::AlreadyExistsError(absl::StrCat("service ", service.name, " is running"));
    }
    if (service.start_type == ServiceStartType::kDisabled) {
      return Failure(operation, kErrorServiceDisabled, absl::StatusCode::kFailedPrecondition);
    }
    absl::Time ready = now;
    for (const std::string& name : service.depends_on) {
      Service* const needed = Find(name);
      if (needed == nullptr || depth > 32) return Failure(operation, kErrorServiceDependencyFailed);
      const absl::Status status = Start(*needed, now, depth + 1);
      if (!status.ok() && status.code() != absl::StatusCode::kAlreadyExists) {
        return Failure(operation, kErrorServiceDependencyFailed);
      }
      if (needed->state == ServiceState::kStartPending) {
        ready = std::max(ready, needed->pending_until);
      }
    }
    Pend(service, ServiceState::kStartPending, ServiceState::kRunning, now,
         ready + service.start_latency);
    return absl::OkStatus();
  }

  absl::Status Stop(Service& service) ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    if (service.state == ServiceState::kStopped || service.state == ServiceState::kStopPending) {
      return absl::OkStatus();
    }
    const std::vector<std::string> dependents = ActiveDependents(service);
    if (!dependents.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("service ", dependents.back(), " is running and depends on ", service.name));
    }
    if (service.state == ServiceState::kStartPending) {
      return absl::FailedPreconditionError(
          absl::StrCat("service ", service.name, " is starting and takes no stop now"));
    }
    const absl::Time now = absl::Now();
    Pend(service, ServiceState::kStopPending, ServiceState::kStopped, now,
         now + service.stop_latency);
    return absl::OkStatus();
  }

  static void Pend(Service& service, ServiceState pending, ServiceState settled, absl::Time now,
                   absl::Time until) {
    service.state = until > now ? pending : settled;
    service.pending_until = until;
  }

  Core* const core_;
};

}  // namespace

std::unique_ptr<SystemHost> NewSystemHost(Core* core) {
  return std::make_unique<SimulatedSystemHost>(core);
}

}  // namespace csi_proxy::host::simulated
