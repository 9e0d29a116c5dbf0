// A private namespace of kernel objects: other accounts can neither open nor squat on its names.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace csi_proxy {

// CreatePrivateNamespaceW and OpenPrivateNamespaceW with bound arguments. Each returns a handle, or
// null and the Win32 error in `*error`.
struct NamespaceCalls {
  using Call = std::function<void*(uint32_t* error)>;
  Call create, open;
};

// Creates the namespace, or opens it if another process has created it. Retries, because the
// namespace may appear, or disappear with its last handle, between the two calls.
absl::StatusOr<void*> EnterNamespace(const NamespaceCalls& calls);

// Enters the namespace of kAdministratorsNamespace, which admits only SYSTEM and administrators,
// until the process ends. Returns UNIMPLEMENTED under Wine, which has none. Windows only.
absl::Status EnterAdministratorsNamespace();
inline constexpr char kAdministratorsNamespace[] = "csi-proxy\\";

}  // namespace csi_proxy
