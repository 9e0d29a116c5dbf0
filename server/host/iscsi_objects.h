// Finds the initiator's objects in WMI: portals, targets, sessions and connections.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/host/iscsi_host.h"
#include "server/machine/cim/session.h"

namespace csi_proxy::host {

// Returns `address:port`.
std::string PortalText(const IscsiPortal& portal);

// Returns `operation: status` with the status code and advice of RefusedBy(Refuser::kInitiator).
absl::Status InitiatorError(absl::string_view operation, const absl::Status& status);

// Returns a registered portal. NOT_FOUND if the portal is not registered.
absl::StatusOr<cim::Object> FindPortal(cim::Session& wmi, const CallContext& context,
                                       const IscsiPortal& portal);

// Returns the targets that a portal offers. `operation` begins the text of an error.
absl::StatusOr<std::vector<cim::Object>> TargetsOf(cim::Session& wmi, const CallContext& context,
                                                   const cim::Object& portal,
                                                   absl::string_view operation);

// Returns the target, or nullopt if the initiator does not know it. The target's portals need not
// be registered.
absl::StatusOr<std::optional<cim::Object>> FindTarget(cim::Session& wmi, const CallContext& context,
                                                      const std::string& iqn);
// Returns the target that a portal offers. NOT_FOUND if the portal is not registered, or does not
// offer the target.
absl::StatusOr<cim::Object> FindTarget(cim::Session& wmi, const CallContext& context,
                                       const IscsiPortal& portal, const std::string& iqn);

// Returns the sessions of a target; with `ids`, only the sessions with these ids. `iqn` is for
// errors.
absl::StatusOr<std::vector<cim::Object>> SessionsOf(cim::Session& wmi, const CallContext& context,
                                                    const cim::Object& target,
                                                    const std::string& iqn);
absl::StatusOr<std::vector<cim::Object>> SessionsOf(cim::Session& wmi, const CallContext& context,
                                                    const cim::Object& target,
                                                    const std::string& iqn,
                                                    const std::set<std::string>& ids);

absl::StatusOr<std::vector<IscsiConnection>> ConnectionsOfTarget(cim::Session& wmi,
                                                                 const CallContext& context,
                                                                 const cim::Object& target,
                                                                 const std::string& iqn);
absl::StatusOr<std::vector<IscsiConnection>> ConnectionsOfSession(cim::Session& wmi,
                                                                  const CallContext& context,
                                                                  const cim::Object& session,
                                                                  const std::string& iqn);

}  // namespace csi_proxy::host
