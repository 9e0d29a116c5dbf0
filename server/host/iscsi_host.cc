// Controls the iSCSI initiator through the MSFT_iSCSI* classes of WMI.
#include "server/host/iscsi_host.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/host/iscsi_authentication.h"
#include "server/host/iscsi_objects.h"
#include "server/host/mount_point.h"
#include "server/machine/cim/errors.h"
#include "server/names/refusals.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"

namespace csi_proxy::host {
namespace {

using cim::Namespace;
using cim::Value;

// The time to make a session persistent again after it could not be ended.
constexpr absl::Duration kToUndo = absl::Seconds(10);

cim::Arguments PortalArguments(const IscsiPortal& portal) {
  return {{"TargetPortalAddress", Value::String(portal.address)},
          {"TargetPortalPortNumber", Value::Uint16(portal.port)}};
}

absl::Status Invoke(cim::Session& wmi, const CallContext& context, const std::string& path,
                    const std::string& method, const cim::Arguments& arguments,
                    const std::string& operation, cim::Object* out = nullptr) {
  auto result = wmi.Invoke(context, Namespace::kStorage, path, method, arguments);
  if (!result.ok()) return InitiatorError(operation, result.status());
  if (out != nullptr) *out = std::move(result->out);
  return RefusedBy(Refuser::kInitiator, cim::ReturnValueStatus(operation, *result));
}

absl::Status Update(cim::Session& wmi, const CallContext& context, const cim::Object& object,
                    const IscsiPortal& portal) {
  return Invoke(wmi, context, object.path(), "Update", PortalArguments(portal),
                absl::StrCat("asking portal ", PortalText(portal), " for its targets"));
}

std::string PortalName(const IscsiPortal& portal) {
  return absl::StrCat("portal ", PortalText(portal));
}
// Returns DetachedRuns' name of a portal, the same in upper and lower case.
std::string PortalObject(const IscsiPortal& portal) {
  return absl::AsciiStrToLower(FoldName(PortalName(portal)));
}

// Returns DetachedRuns' name of the logins at a target.
std::string LoginsName(const std::string& iqn) {
  return absl::StrCat("a login at target ", FoldName(iqn));
}

// Opens a session. Returns its id, or "" if the method does not return the id.
absl::StatusOr<std::string> LogIn(cim::Session& wmi, DetachedRuns& setups,
                                  const CallContext& context, const IscsiPortal& portal,
                                  const cim::Object& target, const ChapCredentials& credentials,
                                  const SessionOptions& options) {
  cim::Arguments arguments = PortalArguments(portal);
  // Uses the target's own spelling, because the initiator compares case-sensitively.
  ABSL_ASSIGN_OR_RETURN(const auto iqn, target.GetString("NodeAddress"));
  arguments["NodeAddress"] = Value::String(iqn);
  AddAuthentication(credentials, &arguments);
  // Omits the digests and the report to Plug and Play, so that they get the cmdlet's defaults
  // (learn.microsoft.com/powershell/module/iscsi/connect-iscsitarget).
  arguments["IsPersistent"] = Value::Boolean(options.is_persistent);
  arguments["IsMultipathEnabled"] = Value::Boolean(options.allow_multipath);
  const auto id = std::make_shared<std::string>();
  ABSL_RETURN_IF_ERROR(setups.Run(
      context, {LoginsName(iqn)},
      [&wmi, arguments = std::move(arguments), iqn, id](const CallContext& run) -> absl::Status {
        cim::Object out;
        ABSL_RETURN_IF_ERROR(Invoke(wmi, run, "MSFT_iSCSITarget", "Connect", arguments,
                                    absl::StrCat("connecting target ", iqn), &out));
        const auto session = out.Get("CreatediSCSISession");
        const auto object = session.ok() ? session->AsObject() : session.status();
        if (object.ok()) *id = object->GetString("SessionIdentifier").value_or("");
        return absl::OkStatus();
      }));
  return *id;
}

// Returns DetachedRuns' name of a target's sessions.
std::string SessionsName(const std::string& iqn) {
  return absl::StrCat("the sessions with target ", FoldName(iqn));
}

// Returns true if the target no longer has the session, because another program ended it.
bool HasEnded(cim::Session& wmi, const CallContext& context, const cim::Object& target,
              const std::string& iqn, const cim::Object& session) {
  const auto sessions =
      SessionsOf(wmi, context, target, iqn, {session.GetString("SessionIdentifier").value_or("")});
  return sessions.ok() ? sessions->empty() : absl::IsNotFound(sessions.status());
}

absl::Status End(cim::Session& wmi, const LineFunction& warn, const CallContext& context,
                 const std::string& iqn, const cim::Object& target,
                 const std::vector<cim::Object>& sessions) {
  const std::string operation = absl::StrCat("disconnecting target ", iqn);
  for (const cim::Object& session : sessions) {
    ABSL_ASSIGN_OR_RETURN(const auto persistent, session.GetBoolean("IsPersistent"));
    ABSL_ASSIGN_OR_RETURN(const auto identifier, session.Get("SessionIdentifier"));
    // Unregisters a persistent session first; otherwise the initiator would open it again at the
    // next start.
    absl::Status status;
    if (persistent) status = Invoke(wmi, context, session.path(), "Unregister", {}, operation);
    const bool is_unregistered = persistent && status.ok();
    if (status.ok()) {
      status = Invoke(wmi, context, target.path(), "Disconnect",
                      {{"SessionIdentifier", identifier}}, operation);
    }
    if (status.ok()) continue;
    if (absl::IsNotFound(status) && HasEnded(wmi, context, target, iqn, session)) continue;
    // The session has not ended, so the initiator must open it again at the next start.
    if (is_unregistered &&
        !Invoke(wmi, context.Afterwards(kToUndo), session.path(), "Register", {}, operation).ok()) {
      warn(absl::StrCat("the session with target ", iqn,
                        " is no longer persistent: the next start does not restore it"));
    }
    return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListTargets(cim::Session& wmi, const CallContext& context,
                                                     const cim::Object& portal,
                                                     bool connected_only) {
  ABSL_ASSIGN_OR_RETURN(const auto targets,
                        TargetsOf(wmi, context, portal, "listing iSCSI targets"));
  std::vector<std::string> iqns;
  for (const cim::Object& target : targets) {
    ABSL_ASSIGN_OR_RETURN(auto iqn, target.GetString("NodeAddress"));
    ABSL_ASSIGN_OR_RETURN(const auto connected,
                          connected_only ? target.GetBoolean("IsConnected") : true);
    if (connected) iqns.push_back(std::move(iqn));
  }
  return iqns;
}

}  // namespace

absl::StatusOr<std::vector<IscsiPortal>> IscsiHost::ListPortals(const CallContext& context) {
  const auto objects =
      wmi_.Query(context, Namespace::kStorage, cim::Query("MSFT_iSCSITargetPortal"));
  if (!objects.ok()) return InitiatorError("listing iSCSI portals", objects.status());
  std::vector<IscsiPortal> portals;
  for (const cim::Object& object : *objects) {
    ABSL_ASSIGN_OR_RETURN(auto address, object.GetString("TargetPortalAddress"));
    ABSL_ASSIGN_OR_RETURN(const auto port, object.GetUint32("TargetPortalPortNumber"));
    portals.push_back({std::move(address), static_cast<uint16_t>(port)});
  }
  return portals;
}

absl::Status IscsiHost::AddPortal(const CallContext& context, const IscsiPortal& portal,
                                  const ChapCredentials& credentials) {
  const std::string name = PortalName(portal);
  ABSL_RETURN_IF_ERROR(changes_.Await(context, PortalObject(portal)));
  const absl::StatusOr<cim::Object> existing = FindPortal(wmi_, context, portal);
  if (existing.ok()) return absl::AlreadyExistsError(absl::StrCat(name, " is registered"));
  if (!absl::IsNotFound(existing.status())) return existing.status();
  const std::string operation = absl::StrCat("registering ", name);
  cim::Arguments arguments = PortalArguments(portal);
  const absl::Status added =
      Invoke(wmi_, context, "MSFT_iSCSITargetPortal", "New", arguments, operation);
  if (credentials.mode == ChapMode::kNone || !AsksForCredentials(added)) return added;
  AddAuthentication(credentials, &arguments);
  return Invoke(wmi_, context, "MSFT_iSCSITargetPortal", "New", arguments, operation);
}

absl::Status IscsiHost::RemovePortal(const CallContext& context, const IscsiPortal& portal) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(wmi_, context, portal));
  const std::string name = PortalName(portal);
  return changes_.Run(context, {PortalObject(portal)},
                      [&wmi = wmi_, path = object.path(), portal, name](const CallContext& run) {
                        // The port must be an argument, because the object's path lacks it.
                        return Invoke(wmi, run, path, "Remove", PortalArguments(portal),
                                      absl::StrCat("removing ", name));
                      });
}

absl::Status IscsiHost::RefreshPortal(const CallContext& context, const IscsiPortal& portal) {
  ABSL_RETURN_IF_ERROR(changes_.Await(context, PortalObject(portal)));
  return refreshes_.Get(
      PortalText(portal), context, [this, portal](const CallContext& run) -> absl::Status {
        ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(wmi_, run, portal));
        return Update(wmi_, run, object, portal);
      });
}

