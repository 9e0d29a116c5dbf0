#include "absl/strings/str_cat.h"
#include "server/pipe/pipe.h"
#include "server/rpc/listener_testing.h"

namespace csi_proxy::rpc {
namespace {

HANDLE Handle(intptr_t handle) { return reinterpret_cast<HANDLE>(handle); }

}  // namespace

RawClient::RawClient(const PipePlace&, const std::string& name)
    : handle_(reinterpret_cast<intptr_t>(INVALID_HANDLE_VALUE)) {
  const std::wstring path = win32::Utf16(pipe::Path(name));
  for (int i = 0; i < 500 && !connected(); ++i) {
    if (i > 0) absl::SleepFor(absl::Milliseconds(10));
    handle_ = reinterpret_cast<intptr_t>(CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0,
                                                     nullptr, OPEN_EXISTING, 0, nullptr));
  }
}
RawClient::~RawClient() { Close(); }
RawClient::RawClient(RawClient&& other) noexcept
    : handle_(std::exchange(other.handle_, reinterpret_cast<intptr_t>(INVALID_HANDLE_VALUE))) {}

bool RawClient::connected() const { return Handle(handle_) != INVALID_HANDLE_VALUE; }
bool RawClient::Send(absl::string_view bytes) {
  DWORD written = 0;
  return WriteFile(Handle(handle_), bytes.data(), static_cast<DWORD>(bytes.size()), &written,
                   nullptr) &&
         written == bytes.size();
}
// Returns true only if the server has disconnected its end. If the server only closed its end, the
// pipe's name would exist as long as this RawClient.
bool RawClient::Ended(std::string* received) {
  char bytes[256];
  DWORD read = 0;
  while (ReadFile(Handle(handle_), bytes, sizeof(bytes), &read, nullptr)) {
    if (received != nullptr) received->append(bytes, read);
  }
  return GetLastError() == ERROR_PIPE_NOT_CONNECTED;
}
void RawClient::Close() {
  const HANDLE handle =
      Handle(std::exchange(handle_, reinterpret_cast<intptr_t>(INVALID_HANDLE_VALUE)));
  if (handle != INVALID_HANDLE_VALUE) CloseHandle(handle);
}

PipePlace TestPlace() { return {.socket_dir = "", .sddl = "D:P(A;;GA;;;WD)"}; }
std::string TestPipeName() {
  static int next = 0;
  return absl::StrCat("csi-proxy-test-", GetCurrentProcessId(), "-listener-", next++);
}

}  // namespace csi_proxy::rpc
