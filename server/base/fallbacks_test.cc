#include "server/base/fallbacks.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace csi_proxy {
namespace {

TEST(FallbacksTest, EachFallbackHasItsOwnCounter) {
  for (const FallbackFacts& facts : kFallbacks) {
    std::vector<uint64_t> before;
    for (const FallbackFacts& other : kFallbacks) before.push_back(FallbackCount(other.fallback));
    RecordFallback(facts.fallback);
    for (size_t i = 0; i < kFallbacks.size(); ++i) {
      const bool is_it = kFallbacks[i].fallback == facts.fallback;
      EXPECT_EQ(FallbackCount(kFallbacks[i].fallback), before[i] + (is_it ? 1 : 0)) << facts.name;
    }
  }
}

TEST(FallbacksTest, EachFallbackHasADifferentName) {
  std::set<std::string> names;
  for (const FallbackFacts& facts : kFallbacks) EXPECT_TRUE(names.insert(facts.name).second);
}

TEST(FallbacksTest, OnlyTheCurrentObserverIsNotified) {
  std::vector<std::pair<std::string, std::string>> told;
  ObserveFallbacks([&](const FallbackFacts& facts, absl::string_view why) {
    told.emplace_back(facts.name, std::string(why));
  });
  RecordFallback(Fallback::kOpenRepeated, "error 87");
  ObserveFallbacks(nullptr);
  RecordFallback(Fallback::kOpenRepeated, "error 87");
  EXPECT_EQ(told,
            (std::vector<std::pair<std::string, std::string>>{{"open-repeated", "error 87"}}));
}

TEST(FallbacksTest, ManyThreadsCanCountWithoutALoss) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 1000;
  const uint64_t before = FallbackCount(Fallback::kPlainDeletion);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < kTimes; ++j) RecordFallback(Fallback::kPlainDeletion);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(FallbackCount(Fallback::kPlainDeletion), before + kThreads * kTimes);
}

}  // namespace
}  // namespace csi_proxy
