// The operations of a node as an iSCSI initiator.
#pragma once

#include <compare>
#include <cstdint>
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
};

// What the node has of a target.
struct IscsiSessions {
  int count = 0;
  // The sessions that do not return at the next start.
  int non_persistent = 0;
  std::vector<IscsiConnection> connections;
};

struct SessionOptions {
  // It returns at the next start.
  bool is_persistent = false;
  // It is opened although there is another (MPIO is to show one disk for both).
  bool allow_multipath = false;
};

// Thread-safe. An IQN is compared without case. INTERNAL with Windows' error when the node refuses.
class IscsiHost {
 public:
  virtual ~IscsiHost() = default;

  virtual absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context) = 0;
  // ALREADY_EXISTS when registered; UNAVAILABLE when nothing answers there.
  virtual absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal) = 0;
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

  // The next four need no portal to be registered but the one by which a session is opened.
  //
  // None of a target that the node does not know.
  virtual absl::StatusOr<IscsiSessions> GetSessions(const CallContext& context,
                                                    const std::string& iqn) = 0;
  // As Connect(); ALREADY_EXISTS when there is a session, unless it is to be a further one.
  virtual absl::Status OpenSession(const CallContext& context, const IscsiPortal& portal,
                                   const std::string& iqn, const ChapCredentials& credentials,
                                   const SessionOptions& options) = 0;
  // Makes all sessions of a target return at the next start, with these credentials and option.
  virtual absl::Status MakePersistent(const CallContext& context, const std::string& iqn,
                                      const ChapCredentials& credentials, bool allow_multipath) = 0;
  // Ends all sessions of a target for good. FAILED_PRECONDITION when a disk of one is in use.
  virtual absl::Status EndSessions(const CallContext& context, const std::string& iqn) = 0;
  // The IQNs of the connected targets that a portal offers; NOT_FOUND when not registered.
  virtual absl::StatusOr<std::vector<std::string>> ListConnected(const CallContext& context,
                                                                 const IscsiPortal& portal) = 0;

  // The secret targets must know for ChapMode::kMutual; of 12 to 16 bytes.
  virtual absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret) = 0;
};

}  // namespace csi_proxy::host
