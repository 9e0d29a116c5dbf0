#include "server/base/status_macros.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int number) {
  if (number % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(number / 2);
}

absl::StatusOr<int> Quarter(int number) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(number));
  int quarter = 0;
  ABSL_ASSIGN_OR_RETURN(quarter, [&]() -> absl::StatusOr<int> {
    ABSL_ASSIGN_OR_RETURN(const auto value, Half(*half));
    return *value;
  }());
  return quarter;
}

absl::Status CheckEven(int number, int& calls) {
  ++calls;
  return Half(number).status();
}

absl::Status CheckBoth(int first, int second, int& calls) {
  ABSL_RETURN_IF_ERROR(CheckEven(first, calls));
  ABSL_RETURN_IF_ERROR(CheckEven(second, calls));
  return absl::OkStatus();
}

TEST(StatusMacrosTest, TheValueIsMovedOutOrTheErrorReturned) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(7).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
}

TEST(StatusMacrosTest, AnErrorEndsTheFunctionAndTheExpressionRunsOnce) {
  int calls = 0;
  EXPECT_TRUE(CheckBoth(2, 4, calls).ok());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(CheckBoth(1, 4, calls), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(CheckBoth(2, 3, calls), absl::InvalidArgumentError("odd"));
}

// The value, such as a lock, must live to the end of the block.
TEST(StatusMacrosTest, TheValueLivesAsLongAsItsName) {
  const auto held = std::make_shared<int>(0);
  const auto function = [&]() -> absl::StatusOr<long> {
    ABSL_ASSIGN_OR_RETURN(const auto lock, absl::StatusOr<std::shared_ptr<int>>(held));
    return held.use_count();
  };
  EXPECT_EQ(*function(), 2);
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace csi_proxy
