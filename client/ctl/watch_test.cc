// Tests of watches and of `top`, both of which repeat a request.
#include "client/ctl/watch.h"

#include <google/protobuf/util/json_util.h>

#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/commands.h"
#include "client/ctl/top/top.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::watch {
namespace {

using testing::ElementsAre;

// Gives the test's answers, and a clock that `sleep` advances. A watch ends after the last answer.
class GivenAnswersTest : public testing::Test {
 protected:
  explicit GivenAnswersTest(absl::Time now) : now_(now) {}

  Environment GivenAnswers() {
    return {.ask =
                [this] {
                  auto answer = answers_.front();
                  answers_.pop_front();
                  return answer;
                },
            .now = [this] { return now_; },
            .steady_now = [this] { return SteadyTime() + (now_ - absl::UnixEpoch()); },
            .sleep =
                [this](absl::Duration duration) {
                  now_ += duration;
                  pauses_.push_back(duration);
                  return !answers_.empty();
                }};
  }

  std::deque<absl::StatusOr<std::string>> answers_;
  absl::Time now_;
  std::vector<absl::Duration> pauses_;
  std::ostringstream out_, err_;
};

const absl::Duration kSecond = absl::Seconds(1);

class WatchCallTest : public GivenAnswersTest {
 protected:
  WatchCallTest() : GivenAnswersTest(absl::UnixEpoch()) {}

  int Watch(Before before, absl::Duration interval = kSecond) {
    return watch::Watch(GivenAnswers(), interval, before, out_, err_);
  }
};

TEST_F(WatchCallTest, AnAnswerIsPrintedOnlyIfItChanged) {
  answers_ = {"{1}\n", "{1}\n", "{2}\n", "{2}\n", "{1}\n"};
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(out_.str(), "{1}\n{2}\n{1}\n");
  EXPECT_EQ(err_.str(), "");
  EXPECT_THAT(pauses_, ElementsAre(kSecond, kSecond, kSecond, kSecond, kSecond));
}

TEST_F(WatchCallTest, TheTimeOfTheChangePrecedesTheAnswer) {
  answers_ = {"a\n", "a\n", "b\n"};
  EXPECT_EQ(Watch(Before::kTime), kOk);
  EXPECT_EQ(out_.str(), "1970-01-01T00:00:00+00:00\na\n1970-01-01T00:00:02+00:00\nb\n");
}

TEST_F(WatchCallTest, EachYamlAnswerIsADocument) {
  answers_ = {"a: 1\n", "a: 2\n"};
  EXPECT_EQ(Watch(Before::kDashes), kOk);
  EXPECT_EQ(out_.str(), "---\na: 1\n---\na: 2\n");
}

TEST_F(WatchCallTest, ARepeatedErrorIsPrintedOnceAndThePausesGrow) {
  const absl::Status gone = absl::UnavailableError("gone");
  answers_ = {gone, gone, gone, absl::NotFoundError("no"), "a\n", "a\n", gone, "a\n"};
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(err_.str(),
            "error: UNAVAILABLE: gone\nerror: NOT_FOUND: no\nthe service answers again\n"
            "error: UNAVAILABLE: gone\nthe service answers again\n");
  EXPECT_EQ(out_.str(), "a\n");
  EXPECT_THAT(pauses_, ElementsAre(kSecond, 2 * kSecond, 4 * kSecond, 8 * kSecond, kSecond, kSecond,
                                   kSecond, kSecond));
}

TEST_F(WatchCallTest, PausesGrowToAMinuteUnlessTheConfiguredPauseIsLonger) {
  answers_.assign(20, absl::UnavailableError("gone"));
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(pauses_.back(), absl::Minutes(1));
  pauses_.clear();
  answers_.assign(3, absl::UnavailableError("gone"));
  EXPECT_EQ(Watch(Before::kNothing, absl::Hours(1)), kOk);
  EXPECT_THAT(pauses_, ElementsAre(absl::Hours(1), absl::Hours(1), absl::Hours(1)));
}

// The error disappears from the screen, and the time on the screen is still the time of the last
// change.
TEST_F(WatchCallTest, TheScreenIsRedrawnAfterAnError) {
  answers_ = {"a\n", absl::UnavailableError("gone"), "a\n", "a\n"};
  EXPECT_EQ(Watch(Before::kCleared), kOk);
  const std::string screen = "\x1b[H\x1b[Jsince 1970-01-01T00:00:00+00:00\n\na\n";
  EXPECT_EQ(out_.str(), screen + screen);
  EXPECT_EQ(err_.str(), "error: UNAVAILABLE: gone\n");
}

TEST_F(WatchCallTest, AWrongRequestEndsTheWatch) {
  answers_ = {"a\n", absl::InvalidArgumentError("path: wrong"), "a\n"};
  EXPECT_EQ(Watch(Before::kNothing), kCallFailed);
  EXPECT_EQ(answers_.size(), 1);
  answers_ = {absl::UnimplementedError("no such method")};
  EXPECT_EQ(Watch(Before::kNothing), kCallFailed);
  EXPECT_TRUE(pauses_.size() == 1);
}

TEST_F(WatchCallTest, TheWatchEndsIfItsOutputIsClosed) {
  answers_ = {"a\n", "b\n"};
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(answers_.size(), 1);
}

}  // namespace
}  // namespace csi_proxy::ctl::watch

