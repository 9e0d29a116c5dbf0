#include "server/rpc/call_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/steady_time.h"
#include "server/base/unicode.h"

namespace csi_proxy::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr MethodInfo kMethod = {
    "volume", "v1", "v1.Volume", "MountVolume", "csi-proxy-volume-v1", "/v1.Volume/MountVolume"};

constexpr Executor::Limits kRoomy = {.max_threads = 16, .max_queued = 256};

class Recorder final : public CallObserver {
 public:
  void OnStart(const MethodInfo& method) override {
    std::lock_guard lock(mutex_);
    lines.push_back(std::string("start ") + method.method);
  }
  void OnDone(const MethodInfo& method, const CallContext& call, const absl::Status& status,
              absl::Duration duration) override {
    std::lock_guard lock(mutex_);
    EXPECT_GT(call.peer().process_id, 0);
    EXPECT_THAT(call.peer().image_path, HasSubstr("executor_test"));
    EXPECT_GE(duration, absl::ZeroDuration());
    lines.push_back(std::string(method.method) + " " + absl::StatusCodeToString(status.code()));
  }
  std::vector<std::string> lines;

 private:
  std::mutex mutex_;
};

absl::Status Nothing(const CallContext&) { return absl::OkStatus(); }

// Waits until another thread makes `predicate` true.
template <typename Predicate>
bool Eventually(Predicate predicate) {
  const SteadyTime give_up = SteadyTime::Now() + absl::Seconds(30);
  while (!predicate() && SteadyTime::Now() < give_up) absl::SleepFor(absl::Milliseconds(1));
  return predicate();
}

TEST(CallLimiterTest, RunsOnTheCallersThreadAndTellsObservers) {
  Recorder recorder;
  CallLimiter calls(kRoomy, {&recorder}, absl::InfiniteDuration());
  std::thread::id ran;
  EXPECT_EQ(calls.Run(kMethod, CallContext(),
                      [&](const CallContext& context) {
                        ran = std::this_thread::get_id();
                        EXPECT_STREQ(context.pipe(), "csi-proxy-volume-v1");
                        EXPECT_GT(context.peer().process_id, 0);
                        return absl::NotFoundError("no such volume");
                      }),
            absl::NotFoundError("no such volume"));
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_THAT(recorder.lines, ElementsAre("start MountVolume", "MountVolume NOT_FOUND"));
}

TEST(CallLimiterTest, AStatusKeepsCodeAndTextAlone) {
  CallLimiter calls(kRoomy, {}, absl::InfiniteDuration());
  EXPECT_EQ(calls.Run(kMethod, CallContext(),
                      [](const CallContext&) {
                        absl::Status status = absl::InternalError("failed");
                        status.SetPayload("inside", absl::Cord("more"));
                        return status;
                      }),
            absl::InternalError("failed"));
}

TEST(CallLimiterTest, NoCallTakesLongerThanTheLimitAllows) {
  CallLimiter calls(kRoomy, {}, absl::Seconds(5));
  EXPECT_TRUE(calls
                  .Run(kMethod, CallContext(),
                       [](const CallContext& context) {
                         EXPECT_LE(context.deadline(), SteadyTime::Now() + absl::Seconds(5));
                         return absl::OkStatus();
                       })
                  .ok());
  CallLimiter none(kRoomy, {}, -absl::Seconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(none.Run(kMethod, CallContext(), Nothing)));
}

TEST(CallLimiterTest, ACallThatIsOverDoesNotRun) {
  absl::Notification cancelled;
  cancelled.Notify();
  bool ran = false;
  CallLimiter calls(kRoomy, {}, absl::InfiniteDuration());
  const auto function = [&](const CallContext&) {
    ran = true;
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsCancelled(calls.Run(
      kMethod, CallContext(SteadyTime::InfiniteFuture(), &cancelled, nullptr), function)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      calls.Run(kMethod, CallContext(SteadyTime::Now(), nullptr, nullptr), function)));
  EXPECT_FALSE(ran);
}

