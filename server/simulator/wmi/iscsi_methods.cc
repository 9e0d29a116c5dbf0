// The methods of the iSCSI initiator. Failures are WBEM_E_FAILED with an error object that names an
// HRESULT with the initiator's own number
// (learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers).
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/wmi/methods.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

constexpr uint16_t kDefaultPort = 3260;

constexpr uint32_t kTargetNotFound = 0xEFFF000B;
constexpr uint32_t kMissingParameter = 0xEFFF000F;
constexpr uint32_t kInvalidSessionId = 0xEFFF001C;
constexpr uint32_t kPortalAlreadyExists = 0xEFFF0032;
constexpr uint32_t kAlreadyLoggedIn = 0xEFFF003F;
constexpr uint32_t kPortalNotFound = 0xEFFF0043;
constexpr uint32_t kInvalidSecret = 0xEFFF004A;
constexpr uint32_t kInvalidAuthType = 0xEFFF004E;

absl::Status Fail(const Call& call, uint32_t code) {
  return cim::ErrorObjectStatus(
      cim::hresult::kFailed, absl::StrCat(call.of.name, ".", call.method.name),
      cim::Object("MSFT_WmiError", "",
                  {{"MessageID", Value::String(absl::StrFormat("HRESULT 0x%08x", code))}}));
}

// Converts the status of the node's function to the method's answer. `otherwise` is the error for a
// failure without a number.
Outcome Answer(const Call& call, const absl::Status& status, uint32_t otherwise,
               cim::Properties out = {}) {
  if (status.ok()) return Done(call.method, std::move(out));
  return Fail(call, Win32CodeOf(status).value_or(otherwise));
}

// Returns the portal that the arguments name, else the portal of the called object.
IscsiPortal PortalOf(const Call& call) {
  const bool has_self = call.self.Has("TargetPortalAddress");
  IscsiPortal portal;
  portal.address = call.Has("TargetPortalAddress") || !has_self
                       ? call.Text("TargetPortalAddress")
                       : *call.self.GetString("TargetPortalAddress");
  const uint32_t port = has_self ? *call.self.GetUint32("TargetPortalPortNumber") : kDefaultPort;
  portal.port = static_cast<uint16_t>(call.Number("TargetPortalPortNumber", port));
  return portal;
}

// A target that the initiator knows, and its portal. The search compares IQNs case-sensitively.
struct KnownTarget {
  IscsiPortalState* portal;
  IscsiTarget* target;
};
std::optional<KnownTarget> FindKnownTarget(NodeState& state, const std::string& iqn) {
  for (IscsiPortalState& portal : state.iscsi_portals) {
    for (IscsiTarget& target : portal.targets) {
      if (target.iqn == iqn && (portal.registered || target.connected)) {
        return KnownTarget{&portal, &target};
      }
    }
  }
  return std::nullopt;
}

// Returns the authentication that a call requests, NONE by default, or nullopt for other text.
std::optional<ChapMode> ModeOf(const Call& call) {
  if (!call.Has("AuthenticationType")) return ChapMode::kNone;
  const std::string type = call.Text("AuthenticationType");
  if (type == "NONE") return ChapMode::kNone;
  if (type == "ONEWAYCHAP") return ChapMode::kOneWay;
  if (type == "MUTUALCHAP") return ChapMode::kMutual;
  return std::nullopt;
}

Outcome NewPortal(const Call& call) {
  if (!call.Has("TargetPortalAddress")) return Fail(call, kMissingParameter);
  const std::optional<ChapMode> mode = ModeOf(call);
  if (!mode.has_value()) return Fail(call, kInvalidAuthType);
  const IscsiPortal portal = PortalOf(call);
  const ChapCredentials credentials = {*mode, call.Text("ChapUsername"),
                                       Secret(call.Text("ChapSecret"))};
  return Answer(call, AddPortal(call.state, portal, credentials), kPortalAlreadyExists,
                {{"CreatedTargetPortal", Value::Embedded(PortalObject(portal))}});
}

Outcome RemoveThePortal(const Call& call) {
  return Answer(call, RemovePortal(call.state, PortalOf(call)), kPortalNotFound);
}

Outcome UpdatePortal(const Call& call) {
  return Answer(call, DiscoverTargets(call.state, PortalOf(call)).status(), kPortalNotFound);
}

