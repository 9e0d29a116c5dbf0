// An I/O completion port and the threads that wait on it: how this program learns that pipe I/O has
// finished. Independent of pipes and of gRPC.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
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
  // The process's own, made when first asked for and never destroyed: gRPC lets go of connections
  // when it pleases, even after main() has returned.
  static IoPort& Get();

  size_t thread_count() const { return threads_.size(); }

  // Completions of I/O on `handle` come to this port from now on. I/O that finishes at once
  // completes where it was started and does not come here
  // (https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setfilecompletionnotificationmodes).
  absl::Status Associate(HANDLE handle);

  // Runs `work`, which must not block, on a thread of the port.
  void Post(std::function<void()> work);

 private:
  IoPort();
  void Run();

  win32::UniqueHandle port_;
  std::vector<std::thread> threads_;
};

}  // namespace csi_proxy::pipe
