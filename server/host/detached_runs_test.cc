#include "server/host/detached_runs.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::host {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

CallContext Brief() { return CallContext().WithTimeout(absl::Milliseconds(30)); }

TEST(DetachedRunsTest, ACallWaitsForAnAbandonedChangeOfTheSameObject) {
  absl::Notification end;
  std::atomic<bool> is_done = false;
  std::vector<std::string> lines;
  DetachedRuns changes(2, [&](absl::string_view line) { lines.emplace_back(line); });
  const auto fail = [](const CallContext&) { return absl::AbortedError("lost"); };
  const Peer peer{1, "", "one"};
  EXPECT_FALSE(changes.Run(CallContext(), {"disk 1"}, fail).ok());
  const auto change = [&](const CallContext& run) {
    end.WaitForNotification();
    is_done = true;
    return fail(run);
  };
  EXPECT_THAT(std::string(changes.Run(Brief().From(&peer, ""), {"disk 1"}, change).message()),
              HasSubstr("Windows goes on with the call for disk 1"));
  EXPECT_THAT(std::string(changes.Await(Brief(), "disk 1").message()),
              HasSubstr("Windows has not finished an earlier call for disk 1"));
  EXPECT_TRUE(changes.Await(Brief(), "disk 2").ok());
  EXPECT_FALSE(is_done);
  end.Notify();
  EXPECT_TRUE(changes.Await(CallContext(), "disk 1").ok());
  EXPECT_TRUE(is_done);
  EXPECT_THAT(lines, ElementsAre(AllOf(StartsWith("a call of tenant \"one\" for disk 1, which its "
                                                  "caller has left, ended after "),
                                       EndsWith("ms: lost"))));
}

TEST(DetachedRunsTest, AnAbandonedChangeIsCancelledAfterItsLimit) {
  DetachedRuns changes(2);
  const auto hang = [](const CallContext& run) { return run.SleepFor(absl::InfiniteDuration()); };
  EXPECT_FALSE(changes.Run(Brief(), {"disk 1"}, hang, absl::Milliseconds(60)).ok());
  EXPECT_TRUE(changes.Await(CallContext().WithTimeout(absl::Seconds(20)), "disk 1").ok());
}

// The destructor ends the remaining changes.
TEST(DetachedRunsTest, ATenantCanAbandonRunsOnlyUpToTheLimit) {
  DetachedRuns changes(2);
  const auto hang = [](const CallContext& run) { return run.SleepFor(absl::InfiniteDuration()); };
  const Peer one{1, "", "one"};
  const Peer two{2, "", "two"};
  const auto run = [&](const Peer& peer, int object) {
    const CallContext context = CallContext().WithTimeout(absl::Milliseconds(1)).From(&peer, "");
    return changes.Run(context, {absl::StrCat(object)}, hang).code();
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(one, i), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(run(one, 2), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(run(two, 3), absl::StatusCode::kDeadlineExceeded);
}

TEST(DetachedRunsTest, AReadWaitsOnlyForAbandonedReads) {
  absl::Notification end;
  std::atomic<int> begun = 0;
  DetachedRuns reads(2);
  const auto hang = [&](const CallContext&) -> absl::StatusOr<int> {
    ++begun;
    end.WaitForNotification();
    return 1;
  };
  const auto answer = [](const CallContext&) -> absl::StatusOr<int> { return 2; };
  absl::Notification gone;
  std::thread first([&] {
    EXPECT_TRUE(absl::IsCancelled(
        reads.Read<int>(CallContext(absl::InfiniteFuture(), &gone), "disk 1", hang).status()));
  });
  while (begun == 0) std::this_thread::yield();
  EXPECT_EQ(*reads.Read<int>(CallContext(), "disk 1", answer), 2);
  gone.Notify();
  first.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(reads.Read<int>(Brief(), "disk 1", hang).status()));
  EXPECT_EQ(begun, 1) << "a second thread hangs";
  EXPECT_EQ(*reads.Read<int>(CallContext(), "disk 2", answer), 2);
  end.Notify();
  EXPECT_EQ(*reads.Read<int>(CallContext(), "disk 1", answer), 2);
}

}  // namespace
}  // namespace csi_proxy::host
