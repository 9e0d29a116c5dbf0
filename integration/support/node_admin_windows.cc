#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "integration/support/node_admin.h"
#include "integration/wine/double/admin_pipe_windows.h"

namespace csi_proxy::integration {
namespace {

// Opens the pipe of the double's admin service. Waits up to 10 s while all instances are busy.
win32::UniqueHandle OpenPipe() {
  const SteadyTime give_up = SteadyTime::Now() + absl::Seconds(10);
  while (true) {
    win32::UniqueHandle pipe(CreateFileW(node_double::kAdminPipe, GENERIC_READ | GENERIC_WRITE, 0,
                                         nullptr, OPEN_EXISTING, 0, nullptr));
    if (pipe.valid() || GetLastError() != ERROR_PIPE_BUSY || SteadyTime::Now() > give_up)
      return pipe;
    absl::SleepFor(absl::Milliseconds(10));
  }
}

}  // namespace

bool MachineIsDouble() { return std::getenv("CSI_PROXY_NODE_DOUBLE") != nullptr; }

absl::Status CallMachineAdmin(const std::string& method, const google::protobuf::Message& request,
                              google::protobuf::Message* response) {
  const win32::UniqueHandle pipe = OpenPipe();
  if (!pipe.valid()) return win32::LastError("the pipe of the doubles");
  const std::string name = absl::StrCat(method, "\n");
  uint32_t code = 0;
  std::string answer;
  if (!node_double::WriteAll(pipe.get(), name.data(), name.size()) ||
      !node_double::WriteCounted(pipe.get(), request.SerializeAsString()) ||
      !node_double::ReadAll(pipe.get(), &code, sizeof(code)) ||
      !node_double::ReadCounted(pipe.get(), &answer)) {
    return win32::LastError(absl::StrCat("asking the doubles for ", method));
  }
  if (code != 0) return absl::Status(static_cast<absl::StatusCode>(code), answer);
  if (response->ParseFromString(answer)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("no response of ", method));
}

}  // namespace csi_proxy::integration
