#include "server/base/back_off.h"

#include <gtest/gtest.h>

#include <vector>

namespace csi_proxy {
namespace {

TEST(BackOffTest, PausesDoubleUpToTheLongestAndBeginAnewAfterASuccess) {
  BackOff back_off(absl::Seconds(1), absl::Seconds(5));
  std::vector<absl::Duration> pauses;
  for (int i = 0; i < 5; ++i) pauses.push_back(back_off.Failed());
  back_off.Succeeded();
  pauses.push_back(back_off.Failed());
  std::vector<absl::Duration> expected;
  for (const int seconds : {1, 2, 4, 5, 5, 1}) expected.push_back(absl::Seconds(seconds));
  EXPECT_EQ(pauses, expected);
}

TEST(BackOffTest, FailuresAreWorthTellingAtPowersOfTwoWhateverSucceedsBetween) {
  BackOff back_off(absl::Seconds(1), absl::Seconds(5));
  std::vector<uint64_t> told;
  for (int i = 0; i < 100; ++i) {
    back_off.Failed();
    if (back_off.worth_logging()) told.push_back(back_off.failures());
    back_off.Succeeded();
  }
  EXPECT_EQ(told, (std::vector<uint64_t>{1, 2, 4, 8, 16, 32, 64}));
}

}  // namespace
}  // namespace csi_proxy
