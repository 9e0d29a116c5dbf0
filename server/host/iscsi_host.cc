// The iSCSI initiator, by the MSFT_iSCSI* classes.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/base/win32_error.h"
#include "server/host/parts.h"
#include "server/machine/cim/errors.h"

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
constexpr cim::Association kDisksOfConnection = {"MSFT_iSCSIConnectionToDisk", "MSFT_Disk", "Disk",
                                                 "iSCSIConnection"};

// The initiator's answers
// (learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers) and their meaning
// to a caller. Classes and values are not documented together (doubt 19 of doubts.md), so each
// answer is looked for in both channels.
struct Meaning {
  uint32_t code;
  const char* text;
  absl::StatusCode status;
};
constexpr Meaning kMeanings[] = {
    {0xEFFF0002, "Login failed", absl::StatusCode::kFailedPrecondition},
    {0xEFFF0003, "Connection failed", absl::StatusCode::kUnavailable},
    {0xEFFF0009, "Authentication failed", absl::StatusCode::kFailedPrecondition},
    {0xEFFF000A, "Authorization failed", absl::StatusCode::kFailedPrecondition},
    {0xEFFF000B, "Target not found", absl::StatusCode::kNotFound},
    {0xEFFF000C, "Target removed", absl::StatusCode::kNotFound},
    {0xEFFF0013, "Service unavailable", absl::StatusCode::kUnavailable},
    {0xEFFF0014, "Out of resources", absl::StatusCode::kResourceExhausted},
    {0xEFFF0015, "Connection exists already", absl::StatusCode::kAlreadyExists},
    {0xEFFF0016, "Session exists already", absl::StatusCode::kAlreadyExists},
    {0xEFFF001C, "Session not found", absl::StatusCode::kNotFound},
    {0xEFFF0032, "Portal exists already", absl::StatusCode::kAlreadyExists},
    {0xEFFF003F, "Target already logged in", absl::StatusCode::kAlreadyExists},
    {0xEFFF0040, "A disk of the session is in use", absl::StatusCode::kFailedPrecondition},
    {0xEFFF0043, "Portal not found", absl::StatusCode::kNotFound},
};

absl::Status Interpret(const absl::Status& status, uint32_t code, absl::string_view operation) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code != code) continue;
    return absl::Status(meaning.status, absl::StrCat(operation, " failed: ", meaning.text, " (0x",
                                                     absl::Hex(code), ")"));
  }
  return status;
}

