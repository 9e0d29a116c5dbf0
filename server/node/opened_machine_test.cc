#include "server/node/opened_machine.h"

#include <gtest/gtest.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/node/simulated_host.h"
#include "server/simulator/testing.h"

namespace csi_proxy {
namespace {

class OpenedMachineTest : public testing::Test {
 protected:
  // Opens the machine, and leaves a run under way that ends only when the test says so.
  OpenedMachineTest() {
    opened_.emplace(OpenSimulatedMachine(machine::simulator::TestNode(), nullptr));
    opened_->patience = absl::ZeroDuration();
    absl::Notification gone;
    const auto run = [this, &gone](const CallContext&) {
      gone.Notify();
      may_end_.WaitForNotification();
      has_ended_.Notify();
      return absl::OkStatus();
    };
    const CallContext context(absl::InfiniteFuture(), &gone);
    EXPECT_TRUE(absl::IsCancelled(opened_->host->looks().Run(context, {"volume"}, run)));
  }
  // Destroys the machine, and returns how many threads it tries to start.
  int Destroy(bool has_threads) {
    int times = 0;
    opened_->start_thread = [&](std::function<void()> work) -> absl::StatusOr<std::thread> {
      // Lets the machine go after a repeated try.
      if (++times > 1) may_end_.Notify();
      if (!has_threads) return absl::ResourceExhaustedError("no thread");
      return std::thread([this, work = std::move(work)] {
        work();
        is_closed_.Notify();
      });
    };
    opened_.reset();
    return times;
  }

  absl::Notification may_end_, has_ended_, is_closed_;
  std::optional<OpenedMachine> opened_;
};

TEST_F(OpenedMachineTest, AThreadClosesAMachineWhoseRunDoesNotEnd) {
  EXPECT_EQ(Destroy(/*has_threads=*/true), 1);
  EXPECT_FALSE(is_closed_.HasBeenNotified());
  may_end_.Notify();
  is_closed_.WaitForNotification();
}

// Two calls share a listing that Windows does not end, and leave it.
TEST_F(OpenedMachineTest, AThreadClosesAMachineWhoseSharedListingDoesNotEnd) {
  may_end_.Notify();
  has_ended_.WaitForNotification();
  auto& listing = opened_->host->disk().listings()[0];
  std::atomic<int> runs = 0;
  absl::Notification first_ends, gone, returns;
  const auto run = [&](const CallContext&) -> absl::StatusOr<std::vector<host::DiskDescription>> {
    (++runs == 1 ? first_ends : returns).WaitForNotification();
    return absl::CancelledError();
  };
  const CallContext leaves(absl::InfiniteFuture(), &gone);
  std::thread first([&] { (void)listing.Get(CallContext(), run); });
  while (runs == 0) std::this_thread::yield();
  std::thread second([&] { (void)listing.Get(leaves, run); });
  std::thread third([&] { (void)listing.Get(leaves, run); });
  while (listing.waiting() < 2) std::this_thread::yield();
  first_ends.Notify();
  first.join();
  while (runs < 2) std::this_thread::yield();
  gone.Notify();
  second.join();
  third.join();
  EXPECT_EQ(Destroy(/*has_threads=*/true), 1);
  EXPECT_FALSE(is_closed_.HasBeenNotified());
  returns.Notify();
  is_closed_.WaitForNotification();
}

// The system may start no more threads when the process ends.
TEST_F(OpenedMachineTest, ADestroyedMachineStaysOpenIfNoThreadCanStart) {
#if defined(__SANITIZE_ADDRESS__)
  const __lsan::ScopedDisabler stays_open;
#elif defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer reports the run's thread, which nothing joins";
#endif
  EXPECT_EQ(Destroy(/*has_threads=*/false), 1);
  may_end_.Notify();
  has_ended_.WaitForNotification();
}

}  // namespace
}  // namespace csi_proxy