namespace csi_proxy::ctl::top {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Exposition(int calls, int started = 1000) {
  return absl::StrCat(
      "process_start_time_seconds ", started,
      "\ngrpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Rescan\",grpc_service=\"v1."
      "Disk\"} ",
      calls,
      "\ngrpc_server_handling_seconds_bucket{grpc_method=\"Rescan\",grpc_service=\"v1.Disk\",",
      "le=\"0.01\"} ", calls, "\ncsi_proxy_calls_in_flight{group=\"disk\"} 5",
      "\ncsi_proxy_calls_queued{group=\"disk\"} 2\ncsi_proxy_connections{state=\"live\"} 3",
      "\ncsi_proxy_api_calls_total{client_image=\"a\x1b.exe\",group=\"disk\",version=\"v1\"} ",
      calls, "\ncsi_proxy_client_limited_total{client_image=\"a.exe\",limit=\"queue\"} ", calls,
      "\n");
}

class WatchTest : public watch::GivenAnswersTest {
 protected:
  WatchTest() : GivenAnswersTest(absl::FromUnixSeconds(1100)) {}

  int Watch(bool once, absl::Duration interval, const Style& style) {
    Options options;
    options.set_metrics(":9090");
    options.set_once(once);
    return top::Watch(GivenAnswers(), options, interval, style, out_, err_);
  }

  Report Json() {
    Report report;
    EXPECT_TRUE(pb::util::JsonStringToMessage(out_.str(), &report).ok()) << out_.str();
    return report;
  }
};

TEST_F(WatchTest, OneReportCoversTheTimeSinceTheServiceStarted) {
  answers_ = {Exposition(50)};
  ASSERT_EQ(Watch(true, absl::ZeroDuration(), {.document = kJsonOutput}), kOk) << err_.str();
  const Report report = Json();
  EXPECT_EQ(report.metrics(), ":9090");
  EXPECT_EQ(report.time(), "1970-01-01T00:18:20+00:00");
  EXPECT_EQ(report.service_started(), "1970-01-01T00:16:40+00:00");
  EXPECT_EQ(report.seconds(), 100);
  EXPECT_EQ(report.live_connections(), 3);
  ASSERT_EQ(report.rpcs_size(), 1);
  EXPECT_EQ(report.rpcs(0).rpc(), "v1.Disk/Rescan");
  EXPECT_EQ(report.rpcs(0).calls(), 50);
  EXPECT_EQ(report.rpcs(0).calls_per_second(), 0.5);
  EXPECT_DOUBLE_EQ(report.rpcs(0).p50_ms(), 5);
  EXPECT_DOUBLE_EQ(report.rpcs(0).p99_ms(), 9.9);
  ASSERT_EQ(report.groups_size(), 1);
  EXPECT_EQ(report.groups(0).running(), 3);
  EXPECT_EQ(report.groups(0).queued(), 2);
  EXPECT_EQ(report.clients(0).client(), "a\x1b.exe");
  EXPECT_EQ(report.limits(0).times(), 50);
}

TEST_F(WatchTest, MillionsAreShownWithAllDigits) {
  answers_ = {Exposition(12345678)};
  ASSERT_EQ(Watch(true, absl::ZeroDuration(), {}), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("\nv1.Disk/Rescan  12345678  "),
                                HasSubstr("\na.exe   queue  12345678\n")));
}

