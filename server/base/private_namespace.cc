#include "server/base/private_namespace.h"

#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"

namespace csi_proxy {
namespace {

// More often than this nobody lets go of it between the two calls.
constexpr int kAttempts = 20;

}  // namespace

absl::StatusOr<void*> EnterNamespace(const NamespaceCalls& calls) {
  uint32_t error = win32_error::kGeneralFailure;
  for (int i = 0; i < kAttempts; ++i) {
    if (void* const made = calls.create(&error)) return made;
    if (error != win32_error::kAlreadyExists) break;
    if (void* const opened = calls.open(&error)) return opened;
    // Any other error may mean that it has gone meanwhile: Microsoft's pages do not tell which.
    if (error == win32_error::kAccessDenied) break;
  }
  return Win32Status(error, absl::StrCat("the namespace of the locks: Windows error ", error));
}

}  // namespace csi_proxy
