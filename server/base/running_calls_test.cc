#include "server/base/running_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/condition.h"

namespace csi_proxy {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TEST(LongRunLogTest, CallsAreLoggedAtDoublingAgesAndFormatsAtEqualIntervals) {
  constexpr absl::Duration kAge = absl::Milliseconds(40);
  Mutex mutex;
  std::vector<std::string> calls, formats;
  const auto add_to = [&](std::vector<std::string>& lines) {
    return [&](absl::string_view line) {
      const MutexLock lock(mutex);
      lines.emplace_back(line);
    };
  };
  const SteadyTime begin = SteadyTime::Now();
  const LongRunLog log(add_to(calls), add_to(formats), kAge);
  const RunningCall call("volume.UnmountVolume", "volume_id=1", "trace1");
  const Running format(RunKind::kFormat, "formatting 1");
  const auto lines = [&](const std::vector<std::string>& of) {
    const MutexLock lock(mutex);
    return of;
  };
  while (lines(calls).size() < 3 || lines(formats).size() < 3) {
    ASSERT_LT(SteadyTime::Now() - begin, absl::Minutes(1));
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_GE(SteadyTime::Now() - begin, 4 * kAge);
  EXPECT_THAT(lines(calls)[2], StartsWith("volume.UnmountVolume has run for "));
  EXPECT_THAT(lines(calls)[2], EndsWith(": volume_id=1 trace=trace1"));
  EXPECT_THAT(lines(formats)[2], StartsWith("formatting 1: still running after "));
}

}  // namespace
}  // namespace csi_proxy
