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

// Thread-safe. An IQN is compared without case. INTERNAL with Windows' error when the node refuses.
class IscsiHost {
 public:
  virtual ~IscsiHost() = default;

  virtual absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& context) = 0;
  // ALREADY_EXISTS when registered; UNAVAILABLE when nothing answers there.
  virtual absl::Status AddPortal(const CallContext& context, const IscsiPortal& portal) = 0;
  // NOT_FOUND when not registered.
  virtual absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal) = 0;
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

  // The secret targets must know for ChapMode::kMutual; of 12 to 16 bytes.
  virtual absl::Status SetMutualChapSecret(const CallContext& context, const Secret& secret) = 0;
};

}  // namespace csi_proxy::host
