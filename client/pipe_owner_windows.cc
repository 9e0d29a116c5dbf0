#include "client/pipe_owner_windows.h"

#include "server/base/token_windows.h"
#include "server/pipe/object_security.h"

namespace csi_proxy::client {

absl::StatusOr<PipeOwner> WhoseIs(void* handle) {
  const absl::StatusOr<pipe::ObjectSecurity> security = pipe::SecurityOf(handle);
  if (!security.ok()) return security.status();
  absl::StatusOr<win32::TokenSids> own = win32::SidsOfThisProcess();
  if (!own.ok()) return own.status();
  return PipeOwner{.owner = security->owner,
                   .owner_is_administrator = pipe::OwnedByAdministrators(*security),
                   .own = {std::move(own->user), std::move(own->owner)}};
}

}  // namespace csi_proxy::client
