// Win32_Service. The methods return the values of their pages
// (learn.microsoft.com/windows/win32/cimwin32prov/stopservice-method-in-class-win32-service).
#include "server/simulator/services.h"

#include <cstdint>
#include <string>

#include "csi_proxy/steady_time.h"
#include "server/simulator/wmi/methods.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

constexpr uint32_t kDependentServicesRunning = 3;
constexpr uint32_t kCannotAcceptControl = 5;
constexpr uint32_t kAlreadyRunning = 10;
constexpr uint32_t kDependencyFailed = 13;
constexpr uint32_t kDisabled = 14;

// Returns a State of Win32_Service (learn.microsoft.com/windows/win32/cimwin32prov/win32-service).
const char* StateName(ServiceState state) {
  switch (state) {
    case ServiceState::kStopped:
      return "Stopped";
    case ServiceState::kStartPending:
      return "Start Pending";
    case ServiceState::kStopPending:
      return "Stop Pending";
    case ServiceState::kRunning:
      return "Running";
    case ServiceState::kContinuePending:
      return "Continue Pending";
    case ServiceState::kPausePending:
      return "Pause Pending";
    case ServiceState::kPaused:
      return "Paused";
    default:
      return "Unknown";
  }
}

const char* StartModeName(ServiceStartType type) {
  switch (type) {
    case ServiceStartType::kBoot:
      return "Boot";
    case ServiceStartType::kSystem:
      return "System";
    case ServiceStartType::kAutomatic:
      return "Auto";
    case ServiceStartType::kManual:
      return "Manual";
    default:
      return "Disabled";
  }
}

cim::Object ServiceObject(const Service& service) {
  return MakeObject("Win32_Service",
                    {{"Name", Value::String(service.name)},
                     {"DisplayName", Value::String(service.display_name)},
                     {"StartMode", Value::String(StartModeName(service.start_type))},
                     {"State", Value::String(StateName(service.state))}});
}

// Returns success if `code` is 0, else the method's refusal with `code`.
Outcome Answer(const Call& call, uint32_t code) {
  if (code == 0) return Done(call.method);
  return Refused(call.method, code, "");
}

Outcome StartService(const Call& call) {
  const std::string name = *call.self.GetString("Name");
  const Service& service = *FindService(call.state, name);
  if (service.state == ServiceState::kRunning) return Answer(call, kAlreadyRunning);
  if (service.state != ServiceState::kStopped) return Answer(call, kCannotAcceptControl);
  if (service.start_type == ServiceStartType::kDisabled) return Answer(call, kDisabled);
  const absl::Status started = RequestStart(call.state, name, SteadyTime::Now());
  return Answer(call, started.ok() ? 0 : kDependencyFailed);
}

Outcome StopService(const Call& call) {
  const std::string name = *call.self.GetString("Name");
  if (!ListActiveDependents(call.state, name)->empty()) {
    return Answer(call, kDependentServicesRunning);
  }
  if (FindService(call.state, name)->state == ServiceState::kStopped) {
    return Answer(call, kCannotAcceptControl);
  }
  const absl::Status stopped = RequestStop(call.state, name, SteadyTime::Now());
  return Answer(call, stopped.ok() ? 0 : kCannotAcceptControl);
}

constexpr Implementation kServiceMethods[] = {
    {"Win32_Service", "StartService", StartService},
    {"Win32_Service", "StopService", StopService},
};

}  // namespace

Objects Services(NodeState& state) {
  Objects objects;
  for (const Service& service : state.services) objects.push_back(ServiceObject(service));
  return objects;
}

Objects DependentServices(NodeState& state) {
  Objects links;
  for (const Service& service : state.services) {
    for (const std::string& name : service.depends_on) {
      const Service* const needed = FindService(state, name);
      if (needed == nullptr) continue;
      links.push_back(Link("Win32_DependentService", "Antecedent", ServiceObject(*needed),
                           "Dependent", ServiceObject(service)));
    }
  }
  return links;
}

std::span<const Implementation> ServiceMethods() { return kServiceMethods; }

}  // namespace csi_proxy::machine::simulator::wmi
