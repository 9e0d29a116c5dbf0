#include "server/host/patient_open.h"

namespace csi_proxy::host {

bool IsHeldByOthers(const absl::Status& status) {
  return HasWin32Code(status, {win32_error::kSharingViolation, win32_error::kDeletePending});
}

absl::StatusOr<std::unique_ptr<machine::File>> OpenPatiently(const CallContext& context,
                                                             machine::File& directory,
                                                             const std::string& name,
                                                             machine::Access access) {
  return Patiently(context,
                   [&] { return TwiceIfInvalid([&] { return directory.Open(name, access); }); });
}

}  // namespace csi_proxy::host
