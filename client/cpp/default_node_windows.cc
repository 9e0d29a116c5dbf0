#include "client/cpp/container.h"
#include "client/cpp/default_node.h"
#include "server/platform/win32.h"

namespace csi_proxy::client {

bool DefaultNodeIsSimulated() { return false; }

absl::StatusOr<std::shared_ptr<Node>> NewDefaultNode() { return Node::Windows(); }

// Checks the thread's token, or the process's if the thread has none, because
// CheckTokenMembership() gets a null token. A deny-only group, as Administrators is before
// elevation, does not count
// (https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-checktokenmembership).
absl::Status MayEmbedUnasked() {
  SID administrators[2];  // room for two subauthorities
  DWORD size = sizeof(administrators);
  BOOL is_member = FALSE;
  if (!CreateWellKnownSid(WinBuiltinAdministratorsSid, nullptr, administrators, &size) ||
      !CheckTokenMembership(nullptr, administrators, &is_member)) {
    return win32::ToStatus(GetLastError(), "asking whether the process is an administrator's");
  }
  if (is_member) return CheckOutsideContainers(LookForContainer());
  return absl::PermissionDeniedError(
      "this process does not run as an administrator and may not manage storage");
}

}  // namespace csi_proxy::client
