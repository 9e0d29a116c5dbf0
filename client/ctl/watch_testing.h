// For tests of watches: a service with given answers.
#pragma once

#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "client/ctl/watch.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::watch {

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

}  // namespace csi_proxy::ctl::watch
