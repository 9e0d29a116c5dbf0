// A step of the wall clock changes neither deadlines nor waits. The wall clock of a virtual machine
// steps when its host resumes the machine.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>

#include "absl/time/clock.h"
#include "csi_proxy/call_context.h"
#include "server/base/condition.h"
#include "server/locks/resource_locks.h"

namespace csi_proxy {
std::atomic<int64_t> wall_clock_step_ns = 0;
}  // namespace csi_proxy

// The linker prefers this function to Abseil's.
namespace absl {
ABSL_NAMESPACE_BEGIN
int64_t GetCurrentTimeNanos() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec + csi_proxy::wall_clock_step_ns;
}
ABSL_NAMESPACE_END
}  // namespace absl

namespace csi_proxy {
namespace {

void StepWallClock(absl::Duration step) { wall_clock_step_ns += absl::ToInt64Nanoseconds(step); }

class WallClockTest : public testing::TestWithParam<int> {
 protected:
  ~WallClockTest() override { StepWallClock(absl::Hours(-steps_ * GetParam())); }
  void Step() {
    ++steps_;
    const absl::Time before = absl::Now();
    StepWallClock(absl::Hours(GetParam()));
    ASSERT_GT(absl::AbsDuration(absl::Now() - before), absl::Minutes(59));
  }

 private:
  int steps_ = 0;
};

TEST_P(WallClockTest, AStepOfTheWallClockChangesNoDeadline) {
  const CallContext by_wall_clock(absl::Now() + absl::Minutes(1));
  const CallContext derived = by_wall_clock.WithTimeout(absl::Seconds(50));
  Step();
  for (const CallContext& context : {by_wall_clock, derived}) {
    EXPECT_EQ(context.Check(), absl::OkStatus());
    EXPECT_EQ(context.SleepFor(absl::Milliseconds(1)), absl::OkStatus());
    const absl::Duration left = context.deadline() - SteadyTime::Now();
    EXPECT_GT(left, absl::Seconds(30));
    EXPECT_LE(left, absl::Minutes(1));
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      CallContext().WithTimeout(absl::Milliseconds(1)).SleepFor(absl::Minutes(1))));
}

TEST_P(WallClockTest, AStepOfTheWallClockDoesNotProlongAWaitForALock) {
  ResourceLocks locks;
  const auto held = locks.Acquire(CallContext(), "a");
  const CallContext context = CallContext().WithTimeout(absl::Milliseconds(100));
  Step();
  const SteadyTime begin = SteadyTime::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(locks.Acquire(context, "a").status()));
  EXPECT_LT(SteadyTime::Now() - begin, absl::Seconds(30));
}

INSTANTIATE_TEST_SUITE_P(Steps, WallClockTest, testing::Values(1, -1));

}  // namespace
}  // namespace csi_proxy
