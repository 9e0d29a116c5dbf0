#include "server/supervision/service_status.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/synchronization/notification.h"
#include "csi_proxy/steady_time.h"
#include "server/supervision/watchdog.h"

namespace csi_proxy {
namespace {

using Answer = ServiceStatus::Answer;

const SteadyTime kStart = SteadyTime();

TEST(ServiceStatusTest, ControlsAreAcceptedOnlyWhileRunning) {
  ServiceStatus status(kStart);
  EXPECT_EQ(status.Starting().accepted_controls, 0u);
  EXPECT_EQ(status.Running().accepted_controls, uint32_t{kAcceptStop | kAcceptShutdown});
  EXPECT_EQ(status.Stopping(kStart, absl::Seconds(25)).accepted_controls, 0u);
  EXPECT_EQ(status.Stopped(0).accepted_controls, 0u);
}

// The kubelet's preshutdown handler needs the service, so the service must not stop at preshutdown.
TEST(ServiceStatusTest, PreshutdownIsNotAccepted) {
  constexpr uint32_t kAcceptPreshutdown = 0x100;
  EXPECT_EQ(ServiceStatus(kStart).Running().accepted_controls & kAcceptPreshutdown, 0u);
  EXPECT_EQ(ServiceStatus::OnControl(kControlPreshutdown), Answer::kNotImplemented);
}

TEST(ServiceStatusTest, StopAndShutdownControlsStopTheService) {
  EXPECT_EQ(ServiceStatus::OnControl(kControlStop), Answer::kStop);
  EXPECT_EQ(ServiceStatus::OnControl(kControlShutdown), Answer::kStop);
  EXPECT_EQ(ServiceStatus::OnControl(kControlInterrogate), Answer::kNothing);
  const std::set<uint32_t> known = {kControlStop, kControlInterrogate, kControlShutdown};
  for (uint32_t control = 0; control < 256; ++control) {
    if (known.contains(control)) continue;
    EXPECT_EQ(ServiceStatus::OnControl(control), Answer::kNotImplemented) << control;
  }
}

TEST(ServiceStatusTest, CheckpointsIncreaseDuringAStartOrStopAndAreZeroOtherwise) {
  ServiceStatus status(kStart);
  EXPECT_EQ(status.Starting().checkpoint, 1u);
  const auto progress = status.Progress(kStart + absl::Seconds(2));
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(*progress, (ServiceReport{.phase = ServicePhase::kStarting,
                                      .checkpoint = 2,
                                      .wait_hint_milliseconds = 10'000}));
  EXPECT_EQ(status.Running().checkpoint, 0u);
  EXPECT_FALSE(status.Progress(kStart + absl::Seconds(4)).has_value());
  EXPECT_EQ(status.Stopping(kStart + absl::Hours(1), absl::Seconds(25)).checkpoint, 1u);
  EXPECT_EQ(status.Progress(kStart + absl::Hours(1))->checkpoint, 2u);
  const ServiceReport stopped = status.Stopped(2);
  EXPECT_EQ(stopped, (ServiceReport{.phase = ServicePhase::kStopped, .exit_code = 2}));
  EXPECT_FALSE(status.Progress(kStart).has_value());
}

// Several reports must fit into the time that the manager waits.
TEST(ServiceStatusTest, TheWaitHintCoversSeveralReports) {
  EXPECT_GE(ServiceStatus::kWaitHint, 3 * ServiceStatus::kProgressInterval);
}

TEST(ServiceStatusTest, AStartReportsNoProgressBeyondItsLimit) {
  ServiceStatus status(kStart);
  status.Starting();
  EXPECT_TRUE(status.Progress(kStart + ServiceStatus::kStartLimit - absl::Seconds(1)).has_value());
  EXPECT_FALSE(status.Progress(kStart + ServiceStatus::kStartLimit).has_value());
  EXPECT_FALSE(status.IsStopOverdue(kStart + absl::Hours(24))) << "a start is not a stop";
}

TEST(ServiceStatusTest, AnOverdueStopIsReportedAsASuccess) {
  ServiceStatus status(kStart);
  status.Running();
  EXPECT_FALSE(status.IsStopOverdue(kStart + absl::Hours(1000)));
  const SteadyTime stop = kStart + absl::Hours(1000);
  status.Stopping(stop, absl::Seconds(25));
  EXPECT_FALSE(status.IsStopOverdue(stop + absl::Seconds(24)));
  EXPECT_TRUE(status.Progress(stop + absl::Seconds(24)).has_value());
  EXPECT_TRUE(status.IsStopOverdue(stop + absl::Seconds(25)));
  EXPECT_FALSE(status.Progress(stop + absl::Seconds(25)).has_value());
  EXPECT_EQ(status.StopOverdue(), (ServiceReport{.phase = ServicePhase::kStopped}));
  EXPECT_FALSE(status.IsStopOverdue(stop + absl::Hours(1)));
}

}  // namespace
namespace {

// Must never be destroyed, because the watchdog uses it and is never destroyed.
struct Bite {
  absl::Notification done;
  SteadyTime at;
};

TEST(WatchdogTest, TheActionRunsAtTheLimitAndNotBefore) {
  static auto& bite = *new Bite();
  // Static, so that LeakSanitizer finds an owner after the end of the thread.
  static Watchdog& watchdog = Watchdog::Start([] {
    bite.at = SteadyTime::Now();
    bite.done.Notify();
  });
  EXPECT_FALSE(bite.done.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  const SteadyTime armed = SteadyTime::Now();
  watchdog.Arm(absl::Milliseconds(200));
  ASSERT_TRUE(bite.done.WaitForNotificationWithTimeout(absl::Seconds(20)));
  EXPECT_GE(bite.at - armed, absl::Milliseconds(200));
}

}  // namespace

}  // namespace csi_proxy