Outcome ConnectTarget(const Call& call) {
  if (!call.Has("NodeAddress")) return Fail(call, kMissingParameter);
  const std::string iqn = call.Text("NodeAddress");
  const std::optional<KnownTarget> known = FindKnownTarget(call.state, iqn);
  if (!known.has_value()) return Fail(call, kTargetNotFound);
  const std::optional<ChapMode> mode = ModeOf(call);
  if (!mode.has_value()) return Fail(call, kInvalidAuthType);
  const IscsiPortal portal =
      call.Has("TargetPortalAddress") ? PortalOf(call) : known->portal->portal;
  const absl::Status connected = Connect(
      call.state, portal, iqn, {*mode, call.Text("ChapUsername"), Secret(call.Text("ChapSecret"))},
      call.Flag("IsMultipathEnabled"));
  if (absl::IsNotFound(connected)) return Fail(call, kTargetNotFound);
  if (!connected.ok()) return Answer(call, connected, kAlreadyLoggedIn);
  IscsiTarget& target = **FindTarget(call.state, portal, iqn);
  target.persistent = target.persistent || call.Flag("IsPersistent");
  return Done(call.method,
              {{"CreatediSCSISession", Value::Embedded(SessionObject(call.state, target))}});
}

// Returns the path to a target with the session `identifier`, or null.
IscsiTarget* FindSession(NodeState& state, const std::string& iqn, const std::string& identifier) {
  for (IscsiTarget* const way : TargetsNamed(state, iqn)) {
    if (!way->connected) continue;
    const cim::Object session = SessionObject(state, *way);
    if (*session.GetString("SessionIdentifier") == identifier) return way;
  }
  return nullptr;
}

// Disconnects one session or, without an identifier, all sessions of the target
// (learn.microsoft.com/powershell/module/iscsi/disconnect-iscsitarget).
Outcome DisconnectTarget(const Call& call) {
  const std::string iqn = *call.self.GetString("NodeAddress");
  if (!FindKnownTarget(call.state, iqn).has_value()) return Fail(call, kTargetNotFound);
  bool has_ended = false;
  for (IscsiTarget* const way : TargetsNamed(call.state, iqn)) {
    if (call.Has("SessionIdentifier") &&
        way != FindSession(call.state, iqn, call.Text("SessionIdentifier"))) {
      continue;
    }
    if (Disconnect(call.state, way).ok()) has_ended = true;
  }
  if (!has_ended) return Fail(call, kInvalidSessionId);
  return Done(call.method);
}

// Has no effect, because the list of a portal's targets is always current.
Outcome UpdateTarget(const Call& call) { return Done(call.method); }

Outcome SetPersistent(const Call& call, bool persistent) {
  IscsiTarget* const session = FindSession(call.state, *call.self.GetString("TargetNodeAddress"),
                                           *call.self.GetString("SessionIdentifier"));
  if (session == nullptr) return Fail(call, kInvalidSessionId);
  session->persistent = persistent;
  return Done(call.method);
}
Outcome RegisterSession(const Call& call) { return SetPersistent(call, true); }
Outcome UnregisterSession(const Call& call) { return SetPersistent(call, false); }

Outcome SetChapSecret(const Call& call) {
  return Answer(call, SetMutualChapSecret(call.state, Secret(call.Text("ChapSecret"))),
                kInvalidSecret);
}

constexpr Implementation kIscsiMethods[] = {
    {"MSFT_iSCSITargetPortal", "New", NewPortal},
    {"MSFT_iSCSITargetPortal", "Remove", RemoveThePortal},
    {"MSFT_iSCSITargetPortal", "Update", UpdatePortal},
    {"MSFT_iSCSITarget", "Connect", ConnectTarget},
    {"MSFT_iSCSITarget", "Disconnect", DisconnectTarget},
    {"MSFT_iSCSITarget", "Update", UpdateTarget},
    {"MSFT_iSCSISession", "Register", RegisterSession},
    {"MSFT_iSCSISession", "Unregister", UnregisterSession},
    {"MSFT_iSCSISession", "SetCHAPSecret", SetChapSecret},
};

}  // namespace

std::span<const Implementation> IscsiMethods() { return kIscsiMethods; }

}  // namespace csi_proxy::machine::simulator::wmi
