#include "server/pipe/io_port.h"

#include <winternl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/types/span.h"
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

// Starts the missing threads. Returns OK if at least one thread runs.
absl::Status IoPort::StartThreads() {
  // The wanted number of threads. A client that ends several connections together must not keep all
  // threads busy.
  static const size_t enough = std::clamp(std::thread::hardware_concurrency(), 4u, 8u);
  if (!port_.valid()) return absl::ResourceExhaustedError("Windows has no completion port");
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

bool IoPort::Post(std::function<void()> work, const void* tenant) {
  auto posted = std::make_unique<Posted>(std::move(work));
  posted->tenant = tenant;
  if (!PostQueuedCompletionStatus(port_.get(), 0, 0, posted.get())) return false;
  posted.release();
  return true;
}

void IoPort::Run() {
  Pace pace;
  while (true) {
    const Completion next = Next(&pace);
    if (next.operation == nullptr) continue;
    next.operation->complete(next.operation, next.error, next.bytes);
  }
}

IoPort::Completion IoPort::Next(Pace* pace) {
  std::array<OVERLAPPED_ENTRY, Pace::kMany> entries;
  bool may_sleep;
  {
    const MutexLock lock(mutex_);
    may_sleep = ready_.BeginLook();
  }
  ULONG count = 0;
  if (may_sleep || pace->LooksAgain()) {
    const Pace::Clock::time_point begin = Pace::Clock::now();
    if (!GetQueuedCompletionStatusEx(port_.get(), entries.data(), static_cast<ULONG>(pace->most()),
                                     &count, may_sleep && !pace->is_fast() ? INFINITE : 0,
                                     /*fAlertable=*/FALSE)) {
      count = 0;
    }
    pace->Looked(begin, count);
  }
  const MutexLock lock(mutex_);
  ready_.EndLook(may_sleep);
  for (const OVERLAPPED_ENTRY& entry : absl::MakeSpan(entries).first(count)) {
    auto* const operation = static_cast<IoOperation*>(entry.lpOverlapped);
    if (operation == nullptr) {
      ready_.WakeTaken();
      continue;
    }
    // `Internal` contains the operation's status
    // (learn.microsoft.com/windows/win32/api/minwinbase/ns-minwinbase-overlapped).
    const auto status = static_cast<NTSTATUS>(operation->Internal);
    const DWORD error = status >= 0 ? ERROR_SUCCESS : RtlNtStatusToDosError(status);
    ready_.Put(operation->tenant, {operation, error, entry.dwNumberOfBytesTransferred});
  }
  if (ready_.empty()) return {};
  const Completion next = ready_.Take();
  // Wakes another thread for the remaining events, because the completion may take long.
  if (ready_.MustWake()) PostQueuedCompletionStatus(port_.get(), 0, 0, nullptr);
  return next;
}

}  // namespace csi_proxy::pipe
