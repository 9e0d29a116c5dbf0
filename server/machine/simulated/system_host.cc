#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/machine/simulated/hosts.h"
#include "server/machine/simulated/services.h"

namespace csi_proxy::machine::simulated {
namespace {

class SimulatedSystem final : public SystemHost {
 public:
  explicit SimulatedSystem(Core* core) : core_(*core) {}

  absl::StatusOr<std::string> GetBiosSerialNumber(const CallContext& context) override {
    using Result = absl::StatusOr<std::string>;
    return core_.Run(context, "system.GetBiosSerialNumber", "",
                     [](NodeState& state) -> Result { return state.bios_serial_number; });
  }

  absl::StatusOr<ServiceInfo> GetService(const CallContext& context,
                                         const std::string& name) override {
    using Result = absl::StatusOr<ServiceInfo>;
    return core_.Run(context, "system.GetService", name, [&](NodeState& state) -> Result {
      const Service* service = FindService(state, name);
      if (service == nullptr) {
        return absl::NotFoundError(absl::StrCat("there is no service ", name));
      }
      return ServiceInfo{service->display_name, service->start_type, service->state};
    });
  }

  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const CallContext& context,
                                                                const std::string& name) override {
    return core_.Run(context, "system.ListActiveDependents", name, [&](NodeState& state) {
      return simulated::ListActiveDependents(state, name);
    });
  }

  absl::Status RequestStart(const CallContext& context, const std::string& name) override {
    return core_.Run(context, "system.RequestStart", name, [&](NodeState& state) {
      return simulated::RequestStart(state, name, absl::Now());
    });
  }

  absl::Status RequestStop(const CallContext& context, const std::string& name) override {
    return core_.Run(context, "system.RequestStop", name, [&](NodeState& state) {
      return simulated::RequestStop(state, name, absl::Now());
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<SystemHost> NewSystemHost(Core* core) {
  return std::make_unique<SimulatedSystem>(core);
}

}  // namespace csi_proxy::machine::simulated
