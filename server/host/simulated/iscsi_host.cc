#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/windows_path.h"
#include "server/host/simulated/hosts.h"

namespace csi_proxy::host::simulated {
namespace {

// ISDSC_AUTHENTICATION_FAILURE of the initiator (iscsierr.h).
constexpr uint32_t kInitiatorAuthenticationFailure = 0xEFFF0009;

std::string Name(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

class SimulatedIscsiHost final : public IscsiHost {
 public:
  explicit SimulatedIscsiHost(Core* core) : core_(core) {}

  absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context) override {
    if (absl::Status s = core_->Begin(context, "iscsi.ListPortals", ""); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    std::vector<IscsiPortal> portals;
    for (const IscsiPortalState& portal : core_->state.iscsi_portals) {
      if (portal.registered) portals.push_back(portal.portal);
    }
    return portals;
  }

  absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal) override {
    if (absl::Status s = core_->Begin(context, "iscsi.AddPortal", Name(portal)); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    IscsiPortalState* const found = Find(portal);
    if (found == nullptr || !found->reachable) {
      return absl::UnavailableError(absl::StrCat("nothing answers at portal ", Name(portal)));
    }
    if (found->registered) {
      return absl::AlreadyExistsError(absl::StrCat("portal ", Name(portal), " is registered"));
    }
    found->registered = true;
    return absl::OkStatus();
  }

  absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal) override {
    if (absl::Status s = core_->Begin(context, "iscsi.RemovePortal", Name(portal)); !s.ok()) {
      return s;
    }
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<IscsiPortalState*> found = FindRegistered(portal);
    if (!found.ok()) return found.status();
    (*found)->registered = false;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> DiscoverTargets(const CallContext& context,
                                                           const IscsiPortal& portal) override {
    if (absl::Status s = core_->Begin(context, "iscsi.DiscoverTargets", Name(portal)); !s.ok()) {
      return s;
    }
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<IscsiPortalState*> found = FindRegistered(portal);
    if (!found.ok()) return found.status();
    if (!(*found)->reachable) {
      return absl::UnavailableError(absl::StrCat("nothing answers at portal ", Name(portal)));
    }
    std::vector<std::string> iqns;
    for (const IscsiTarget& target : (*found)->targets) iqns.push_back(target.iqn);
    return iqns;
  }

  absl::StatusOr<bool> IsConnected(const CallContext& context, const IscsiPortal& portal,
                                   const std::string& iqn) override {
    return With(context, "iscsi.IsConnected", portal, iqn,
                [](IscsiPortalState&, IscsiTarget& target) -> absl::StatusOr<bool> {
                  return target.connected;
                });
  }

  absl::Status Connect(const CallContext& context, const IscsiPortal& portal,
                       const std::string& iqn, const ChapCredentials& credentials) override {
    return With(
        context, "iscsi.Connect", portal, iqn,
        [&](IscsiPortalState& at, IscsiTarget& target) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          if (target.connected) {
            return absl::AlreadyExistsError(absl::StrCat(iqn, " is connected"));
          }
          if (!at.reachable) {
            return absl::UnavailableError(absl::StrCat("nothing answers at portal ", Name(portal)));
          }
          if (!Accepts(target, credentials)) {
            return Failure(absl::StrCat("connecting to ", iqn),
                           {kInitiatorAuthenticationFailure, "Authentication failed."},
                           absl::StatusCode::kFailedPrecondition);
          }
          target.connected = true;
          return absl::OkStatus();
        });
  }

  absl::Status Disconnect(const CallContext& context, const IscsiPortal& portal,
                          const std::string& iqn) override {
    return With(context, "iscsi.Disconnect", portal, iqn,
                [&](IscsiPortalState&, IscsiTarget& target) {
                  if (!target.connected) {
                    return absl::NotFoundError(absl::StrCat(iqn, " is not connected"));
                  }
                  target.connected = false;
                  return absl::OkStatus();
                });
  }

  absl::StatusOr<std::vector<uint32_t>> GetTargetDisks(const CallContext& context,
                                                       const IscsiPortal& portal,
                                                       const std::string& iqn) override {
    return With(
        context, "iscsi.GetTargetDisks", portal, iqn,
        [&](IscsiPortalState&, IscsiTarget& target) -> absl::StatusOr<std::vector<uint32_t>> {
          if (!target.connected) {
            return absl::FailedPreconditionError(absl::StrCat(iqn, " is not connected"));
          }
          std::vector<uint32_t> numbers;
          for (const Disk& disk : target.disks) numbers.push_back(disk.number);
          std::sort(numbers.begin(), numbers.end());
          return numbers;
        });
  }

  absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret) override {
    if (absl::Status s = core_->Begin(context, "iscsi.SetMutualChapSecret", ""); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    core_->state.iscsi_mutual_chap_secret = secret;
    return absl::OkStatus();
  }

 private:
  IscsiPortalState* Find(const IscsiPortal& portal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    for (IscsiPortalState& candidate : core_->state.iscsi_portals) {
      if (candidate.portal.port == portal.port &&
          EqualNames(candidate.portal.address, portal.address)) {
        return &candidate;
      }
    }
    return nullptr;
  }

  absl::StatusOr<IscsiPortalState*> FindRegistered(const IscsiPortal& portal)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    IscsiPortalState* const found = Find(portal);
    if (found != nullptr && found->registered) return found;
    return absl::NotFoundError(absl::StrCat("portal ", Name(portal), " is not registered"));
  }

  // Runs `act(IscsiPortalState&, IscsiTarget&)` on a target that a registered portal offers.
  template <typename Act>
  auto With(const CallContext& context, absl::string_view operation, const IscsiPortal& portal,
            const std::string& iqn, Act act)
      -> decltype(act(std::declval<IscsiPortalState&>(), std::declval<IscsiTarget&>())) {
    if (absl::Status s = core_->Begin(context, operation, iqn); !s.ok()) return s;
    absl::MutexLock lock(&core_->mutex);
    const absl::StatusOr<IscsiPortalState*> at = FindRegistered(portal);
    if (!at.ok()) return at.status();
    for (IscsiTarget& target : (*at)->targets) {
      if (EqualNames(target.iqn, iqn)) return act(**at, target);
    }
    return absl::NotFoundError(absl::StrCat("portal ", Name(portal), " offers no target ", iqn));
  }

  bool Accepts(const IscsiTarget& target, const ChapCredentials& credentials)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->mutex) {
    if (target.chap != credentials.mode) return false;
    if (target.chap == ChapMode::kNone) return true;
    if (target.username != credentials.username || target.secret != credentials.secret) {
      return false;
    }
    return target.chap == ChapMode::kOneWay ||
           target.mutual_secret == core_->state.iscsi_mutual_chap_secret;
  }

  Core* const core_;
};

}  // namespace

std::unique_ptr<IscsiHost> NewIscsiHost(Core* core) {
  return std::make_unique<SimulatedIscsiHost>(core);
}

}  // namespace csi_proxy::host::simulated
