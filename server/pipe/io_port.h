// An I/O completion port and its threads. The threads wait for I/O to complete, and then call the
// operation's function. Independent of pipes, sockets and gRPC.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/base/condition.h"
#include "server/base/ready_events.h"
#include "server/base/start_thread.h"
#include "server/platform/win32.h"

namespace csi_proxy::pipe {

// An overlapped operation. Must live until it has completed.
struct IoOperation : OVERLAPPED {
  using Complete = void (*)(IoOperation* operation, DWORD error, DWORD bytes);

  // `complete` runs on a thread of the port. It may block only while another thread of the port
  // does not block, because otherwise all other I/O waits.
  explicit IoOperation(Complete complete) : OVERLAPPED{}, complete(complete) {}
  // Resets the OVERLAPPED. Must be called before each further use.
  void Clear() { *static_cast<OVERLAPPED*>(this) = OVERLAPPED{}; }

  const Complete complete;
  // The tenant in whose turn `complete` runs; may be null. Compared, but never dereferenced.
  const void* tenant = nullptr;
};

// Thread-safe.
class IoPort {
 public:
  // Returns the port of the process. It is never destroyed, because gRPC may release connections
  // after main() has returned.
  static IoPort& Get();

  explicit IoPort(ThreadStarter start_thread = StartThread);

  size_t thread_count();

  enum class Completions {
    kPendingOnly,  // I/O that completes synchronously is handled by the caller, not by the port.
    kAlways,       // All I/O comes to the port, unless it fails synchronously.
  };

  // Sends completions of I/O on `handle` to this port. Returns RESOURCE_EXHAUSTED if the system
  // starts no thread for the port. For a socket, kPendingOnly is safe only if all layered service
  // providers use IFS handles. Therefore Go does the same as kAlways for Unix sockets
  // (https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setfilecompletionnotificationmodes,
  // https://github.com/golang/go/blob/master/src/internal/poll/fd_windows.go).
  absl::Status Associate(HANDLE handle, Completions completions = Completions::kPendingOnly);

  // Runs `work` on a thread of the port, when it is the turn of `tenant`. Returns false, without
  // running it, if Windows has no memory for it.
  bool Post(std::function<void()> work, const void* tenant = nullptr);

 private:
  struct Completion {
    IoOperation* operation = nullptr;
    DWORD error = ERROR_SUCCESS;
    DWORD bytes = 0;
  };

  absl::Status StartThreads();
  void Run();
  // Takes completions from Windows into `ready_`, and returns the one that is next in turn. If
  // there is none, waits for one. While completions arrive without a pause, polls instead of
  // waiting. The result has no operation if no completion is left for this thread.
  Completion Next(Pace* pace);

  const win32::UniqueHandle port_;
  const ThreadStarter start_thread_;
  Mutex mutex_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  ReadyEvents<Completion> ready_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::pipe
