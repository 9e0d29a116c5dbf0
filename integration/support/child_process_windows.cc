#include <atomic>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "integration/support/child_process.h"
#include "server/platform/win32.h"

namespace csi_proxy::integration {

struct ChildProcess::State {
  win32::UniqueHandle process;
  DWORD pid = 0;
};

const bool ChildProcess::kCanAsk = false;

ChildProcess::ChildProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(std::vector<std::string> command,
                                                                  const std::string& log) {
  std::string line;
  // Quoting suffices: tests use no words that contain a quote or end in a backslash.
  for (const std::string& word : command)
    absl::StrAppend(&line, line.empty() ? "" : " ", "\"", word, "\"");
  SECURITY_ATTRIBUTES inheritable{.nLength = sizeof(SECURITY_ATTRIBUTES),
                                  .lpSecurityDescriptor = nullptr,
                                  .bInheritHandle = TRUE};
  const win32::UniqueHandle file(CreateFileW(win32::Utf16(log).c_str(), FILE_APPEND_DATA,
                                             FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                             &inheritable, OPEN_ALWAYS, 0, nullptr));
  if (!file.valid()) return win32::LastError(log);
  STARTUPINFOW startup{};
  startup.cb = sizeof(startup);
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdError = startup.hStdOutput = file.get();
  PROCESS_INFORMATION made{};
  std::wstring wide = win32::Utf16(line);
  if (!CreateProcessW(nullptr, wide.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &startup,
                      &made)) {
    return win32::LastError(command[0]);
  }
  const win32::UniqueHandle thread(made.hThread);
  auto state = std::make_unique<State>();
  state->process.Reset(made.hProcess);
  state->pid = made.dwProcessId;
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(state)));
}

ChildProcess::~ChildProcess() { Stop(absl::ZeroDuration()); }

int64_t ChildProcess::pid() const { return state_->pid; }

bool ChildProcess::IsRunning() {
  return WaitForSingleObject(state_->process.get(), 0) == WAIT_TIMEOUT;
}

int ChildProcess::Stop(absl::Duration) { return Wait(absl::ZeroDuration()); }

int ChildProcess::Wait(absl::Duration limit) {
  const DWORD wait = static_cast<DWORD>(absl::ToInt64Milliseconds(limit));
  if (WaitForSingleObject(state_->process.get(), wait) != WAIT_OBJECT_0) {
    TerminateProcess(state_->process.get(), 1);
    WaitForSingleObject(state_->process.get(), INFINITE);
    return -1;
  }
  DWORD code = 0;
  GetExitCodeProcess(state_->process.get(), &code);
  return static_cast<int>(code);
}

std::string NewTestDirectory() {
  static std::atomic<int> next = 0;
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() /
      absl::StrCat("csi-proxy-it-", GetCurrentProcessId(), "-", next++);
  // Windows reuses process ids soon, and a killed process may have left the directory behind.
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory.string();
}

}  // namespace csi_proxy::integration
