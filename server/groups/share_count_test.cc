#include "server/groups/share_count.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "gtest/gtest.h"

namespace csi_proxy::groups {
namespace {

using storage::ListSmbMappingsResponse;

const ListSmbMappingsResponse kListed = {
    .mappings = {{R"(\\h\a)", "OK", {R"(C:\k\1)", R"(C:\k\2)"}},
                 {R"(\\h\b)", "OK", {R"(C:\k\3)"}},
                 {R"(\\h\c)", "OK", {}}}};

// Returns true when the counts are `expected`, false after a minute.
bool Becomes(ShareCount& count, const std::optional<ShareCounts>& expected) {
  const SteadyTime end = SteadyTime::Now() + absl::Seconds(60);
  while (SteadyTime::Now() < end) {
    if (count.Get() == expected) return true;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return false;
}

TEST(CountSharesTest, MappingsWithoutLinksCountAsUnknownIfTheListingIsIncomplete) {
  EXPECT_EQ(CountShares(kListed), (ShareCounts{.linked = 2, .unlinked = 1, .links = 3}));
  ListSmbMappingsResponse cut = kListed;
  cut.incomplete = true;
  EXPECT_EQ(CountShares(cut), (ShareCounts{.linked = 2, .unknown = 1, .links = 3}));
  EXPECT_EQ(CountShares({}), ShareCounts());
}

// An unreachable server or a hanging WMI must not delay the other metrics.
TEST(ShareCountTest, GetNeverWaitsAndTheDestructorCancelsTheCount) {
  std::atomic<int> begun = 0, given_up = 0;
  {
    ShareCount count(
        [&](const CallContext& context) -> absl::StatusOr<ListSmbMappingsResponse> {
          ++begun;
          EXPECT_LE(context.deadline(), SteadyTime::Now() + ShareCount::kLongest);
          const absl::Status status = context.SleepFor(absl::InfiniteDuration());
          ++given_up;
          return status;
        },
        absl::ZeroDuration());
    while (begun == 0) EXPECT_EQ(count.Get(), std::nullopt);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(count.Get(), std::nullopt);
    EXPECT_EQ(given_up, 0);
  }
  EXPECT_EQ(begun, 1) << "one at a time";
  EXPECT_EQ(given_up, 1);
}

TEST(ShareCountTest, AFailedCountClearsTheLastResult) {
  std::atomic<bool> fails = false;
  ShareCount count(
      [&](const CallContext&) -> absl::StatusOr<ListSmbMappingsResponse> {
        if (fails) return absl::InternalError("WMI");
        return kListed;
      },
      absl::ZeroDuration());
  EXPECT_TRUE(Becomes(count, CountShares(kListed)));
  fails = true;
  EXPECT_TRUE(Becomes(count, std::nullopt));
  fails = false;
  EXPECT_TRUE(Becomes(count, CountShares(kListed)));
}

TEST(ShareCountTest, SharesAreCountedAtMostOncePerMinute) {
  std::atomic<int> begun = 0;
  ShareCount count([&](const CallContext&) -> absl::StatusOr<ListSmbMappingsResponse> {
    ++begun;
    return kListed;
  });
  EXPECT_TRUE(Becomes(count, CountShares(kListed)));
  for (int i = 0; i < 1000; ++i) count.Get();
  EXPECT_EQ(begun, 1);
}

// A count in a tree that a pod has made slow to walk uses at most a twentieth of a processor.
TEST(ShareCountTest, ASlowCountDelaysTheNextCountProportionally) {
  std::atomic<int> begun = 0;
  ShareCount count(
      [&](const CallContext&) -> absl::StatusOr<ListSmbMappingsResponse> {
        ++begun;
        absl::SleepFor(absl::Milliseconds(100));
        return kListed;
      },
      absl::ZeroDuration());
  EXPECT_TRUE(Becomes(count, CountShares(kListed)));
  const SteadyTime counted = SteadyTime::Now();
  while (begun == 1) count.Get();
  EXPECT_GT(SteadyTime::Now() - counted, absl::Milliseconds(1800));
}

}  // namespace
}  // namespace csi_proxy::groups
