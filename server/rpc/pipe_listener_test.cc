#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "server/pipe/pipe.h"
#include "server/pipe/testing/leaky_clients.h"
#include "server/rpc/listener_testing.h"

namespace csi_proxy::rpc {
namespace {

using PipeListenerTest = ListenerTest;

TEST_F(PipeListenerTest, ManyConcurrentClientsAllConnect) {
  Start({});
  std::vector<std::thread> threads;
  std::atomic<int> connected = 0;
  std::mutex mutex;
  std::list<RawClient> clients;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n) {
        RawClient client = Dial();
        if (client.connected() && client.Send(kHttp2Preface)) ++connected;
        std::lock_guard lock(mutex);
        clients.push_back(std::move(client));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connected, 200);
  EXPECT_TRUE(Eventually([&] { return counters().adopted == 200; }));
}

TEST_F(PipeListenerTest, AnswersWrittenBeforeTheStopAreRead) {
  Start({});
  RawClient client = Dial();
  ASSERT_TRUE(client.Send(kHttp2Preface));
  BeginCall(client);
  const RemoteCall call = std::move(keeper_->TakeAll().front());
  call.connection->Answer(call.request.call, absl::OkStatus(), "the answer");
  listener_->Stop();
  std::thread stop([&] { listener_->CloseLive(); });
  absl::SleepFor(absl::Milliseconds(200));
  std::string received;
  EXPECT_TRUE(client.Ended(&received));
  EXPECT_THAT(received, testing::HasSubstr("the answer"));
  stop.join();
}

TEST_F(PipeListenerTest, CloseLiveDisconnectsAClientThatDoesNotRead) {
  Start({});
  RawClient client = Dial();
  ASSERT_TRUE(client.Send(kHttp2Preface));
  BeginCall(client);
  listener_->Stop();
  const absl::Time start = absl::Now();
  listener_->CloseLive();
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_TRUE(client.Ended());
  EXPECT_EQ(counters().live, 0u);
}

TEST_F(PipeListenerTest, TheDefaultSecurityEqualsThatOfTheTestModel) {
  const auto calls = pipe::NewPipeCalls(
      *pipe::Security::Parse(pipe::SddlForServer(PipePlace().sddl, false, kSystemSid)));
  ASSERT_TRUE(calls.ok()) << calls.status();
  EXPECT_EQ((*calls)->ours().owner, pipe::kOurs.owner);
  EXPECT_EQ((*calls)->ours().dacl, pipe::kOurs.dacl);
}

TEST_F(PipeListenerTest, WithDefaultsThisProcessCanServeAndOpenAPipe) {
  const auto listener = NewListener(PipePlace(), {});
  const absl::Status status = listener->Listen({NewServer()});
  ASSERT_TRUE(status.ok()) << status;
  const RawClient client = Dial();
  EXPECT_TRUE(client.connected());
}

TEST_F(PipeListenerTest, AnInvalidPipeSddlIsAnError) {
  const auto listener = NewListener({.socket_dir = "", .sddl = "D:(A;;GA;;;WD)"}, {});
  const absl::Status status = listener->Listen({NewServer()});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

}  // namespace
}  // namespace csi_proxy::rpc
