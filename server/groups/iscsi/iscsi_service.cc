#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/base/windows_path.h"
#include "server/groups/handlers.h"
#include "server/groups/paths.h"

namespace csi_proxy::iscsi {
namespace {

constexpr uint32_t kDefaultPort = 3260;
constexpr size_t kMaxAddress = 255;
// RFC 3720, section 3.2.6.1.
constexpr size_t kMaxIqn = 223;
constexpr size_t kMaxUsername = 223;
// The lengths of a CHAP secret that Windows' initiator takes, in bytes.
constexpr size_t kMinSecret = 12;
constexpr size_t kMaxSecret = 16;

absl::StatusOr<host::IscsiPortal> ReadPortal(const TargetPortal& portal) {
  const std::string& address = portal.target_address;
  ABSL_RETURN_IF_ERROR(groups::CheckText("target_portal.target_address", address, kMaxAddress));
  for (const char c : address) {
    // A DNS name, an IPv4 or an IPv6 address with an optional zone.
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !absl::StrContains(".-_:%[]", c)) {
      return absl::InvalidArgumentError(
          "target_portal.target_address: is neither a host name nor an IP address");
    }
  }
  const uint32_t port = portal.target_port == 0 ? kDefaultPort : portal.target_port;
  if (port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "target_portal.target_port: ", port, " is not from 1 to 65535, or 0 for ", kDefaultPort));
  }
  return host::IscsiPortal{address, static_cast<uint16_t>(port)};
}

absl::Status CheckIqn(const std::string& iqn) {
  ABSL_RETURN_IF_ERROR(groups::CheckText("iqn", iqn, kMaxIqn));
  bool valid = absl::StartsWithIgnoreCase(iqn, "iqn.") || absl::StartsWithIgnoreCase(iqn, "eui.") ||
               absl::StartsWithIgnoreCase(iqn, "naa.");
  for (const char c : iqn) {
    const auto byte = static_cast<unsigned char>(c);
    valid = valid && (byte >= 0x80 || absl::ascii_isalnum(byte) || absl::StrContains("-.:_", c));
  }
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "iqn: is not an iSCSI name such as iqn.2026-01.example.storage:disk1");
}

absl::Status CheckSecret(absl::string_view field, const std::string& secret) {
  if (secret.size() >= kMinSecret && secret.size() <= kMaxSecret) {
    return groups::CheckText(field, secret, kMaxSecret);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": must have ", kMinSecret, " to ", kMaxSecret, " bytes"));
}

absl::StatusOr<host::ChapCredentials> ReadCredentials(const ConnectTargetRequest& request) {
  host::ChapCredentials credentials;
  switch (request.auth_type) {
    case AuthenticationType::kNone:
      if (!request.chap_username.empty() || !request.chap_secret.empty()) {
        return absl::InvalidArgumentError(
            "auth_type: NONE goes without chap_username and chap_secret");
      }
      return credentials;
    case AuthenticationType::kOneWayChap:
      credentials.mode = host::ChapMode::kOneWay;
      break;
    case AuthenticationType::kMutualChap:
      credentials.mode = host::ChapMode::kMutual;
      break;
  }
  ABSL_RETURN_IF_ERROR(groups::CheckText("chap_username", request.chap_username, kMaxUsername));
  ABSL_RETURN_IF_ERROR(CheckSecret("chap_secret", request.chap_secret));
  credentials.username = request.chap_username;
  credentials.secret = Secret(request.chap_secret);
  return credentials;
}

class IscsiService final : public Service {
 public:
  explicit IscsiService(const groups::Deps& deps) : deps_(deps) {}

  absl::StatusOr<AddTargetPortalResponse> AddTargetPortal(
      const CallContext& context, const AddTargetPortalRequest& request) override {
    ABSL_ASSIGN_OR_RETURN(const auto portal, ReadPortal(request.target_portal));
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, portal));
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
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, portal));
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
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, request.iqn));
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
    ABSL_ASSIGN_OR_RETURN(const auto lock, Lock(context, request.iqn));
    // Asked first: an unknown target is an error, one that is not connected is not.
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

  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context,
                                           const host::IscsiPortal& portal) {
    return deps_.locks->Acquire(
        context, absl::StrCat("portal/", FoldName(portal.address), ":", portal.port));
  }
  absl::StatusOr<ResourceLocks::Lock> Lock(const CallContext& context, const std::string& iqn) {
    return deps_.locks->Acquire(context, absl::StrCat("target/", FoldName(iqn)));
  }

  const groups::Deps deps_;
};

}  // namespace

std::unique_ptr<Service> NewIscsiService(const groups::Deps& deps) {
  return std::make_unique<IscsiService>(deps);
}

}  // namespace csi_proxy::iscsi
