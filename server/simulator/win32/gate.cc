#include "server/simulator/win32/gate.h"

#include "server/base/win32_error.h"
#include "server/simulator/failure.h"

namespace csi_proxy::machine::simulated {

absl::Status AsWin32(const absl::Status& status) {
  if (status.ok()) return status;
  // A fault may be told by its status code alone; Windows has a word for that, too.
  return Win32Status(Win32CodeOf(status).value_or(win32_error::kGeneralFailure), status.message());
}

}  // namespace csi_proxy::machine::simulated
