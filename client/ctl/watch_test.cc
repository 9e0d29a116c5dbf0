#include "client/ctl/watch.h"

#include "client/ctl/commands.h"
#include "client/ctl/watch_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::watch {
namespace {

using testing::ElementsAre;

const absl::Duration kSecond = absl::Seconds(1);

class WatchCallTest : public GivenAnswersTest {
 protected:
  WatchCallTest() : GivenAnswersTest(absl::UnixEpoch()) {}

  int Watch(Before before, absl::Duration interval = kSecond) {
    return watch::Watch(GivenAnswers(), interval, before, out_, err_);
  }
};

TEST_F(WatchCallTest, AnAnswerIsShownWhenItChanged) {
  answers_ = {"{1}\n", "{1}\n", "{2}\n", "{2}\n", "{1}\n"};
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(out_.str(), "{1}\n{2}\n{1}\n");
  EXPECT_EQ(err_.str(), "");
  EXPECT_THAT(pauses_, ElementsAre(kSecond, kSecond, kSecond, kSecond, kSecond));
}

TEST_F(WatchCallTest, ItsHeadIsTheTimeOfTheChange) {
  answers_ = {"a\n", "a\n", "b\n"};
  EXPECT_EQ(Watch(Before::kTime), kOk);
  EXPECT_EQ(out_.str(), "1970-01-01T00:00:00+00:00\na\n1970-01-01T00:00:02+00:00\nb\n");
}

TEST_F(WatchCallTest, YamlIsADocumentEach) {
  answers_ = {"a: 1\n", "a: 2\n"};
  EXPECT_EQ(Watch(Before::kDashes), kOk);
  EXPECT_EQ(out_.str(), "---\na: 1\n---\na: 2\n");
}

TEST_F(WatchCallTest, ErrorsAreToldOnceAndThePausesGrow) {
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

TEST_F(WatchCallTest, ThePausesHaveALimit) {
  answers_.assign(20, absl::UnavailableError("gone"));
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(pauses_.back(), absl::Minutes(1));
  pauses_.clear();
  answers_.assign(3, absl::UnavailableError("gone"));
  EXPECT_EQ(Watch(Before::kNothing, absl::Hours(1)), kOk);
  EXPECT_THAT(pauses_, ElementsAre(absl::Hours(1), absl::Hours(1), absl::Hours(1)));
}

// The error disappears from the screen, and the time is still that of the change.
TEST_F(WatchCallTest, AClearedScreenIsDrawnAnewAfterAnError) {
  answers_ = {"a\n", absl::UnavailableError("gone"), "a\n", "a\n"};
  EXPECT_EQ(Watch(Before::kCleared), kOk);
  const std::string screen = "\x1b[H\x1b[Jsince 1970-01-01T00:00:00+00:00\n\na\n";
  EXPECT_EQ(out_.str(), screen + screen);
  EXPECT_EQ(err_.str(), "error: UNAVAILABLE: gone\n");
}

TEST_F(WatchCallTest, AWrongRequestEndsIt) {
  answers_ = {"a\n", absl::InvalidArgumentError("path: wrong"), "a\n"};
  EXPECT_EQ(Watch(Before::kNothing), kCallFailed);
  EXPECT_EQ(answers_.size(), 1);
  answers_ = {absl::UnimplementedError("no such method")};
  EXPECT_EQ(Watch(Before::kNothing), kCallFailed);
  EXPECT_TRUE(pauses_.size() == 1);
}

TEST_F(WatchCallTest, ItEndsWhenNobodyReads) {
  answers_ = {"a\n", "b\n"};
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(Watch(Before::kNothing), kOk);
  EXPECT_EQ(answers_.size(), 1);
}

}  // namespace
}  // namespace csi_proxy::ctl::watch
