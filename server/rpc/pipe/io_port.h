// An I/O completion port and the threads that wait on it: how this program learns that I/O has
// finished. Independent of pipes, sockets and gRPC.
#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/base/start_thread.h"
#include "server/base/win32.h"

namespace csi_proxy::pipe {

// One overlapped operation. Must live until it has completed.
struct IoOperation : OVERLAPPED {
  using Complete = void (*)(IoOperation* operation, DWORD error, DWORD bytes);

  // `complete` runs on a thread of the port. It must not block, for it holds up others' I/O.
  explicit IoOperation(Complete complete) : OVERLAPPED{}, complete(complete) {}
  // Before it is used again.
  void Clear() { *static_cast<OVERLAPPED*>(this) = OVERLAPPED{}; }

  const Complete complete;
};

// Thread-safe.
class IoPort {
 public:
  // The process's own, made when first asked for. No port is ever destroyed: gRPC lets go of
  // connections when it pleases, even after main() has returned.
  static IoPort& Get();

  explicit IoPort(ThreadStarter start_thread = StartThread);

  size_t thread_count();

  enum class Comes {
    kLate,  // I/O that finishes at once completes where it was started, and does not come here
    kAll,   // all I/O that has not failed at once comes here
  };

  // Completions of I/O on `handle` come to this port from now on. For a socket kLate is safe only
  // while no layered service provider of the old kind is installed, so Go has kAll for Unix sockets
  // (https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setfilecompletionnotificationmodes,
  // https://github.com/golang/go/blob/master/src/internal/poll/fd_windows.go). RESOURCE_EXHAUSTED
  // as long as the system starts no thread for the port.
  absl::Status Associate(HANDLE handle, Comes comes = Comes::kLate);

  // Runs `work`, which must not block, on a thread of the port. False when Windows has no room for
  // it: then nothing is done.
  bool Post(std::function<void()> work);

 private:
  absl::Status StartThreads();
  void Run();

  const win32::UniqueHandle port_;
  const ThreadStarter start_thread_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace csi_proxy::pipe
