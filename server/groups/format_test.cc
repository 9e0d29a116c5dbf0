#include "server/groups/format_watch.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::groups {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

class FormatWatchTest : public testing::Test {
 protected:
  std::vector<std::string> Lines() {
    const std::lock_guard<Mutex> lock(mutex_);
    return lines_;
  }
  void Note(absl::string_view line) {
    const std::lock_guard<Mutex> lock(mutex_);
    lines_.emplace_back(line);
  }

  Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(FormatWatchTest, TellsTheBeginningAndTheEnd) {
  FormatWatch watch([&](absl::string_view line) { Note(line); });
  EXPECT_EQ(watch.Run("formatting a", [] { return absl::OkStatus(); }), absl::OkStatus());
  EXPECT_EQ(watch.Run("formatting b", [] { return absl::InternalError("no"); }),
            absl::InternalError("no"));
  EXPECT_EQ(watch.Run("formatting c", [] { return absl::DeadlineExceededError("late"); }),
            absl::DeadlineExceededError("late"));
  EXPECT_THAT(Lines(),
              ElementsAre("formatting a: started", StartsWith("formatting a: done after "),
                          "formatting b: started",
                          AllOf(StartsWith("formatting b: failed after "), EndsWith(": no")),
                          "formatting c: started",
                          AllOf(StartsWith("formatting c: given up after "),
                                EndsWith(", Windows may still be at it: late"))));
}

TEST_F(FormatWatchTest, TellsThatOneStillRuns) {
  FormatWatch watch([&](absl::string_view line) { Note(line); }, absl::Milliseconds(5));
  const absl::Status status = watch.Run("formatting", [&] {
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (Lines().size() < 3 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
    return absl::OkStatus();
  });
  EXPECT_EQ(status, absl::OkStatus());
  const std::vector<std::string> lines = Lines();
  ASSERT_GE(lines.size(), 4u);
  EXPECT_THAT(lines[1], StartsWith("formatting: still running after "));
  EXPECT_THAT(lines[2], StartsWith("formatting: still running after "));
  EXPECT_THAT(lines.back(), StartsWith("formatting: done after "));
}

TEST_F(FormatWatchTest, CountsThoseThatRun) {
  FormatWatch watch([](absl::string_view) {});
  EXPECT_EQ(watch.running().count, 0u);
  EXPECT_EQ(watch.running().oldest, absl::ZeroDuration());
  absl::Notification begun;
  absl::Notification may_end;
  std::thread first([&] {
    (void)watch.Run("first", [&] {
      begun.Notify();
      may_end.WaitForNotification();
      return absl::OkStatus();
    });
  });
  begun.WaitForNotification();
  absl::SleepFor(absl::Milliseconds(20));
  (void)watch.Run("second", [&] {
    EXPECT_EQ(watch.running().count, 2u);
    EXPECT_GE(watch.running().oldest, absl::Milliseconds(20)) << "the first one's";
    return absl::OkStatus();
  });
  EXPECT_EQ(watch.running().count, 1u);
  may_end.Notify();
  first.join();
  EXPECT_EQ(watch.running().count, 0u);
}

}  // namespace
}  // namespace csi_proxy::groups
