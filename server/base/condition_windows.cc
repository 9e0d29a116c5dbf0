#include <windows.h>

#include "server/base/condition.h"

namespace csi_proxy {
namespace {

static_assert(UINT32_MAX == INFINITE);
static_assert(sizeof(SRWLOCK) == sizeof(void*) && sizeof(CONDITION_VARIABLE) == sizeof(void*));

// SRWLOCK_INIT and CONDITION_VARIABLE_INIT are null pointers.
SRWLOCK* Lock(void** lock) { return reinterpret_cast<SRWLOCK*>(lock); }
CONDITION_VARIABLE* Variable(void** variable) {
  return reinterpret_cast<CONDITION_VARIABLE*>(variable);
}

}  // namespace

void Mutex::lock() { AcquireSRWLockExclusive(Lock(&lock_)); }
void Mutex::unlock() { ReleaseSRWLockExclusive(Lock(&lock_)); }

void Condition::Sleep(Mutex* mutex, uint32_t milliseconds) {
  SleepConditionVariableSRW(Variable(&variable_), Lock(&mutex->lock_), milliseconds, 0);
}
void Condition::notify_one() { WakeConditionVariable(Variable(&variable_)); }
void Condition::notify_all() { WakeAllConditionVariable(Variable(&variable_)); }

}  // namespace csi_proxy