absl::StatusOr<std::vector<std::string>> IscsiHost::DiscoverTargets(const CallContext& context,
                                                                    const IscsiPortal& portal) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(wmi_, context, portal));
  // Continues on failure: the targets that the initiator already lists may be enough.
  const absl::Status updated = Update(wmi_, context, object, portal);
  ABSL_RETURN_IF_ERROR(context.Check());
  if (!updated.ok()) {
    // Codes other than these three come from a portal that is out of reach, is busy or requires
    // other credentials.
    const bool is_windows = absl::IsInternal(updated) || absl::IsInvalidArgument(updated) ||
                            absl::IsUnimplemented(updated);
    RecordFallback(is_windows ? Fallback::kPortalNotUpdated : Fallback::kPortalRefuses,
                   updated.message());
    warn_(updated.message());
  }
  return ListTargets(wmi_, context, object, false);
}

absl::StatusOr<std::vector<std::string>> IscsiHost::ListConnected(const CallContext& context,
                                                                  const IscsiPortal& portal) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object object, FindPortal(wmi_, context, portal));
  return ListTargets(wmi_, context, object, true);
}

absl::StatusOr<bool> IscsiHost::IsConnected(const CallContext& context, const IscsiPortal& portal,
                                            const std::string& iqn) {
  // A login whose caller has left may still connect the target.
  const absl::Status awaited = AwaitLogins(TeardownStep(context), iqn);
  ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(wmi_, context, portal, iqn));
  ABSL_ASSIGN_OR_RETURN(const auto connected, target.GetBoolean("IsConnected"));
  if (!connected && !awaited.ok()) return awaited;
  return connected;
}

