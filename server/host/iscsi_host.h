// The operations of a node as an iSCSI initiator.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "server/base/secret.h"
#include "server/host/host_deps.h"

namespace csi_proxy::host {

// An address and a TCP port, 1 to 65535.
struct IscsiPortal {
  std::string address;
  uint16_t port = 3260;
  friend auto operator<=>(const IscsiPortal&, const IscsiPortal&) = default;
};

enum class ChapMode { kNone, kOneWay, kMutual };

struct ChapCredentials {
  ChapMode mode = ChapMode::kNone;
  std::string username;
  Secret secret;
};

// A connection of a session: one path to the target's disks.
struct IscsiConnection {
  // The portal, with its address in Windows' spelling.
  IscsiPortal portal;
  // The numbers of the disks, sorted.
  std::vector<uint32_t> disks;

  // Returns true if the connection shows the disk.
  bool Shows(uint32_t disk) const;
};

// A session with a target.
struct IscsiSession {
  // Windows' identifier of the session.
  std::string id;
  // The authentication of the session's login; unset if Windows reports an unknown one. Windows
  // reports neither the user name nor the secret
  // (learn.microsoft.com/previous-versions/windows/desktop/iscsidisc/msft-iscsisession).
  std::optional<ChapMode> chap;
  // True if Windows opens the session again after a restart of the node.
  bool is_persistent = false;
  std::vector<IscsiConnection> connections;

  // Returns true if a connection shows the disk.
  bool Shows(uint32_t disk) const;
};

// Returns true if a call failed because the initiator's service does not run.
bool IsInitiatorStopped(const absl::Status& status);

struct SessionOptions {
  // If true, Windows opens the session again after a restart of the node.
  bool is_persistent = false;
  // If true, the target may have other sessions, so that MPIO can use them as paths to one disk.
  bool allow_multipath = false;
};

// Thread-safe. IQNs are compared case-insensitively. A refusal by Windows keeps its error, and has
// the status code and advice of names/refusals.h.
class IscsiHost {
 public:
  explicit IscsiHost(const HostDeps& deps)
      : wmi_(*deps.wmi), changes_(*deps.changes), setups_(*deps.setups), warn_(deps.warn) {}

  absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context);
  // Registers a portal. First waits for any RemovePortal() of it. Uses the credentials only if the
  // portal requires them. ALREADY_EXISTS if the portal is registered, UNAVAILABLE if it does not
  // answer.
  absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal,
                         const ChapCredentials& credentials = {});
  // Removes a portal. NOT_FOUND if it is not registered.
  absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal);
  // Queries a registered portal again for its targets. UNAVAILABLE if it does not answer, NOT_FOUND
  // if it is not registered.
  absl::Status RefreshPortal(const CallContext& context, const IscsiPortal& portal);
  // Returns the IQNs that a portal offers after a new query. If the query fails, logs that and
  // returns the IQNs known from earlier. NOT_FOUND if the portal is not registered.
  absl::StatusOr<std::vector<std::string>> DiscoverTargets(const CallContext& context,
                                                           const IscsiPortal& portal);

  // Returns true if the target is connected. IsConnected(), Connect(), Disconnect() and
  // GetTargetDisks() return NOT_FOUND unless the portal is registered and offers the target.
  absl::StatusOr<bool> IsConnected(const CallContext& context, const IscsiPortal& portal,
                                   const std::string& iqn);
  // Waits until no Disconnect() or EndSessions() of the target is under way, not even one that its
  // caller has left. Until then a session may end at any time.
  absl::Status AwaitEnds(const CallContext& context, const std::string& iqn);
  // Waits for the end of each Connect() or OpenSession() that a caller of the same tenant has left.
  // Until then another session of the tenant may begin.
  absl::Status AwaitLogins(const CallContext& context, const std::string& iqn);
  // Connects the target after AwaitEnds(). FAILED_PRECONDITION if authentication fails,
  // ALREADY_EXISTS if connected.
  absl::Status Connect(const CallContext& context, const IscsiPortal& portal,
                       const std::string& iqn, const ChapCredentials& credentials);
  // Ends all sessions of the target, over any portal. First calls AwaitLogins() with the context
  // TeardownStep(). NOT_FOUND, or the error of AwaitLogins(), if the target has no session.
  absl::Status Disconnect(const CallContext& context, const IscsiPortal& portal,
                          const std::string& iqn);
  // Returns the disk numbers of a target, sorted; empty if it is not connected.
  absl::StatusOr<std::vector<uint32_t>> GetTargetDisks(const CallContext& context,
                                                       const IscsiPortal& portal,
                                                       const std::string& iqn);

  // Of the next four methods only OpenSession() needs a registered portal.
  //
  // Returns the sessions with the target, over any portal. Empty if the initiator does not know the
  // target.
  absl::StatusOr<std::vector<IscsiSession>> GetSessions(const CallContext& context,
                                                        const std::string& iqn);
  // Opens a session, without AwaitEnds(). Returns the session's id, or "" if Windows does not
  // report it. NOT_FOUND if no portal offers the target, FAILED_PRECONDITION if authentication
  // fails. ALREADY_EXISTS if the target has a session; with `allow_multipath`, only if it has one
  // over this portal.
  absl::StatusOr<std::string> OpenSession(const CallContext& context, const IscsiPortal& portal,
                                          const std::string& iqn,
                                          const ChapCredentials& credentials,
                                          const SessionOptions& options);
  // Makes the target's sessions with these ids persistent, with these credentials and with
  // `allow_multipath`. Skips sessions that are persistent or have ended.
  absl::Status MakePersistent(const CallContext& context, const std::string& iqn,
                              const std::set<std::string>& ids, const ChapCredentials& credentials,
                              bool allow_multipath);
  // Ends the target's sessions with these ids and makes them non-persistent. Skips ended sessions.
  // FAILED_PRECONDITION if a disk of such a session is in use. `disks` are the sessions' disks:
  // DiskHost::AwaitChanges() of each disk waits for this call's end, even if its caller has left.
  absl::Status EndSessions(const CallContext& context, const std::string& iqn,
                           const std::set<std::string>& ids, const std::set<uint32_t>& disks = {});
  // Lists the connected targets of a portal. NOT_FOUND if the portal is not registered.
  absl::StatusOr<std::vector<std::string>> ListConnected(const CallContext& context,
                                                         const IscsiPortal& portal);

  // Sets the secret of 12 to 16 bytes that targets must present for ChapMode::kMutual.
  absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret);

  // The runs that refresh portals, by portal.
  SharedRuns<absl::Status>& refreshes() { return refreshes_; }

 private:
  // Ends the sessions of a target in one run.
  absl::Status EndAll(const CallContext& context, const std::string& iqn, const cim::Object& target,
                      const std::vector<cim::Object>& sessions, const std::set<uint32_t>& disks);

  cim::Session& wmi_;
  DetachedRuns& changes_;
  DetachedRuns& setups_;
  SharedRuns<absl::Status> refreshes_;  // by portal
  const LineFunction warn_;
};

}  // namespace csi_proxy::host
