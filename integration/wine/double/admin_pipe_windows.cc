#include "integration/wine/double/admin_pipe_windows.h"

#include <memory>
#include <string>
#include <thread>

#include "integration/wine/double/pending.h"
#include "server/simulator/admin.h"

namespace csi_proxy::node_double {
namespace {

constexpr DWORD kBufferBytes = 64 * 1024;

bool ReadMethod(HANDLE pipe, std::string* method) {
  constexpr size_t kLongest = 100;
  method->clear();
  for (char c = 0; ReadAll(pipe, &c, 1) && method->size() < kLongest; method->push_back(c)) {
    if (c == '\n') return true;
  }
  return false;
}

void ServeConnection(HANDLE pipe, machine::simulator::Machine& node) {
  std::string method;
  std::string request;
  while (ReadMethod(pipe, &method) && ReadCounted(pipe, &request)) {
    const absl::StatusOr<std::string> answer = machine::simulator::CallAdmin(node, method, request);
    const auto code = static_cast<uint32_t>(answer.status().code());
    if (!WriteAll(pipe, &code, sizeof(code)) ||
        !WriteCounted(pipe, answer.ok() ? *answer : std::string(answer.status().message()))) {
      break;
    }
  }
}

}  // namespace

void ServeAdmin(machine::simulator::Machine& node) {
  // The first instance is created here, so a client can connect as soon as this function returns.
  const auto new_instance = [] {
    return std::make_shared<win32::UniqueHandle>(CreateNamedPipeW(
        kAdminPipe, PIPE_ACCESS_DUPLEX,
        PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
        PIPE_UNLIMITED_INSTANCES, kBufferBytes, kBufferBytes, 0, nullptr));
  };
  // Kept for the life of the process: MinGW sometimes loses a thread that is detached immediately.
  static auto* const thread =
      new std::thread([&node, new_instance, pipe = new_instance()]() mutable {
        while (pipe->valid()) {
          const bool connected = ConnectNamedPipe(pipe->get(), nullptr) != FALSE ||
                                 GetLastError() == ERROR_PIPE_CONNECTED;
          auto next = new_instance();
          if (connected) {
            RunElsewhere([&node, pipe] { ServeConnection(pipe->get(), node); });
          }
          pipe = std::move(next);
        }
      });
  (void)thread;
}

}  // namespace csi_proxy::node_double
