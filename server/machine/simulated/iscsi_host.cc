#include "server/machine/simulated/hosts.h"
#include "server/machine/simulated/iscsi.h"

namespace csi_proxy::machine::simulated {
namespace {

class SimulatedIscsi final : public IscsiHost {
 public:
  explicit SimulatedIscsi(Core* core) : core_(*core) {}

  absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context) override {
    using Result = absl::StatusOr<std::vector<IscsiPortal>>;
    return core_.Run(context, "iscsi.ListPortals", "", [](NodeState& state) -> Result {
      std::vector<IscsiPortal> portals;
      for (const IscsiPortalState& portal : state.iscsi_portals) {
        if (portal.registered) portals.push_back(portal.portal);
      }
      return portals;
    });
  }

  absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal) override {
    return core_.Run(context, "iscsi.AddPortal", PortalText(portal),
                     [&](NodeState& state) { return simulated::AddPortal(state, portal); });
  }

  absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal) override {
    return core_.Run(context, "iscsi.RemovePortal", PortalText(portal),
                     [&](NodeState& state) { return simulated::RemovePortal(state, portal); });
  }

  absl::StatusOr<std::vector<std::string>> DiscoverTargets(const CallContext& context,
                                                           const IscsiPortal& portal) override {
    return core_.Run(context, "iscsi.DiscoverTargets", PortalText(portal),
                     [&](NodeState& state) { return simulated::DiscoverTargets(state, portal); });
  }

  absl::StatusOr<bool> IsConnected(const CallContext& context, const IscsiPortal& portal,
                                   const std::string& iqn) override {
    using Result = absl::StatusOr<bool>;
    return core_.Run(context, "iscsi.IsConnected", iqn, [&](NodeState& state) -> Result {
      const absl::StatusOr<IscsiTarget*> target = FindTarget(state, portal, iqn);
      if (!target.ok()) return target.status();
      return (*target)->connected;
    });
  }

  absl::Status Connect(const CallContext& context, const IscsiPortal& portal,
                       const std::string& iqn, const ChapCredentials& credentials) override {
    return core_.Run(context, "iscsi.Connect", iqn, [&](NodeState& state) {
      return simulated::Connect(state, portal, iqn, credentials);
    });
  }

  absl::Status Disconnect(const CallContext& context, const IscsiPortal& portal,
                          const std::string& iqn) override {
    return core_.Run(context, "iscsi.Disconnect", iqn,
                     [&](NodeState& state) { return simulated::Disconnect(state, portal, iqn); });
  }

  absl::StatusOr<std::vector<uint32_t>> GetTargetDisks(const CallContext& context,
                                                       const IscsiPortal& portal,
                                                       const std::string& iqn) override {
    return core_.Run(context, "iscsi.GetTargetDisks", iqn, [&](NodeState& state) {
      return simulated::GetTargetDisks(state, portal, iqn);
    });
  }

  absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret) override {
    return core_.Run(context, "iscsi.SetMutualChapSecret", "", [&](NodeState& state) {
      return simulated::SetMutualChapSecret(state, secret);
    });
  }

 private:
  Core& core_;
};

}  // namespace

std::unique_ptr<IscsiHost> NewIscsiHost(Core* core) {
  return std::make_unique<SimulatedIscsi>(core);
}

}  // namespace csi_proxy::machine::simulated
