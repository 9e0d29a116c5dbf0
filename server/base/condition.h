// A mutex and a condition variable.
//
// On POSIX they are the standard library's, because ThreadSanitizer does not see the locks of an
// Abseil that was built without it. On Windows they are Windows' own, which wait in user space
// (https://learn.microsoft.com/windows/win32/sync/slim-reader-writer--srw--locks), because MinGW's
// make a system call for each use.
#pragma once

#ifdef _WIN32

#include <chrono>
#include <cstdint>
#include <mutex>

namespace csi_proxy {

// Declared without windows.h, because generated code includes this header and the macros of
// windows.h rename methods such as StartService.
class Mutex {
 public:
  void lock();
  void unlock();

 private:
  friend class Condition;
  void* lock_ = nullptr;  // an SRWLOCK
};

class Condition {
 public:
  template <typename Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate predicate) {
    while (!predicate()) Sleep(lock.mutex());
  }
  void wait_for(std::unique_lock<Mutex>& lock, std::chrono::milliseconds time) {
    Sleep(lock.mutex(), static_cast<uint32_t>(time.count()));
  }
  void notify_one();
  void notify_all();

 private:
  static constexpr uint32_t kForEver = UINT32_MAX;  // INFINITE
  void Sleep(Mutex* mutex, uint32_t milliseconds = kForEver);
  void* variable_ = nullptr;  // a CONDITION_VARIABLE
};

}  // namespace csi_proxy

#else

#include <condition_variable>
#include <mutex>

namespace csi_proxy {

using Mutex = std::mutex;
using Condition = std::condition_variable;

}  // namespace csi_proxy

#endif
