#include "server/base/private_namespace.h"

#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"

namespace csi_proxy {
namespace {

// The namespace is not expected to disappear this often between create() and open().
constexpr int kAttempts = 20;

}  // namespace

absl::StatusOr<void*> EnterNamespace(const NamespaceCalls& calls) {
  uint32_t error = win32_error::kGeneralFailure;
  for (int i = 0; i < kAttempts; ++i) {
    if (void* const made = calls.create(&error)) return made;
    if (error != win32_error::kAlreadyExists) break;
    if (void* const opened = calls.open(&error)) return opened;
    // No page says which other errors report that the namespace has gone, so all are retried.
    if (error == win32_error::kAccessDenied) break;
  }
  return Win32Status(error, absl::StrCat("the namespace of the locks: Windows error ", error));
}

}  // namespace csi_proxy
