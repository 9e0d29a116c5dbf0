#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/status_macros.h"
#include "server/machine/os.h"
#include "server/machine/windows/cim/com_session.h"
#include "server/node/opened_machine.h"

namespace csi_proxy {
namespace {

// The longest wait for WMI at boot, because WMI may start later than this program.
constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

absl::StatusOr<OpenedMachine> OpenThisMachine(const LineFunction& warn) {
  std::unique_ptr<cim::Session> wmi = cim::NewComSession(warn);
  // Sends a cheap query, so that the log shows early if WMI does not answer. Calls that need WMI
  // fail until WMI answers; all other calls work.
  const auto answer = wmi->Query(CallContext().WithTimeout(kPatience), cim::Namespace::kCimV2,
                                 cim::Query("CIM_BIOSElement"));
  if (!answer.ok()) {
    warn(absl::StrCat("WMI does not answer yet: ", answer.status().message()));
  }
  // The service and several drivers may act on the machine concurrently.
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ProcessLocks> locks, NewProcessLocks("", warn));
  OpenedMachine opened;
  opened.host = std::make_unique<host::Host>(std::move(wmi), machine::NewOs(), warn);
  opened.processes = std::move(locks);
  return opened;
}

}  // namespace csi_proxy
