// A record of every call that changes the node, whichever way it came.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy {

struct AuditRecord {
  const char* method;  // `MountVolume`, as the hub has it
  // The object of the call, `field=value field=value`: text quoted and escaped, no secrets.
  std::string subject;
  const CallContext& context;  // the client and its pipe
  absl::Status status;
  absl::Duration duration;
};

// Thread-safe.
class AuditLog {
 public:
  virtual ~AuditLog() = default;
  // Called once a call has ended, on its thread.
  virtual void Record(const AuditRecord& record) = 0;
};

}  // namespace csi_proxy