TEST_F(WatchTest, AnIntervalCountsOnlyItsOwnCalls) {
  answers_ = {Exposition(50), Exposition(70)};
  ASSERT_EQ(Watch(true, absl::Seconds(10), {.document = kJsonOutput}), kOk) << err_.str();
  const Report report = Json();
  EXPECT_EQ(report.seconds(), 10);
  EXPECT_EQ(report.rpcs(0).calls(), 20);
  EXPECT_EQ(report.rpcs(0).calls_per_second(), 2);
  EXPECT_EQ(report.clients(0).calls_per_second(), 2);
}

TEST_F(WatchTest, TheTableIsRedrawnAfterEachInterval) {
  answers_ = {Exposition(50), Exposition(70), Exposition(70)};
  ASSERT_EQ(Watch(false, absl::Seconds(10), {.clears = true}), kOk) << err_.str();
  const std::string text = out_.str();
  const size_t second = text.rfind("\x1b[H\x1b[J");
  ASSERT_NE(second, 0);
  EXPECT_THAT(
      text.substr(0, second),
      AllOf(StartsWith("\x1b[H\x1b[J"
                       "csi-proxy at :9090, 1970-01-01T00:18:30+00:00, the "
                       "last 10.0 s\nconnections: 3 live, 0 silent\n"),
            HasSubstr("\ndisk   3        2\n"),
            HasSubstr("\nv1.Disk/Rescan  20     2.0         0       0        5.0 ms  9.9 ms\n"),
            HasSubstr("\na\\x1b.exe  disk   v1       20     2.0\n"),
            HasSubstr("\na.exe   queue  20\n")));
  EXPECT_THAT(text.substr(second),
              AllOf(HasSubstr("\nno calls have ended\n"), Not(HasSubstr("CLIENT"))));
}

TEST_F(WatchTest, ATerminalShowsTheMostCalledMethods) {
  std::string text = "csi_proxy_connections{state=\"live\"} 0\n";
  for (int i = 10; i < 40; ++i) {
    absl::StrAppend(&text, "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"M", i,
                    "\",grpc_service=\"v1.Disk\"} ", i, "\n");
  }
  answers_ = {std::string("csi_proxy_connections{state=\"live\"} 0\n"), text};
  ASSERT_EQ(Watch(false, absl::Seconds(1), {.clears = true}), kOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("M39"), HasSubstr("M25"), Not(HasSubstr("M24")),
                                HasSubstr("... and 15 more\n")));
}

TEST_F(WatchTest, TheWatchContinuesAfterARestartAndCountsFromZero) {
  answers_ = {Exposition(50), absl::UnavailableError("gone"), Exposition(7, 1115)};
  ASSERT_EQ(Watch(false, absl::Seconds(10), {}), kOk);
  EXPECT_EQ(err_.str().substr(0, 25), "error: UNAVAILABLE: gone\n");
  EXPECT_THAT(out_.str(), HasSubstr(", the last 5.0 s\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\nv1.Disk/Rescan  7      1.4 "));
}

TEST_F(WatchTest, AFailedOrMalformedScrapeBeforeTheFirstReportEndsTheWatch) {
  answers_ = {absl::UnavailableError("gone")};
  EXPECT_EQ(Watch(false, absl::Seconds(10), {}), kUnreachable);
  EXPECT_EQ(err_.str(), "error: UNAVAILABLE: gone\n") << "without a hint at pipes";
  answers_ = {Exposition(1), absl::DeadlineExceededError("slow")};
  EXPECT_EQ(Watch(true, absl::Seconds(10), {}), kDeadline);
  answers_ = {std::string("<html>")};
  EXPECT_EQ(Watch(true, absl::ZeroDuration(), {}), kCallFailed);
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace csi_proxy::ctl::top
