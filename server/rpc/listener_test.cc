#include "server/rpc/listener.h"

#include <gmock/gmock.h>

#include <list>

#include "server/platform/peer_process.h"
#include "server/rpc/listener_testing.h"

namespace csi_proxy::rpc {
namespace {

using testing::HasSubstr;

TEST_F(ListenerTest, TheListenerIdentifiesTheProcessOfACall) {
  Start({});
  RawClient client = Dial();
  ASSERT_TRUE(client.Send(kHttp2Preface));
  BeginCall(client);
  const RemoteCall call = std::move(keeper_->TakeAll().front());
  EXPECT_EQ(call.request.path, "/keep");
  const Peer& peer = call.served->client()->peer;
  EXPECT_EQ(peer.process_id, OwnProcess().process_id);
  EXPECT_THAT(peer.image_path, HasSubstr("rpc_test"));
}

TEST_F(ListenerTest, APrefaceMayArriveByteByByte) {
  Start({});
  RawClient client = Dial();
  for (const char& byte : kHttp2Preface) {
    EXPECT_EQ(counters().adopted, 0u);
    ASSERT_TRUE(client.Send(absl::string_view(&byte, 1)));
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_TRUE(Eventually([&] { return counters().adopted == 1; }));
  BeginCall(client);
}

TEST_F(ListenerTest, GarbageInsteadOfThePrefaceEndsTheConnection) {
  Start({.preface_timeout = absl::Hours(1)});
  RawClient client = Dial();
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(client.Ended());
  EXPECT_TRUE(Eventually([&] { return counters().dropped_garbage == 1; }));
  EXPECT_EQ(counters().adopted, 0u);
}

TEST_F(ListenerTest, ConnectionsWithoutAWholePrefaceEndAtTheDeadline) {
  Start({.preface_timeout = absl::Milliseconds(200)});
  RawClient silent = Dial();
  RawClient half = Dial();
  ASSERT_TRUE(half.Send(kHttp2Preface.substr(0, 10)));
  EXPECT_TRUE(silent.Ended());
  EXPECT_TRUE(half.Ended());
  EXPECT_TRUE(Eventually([&] { return counters().dropped_silent == 2; }));
  EXPECT_EQ(counters().silent, 0u);
}

TEST_F(ListenerTest, EitherSideCanEndAConnection) {
  Start({});
  RawClient by_client = Dial();
  ASSERT_TRUE(by_client.Send(kHttp2Preface));
  RawClient by_server = Dial();
  ASSERT_TRUE(by_server.Send(kHttp2Preface));
  ASSERT_TRUE(Eventually([&] { return counters().live == 2; }));
  BeginCall(by_server);
  by_client.Close();
  EXPECT_TRUE(Eventually([&] { return counters().live == 1; }));
  keeper_->TakeAll().front().connection->HangUp();
  EXPECT_TRUE(by_server.Ended());
  EXPECT_TRUE(Eventually([&] { return counters().live == 0; }));
}

TEST_F(ListenerTest, AConnectionThatBreaksTheProtocolIsEndedAndCounted) {
  Start({});
  RawClient client = Dial();
  ASSERT_TRUE(client.Send(kHttp2Preface));
  ASSERT_TRUE(
      client.Send(Frame(kSettings, 0, 0, "") + Frame(kPushPromise, kEndHeaders, 1, "    ")));
  EXPECT_TRUE(client.Ended());
  EXPECT_TRUE(Eventually([&] { return counters().live == 0 && counters().adopted == 1; }));
  EXPECT_EQ(counters().violations[static_cast<size_t>(Http2Violation::kPush)], 1u);
}

TEST_F(ListenerTest, AConnectionIdleBeyondTheTimeoutIsEnded) {
  Start({.idle_timeout = absl::Milliseconds(100)});
  RawClient client = Dial();
  ASSERT_TRUE(client.Send(kHttp2Preface));
  ASSERT_TRUE(client.Send(Frame(kSettings, 0, 0, "")));
  EXPECT_TRUE(client.Ended());
  EXPECT_TRUE(Eventually([&] { return counters().adopted == 1 && counters().live == 0; }));
}

TEST_F(ListenerTest, AtTheLimitTheOldestSilentConnectionIsEvicted) {
  Start({.preface_timeout = absl::Hours(1), .max_connections = 2, .client_share = 100});
  RawClient first = Dial();
  ASSERT_TRUE(Eventually([&] { return counters().silent == 1; }));
  const RawClient second = Dial();
  ASSERT_TRUE(Eventually([&] { return counters().silent == 2; }));
  RawClient third = Dial();
  EXPECT_TRUE(first.Ended());
  ASSERT_TRUE(third.Send(kHttp2Preface));
  EXPECT_TRUE(Eventually([&] { return counters().adopted == 1; }));
  EXPECT_EQ(counters().dropped_for_room, 1u);
}

TEST_F(ListenerTest, AtTheLimitAConnectionWithoutACallIsEvicted) {
  Start({.max_connections = 2, .client_share = 100});
  RawClient first = Dial();
  ASSERT_TRUE(first.Send(kHttp2Preface));
  BeginCall(first);
  RawClient second = Dial();
  ASSERT_TRUE(second.Send(kHttp2Preface));
  ASSERT_TRUE(Eventually([&] { return counters().adopted == 2; }));
  RawClient third = Dial();
  EXPECT_TRUE(second.Ended());
  EXPECT_EQ(counters().ended_for_room, 1u);
  ASSERT_TRUE(third.Send(kHttp2Preface));
  BeginCall(third);
  // Calls are under way on all connections, so the new connection is closed.
  RawClient fourth = Dial();
  EXPECT_TRUE(fourth.Ended());
  EXPECT_EQ(counters().dropped_for_room, 1u);
}

TEST_F(ListenerTest, AStopEndsSilentConnectionsAndFreesTheName) {
  Start({.preface_timeout = absl::Hours(1)});
  RawClient silent = Dial();
  ASSERT_TRUE(Eventually([&] { return counters().silent == 1; }));
  listener_->Stop();
  EXPECT_TRUE(silent.Ended());
  listener_.reset();
  Start({});
}

TEST_F(ListenerTest, ASecondServerIsRefused) {
  Start({});
  const absl::Status status = NewListener(place_, {})->Listen({NewServer()});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

}  // namespace
}  // namespace csi_proxy::rpc
