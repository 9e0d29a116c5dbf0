#include <windows.h>

#include "server/base/condition.h"

namespace csi_proxy {
namespace {

static_assert(sizeof(SRWLOCK) == sizeof(void*) && sizeof(CONDITION_VARIABLE) == sizeof(void*));

// A null pointer is a valid initial value of both types (SRWLOCK_INIT, CONDITION_VARIABLE_INIT).
SRWLOCK* NativeLock(void** lock) { return reinterpret_cast<SRWLOCK*>(lock); }
CONDITION_VARIABLE* NativeCondition(void** variable) {
  return reinterpret_cast<CONDITION_VARIABLE*>(variable);
}

}  // namespace

void Mutex::Lock() { AcquireSRWLockExclusive(NativeLock(&native_)); }
void Mutex::Unlock() { ReleaseSRWLockExclusive(NativeLock(&native_)); }

void Condition::WaitFor(Mutex& mutex, absl::Duration time) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(
      absl::Ceil(std::clamp(time, absl::ZeroDuration(), kLongestWait), absl::Milliseconds(1)));
  SleepConditionVariableSRW(NativeCondition(&native_), NativeLock(&mutex.native_),
                            static_cast<DWORD>(milliseconds), 0);
}
void Condition::NotifyOne() { WakeConditionVariable(NativeCondition(&native_)); }
void Condition::NotifyAll() { WakeAllConditionVariable(NativeCondition(&native_)); }

}  // namespace csi_proxy
