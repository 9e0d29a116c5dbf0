#include "server/observability/repeats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csi_proxy/steady_time.h"

namespace csi_proxy::observability {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr char kMkdir[] = "Mkdir";
constexpr char kRmdir[] = "Rmdir";

class RepeatsTest : public testing::Test {
 protected:
  bool Admit(const char* what, int64_t process_id,
             absl::StatusCode code = absl::StatusCode::kInvalidArgument,
             const std::string& tenant = "") {
    return repeats_.Admit(
        what, {.process_id = process_id, .image_path = "driver.exe", .tenant = tenant}, code, now_);
  }

  // Returns the counts that are written at `now`.
  std::vector<Repeats::Count> Ended(SteadyTime now) {
    ended_.clear();
    repeats_.WriteEnded(now);
    return ended_;
  }

  SteadyTime now_ = SteadyTime();
  std::vector<Repeats::Count> ended_;
  Repeats repeats_{[this](const Repeats::Count& count) { ended_.push_back(count); }};
};

TEST_F(RepeatsTest, TheFirstEventsOfAMinuteAreWrittenAndLaterOnesCounted) {
  for (uint64_t i = 0; i < Repeats::kWritten; ++i) EXPECT_TRUE(Admit(kMkdir, 1)) << i;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(Admit(kMkdir, 1)) << i;
  now_ += absl::Seconds(59);
  EXPECT_THAT(Ended(now_), IsEmpty());
  now_ += absl::Seconds(1);
  const std::vector<Repeats::Count> counts = Ended(now_);
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].what, kMkdir);
  EXPECT_EQ(counts[0].process_id, 1);
  EXPECT_EQ(counts[0].image_path, "driver.exe");
  EXPECT_EQ(counts[0].code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(counts[0].times, 1000u);
  EXPECT_THAT(Ended(now_ + absl::Hours(1)), IsEmpty());
  EXPECT_TRUE(Admit(kMkdir, 1)) << "a new minute";
}

TEST_F(RepeatsTest, RefusalsForALimitAreLoggedOnceAndThenCountedByTheMinute) {
  const auto refuse = [this](const char* what, int64_t process_id) {
    return Admit(what, process_id, absl::StatusCode::kResourceExhausted, "greedy");
  };
  EXPECT_TRUE(refuse(kMkdir, 1));
  for (int minute = 0; minute < 3; ++minute) {
    EXPECT_FALSE(refuse(kRmdir, 2));
    EXPECT_FALSE(refuse(kMkdir, 1));
    now_ += Repeats::kPeriod;
    const std::vector<Repeats::Count> counts = Ended(now_);
    ASSERT_THAT(counts, SizeIs(1));
    EXPECT_EQ(counts[0].times, 2u);
  }
  now_ += Repeats::kPeriod;
  EXPECT_TRUE(refuse(kMkdir, 3)) << "a minute without one ends the flood";
  EXPECT_FALSE(refuse(kMkdir, 3));
  now_ += absl::Hours(1);
  EXPECT_TRUE(refuse(kMkdir, 3)) << "so does an hour in which nothing asked for the counts";
}

TEST_F(RepeatsTest, EventsOfDifferentClientsMethodsOrCodesAreCountedSeparately) {
  for (uint64_t i = 0; i <= Repeats::kWritten; ++i) Admit(kMkdir, 1);
  EXPECT_FALSE(Admit(kMkdir, 1));
  EXPECT_TRUE(Admit(kMkdir, 2));
  EXPECT_TRUE(Admit(kRmdir, 1));
  EXPECT_TRUE(Admit(kMkdir, 1, absl::StatusCode::kNotFound));
}

TEST_F(RepeatsTest, TheNextEventAfterAMinuteReportsTheMinutesCounts) {
  for (uint64_t i = 0; i < Repeats::kWritten + 3; ++i) Admit(kMkdir, 1);
  now_ += absl::Minutes(5);
  EXPECT_TRUE(Admit(kRmdir, 2));
  ASSERT_THAT(ended_, SizeIs(1));
  EXPECT_EQ(ended_[0].times, 3u);
}

TEST_F(RepeatsTest, ManyClientsOfATenantUseUpOnlyTheirTenantsLimit) {
  uint64_t written = 0;
  for (int64_t process = 0; process < 10'000; ++process) written += Admit(kMkdir, process);
  EXPECT_EQ(written, Repeats::kMaxKinds);
  EXPECT_TRUE(Admit(kMkdir, 1, absl::StatusCode::kPermissionDenied)) << "hidden by another code";
  EXPECT_TRUE(Admit(kMkdir, 10'000, absl::StatusCode::kInvalidArgument, "victim"));
  const std::vector<Repeats::Count> counts = Ended(now_ + absl::Minutes(1));
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].what, "*");
  EXPECT_EQ(counts[0].process_id, 9999) << "the last";
  EXPECT_EQ(counts[0].image_path, "driver.exe");
  EXPECT_EQ(counts[0].code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(counts[0].times, 10'000 - Repeats::kMaxKinds);
}

TEST_F(RepeatsTest, OneProcessCannotUseUpItsTenantsLimit) {
  constexpr char kMethods[1000] = {};
  for (const char& method : kMethods) Admit(&method, 1);
  EXPECT_TRUE(Admit(kMkdir, 2));
}

TEST_F(RepeatsTest, TheNumberOfKindsOfEventsIsLimitedOverAllTenants) {
  uint64_t written = 0;
  for (int i = 0; i < 10'000; ++i) {
    written += Admit(kMkdir, i, absl::StatusCode::kInvalidArgument, std::to_string(i));
  }
  EXPECT_EQ(written, Repeats::kMaxTenants + Repeats::kMaxKinds);
  EXPECT_THAT(Ended(now_ + absl::Minutes(1)), SizeIs(1));
}

}  // namespace
}  // namespace csi_proxy::observability