absl::Status IscsiHost::Connect(const CallContext& context, const IscsiPortal& portal,
                                const std::string& iqn, const ChapCredentials& credentials) {
  ABSL_RETURN_IF_ERROR(AwaitEnds(context, iqn));
  ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(wmi_, context, portal, iqn));
  ABSL_ASSIGN_OR_RETURN(const auto connected, target.GetBoolean("IsConnected"));
  if (connected) return absl::AlreadyExistsError(absl::StrCat("target ", iqn, " is connected"));
  return LogIn(wmi_, setups_, context, portal, target, credentials, {}).status();
}

absl::StatusOr<std::string> IscsiHost::OpenSession(const CallContext& context,
                                                   const IscsiPortal& portal,
                                                   const std::string& iqn,
                                                   const ChapCredentials& credentials,
                                                   const SessionOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto target, FindTarget(wmi_, context, iqn));
  if (target.has_value()) {
    return LogIn(wmi_, setups_, context, portal, *target, credentials, options);
  }
  return absl::NotFoundError(absl::StrCat("no portal offers target ", iqn));
}

absl::StatusOr<std::vector<IscsiSession>> IscsiHost::GetSessions(const CallContext& context,
                                                                 const std::string& iqn) {
  std::vector<IscsiSession> sessions;
  ABSL_ASSIGN_OR_RETURN(const auto target, FindTarget(wmi_, context, iqn));
  if (!target.has_value()) return sessions;
  ABSL_ASSIGN_OR_RETURN(const auto objects, SessionsOf(wmi_, context, *target, iqn));
  for (const cim::Object& object : objects) {
    IscsiSession& session = sessions.emplace_back();
    ABSL_ASSIGN_OR_RETURN(session.id, object.GetString("SessionIdentifier"));
    session.chap = ReadAuthenticationType(object.GetString("AuthenticationType").value_or(""));
    ABSL_ASSIGN_OR_RETURN(session.is_persistent, object.GetBoolean("IsPersistent"));
    ABSL_ASSIGN_OR_RETURN(session.connections, ConnectionsOfSession(wmi_, context, object, iqn));
  }
  return sessions;
}

