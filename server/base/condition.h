// A mutex, its scoped lock and a condition variable, annotated for clang's thread safety analysis
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html) in scripts/lint.sh.
//
// On POSIX Mutex and Condition wrap classes of the standard library, because ThreadSanitizer does
// not see the locks of an Abseil that was built without it. On Windows they wrap SRWLOCK and
// CONDITION_VARIABLE, because these work in user space until a thread must block
// (https://learn.microsoft.com/windows/win32/sync/slim-reader-writer--srw--locks), while MinGW's
// classes make a system call for each use.
#pragma once

#include <algorithm>
#ifndef _WIN32
#include <condition_variable>
#include <mutex>
#endif

#include "absl/base/thread_annotations.h"  // IWYU pragma: export
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"

namespace csi_proxy {

class ABSL_LOCKABLE Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  void Unlock() ABSL_UNLOCK_FUNCTION();

 private:
  friend class Condition;
#ifdef _WIN32
  // An SRWLOCK, declared without windows.h, because generated code includes this header and the
  // macros of windows.h rename methods such as StartService.
  void* native_ = nullptr;
#else
  std::mutex native_;
#endif
};

// Holds a mutex from its constructor to its destructor. The scope may call the mutex's Unlock() and
// then its Lock().
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A wait releases the mutex and may end without a notification. REQUIRES: the caller waits in a
// loop that checks its condition. There is no wait with a predicate, because clang's analysis does
// not know that a lambda is called with the mutex held.
class Condition {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    WaitFor(mutex, absl::InfiniteDuration());
  }
  void WaitFor(Mutex& mutex, absl::Duration time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Waits until `deadline` at the latest. Returns false, without waiting, if `deadline` has passed.
  bool WaitUntil(Mutex& mutex, SteadyTime deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration left = deadline - SteadyTime::Now();
    if (left > absl::ZeroDuration()) WaitFor(mutex, left);
    return left > absl::ZeroDuration();
  }
  void NotifyOne();
  void NotifyAll();

 private:
  // The limit of a single wait, so that the wait plus the time of a clock does not overflow.
  static constexpr absl::Duration kLongestWait = absl::Hours(24);

#ifdef _WIN32
  void* native_ = nullptr;  // a CONDITION_VARIABLE
#else
  std::condition_variable native_;
#endif
};

#ifndef _WIN32

inline void Mutex::Lock() { native_.lock(); }
inline void Mutex::Unlock() { native_.unlock(); }

inline void Condition::WaitFor(Mutex& mutex, absl::Duration time) {
  std::unique_lock<std::mutex> lock(mutex.native_, std::adopt_lock);
  native_.wait_for(lock, absl::ToChronoNanoseconds(std::min(time, kLongestWait)));
  lock.release();
}
inline void Condition::NotifyOne() { native_.notify_one(); }
inline void Condition::NotifyAll() { native_.notify_all(); }

#endif

}  // namespace csi_proxy
