#include "server/host/iscsi_objects.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/names/refusals.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

constexpr cim::Association kTargetsOfPortal = {
    "MSFT_iSCSITargetToiSCSITargetPortal", "MSFT_iSCSITarget", "iSCSITarget", "iSCSITargetPortal"};
constexpr cim::Association kSessionsOfTarget = {"MSFT_iSCSITargetToiSCSISession",
                                                "MSFT_iSCSISession", "iSCSISession", "iSCSITarget"};
constexpr cim::Association kConnectionsOfTarget = {
    "MSFT_iSCSITargetToiSCSIConnection", "MSFT_iSCSIConnection", "iSCSIConnection", "iSCSITarget"};
constexpr cim::Association kConnectionsOfSession = {"MSFT_iSCSISessionToiSCSIConnection",
                                                    "MSFT_iSCSIConnection", "iSCSIConnection",
                                                    "iSCSISession"};
constexpr cim::Association kDisksOfConnection = {"MSFT_iSCSIConnectionToDisk", "MSFT_Disk", "Disk",
                                                 "iSCSIConnection"};

absl::StatusOr<std::vector<IscsiConnection>> ConnectionsOf(cim::Session& wmi,
                                                           const CallContext& context,
                                                           const cim::Object& object,
                                                           const cim::Association& association,
                                                           const std::string& iqn) {
  const std::string operation = absl::StrCat("listing the disks of target ", iqn);
  const auto objects = wmi.Associators(context, Namespace::kStorage, object.path(), association);
  if (!objects.ok()) return InitiatorError(operation, objects.status());
  std::vector<IscsiConnection> connections;
  for (const cim::Object& found : *objects) {
    IscsiConnection& connection = connections.emplace_back();
    connection.portal.address = found.GetString("TargetAddress").value_or("");
    connection.portal.port = static_cast<uint16_t>(found.GetUint32("TargetPortNumber").value_or(0));
    const auto disks =
        wmi.Associators(context, Namespace::kStorage, found.path(), kDisksOfConnection);
    if (!disks.ok()) return InitiatorError(operation, disks.status());
    for (const cim::Object& disk : *disks) {
      ABSL_ASSIGN_OR_RETURN(const auto number, disk.GetUint32("Number"));
      connection.disks.push_back(number);
    }
    std::sort(connection.disks.begin(), connection.disks.end());
  }
  return connections;
}

}  // namespace

std::string PortalText(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

absl::Status InitiatorError(absl::string_view operation, const absl::Status& status) {
  return RefusedBy(Refuser::kInitiator, Prefixed(operation, status));
}

absl::StatusOr<std::vector<cim::Object>> TargetsOf(cim::Session& wmi, const CallContext& context,
                                                   const cim::Object& portal,
                                                   absl::string_view operation) {
  auto targets = wmi.Associators(context, Namespace::kStorage, portal.path(), kTargetsOfPortal);
  if (!targets.ok()) return InitiatorError(operation, targets.status());
  return targets;
}

absl::StatusOr<std::optional<cim::Object>> FindTarget(cim::Session& wmi, const CallContext& context,
                                                      const std::string& iqn) {
  auto targets = wmi.Query(context, Namespace::kStorage,
                           cim::Query("MSFT_iSCSITarget").Where("NodeAddress", Value::String(iqn)));
  if (!targets.ok()) return InitiatorError("finding the iSCSI target", targets.status());
  for (cim::Object& target : *targets) {
    ABSL_ASSIGN_OR_RETURN(const auto address, target.GetString("NodeAddress"));
    if (EqualNames(address, iqn)) return std::move(target);
  }
  return std::nullopt;
}

absl::StatusOr<cim::Object> FindPortal(cim::Session& wmi, const CallContext& context,
                                       const IscsiPortal& portal) {
  auto portals = wmi.Query(context, Namespace::kStorage,
                           cim::Query("MSFT_iSCSITargetPortal")
                               .Where("TargetPortalAddress", Value::String(portal.address))
                               .Where("TargetPortalPortNumber", Value::Uint16(portal.port)));
  if (!portals.ok()) return InitiatorError("finding the iSCSI portal", portals.status());
  if (!portals->empty()) return std::move(portals->front());
  return absl::NotFoundError(absl::StrCat(
      "portal ", PortalText(portal),
      " is not registered, or the service MSiSCSI does not run: see `Get-Service MSiSCSI`"));
}

absl::StatusOr<cim::Object> FindTarget(cim::Session& wmi, const CallContext& context,
                                       const IscsiPortal& portal, const std::string& iqn) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(wmi, context, portal));
  ABSL_ASSIGN_OR_RETURN(auto targets, TargetsOf(wmi, context, object, "finding the iSCSI target"));
  for (cim::Object& target : targets) {
    ABSL_ASSIGN_OR_RETURN(const auto address, target.GetString("NodeAddress"));
    if (EqualNames(address, iqn)) return std::move(target);
  }
  return absl::NotFoundError(
      absl::StrCat("portal ", PortalText(portal), " offers no target ", iqn));
}

absl::StatusOr<std::vector<cim::Object>> SessionsOf(cim::Session& wmi, const CallContext& context,
                                                    const cim::Object& target,
                                                    const std::string& iqn) {
  auto sessions = wmi.Associators(context, Namespace::kStorage, target.path(), kSessionsOfTarget);
  if (sessions.ok()) return sessions;
  return InitiatorError(absl::StrCat("listing the sessions of target ", iqn), sessions.status());
}

absl::StatusOr<std::vector<cim::Object>> SessionsOf(cim::Session& wmi, const CallContext& context,
                                                    const cim::Object& target,
                                                    const std::string& iqn,
                                                    const std::set<std::string>& ids) {
  ABSL_ASSIGN_OR_RETURN(auto sessions, SessionsOf(wmi, context, target, iqn));
  std::erase_if(sessions, [&](const cim::Object& session) {
    return !ids.contains(session.GetString("SessionIdentifier").value_or(""));
  });
  return sessions;
}

absl::StatusOr<std::vector<IscsiConnection>> ConnectionsOfTarget(cim::Session& wmi,
                                                                 const CallContext& context,
                                                                 const cim::Object& target,
                                                                 const std::string& iqn) {
  return ConnectionsOf(wmi, context, target, kConnectionsOfTarget, iqn);
}

absl::StatusOr<std::vector<IscsiConnection>> ConnectionsOfSession(cim::Session& wmi,
                                                                  const CallContext& context,
                                                                  const cim::Object& session,
                                                                  const std::string& iqn) {
  return ConnectionsOf(wmi, context, session, kConnectionsOfSession, iqn);
}

}  // namespace csi_proxy::host
