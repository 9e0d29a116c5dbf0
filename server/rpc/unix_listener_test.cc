#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "server/platform/unique_fd.h"
#include "server/rpc/listener_testing.h"

namespace csi_proxy::rpc {
namespace {

using UnixListenerTest = ListenerTest;

TEST_F(UnixListenerTest, WithoutDescriptorsSilentConnectionsAreEvicted) {
  Start({.preface_timeout = absl::Hours(1), .max_connections = 10000});
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  std::vector<RawClient> clients;
  for (int i = 0; i < 50; ++i) clients.push_back(Dial());
  ASSERT_TRUE(Eventually([&] { return counters().silent == 50; }));
  // Both ends live in this process: leave room for two more descriptors, this side's.
  UniqueFd one(socket(AF_UNIX, SOCK_STREAM, 0));
  UniqueFd two(socket(AF_UNIX, SOCK_STREAM, 0));
  rlimit tight = old_limit;
  tight.rlim_cur = static_cast<rlim_t>(two.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  one.Reset();
  const RawClient late = Dial();
  EXPECT_TRUE(late.connected());
  EXPECT_TRUE(Eventually([&] { return counters().dropped_for_room > 0; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(clients[0].Ended());
}

TEST_F(UnixListenerTest, WhenDescriptorsAreScarceIdleConnectionsAreEvicted) {
  Start({.max_connections = 10000});
  std::vector<RawClient> clients;
  for (size_t i = 0; i < 20; ++i) {
    clients.push_back(Dial());
    ASSERT_TRUE(clients.back().Send(kHttp2Preface));
    ASSERT_TRUE(Eventually([&] { return counters().adopted == i + 1; }));
  }
  BeginCall(clients[0]);
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  rlimit tight = old_limit;
  tight.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(0)).get()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  RawClient late = Dial();
  ASSERT_TRUE(late.Send(kHttp2Preface));
  EXPECT_TRUE(Eventually([&] { return counters().adopted == 21; })) << "it is served";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(clients[1].Ended());
  EXPECT_GE(counters().ended_for_room, 1u);
  EXPECT_FALSE(clients[0].Ended()) << "a call is under way on it";
}

}  // namespace
}  // namespace csi_proxy::rpc
