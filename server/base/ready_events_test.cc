#include "server/base/ready_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace csi_proxy {
namespace {

using testing::ElementsAre;

std::vector<std::string> TakeAll(ReadyEvents<std::string>* events) {
  std::vector<std::string> taken;
  while (!events->empty()) taken.push_back(events->Take());
  return taken;
}

TEST(ReadyEventsTest, TenantsAlternateAndEachTenantsEventsStayInOrder) {
  const int a = 0, b = 0;
  ReadyEvents<std::string> events;
  for (const char* event : {"a1", "a2", "a3"}) events.Put(&a, event);
  for (const char* event : {"b1", "b2"}) events.Put(&b, event);
  events.Put(nullptr, "own");
  EXPECT_THAT(TakeAll(&events), ElementsAre("a1", "b1", "own", "a2", "b2", "a3"));
  // A tenant whose line was empty gets its turn after the other tenants.
  events.Put(&a, "a4");
  events.Put(&a, "a5");
  EXPECT_EQ(events.Take(), "a4");
  events.Put(&b, "b3");
  EXPECT_THAT(TakeAll(&events), ElementsAre("a5", "b3"));
}

TEST(ReadyEventsTest, ASleepingThreadIsWokenOnceForAllPendingEvents) {
  ReadyEvents<std::string> events;
  ASSERT_TRUE(events.BeginLook());
  EXPECT_FALSE(events.MustWake()) << "no event waits";
  events.Put(nullptr, "event");
  EXPECT_FALSE(events.BeginLook()) << "this thread need not sleep";
  events.EndLook(false);
  EXPECT_TRUE(events.MustWake());
  EXPECT_FALSE(events.MustWake()) << "the wake is under way";
  events.WakeTaken();  // by a thread that did not sleep
  EXPECT_TRUE(events.MustWake());
  events.EndLook(true);
  EXPECT_FALSE(events.MustWake()) << "nobody sleeps";
  // EndLook() has ended the wake, too, so the next event wakes a thread again.
  EXPECT_EQ(events.Take(), "event");
  ASSERT_TRUE(events.BeginLook());
  events.Put(nullptr, "another");
  EXPECT_TRUE(events.MustWake());
}

}  // namespace
}  // namespace csi_proxy
