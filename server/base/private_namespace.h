// A private namespace of kernel objects, which hides their names from processes that may not enter
// it.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace csi_proxy {

// CreatePrivateNamespaceW and OpenPrivateNamespaceW with their arguments. Each returns a handle, or
// null and an error of Windows.
struct NamespaceCalls {
  using Call = std::function<void*(uint32_t* error)>;
  Call create, open;
};

// The namespace, made by any of the processes that share it. Another may make it, or let it go with
// its last handle, at any moment.
absl::StatusOr<void*> EnterNamespace(const NamespaceCalls& calls);

// Windows: the namespace that only SYSTEM and administrators may enter, whose objects' names begin
// with `csi-proxy\`. UNIMPLEMENTED under Wine, which has none. Held until the process ends.
absl::Status EnterAdministratorsNamespace();
inline constexpr char kAdministratorsNamespace[] = "csi-proxy\\";

}  // namespace csi_proxy