// One call holds the only slot while others arrive.
class FullCallLimiterTest : public testing::Test {
 protected:
  FullCallLimiterTest() {
    holder_ = std::thread([this] {
      EXPECT_TRUE(calls_
                      .Run(kMethod, CallContext(),
                           [this](const CallContext&) {
                             held_.Notify();
                             release_.WaitForNotification();
                             return absl::OkStatus();
                           })
                      .ok());
    });
    held_.WaitForNotification();
  }
  ~FullCallLimiterTest() override {
    if (!release_.HasBeenNotified()) release_.Notify();
    holder_.join();
  }

  CallLimiter calls_{{.max_threads = 1, .max_queued = 2}, {}, absl::InfiniteDuration()};
  absl::Notification held_, release_;
  std::thread holder_;
};

TEST_F(FullCallLimiterTest, WaitersGetTheirTurnInOrderAndNoMoreThanFitWait) {
  std::vector<int> order;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i) {
    waiters.emplace_back([&, i] {
      EXPECT_TRUE(calls_
                      .Run(kMethod, CallContext(),
                           [&](const CallContext&) {
                             order.push_back(i);  // one at a time: nothing else guards it
                             return absl::OkStatus();
                           })
                      .ok());
    });
    ASSERT_TRUE(Eventually([&] { return calls_.queued() == static_cast<size_t>(i) + 1; }));
  }
  const absl::Status refused = calls_.Run(kMethod, CallContext(), Nothing);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  release_.Notify();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_THAT(order, ElementsAre(0, 1));
  EXPECT_EQ(calls_.queued(), 0u);
}

TEST_F(FullCallLimiterTest, AWaiterGivesUpAtItsDeadlineOrWhenCancelled) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      calls_.Run(kMethod, CallContext(SteadyTime::Now() + absl::Milliseconds(30), nullptr, nullptr),
                 Nothing)));
  absl::Notification cancelled;
  std::thread waiter([&] {
    EXPECT_TRUE(absl::IsCancelled(calls_.Run(
        kMethod, CallContext(SteadyTime::InfiniteFuture(), &cancelled, nullptr), Nothing)));
  });
  ASSERT_TRUE(Eventually([&] { return calls_.queued() == 1; }));
  cancelled.Notify();
  waiter.join();
  EXPECT_EQ(calls_.queued(), 0u);
  release_.Notify();
  EXPECT_TRUE(calls_.Run(kMethod, CallContext(), Nothing).ok()) << "places are not lost";
}

TEST(CallLimiterTest, ManyThreadsNeverExceedThePlaces) {
  CallLimiter calls({.max_threads = 4, .max_queued = 64}, {}, absl::InfiniteDuration());
  std::atomic<int> inside = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        EXPECT_TRUE(calls
                        .Run(kMethod, CallContext(),
                             [&](const CallContext&) {
                               const int now = ++inside;
                               int seen = most;
                               while (now > seen && !most.compare_exchange_weak(seen, now)) {
                               }
                               std::this_thread::yield();
                               --inside;
                               ++done;
                               return absl::OkStatus();
                             })
                        .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 4);
  EXPECT_EQ(done, 16 * 200);
}

TEST(CallLimiterTest, ALongErrorKeepsItsBeginningAndItsEnd) {
  CallLimiter calls(kRoomy, {}, absl::InfiniteDuration());
  for (const char* filler : {"x", "ä", "\x80"}) {
    std::string text = "field: ";
    while (text.size() < 40000) text += filler;
    text += ": reason";
    const absl::Status error = calls.Run(
        kMethod, CallContext(), [&](const CallContext&) { return absl::NotFoundError(text); });
    EXPECT_TRUE(absl::IsNotFound(error)) << error;
    EXPECT_LE(error.message().size(), 2200u);
    if (*filler == '\x80') continue;
    EXPECT_THAT(std::string(error.message()), testing::StartsWith("field: "));
    EXPECT_THAT(std::string(error.message()), testing::EndsWith(": reason"));
    EXPECT_GE(Utf16Length(error.message()), 0) << "no character is cut";
  }
}

}  // namespace
}  // namespace csi_proxy::rpc
