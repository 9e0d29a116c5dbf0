#include "client/cpp/pipe_owner_windows.h"

#include "server/base/token_windows.h"
#include "server/rpc/pipe/object_security.h"

namespace csi_proxy::client {

absl::StatusOr<PipeOwner> WhoseIs(void* handle) {
  const absl::StatusOr<pipe::ObjectSecurity> security = pipe::SecurityOf(handle);
  if (!security.ok()) return security.status();
  absl::StatusOr<std::string> self = win32::UserOfThisProcess();
  if (!self.ok()) return self.status();
  return PipeOwner{.owner = security->owner,
                   .owner_is_system = security->owner == kSystemSid,
                   .self = *std::move(self)};
}

}  // namespace csi_proxy::client
