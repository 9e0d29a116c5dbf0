#include <utility>

#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
#include "server/groups/node_services.h"

namespace csi_proxy::iscsi {
namespace {

absl::StatusOr<host::IscsiPortal> ReadPortal(const TargetPortal& portal) {
  return iscsi::ReadPortal("target_portal.target_address", "target_portal.target_port",
                           portal.target_address, portal.target_port);
}

absl::StatusOr<host::ChapCredentials> ReadCredentials(const ConnectTargetRequest& request) {
  return ReadChap("auth_type: NONE", static_cast<host::ChapMode>(request.auth_type),
                  request.chap_username, request.chap_secret);
}

static_assert(static_cast<int>(AuthenticationType::kOneWayChap) ==
              static_cast<int>(host::ChapMode::kOneWay));
static_assert(static_cast<int>(AuthenticationType::kMutualChap) ==
              static_cast<int>(host::ChapMode::kMutual));

class IscsiService final : public Service {
 public:
  explicit IscsiService(const groups::HandlerDeps& deps) : deps_(deps) {}

  absl::StatusOr<AddTargetPortalResponse> AddTargetPortal(
      const CallContext& context, const AddTargetPortalRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(*deps_.locks, context, portal));
    if (absl::Status s = host().AddPortal(context, portal); !s.ok() && !absl::IsAlreadyExists(s)) {
      return s;
    }
    return AddTargetPortalResponse{};
  }

  absl::StatusOr<DiscoverTargetPortalResponse> DiscoverTargetPortal(
      const CallContext& context, const DiscoverTargetPortalRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_ASSIGN_OR_RETURN(auto iqns, host().DiscoverTargets(context, portal));
    return DiscoverTargetPortalResponse{.iqns = std::move(iqns)};
  }

  absl::StatusOr<RemoveTargetPortalResponse> RemoveTargetPortal(
      const CallContext& context, const RemoveTargetPortalRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(*deps_.locks, context, portal));
    ABSL_RETURN_IF_ERROR(host().RemovePortal(context, portal));
    return RemoveTargetPortalResponse{};
  }

  absl::StatusOr<ListTargetPortalsResponse> ListTargetPortals(
      const CallContext& context, const ListTargetPortalsRequest&) override {
    ABSL_ASSIGN_OR_RETURN(const auto portals, host().ListPortals(context));
    ListTargetPortalsResponse response;
    for (const host::IscsiPortal& portal : portals) {
      response.target_portals.push_back(
          {.target_address = portal.address, .target_port = portal.port});
    }
    return response;
  }

  absl::StatusOr<ConnectTargetResponse> ConnectTarget(
      const CallContext& context, const ConnectTargetRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_RETURN_IF_ERROR(CheckIqn(request.iqn));
    ABSL_ASSIGN_OR_RETURN(const auto credentials, ReadCredentials(request));
    // Does not take the target's lock, because a portal that does not answer would delay calls that
    // disconnect the target.
    ABSL_ASSIGN_OR_RETURN(const auto lock,
                          groups::LockSession(*deps_.locks, context, request.iqn, portal));
    if (absl::Status s = host().Connect(context, portal, request.iqn, credentials);
        !s.ok() && !absl::IsAlreadyExists(s)) {
      return s;
    }
    return ConnectTargetResponse{};
  }

  absl::StatusOr<DisconnectTargetResponse> DisconnectTarget(
      const CallContext& context, const DisconnectTargetRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_RETURN_IF_ERROR(CheckIqn(request.iqn));
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockTarget(*deps_.locks, context, request.iqn));
    // IsConnected() fails if the target is unknown. A target that is not connected is no error.
    ABSL_ASSIGN_OR_RETURN(const auto connected, host().IsConnected(context, portal, request.iqn));
    if (connected) {
      if (absl::Status s = host().Disconnect(context, portal, request.iqn);
          !s.ok() && !absl::IsNotFound(s)) {
        return s;
      }
    }
    return DisconnectTargetResponse{};
  }

  absl::StatusOr<GetTargetDisksResponse> GetTargetDisks(
      const CallContext& context, const GetTargetDisksRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_RETURN_IF_ERROR(CheckIqn(request.iqn));
    ABSL_ASSIGN_OR_RETURN(auto disks, host().GetTargetDisks(context, portal, request.iqn));
    return GetTargetDisksResponse{.disk_numbers = std::move(disks)};
  }

  absl::StatusOr<SetMutualChapSecretResponse> SetMutualChapSecret(
      const CallContext& context, const SetMutualChapSecretRequest& request) override {
    ABSL_RETURN_IF_ERROR(CheckSecret("mutual_chap_secret", request.mutual_chap_secret));
    ABSL_RETURN_IF_ERROR(host().SetMutualChapSecret(context, Secret(request.mutual_chap_secret)));
    return SetMutualChapSecretResponse{};
  }

 private:
  host::IscsiHost& host() { return deps_.host->iscsi(); }

  const groups::HandlerDeps deps_;
};

}  // namespace

std::unique_ptr<Service> NewIscsiService(const groups::HandlerDeps& deps) {
  return std::make_unique<IscsiService>(deps);
}

}  // namespace csi_proxy::iscsi
