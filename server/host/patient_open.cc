#include "server/host/patient_open.h"

#include "server/base/win32_error.h"

namespace csi_proxy::host {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(2);
constexpr absl::Duration kRetry = absl::Milliseconds(5);

}  // namespace

absl::StatusOr<std::unique_ptr<machine::File>> OpenPatiently(const CallContext& context,
                                                             machine::File& directory,
                                                             const std::string& name,
                                                             machine::Access access) {
  const CallContext waiting = context.WithTimeout(kPatience);
  for (;;) {
    absl::StatusOr<std::unique_ptr<machine::File>> file = directory.Open(name, access);
    if (!HasWin32Code(file.status(), win32_error::kSharingViolation)) return file;
    if (!waiting.SleepFor(kRetry).ok()) return file;
  }
}

}  // namespace csi_proxy::host
