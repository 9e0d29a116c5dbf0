// The audit record of a call that changes the node, remote or embedded.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

struct AuditRecord {
  const char* method;  // the hub's name, `MountVolume`
  // The request as `field=value field=value`. Must be quoted, escaped and free of secrets.
  std::string subject;
  const CallContext& context;  // the client and its pipe
  absl::Status status;
  absl::Duration duration;
};

// Writes audit records. Thread-safe.
class AuditLog {
 public:
  virtual ~AuditLog() = default;
  // Records a call that has ended. Called on the call's thread.
  virtual void Record(const AuditRecord& record) = 0;
};

}  // namespace csi_proxy
