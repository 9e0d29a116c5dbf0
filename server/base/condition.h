// A mutex and a condition variable for what happens at every call.
//
// The standard library's are the best there are on POSIX, and ThreadSanitizer knows them. MinGW's
// are made of semaphores, each use of which is a system call; Windows' own wait in user space
// (https://learn.microsoft.com/windows/win32/sync/slim-reader-writer--srw--locks).
#pragma once

#ifdef _WIN32

#include <windows.h>

#include <mutex>

namespace csi_proxy {

class Mutex {
 public:
  void lock() { AcquireSRWLockExclusive(&lock_); }
  void unlock() { ReleaseSRWLockExclusive(&lock_); }

 private:
  friend class Condition;
  SRWLOCK lock_ = SRWLOCK_INIT;
};

class Condition {
 public:
  template <typename Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate predicate) {
    while (!predicate()) SleepConditionVariableSRW(&variable_, &lock.mutex()->lock_, INFINITE, 0);
  }
  void notify_one() { WakeConditionVariable(&variable_); }
  void notify_all() { WakeAllConditionVariable(&variable_); }

 private:
  CONDITION_VARIABLE variable_ = CONDITION_VARIABLE_INIT;
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
