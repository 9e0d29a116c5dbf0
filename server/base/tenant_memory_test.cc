#include "server/base/tenant_memory.h"

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Memory = TenantMemory<int, std::string>;

// Returns the values, the oldest first.
std::vector<std::string> ValuesOf(const Memory& memory) {
  std::vector<std::string> values;
  for (const Memory::Entry& one : memory.Select([](const auto&) { return true; })) {
    values.push_back(one.value);
  }
  return values;
}

TEST(TenantMemoryTest, AtTheLimitTheLargestTenantLosesItsOldestValue) {
  Memory memory(3);
  memory.Set("honest", 1, "h1");
  for (int i = 1; i <= 9; ++i) memory.Set("greedy", i, std::to_string(i));
  EXPECT_THAT(ValuesOf(memory), ElementsAre("h1", "8", "9"));
  memory.Set("honest", 2, "h2");
  // Both tenants have two values, so the caller's tenant loses its oldest value.
  EXPECT_THAT(ValuesOf(memory), ElementsAre("8", "9", "h2"));
  EXPECT_EQ(memory.Find("honest", 2), "h2");
  EXPECT_EQ(memory.Find("greedy", 3), std::nullopt);
}

TEST(TenantMemoryTest, SetReplacesOneKeyAndForgetRemovesOnlyMatches) {
  Memory memory(3);
  memory.Set("one", 1, "a");
  memory.Set("two", 1, "b");
  memory.Set("one", 2, "c");
  memory.Set("one", 1, "d");
  EXPECT_THAT(ValuesOf(memory), ElementsAre("b", "c", "d"));
  memory.Forget([](const Memory::Entry& one) { return one.key == 1; });
  EXPECT_THAT(ValuesOf(memory), ElementsAre("c"));
}

TEST(TenantMemoryTest, ValuesExpire) {
  Memory memory(3, absl::Milliseconds(1));
  memory.Set("one", 1, "a");
  absl::SleepFor(absl::Milliseconds(5));
  EXPECT_THAT(ValuesOf(memory), IsEmpty());
}

}  // namespace
}  // namespace csi_proxy
