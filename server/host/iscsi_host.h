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
#include "server/base/secret.h"

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

// A connection of a session, which is a way to the target's disks.
struct IscsiConnection {
  // Windows' spelling of its address.
  IscsiPortal portal;
  // Ascending.
  std::vector<uint32_t> disks;

  // Returns true if the connection shows the disk.
  bool Shows(uint32_t disk) const;
};

// A session with a target.
struct IscsiSession {
  // Windows' identifier of the session.
  std::string id;
  // The authentication by which it logged in. Unset if Windows names none that is known here.
  // Windows shows neither the user name nor the secret
  // (learn.microsoft.com/previous-versions/windows/desktop/iscsidisc/msft-iscsisession).
  std::optional<ChapMode> chap;
  // Windows opens the session again at its next start.
  bool is_persistent = false;
  std::vector<IscsiConnection> connections;

  // Returns true if a connection shows the disk.
  bool Shows(uint32_t disk) const;
};

struct SessionOptions {
  // Windows opens the session again at its next start.
  bool is_persistent = false;
  // It is opened although there is another (MPIO is to show one disk for both).
  bool allow_multipath = false;
};

// Thread-safe. An IQN is compared without case. INTERNAL with Windows' error when the node refuses.
class IscsiHost {
 public:
  virtual ~IscsiHost() = default;

  virtual absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context) = 0;
  // ALREADY_EXISTS when registered; UNAVAILABLE when nothing answers there. The portal is given the
  // credentials only if it asks for some.
  virtual absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal,
                                 const ChapCredentials& credentials = {}) = 0;
  // NOT_FOUND when not registered.
  virtual absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal) = 0;
  // Asks a registered portal anew for the targets it offers. UNAVAILABLE when it does not answer;
  // NOT_FOUND when not registered.
  virtual absl::Status RefreshPortal(const CallContext& context, const IscsiPortal& portal) = 0;
  // The IQNs a registered portal offers, after asking it anew; those it is known to offer when it
  // does not answer. NOT_FOUND when not registered.
  virtual absl::StatusOr<std::vector<std::string>> DiscoverTargets(const CallContext& context,
                                                                   const IscsiPortal& portal) = 0;

  // NOT_FOUND when the portal does not offer the target.
  virtual absl::StatusOr<bool> IsConnected(const CallContext& context, const IscsiPortal& portal,
                                           const std::string& iqn) = 0;
  // FAILED_PRECONDITION when authentication fails; ALREADY_EXISTS when connected.
  virtual absl::Status Connect(const CallContext& context, const IscsiPortal& portal,
                               const std::string& iqn, const ChapCredentials& credentials) = 0;
  // NOT_FOUND when not connected.
  virtual absl::Status Disconnect(const CallContext& context, const IscsiPortal& portal,
                                  const std::string& iqn) = 0;
  // The disk numbers of a target, ascending; none while it is not connected.
  virtual absl::StatusOr<std::vector<uint32_t>> GetTargetDisks(const CallContext& context,
                                                               const IscsiPortal& portal,
                                                               const std::string& iqn) = 0;

  // Of the next four only OpenSession() needs a registered portal.
  //
  // Returns the sessions with all targets of a name, by whichever portals. Empty for an unknown
  // target.
  virtual absl::StatusOr<std::vector<IscsiSession>> GetSessions(const CallContext& context,
                                                                const std::string& iqn) = 0;
  // As Connect(); ALREADY_EXISTS when there is a session, unless `allow_multipath`. Returns the id
  // of the session; empty if Windows does not name it.
  virtual absl::StatusOr<std::string> OpenSession(const CallContext& context,
                                                  const IscsiPortal& portal, const std::string& iqn,
                                                  const ChapCredentials& credentials,
                                                  const SessionOptions& options) = 0;
  // Makes those of the target's sessions that have these ids return at the next start, with these
  // credentials and option. Skips persistent sessions and sessions that have ended.
  virtual absl::Status MakePersistent(const CallContext& context, const std::string& iqn,
                                      const std::set<std::string>& ids,
                                      const ChapCredentials& credentials, bool allow_multipath) = 0;
  // Ends those of the target's sessions that have these ids for good. Skips sessions that have
  // ended. FAILED_PRECONDITION when a disk of one is in use.
  virtual absl::Status EndSessions(const CallContext& context, const std::string& iqn,
                                   const std::set<std::string>& ids) = 0;
  // The IQNs of the connected targets that a portal offers; NOT_FOUND when not registered.
  virtual absl::StatusOr<std::vector<std::string>> ListConnected(const CallContext& context,
                                                                 const IscsiPortal& portal) = 0;

  // The secret targets must know for ChapMode::kMutual; of 12 to 16 bytes.
  virtual absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret) = 0;
};

}  // namespace csi_proxy::host
