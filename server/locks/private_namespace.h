// A private namespace of kernel objects. Only accounts that it admits can open or take its names.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/names/win32_error.h"

namespace csi_proxy {

// CreatePrivateNamespaceW and OpenPrivateNamespaceW with bound arguments. Each returns a handle, or
// null and the Win32 error in `*error`.
struct NamespaceCalls {
  using Call = std::function<void*(uint32_t* error)>;
  Call create, open;
};

// Creates the namespace, or opens it if another process has created it. Retries, because the
// namespace may appear, or disappear with its last handle, between the two calls.
inline absl::StatusOr<void*> EnterNamespace(const NamespaceCalls& calls) {
  // The namespace is not expected to disappear this often between create() and open().
  constexpr int kAttempts = 20;
  uint32_t error = win32_error::kGeneralFailure;
  for (int i = 0; i < kAttempts; ++i) {
    if (void* const made = calls.create(&error)) return made;
    if (error != win32_error::kAlreadyExists) break;
    if (void* const opened = calls.open(&error)) return opened;
    // Retries after any other error, because no page lists the errors of a namespace that has gone.
    if (error == win32_error::kAccessDenied) break;
  }
  return Win32Status(error, absl::StrCat("the namespace of the locks: Windows error ", error));
}

// Enters kAdministratorsNamespace until the process ends. The namespace admits only SYSTEM and
// administrators. Returns UNIMPLEMENTED under Wine, because Wine has no namespaces. Windows only.
absl::Status EnterAdministratorsNamespace();
inline constexpr char kAdministratorsNamespace[] = "csi-proxy\\";

}  // namespace csi_proxy