absl::Status IscsiHost::MakePersistent(const CallContext& context, const std::string& iqn,
                                       const std::set<std::string>& ids,
                                       const ChapCredentials& credentials, bool allow_multipath) {
  ABSL_ASSIGN_OR_RETURN(const auto target, FindTarget(wmi_, context, iqn));
  if (!target.has_value()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const auto sessions, SessionsOf(wmi_, context, *target, iqn, ids));
  for (const cim::Object& session : sessions) {
    ABSL_ASSIGN_OR_RETURN(const auto persistent, session.GetBoolean("IsPersistent"));
    // If a session is registered twice, Windows opens it twice at the next start
    // (learn.microsoft.com/powershell/module/iscsi/register-iscsisession).
    if (persistent) continue;
    cim::Arguments arguments = {{"IsMultipathEnabled", Value::Boolean(allow_multipath)}};
    AddCredentials(credentials, &arguments);
    ABSL_RETURN_IF_ERROR(
        Invoke(wmi_, context, session.path(), "Register", arguments,
               absl::StrCat("making the session with target ", iqn, " persistent")));
  }
  return absl::OkStatus();
}

absl::Status IscsiHost::EndSessions(const CallContext& context, const std::string& iqn,
                                    const std::set<std::string>& ids,
                                    const std::set<uint32_t>& disks) {
  ABSL_ASSIGN_OR_RETURN(const auto target, FindTarget(wmi_, context, iqn));
  if (!target.has_value()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const auto sessions, SessionsOf(wmi_, context, *target, iqn, ids));
  return EndAll(context, iqn, *target, sessions, disks);
}

absl::Status IscsiHost::Disconnect(const CallContext& context, const IscsiPortal& portal,
                                   const std::string& iqn) {
  const absl::Status awaited = AwaitLogins(TeardownStep(context), iqn);
  ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(wmi_, context, portal, iqn));
  ABSL_ASSIGN_OR_RETURN(const auto sessions, SessionsOf(wmi_, context, target, iqn));
  if (sessions.empty()) {
    ABSL_RETURN_IF_ERROR(awaited);
    return absl::NotFoundError(absl::StrCat("target ", iqn, " is not connected"));
  }
  return EndAll(context, iqn, target, sessions, {});
}

absl::Status IscsiHost::AwaitEnds(const CallContext& context, const std::string& iqn) {
  return changes_.Await(context, SessionsName(iqn));
}

absl::Status IscsiHost::AwaitLogins(const CallContext& context, const std::string& iqn) {
  return setups_.Await(context, LoginsName(iqn), DetachedRuns::Whose::kLeftOfTenant);
}

absl::Status IscsiHost::EndAll(const CallContext& context, const std::string& iqn,
                               const cim::Object& target, const std::vector<cim::Object>& sessions,
                               const std::set<uint32_t>& disks) {
  std::vector<std::string> objects = {SessionsName(iqn)};
  for (const uint32_t disk : disks) objects.push_back(DiskName(disk));
  return changes_.Run(context, std::move(objects),
                      [&wmi = wmi_, warn = warn_, iqn, target, sessions](const CallContext& run) {
                        return End(wmi, warn, run, iqn, target, sessions);
                      });
}

absl::StatusOr<std::vector<uint32_t>> IscsiHost::GetTargetDisks(const CallContext& context,
                                                                const IscsiPortal& portal,
                                                                const std::string& iqn) {
  ABSL_ASSIGN_OR_RETURN(const cim::Object target, FindTarget(wmi_, context, portal, iqn));
  ABSL_ASSIGN_OR_RETURN(const auto connected, target.GetBoolean("IsConnected"));
  if (!connected) return std::vector<uint32_t>();
  ABSL_ASSIGN_OR_RETURN(const auto connections, ConnectionsOfTarget(wmi_, context, target, iqn));
  std::vector<uint32_t> numbers;
  for (const IscsiConnection& connection : connections) {
    numbers.insert(numbers.end(), connection.disks.begin(), connection.disks.end());
  }
  // Several connections of a session show the same disks.
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

absl::Status IscsiHost::SetMutualChapSecret(const CallContext& context, const Secret& secret) {
  return Invoke(wmi_, context, "MSFT_iSCSISession", "SetCHAPSecret",
                {{"ChapSecret", Value::String(secret.Reveal())}}, "setting the mutual CHAP secret");
}

bool IsInitiatorStopped(const absl::Status& status) {
  return HasWin32Code(status, win32_error::kServiceNotActive) ||
         cim::HresultOf(status) == 0xEFFF003E;  // ISDSC_SERVICE_NOT_RUNNING
}

bool IscsiConnection::Shows(uint32_t disk) const { return std::ranges::binary_search(disks, disk); }

bool IscsiSession::Shows(uint32_t disk) const {
  return std::ranges::any_of(connections, [&](const auto& one) { return one.Shows(disk); });
}

}  // namespace csi_proxy::host
