#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/machine/windows/cim/com_session.h"
#include "server/machine/os.h"
#include "server/host/parts.h"
#include "server/windows_node.h"

namespace csi_proxy {
namespace {

// At boot WMI may come after this program, which then must not wait for it.
constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<host::Host>> OpenWindowsNode(
    const std::function<void(absl::string_view)>& warn) {
  std::unique_ptr<cim::Session> wmi = cim::NewComSession();
  // A cheap question, so that who starts the service learns at once when WMI does not answer. What
  // needs it fails as long as it does not, the rest works, and a later call finds it.
  const auto answer = wmi->Query(CallContext().WithTimeout(kPatience), cim::Namespace::kCimV2,
                                 cim::Query("Win32_BIOS"));
  if (!answer.ok()) {
    warn(absl::StrCat("WMI does not answer yet: ", answer.status().message()));
  }
  return host::NewHost(std::move(wmi), machine::NewOs());
}

}  // namespace csi_proxy
