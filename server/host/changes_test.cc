#include "server/host/changes.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::host {
namespace {

using testing::HasSubstr;

CallContext Brief() { return CallContext().WithTimeout(absl::Milliseconds(30)); }

TEST(ChangesTest, ACallWaitsForTheEndOfAChangeThatAnotherHasLeft) {
  absl::Notification end;
  std::atomic<bool> is_done = false;
  Changes changes;
  const auto change = [&](const CallContext& run) {
    end.WaitForNotification();
    is_done = true;
    return run.Check();
  };
  EXPECT_THAT(std::string(changes.Run(Brief(), "disk 1", change).message()),
              HasSubstr("Windows goes on with the change of disk 1"));
  EXPECT_THAT(std::string(changes.Await(Brief(), "disk 1").message()),
              HasSubstr("Windows has not finished an earlier change of disk 1"));
  EXPECT_TRUE(changes.Await(Brief(), "disk 2").ok());
  EXPECT_FALSE(is_done);
  end.Notify();
  EXPECT_TRUE(changes.Await(CallContext(), "disk 1").ok());
  EXPECT_TRUE(is_done);
}

// The destructor ends the changes that are left.
TEST(ChangesTest, OneTenantLeavesAtMost32Changes) {
  Changes changes;
  const auto hang = [](const CallContext& run) { return run.SleepFor(absl::InfiniteDuration()); };
  const Peer one{1, "", "one"};
  const Peer two{2, "", "two"};
  const auto run = [&](const Peer& peer, int object) {
    const CallContext context = CallContext().WithTimeout(absl::Milliseconds(1)).From(&peer, "");
    return changes.Run(context, absl::StrCat(object), hang).code();
  };
  for (int i = 0; i < 32; ++i) EXPECT_EQ(run(one, i), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(run(one, 32), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(run(two, 33), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace csi_proxy::host