std::string PortalText(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

const char* AuthenticationType(ChapMode mode) {
  switch (mode) {
    case ChapMode::kNone:
      return "NONE";
    case ChapMode::kOneWay:
      return "ONEWAYCHAP";
    case ChapMode::kMutual:
      return "MUTUALCHAP";
  }
  return "NONE";
}

cim::Arguments PortalArguments(const IscsiPortal& portal) {
  return {{"TargetPortalAddress", Value::String(portal.address)},
          {"TargetPortalPortNumber", Value::Uint16(portal.port)}};
}

class WindowsIscsi final : public IscsiHost {
 public:
  explicit WindowsIscsi(const Parts& parts) : wmi_(*parts.wmi), warn_(parts.warn) {}

  absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context) override {
    const auto objects =
        wmi_.Query(context, Namespace::kStorage, cim::Query("MSFT_iSCSITargetPortal"));
    if (!objects.ok()) return Prefixed("listing iSCSI portals", objects.status());
    std::vector<IscsiPortal> portals;
    for (const cim::Object& object : *objects) {
      auto address = object.GetString("TargetPortalAddress");
      const auto port = object.GetUint32("TargetPortalPortNumber");
      if (!address.ok()) return address.status();
      if (!port.ok()) return port.status();
      portals.push_back({*std::move(address), static_cast<uint16_t>(*port)});
    }
    return portals;
  }

  absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal) override {
    const absl::StatusOr<cim::Object> existing = FindPortal(context, portal);
    if (existing.ok()) {
      return absl::AlreadyExistsError(
          absl::StrCat("portal ", PortalText(portal), " is registered"));
    }
    if (!absl::IsNotFound(existing.status())) return existing.status();
    return Invoke(context, "MSFT_iSCSITargetPortal", "New", PortalArguments(portal),
                  absl::StrCat("registering portal ", PortalText(portal)));
  }

  absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal) override {
    ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(context, portal));
    // The port is not a part of the object's path, so it is given.
    return Invoke(context, object.path(), "Remove", PortalArguments(portal),
                  absl::StrCat("removing portal ", PortalText(portal)));
  }

  absl::StatusOr<std::vector<std::string>> DiscoverTargets(const CallContext& context,
                                                           const IscsiPortal& portal) override {
    ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(context, portal));
    // Best effort: the targets that the initiator knows already may be enough.
    const absl::Status updated =
        Invoke(context, object.path(), "Update", PortalArguments(portal),
               absl::StrCat("asking portal ", PortalText(portal), " for its targets"));
    ABSL_RETURN_IF_ERROR(context.Check());
    if (!updated.ok()) {
      RecordFallback(Fallback::kPortalNotUpdated, updated.message());
      warn_(updated.message());
    }
    const auto targets =
        wmi_.Associators(context, Namespace::kStorage, object.path(), kTargetsOfPortal);
    if (!targets.ok()) return Prefixed("listing iSCSI targets", targets.status());
    std::vector<std::string> iqns;
    for (const cim::Object& target : *targets) {
      ABSL_ASSIGN_OR_RETURN(auto iqn, target.GetString("NodeAddress"));
      iqns.push_back(std::move(iqn));
    }
    return iqns;
  }

  absl::StatusOr<bool> IsConnected(const CallContext& context, const IscsiPortal& portal,
                                   const std::string& iqn) override {
    ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(context, portal, iqn));
    return target.GetBoolean("IsConnected");
  }

  absl::Status Connect(const CallContext& context, const IscsiPortal& portal,
                       const std::string& iqn, const ChapCredentials& credentials) override {
    ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(context, portal, iqn));
    ABSL_ASSIGN_OR_RETURN(const auto connected, target.GetBoolean("IsConnected"));
    if (connected) return absl::AlreadyExistsError(absl::StrCat("target ", iqn, " is connected"));
    cim::Arguments arguments = PortalArguments(portal);
    // Spelled as the target does: the initiator compares case-sensitively.
    ABSL_ASSIGN_OR_RETURN(const auto address, target.Get("NodeAddress"));
    arguments["NodeAddress"] = address;
    arguments["AuthenticationType"] = Value::String(AuthenticationType(credentials.mode));
    // Credentials that are not given are left out, not sent as empty strings.
    if (!credentials.username.empty()) {
      arguments["ChapUsername"] = Value::String(credentials.username);
    }
    if (!credentials.secret.empty()) {
      arguments["ChapSecret"] = Value::String(credentials.secret.Reveal());
    }
    return Invoke(context, "MSFT_iSCSITarget", "Connect", arguments,
                  absl::StrCat("connecting target ", iqn));
  }

  absl::Status Disconnect(const CallContext& context, const IscsiPortal& portal,
                          const std::string& iqn) override {
    ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(context, portal, iqn));
    const std::string operation = absl::StrCat("disconnecting target ", iqn);
    const auto sessions =
        wmi_.Associators(context, Namespace::kStorage, target.path(), kSessionsOfTarget);
    if (!sessions.ok()) return Prefixed(operation, sessions.status());
    if (sessions->empty()) {
      return absl::NotFoundError(absl::StrCat("target ", iqn, " is not connected"));
    }
    for (const cim::Object& session : *sessions) {
      const auto persistent = session.GetBoolean("IsPersistent");
      const auto identifier = session.Get("SessionIdentifier");
      if (!persistent.ok()) return persistent.status();
      if (!identifier.ok()) return identifier.status();
      // Else the initiator would log in again at the next start.
      if (*persistent) {
        absl::Status status = Invoke(context, session.path(), "Unregister", {}, operation);
        if (!status.ok()) return status;
      }
      absl::Status status = Invoke(context, target.path(), "Disconnect",
                                   {{"SessionIdentifier", *identifier}}, operation);
      if (status.ok()) continue;
      // The session stays, and so it is to return at the next start.
      if (*persistent && !Invoke(context, session.path(), "Register", {}, operation).ok()) {
        warn_(absl::StrCat("the session with target ", iqn, " will not return at the next start"));
      }
      return status;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<uint32_t>> GetTargetDisks(const CallContext& context,
                                                       const IscsiPortal& portal,
                                                       const std::string& iqn) override {
    ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(context, portal, iqn));
    ABSL_ASSIGN_OR_RETURN(const auto connected, target.GetBoolean("IsConnected"));
    if (!connected) return std::vector<uint32_t>();
    const std::string operation = absl::StrCat("listing the disks of target ", iqn);
    const auto connections =
        wmi_.Associators(context, Namespace::kStorage, target.path(), kConnectionsOfTarget);
    if (!connections.ok()) return Prefixed(operation, connections.status());
    std::vector<uint32_t> numbers;
    for (const cim::Object& connection : *connections) {
      const auto disks =
          wmi_.Associators(context, Namespace::kStorage, connection.path(), kDisksOfConnection);
      if (!disks.ok()) return Prefixed(operation, disks.status());
      for (const cim::Object& disk : *disks) {
        ABSL_ASSIGN_OR_RETURN(const auto number, disk.GetUint32("Number"));
        numbers.push_back(number);
      }
    }
    // Several connections of a session lead to the same disks.
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret) override {
    return Invoke(context, "MSFT_iSCSISession", "SetCHAPSecret",
                  {{"ChapSecret", Value::String(secret.Reveal())}},
                  "setting the mutual CHAP secret");
  }

 private:
  absl::Status Invoke(const CallContext& context, const std::string& path,
                      const std::string& method, const cim::Arguments& arguments,
                      const std::string& operation) {
    // The initiator asks the portal or the target, which may be dead.
    context.LeavePlace();
    const auto result = wmi_.Invoke(context, Namespace::kStorage, path, method, arguments);
    if (!result.ok()) {
      return Interpret(Prefixed(operation, result.status()),
                       cim::HresultOf(result.status()).value_or(0), operation);
    }
    return Interpret(cim::OpaqueStatus(operation, *result), result->return_value, operation);
  }

  absl::StatusOr<cim::Object> FindPortal(const CallContext& context, const IscsiPortal& portal) {
    auto portals = wmi_.Query(context, Namespace::kStorage,
                              cim::Query("MSFT_iSCSITargetPortal")
                                  .Where("TargetPortalAddress", Value::String(portal.address))
                                  .Where("TargetPortalPortNumber", Value::Uint16(portal.port)));
    if (!portals.ok()) return Prefixed("finding the iSCSI portal", portals.status());
    if (!portals->empty()) return std::move(portals->front());
    return absl::NotFoundError(absl::StrCat("portal ", PortalText(portal), " is not registered"));
  }

  absl::StatusOr<cim::Object> FindTarget(const CallContext& context, const IscsiPortal& portal,
                                         const std::string& iqn) {
    ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(context, portal));
    auto targets = wmi_.Associators(context, Namespace::kStorage, object.path(), kTargetsOfPortal);
    if (!targets.ok()) return Prefixed("finding the iSCSI target", targets.status());
    for (cim::Object& target : *targets) {
      ABSL_ASSIGN_OR_RETURN(const auto address, target.GetString("NodeAddress"));
      if (absl::EqualsIgnoreCase(address, iqn)) return std::move(target);
    }
    return absl::NotFoundError(
        absl::StrCat("portal ", PortalText(portal), " offers no target ", iqn));
  }

  cim::Session& wmi_;
  const std::function<void(absl::string_view)> warn_;
};

}  // namespace

std::unique_ptr<IscsiHost> NewIscsiHost(const Parts& parts) {
  return std::make_unique<WindowsIscsi>(parts);
}

}  // namespace csi_proxy::host
