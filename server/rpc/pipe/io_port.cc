#include "server/rpc/pipe/io_port.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "server/base/status_macros.h"

namespace csi_proxy::pipe {
namespace {

struct Posted : IoOperation {
  explicit Posted(std::function<void()> todo) : IoOperation(&Posted::Run), work(std::move(todo)) {}
  static void Run(IoOperation* operation, DWORD, DWORD) {
    const std::unique_ptr<Posted> self(static_cast<Posted*>(operation));
    self->work();
  }
  const std::function<void()> work;
};

}  // namespace

IoPort& IoPort::Get() {
  static IoPort* const port = new IoPort();
  return *port;
}

IoPort::IoPort(ThreadStarter start_thread)
    : port_(CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 0)),
      start_thread_(std::move(start_thread)) {
  StartThreads().IgnoreError();  // Associate() tries again.
}

size_t IoPort::thread_count() {
  const MutexLock lock(mutex_);
  return threads_.size();
}

// Returns OK if at least one thread runs.
absl::Status IoPort::StartThreads() {
  // More threads than one client can keep busy by ending several connections at once.
  static const size_t enough = std::clamp(std::thread::hardware_concurrency(), 4u, 8u);
  const MutexLock lock(mutex_);
  while (threads_.size() < enough) {
    absl::StatusOr<std::thread> thread = start_thread_([this] { Run(); });
    if (!thread.ok()) return threads_.empty() ? thread.status() : absl::OkStatus();
    threads_.push_back(*std::move(thread));
  }
  return absl::OkStatus();
}

absl::Status IoPort::Associate(HANDLE handle, Completions completions) {
  ABSL_RETURN_IF_ERROR(StartThreads());
  if (CreateIoCompletionPort(handle, port_.get(), 0, 0) == nullptr) {
    return win32::LastError("CreateIoCompletionPort");
  }
  if (completions == Completions::kPendingOnly &&
      !SetFileCompletionNotificationModes(
          handle, FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE)) {
    return win32::LastError("SetFileCompletionNotificationModes");
  }
  return absl::OkStatus();
}

bool IoPort::Post(std::function<void()> work) {
  auto posted = std::make_unique<Posted>(std::move(work));
  if (!PostQueuedCompletionStatus(port_.get(), 0, 0, posted.get())) return false;
  posted.release();
  return true;
}

void IoPort::Run() {
  while (true) {
    DWORD bytes = 0;
    ULONG_PTR key = 0;
    OVERLAPPED* overlapped = nullptr;
    const BOOL ok = GetQueuedCompletionStatus(port_.get(), &bytes, &key, &overlapped, INFINITE);
    // Without an operation, the port itself has been closed.
    if (overlapped == nullptr) return;
    auto* const operation = static_cast<IoOperation*>(overlapped);
    operation->complete(operation, ok ? ERROR_SUCCESS : GetLastError(), bytes);
  }
}

}  // namespace csi_proxy::pipe
