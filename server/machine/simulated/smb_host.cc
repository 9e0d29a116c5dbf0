#include "server/machine/simulated/hosts.h"
#include "server/machine/simulated/smb.h"

namespace csi_proxy::machine::simulated {
namespace {

class SimulatedSmb final : public SmbHost {
 public:
  explicit SimulatedSmb(Core* core) : core_(*core) {}

  absl::StatusOr<std::optional<SmbMapping>> GetMapping(const CallContext& context,
                                                       const std::string& share) override {
    using Result = absl::StatusOr<std::optional<SmbMapping>>;
    return core_.Run(context, "smb.GetMapping", share, [&](NodeState& state) -> Result {
      return simulated::GetMapping(state, share);
    });
  }

  absl::StatusOr<bool> IsHealthy(const CallContext& context, const SmbMapping& mapping) override {
    using Result = absl::StatusOr<bool>;
    return core_.Run(context, "smb.IsHealthy", mapping.object, [&](NodeState& state) -> Result {
      return FindReadableShare(state, mapping.object) != nullptr;
    });
  }

  absl::Status CreateMapping(const CallContext& context, const std::string& share,
                             const SmbCredentials& credentials, bool require_privacy) override {
    return core_.Run(context, "smb.CreateMapping", share, [&](NodeState& state) {
      return simulated::CreateMapping(state, share, credentials, require_privacy);
    });
  }

  absl::Status RemoveMapping(const CallContext& context, const SmbMapping& mapping) override {
    return core_.Run(context, "smb.RemoveMapping", mapping.object, [&](NodeState& state) {
      return simulated::RemoveMapping(state, mapping.object);
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<SmbHost> NewSmbHost(Core* core) { return std::make_unique<SimulatedSmb>(core); }

}  // namespace csi_proxy::machine::simulated
