#include "server/transport/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/transport/session_testing.h"

namespace csi_proxy::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A stream whose operations end when the test says so.
class TestStream final : public Stream {
 public:
  bool Read(absl::string_view* bytes) override {
    if (at_once.empty()) {
      reading = true;
      return false;
    }
    last_ = std::move(at_once.front());
    at_once.pop_front();
    *bytes = last_;
    return true;
  }
  bool Write(absl::string_view bytes, bool* ok) override {
    ++writes;
    *ok = false;
    if (hang_ups + disconnects > 0) return true;
    written.append(bytes.data(), bytes.size());
    *ok = !fails;
    writing = stalls;
    return !stalls;
  }
  void HangUp() override { ++hang_ups; }
  void Disconnect() override { ++disconnects; }
  bool Post(std::function<void()> work) override {
    if (fails_to_post) return false;
    posted.push_back(std::move(work));
    return true;
  }
  // Runs what was posted before.
  void RunPosted() {
    for (const auto& work : std::exchange(posted, {})) work();
  }

  // End an operation that is under way.
  void EndRead(absl::string_view bytes) {
    ASSERT_TRUE(std::exchange(reading, false));
    events_->OnRead(bytes);
  }
  void EndWrite(bool ok) {
    ASSERT_TRUE(std::exchange(writing, false));
    events_->OnWritten(ok);
  }

  std::deque<std::string> at_once;  // what reads return without waiting
  bool reading = false, writing = false;
  bool stalls = false, fails = false;  // what happens to writes
  bool fails_to_post = false;
  std::string written;
  int writes = 0;
  int hang_ups = 0, disconnects = 0;
  std::vector<std::function<void()>> posted;

 private:
  std::string last_;
};

// Records what a connection tells its service.
struct Told {
  Mutex mutex;
  std::deque<Request> requests;
  std::vector<bool> may_block;
  std::vector<CallId> ends;
  std::function<void(const Request&)> on_request;
};
class TestService final : public Service {
 public:
  explicit TestService(std::shared_ptr<Told> told) : told_(std::move(told)) {}
  Method Find(absl::string_view path) const override {
    return path.substr(0, 5) == "/many" ? Method::kManyRequests : Method::kOneRequest;
  }
  void OnRequest(const std::shared_ptr<Connection>&, Request request, bool may_block) override {
    const Request* arrived;
    {
      const MutexLock lock(told_->mutex);
      told_->may_block.push_back(may_block);
      arrived = &told_->requests.emplace_back(std::move(request));
    }
    if (told_->on_request) told_->on_request(*arrived);
  }
  void OnRequestsEnd(const std::shared_ptr<Connection>&, CallId call) override {
    told_->ends.push_back(call);
  }

 private:
  const std::shared_ptr<Told> told_;
};

class Cancelled final : public Connection::Canceller {
 public:
  void Cancel() override { ++times; }
  int times = 0;
};

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    connection_ = Connection::New(
        stream_, {}, account_, std::make_unique<TestService>(told_),
        {.violated = [this](Http2Violation violation) { violations_.push_back(violation); },
         .ended = [this] { ++ended_; }});
  }
  ~ConnectionTest() override {
    if (stream_->writing) stream_->EndWrite(false);
    if (stream_->reading) stream_->EndRead("");
    told_->requests.clear();
    // The Rescuer may still hold the connection.
    const std::weak_ptr<Connection> gone = std::exchange(connection_, nullptr);
    while (!gone.expired()) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(account_->held_bytes(), 0u);
    EXPECT_EQ(account_->room_bytes(), 0u);
    EXPECT_EQ(account_->calls(), 0u);
  }

  // Begins the connection with the client's settings and `calls` calls.
  void Start(int calls = 1) {
    for (int i = 0; i < calls; ++i) client_.Call("/one", "a request");
    connection_->Start(client_.Send());
    stream_->RunPosted();
  }
  // Passes what was written to the client, and what the client sends back, until nothing is left.
  void Pump() {
    for (;;) {
      client_.Receive(std::exchange(stream_->written, ""));
      const std::string more = client_.Send();
      if (more.empty()) return;
      stream_->EndRead(more);
    }
  }
  void Answer(absl::string_view message) {
    for (const Request& request : std::exchange(told_->requests, {})) {
      connection_->Answer(request.call, absl::OkStatus(), message);
    }
  }

  const std::shared_ptr<TestStream> stream_ = std::make_shared<TestStream>();
  const std::shared_ptr<Http2Account> account_ = std::make_shared<Http2Account>();
  const std::shared_ptr<Told> told_ = std::make_shared<Told>();
  std::vector<Http2Violation> violations_;
  int ended_ = 0;
  TestClient client_;
  std::shared_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, AnswersReachTheClient) {
  Start(2);
  ASSERT_EQ(told_->requests.size(), 2u);
  EXPECT_EQ(told_->requests[0].message, "a request");
  Answer("an answer");
  Pump();
  EXPECT_EQ(client_.replies[1].data, Message("an answer"));
  EXPECT_EQ(client_.replies[3].grpc_status(), 0);
  EXPECT_TRUE(stream_->reading);
}

TEST_F(ConnectionTest, AnswersToCallsOfOneReadAreSentInOneWrite) {
  Start(0);
  Pump();
  std::vector<size_t> written;
  told_->on_request = [&](const Request& request) {
    connection_->Answer(request.call, absl::OkStatus(), "an answer");
    written.push_back(stream_->written.size());
  };
  for (int i = 0; i < 3; ++i) client_.Call("/one", "");
  stream_->EndRead(client_.Send());
  EXPECT_EQ(written[0], 0u);
  EXPECT_GT(stream_->written.size(), 100u);
}

// Each write wakes a client that reads, so one write must carry both.
TEST_F(ConnectionTest, APingsAcknowledgementIsSentWithTheAnswer) {
  Start(0);
  Pump();
  told_->on_request = [&](const Request& request) {
    connection_->Answer(request.call, absl::OkStatus(), "an answer");
  };
  nghttp2_submit_ping(client_.session, NGHTTP2_FLAG_NONE, nullptr);
  client_.Call("/one", "");
  stream_->writes = 0;
  client_.frames.clear();
  stream_->EndRead(client_.Send());
  EXPECT_EQ(stream_->writes, 1);
  Pump();
  EXPECT_THAT(client_.frames,
              ElementsAre(NGHTTP2_PING, NGHTTP2_HEADERS, NGHTTP2_DATA, NGHTTP2_HEADERS));
}

// While the second call blocks its thread, another thread begins the third call.
TEST_F(ConnectionTest, ASlowCallDoesNotDelayTheStartOfOthers) {
  absl::Notification others;
  told_->on_request = [&](const Request& request) {
    if (request.call == 1) {
      connection_->Answer(request.call, absl::OkStatus(), "an answer");
    } else if (request.call == 3) {
      others.WaitForNotification();
    } else {
      others.Notify();
    }
  };
  Start(3);
  EXPECT_THAT(told_->may_block, ElementsAre(true, true, false));
}

TEST_F(ConnectionTest, TheRescuerBeginsTheRequestsThatItsReadersLeaveToIt) {
  absl::Notification others;
  client_.Call("/one", "slow");
  const int32_t stream = client_.Begin(CallHeaders("/many"), Message("first"), false);
  told_->on_request = [&](const Request& request) {
    if (request.message == "slow") others.WaitForNotification();
    if (request.message == "last") others.Notify();
    if (request.message != "first") return;
    // Another thread reads a further request of the stream, and a call, meanwhile.
    client_.Continue(stream, Message("second"), false);
    client_.Call("/one", "last");
    stream_->EndRead(client_.Send());
  };
  Start(0);
  EXPECT_EQ(told_->requests.size(), 4u);
}

TEST_F(ConnectionTest, TheNextReadStartsBeforeTheCall) {
  told_->on_request = [&](const Request&) { EXPECT_TRUE(stream_->reading); };
  Start();
  EXPECT_EQ(told_->requests.size(), 1u);
}

TEST_F(ConnectionTest, AClientThatSendsWithoutAPauseDoesNotKeepAThread) {
  Start(0);
  Pump();
  client_.Call("/one", "first");
  const std::string first = client_.Send();
  for (int i = 0; i < 5; ++i) {
    client_.Call("/one", absl::StrCat(i));
    stream_->at_once.push_back(client_.Send());
  }
  std::vector<size_t> reads_left;
  told_->on_request = [&](const Request&) { reads_left.push_back(stream_->at_once.size()); };
  stream_->EndRead(first);
  // The calls of the first four reads begin. The posted work reads the rest.
  EXPECT_THAT(reads_left, ElementsAre(1, 1, 1, 1));
  ASSERT_EQ(stream_->posted.size(), 1u);
  stream_->RunPosted();
  EXPECT_THAT(reads_left, ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST_F(ConnectionTest, OnlyOneWriteIsPendingAtATime) {
  stream_->stalls = true;
  Start(2);
  stream_->written.clear();
  if (stream_->writing) stream_->EndWrite(true);
  connection_->Answer(told_->requests[0].call, absl::OkStatus(), "first");
  const std::string first = stream_->written;
  connection_->Answer(told_->requests[1].call, absl::OkStatus(), "second");
  EXPECT_EQ(stream_->written, first);
  stream_->stalls = false;
  stream_->EndWrite(true);
  EXPECT_GT(stream_->written.size(), first.size());
}

// A client that does not read pays for the bytes of the write.
TEST_F(ConnectionTest, TheAccountIsChargedForAWriteUntilItEnds) {
  Start();
  stream_->stalls = true;
  Answer(std::string(1000, 'a'));
  ASSERT_TRUE(stream_->writing);
  EXPECT_GT(account_->held_bytes(), 1000u);
  stream_->stalls = false;
  stream_->EndWrite(true);
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(ConnectionTest, WithAFullAccountOnlyAPendingWriteEndsTheConnection) {
  Start(2);
  const size_t most = account_->limits().held_bytes;
  ASSERT_TRUE(account_->Hold(most));
  connection_->Finish(1, absl::InternalError("no answer"));
  EXPECT_EQ(stream_->hang_ups + stream_->disconnects, 0);
  stream_->stalls = true;
  connection_->Finish(3, absl::InternalError("no answer"));
  EXPECT_EQ(stream_->disconnects, 1);
  account_->Drop(most);
}

TEST_F(ConnectionTest, ACancelledCallIsNotifiedOnce) {
  Start(2);
  Cancelled first, second;
  EXPECT_TRUE(connection_->Register(1, &first));
  client_.Reset(1);
  client_.Reset(3);
  stream_->EndRead(client_.Send());
  EXPECT_EQ(first.times, 1);
  EXPECT_FALSE(connection_->Register(3, &second)) << "it was cancelled before";
  Answer("too late");
  Pump();
  EXPECT_EQ(client_.replies[1].data, "");
}

TEST_F(ConnectionTest, AFinishedCallIsNotNotified) {
  Start();
  Cancelled call;
  ASSERT_TRUE(connection_->Register(1, &call));
  Answer("an answer");
  stream_->EndRead("");
  EXPECT_EQ(call.times, 0);
}

TEST_F(ConnectionTest, AClientsDisconnectCancelsItsCallsAndEndsTheConnection) {
  Start();
  Cancelled call;
  ASSERT_TRUE(connection_->Register(1, &call));
  stream_->EndRead("");
  EXPECT_EQ(call.times, 1);
  EXPECT_EQ(stream_->hang_ups, 1);
  EXPECT_EQ(ended_, 1);
  Answer("too late");
  EXPECT_EQ(ended_, 1);
}

TEST_F(ConnectionTest, TheConnectionEndsAfterItsLastOperation) {
  Start();
  stream_->stalls = true;
  Answer("an answer");
  ASSERT_TRUE(stream_->writing);
  stream_->EndRead("");
  EXPECT_EQ(stream_->disconnects, 1) << "a write that nobody reads would not end";
  EXPECT_EQ(ended_, 0);
  stream_->EndWrite(false);
  EXPECT_EQ(ended_, 1);
}

TEST_F(ConnectionTest, AFailedWriteEndsTheConnection) {
  Start();
  stream_->fails = true;
  Answer("an answer");
  EXPECT_EQ(stream_->hang_ups, 1);
  EXPECT_EQ(ended_, 0) << "the read has not ended";
  stream_->EndRead("");
  EXPECT_EQ(ended_, 1);
}

TEST_F(ConnectionTest, AViolationIsReportedOnceAndEndsTheConnection) {
  Start();
  Cancelled call;
  ASSERT_TRUE(connection_->Register(1, &call));
  stream_->EndRead(std::string("\0\0\4\5\4\0\0\0\1aaaa", 13));  // PUSH_PROMISE
  EXPECT_THAT(violations_, ElementsAre(Http2Violation::kPush));
  EXPECT_EQ(call.times, 1);
  EXPECT_EQ(stream_->hang_ups, 1);
  Pump();
  EXPECT_NE(client_.goaway, -1) << "it is told to the client, too";
  stream_->EndRead("");
  EXPECT_EQ(violations_.size(), 1u);
  EXPECT_EQ(ended_, 1);
}

TEST_F(ConnectionTest, AfterGoAwayTheLastCallEndsTheConnection) {
  Start();
  connection_->GoAway();
  EXPECT_EQ(stream_->hang_ups, 0);
  stream_->stalls = true;
  Answer("an answer");
  EXPECT_EQ(stream_->hang_ups, 0) << "the answer is on its way";
  stream_->stalls = false;
  stream_->EndWrite(true);
  EXPECT_EQ(stream_->hang_ups, 1);
  EXPECT_EQ(stream_->disconnects, 0);
  client_.Receive(stream_->written);
  EXPECT_EQ(client_.replies[1].data, Message("an answer"));
  EXPECT_EQ(client_.goaway, NGHTTP2_NO_ERROR);
}

TEST_F(ConnectionTest, GoAwayForIdlenessEndsOnlyAnIdleConnection) {
  Start();
  connection_->GoAway(/*only_if_idle=*/true);
  Answer("an answer");
  EXPECT_EQ(stream_->hang_ups, 0);
  connection_->GoAway(/*only_if_idle=*/true);
  EXPECT_EQ(stream_->hang_ups, 1);
}

TEST_F(ConnectionTest, ALongRequestContinuesOnceItHasRoom) {
  Start(0);
  Pump();
  auto taken = std::make_unique<MessageRoom>(account_, account_->limits().room_bytes, nullptr);
  const std::string message(100'000, 'a');
  client_.Call("/one", message);
  stream_->EndRead(client_.Send());
  Pump();
  EXPECT_THAT(told_->requests, IsEmpty());
  taken.reset();
  ASSERT_EQ(stream_->posted.size(), 1u);
  stream_->posted[0]();
  Pump();
  ASSERT_EQ(told_->requests.size(), 1u);
  EXPECT_EQ(told_->requests[0].message, message);
}

TEST_F(ConnectionTest, ALongRequestWithoutMemoryToContinueEndsTheConnection) {
  Start(0);
  Pump();
  auto taken = std::make_unique<MessageRoom>(account_, account_->limits().room_bytes, nullptr);
  client_.Call("/one", std::string(100'000, 'a'));
  stream_->EndRead(client_.Send());
  Pump();
  stream_->fails_to_post = true;
  taken.reset();
  EXPECT_EQ(stream_->hang_ups, 1);
}

// The listener's thread must not block.
TEST_F(ConnectionTest, ACallThatArrivesWithThePrefaceRunsOnAnotherThread) {
  client_.Call("/one", "");
  connection_->Start(client_.Send());
  EXPECT_THAT(told_->requests, IsEmpty());
  ASSERT_EQ(stream_->posted.size(), 1u);
  stream_->RunPosted();
  EXPECT_EQ(told_->requests.size(), 1u);
}

TEST_F(ConnectionTest, TheEndIsReportedAfterTheThreadsThatStartCallsReturn) {
  Start(0);
  Pump();
  told_->on_request = [&](const Request&) {
    stream_->EndRead("");
    EXPECT_EQ(ended_, 0);
  };
  client_.Call("/one", "");
  client_.Call("/one", "");
  stream_->EndRead(client_.Send());
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(told_->requests.size(), 1u) << "the other one was cancelled";
}

TEST_F(ConnectionTest, TheRequestsOfAStreamAreHandledOneAfterAnother) {
  Start(0);
  Pump();
  const int32_t stream = client_.Begin(CallHeaders("/many"), Message("first"), false);
  told_->on_request = [&](const Request& request) {
    if (request.message != "first") return;
    // During the first request, another thread reads the second request and the end.
    client_.Continue(stream, Message("second"), true);
    stream_->EndRead(client_.Send());
    EXPECT_EQ(told_->requests.size(), 1u);
    EXPECT_THAT(told_->ends, IsEmpty());
  };
  stream_->EndRead(client_.Send());
  ASSERT_EQ(told_->requests.size(), 2u);
  EXPECT_EQ(told_->requests[1].message, "second");
  EXPECT_THAT(told_->ends, ElementsAre(stream));
}

TEST_F(ConnectionTest, TheAccountIsChargedForTheRequestsOfAStreamUntilTheyAreHandled) {
  Start(0);
  Pump();
  const int32_t stream = client_.Begin(CallHeaders("/many"), Message("first"), false);
  told_->on_request = [&](const Request& request) {
    if (request.message != "first") return;
    client_.Continue(stream, Message(std::string(4000, 'a')), false);
    stream_->EndRead(client_.Send());
    EXPECT_GT(account_->held_bytes(), 4000u);
  };
  stream_->EndRead(client_.Send());
  EXPECT_EQ(told_->requests.size(), 2u);
  told_->requests.clear();
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(ConnectionTest, AStreamThatSendsWithoutAPauseDoesNotKeepAThread) {
  Start(0);
  Pump();
  const int32_t stream = client_.Begin(CallHeaders("/many"), Message(""), false);
  told_->on_request = [&](const Request&) {
    // Another thread reads a further request meanwhile.
    if (told_->requests.size() >= 900) return;
    client_.Continue(stream, Message(""), false);
    stream_->EndRead(client_.Send());
  };
  stream_->EndRead(client_.Send());
  EXPECT_LT(told_->requests.size(), 500u);
  ASSERT_EQ(stream_->posted.size(), 1u);
  while (!stream_->posted.empty()) stream_->RunPosted();
  EXPECT_EQ(told_->requests.size(), 900u);
  EXPECT_FALSE(told_->may_block.back()) << "a thread that runs posted work must not block";
}

TEST_F(ConnectionTest, AViolationIsSentToTheClientEvenIfCallsArriveWithIt) {
  Start(0);
  Pump();
  client_.Call("/one", "");
  stream_->EndRead(client_.Send() + std::string("\0\0\4\5\4\0\0\0\1aaaa", 13));
  EXPECT_THAT(violations_, ElementsAre(Http2Violation::kPush));
  client_.Receive(stream_->written);
  EXPECT_NE(client_.goaway, -1);
}

TEST_F(ConnectionTest, AStreamOfRequestsCanBeAnsweredAndFinished) {
  client_.Call("/many", "one");
  connection_->Start(client_.Send());
  stream_->RunPosted();
  ASSERT_EQ(told_->requests.size(), 1u);
  ASSERT_THAT(told_->ends, ElementsAre(1));
  connection_->Write(1, "first");
  connection_->Write(1, "second");
  connection_->Finish(1, absl::OkStatus());
  connection_->Write(1, "after the end");
  Pump();
  EXPECT_EQ(client_.replies[1].data, Message("first") + Message("second"));
  EXPECT_EQ(client_.replies[1].grpc_status(), 0);
}

}  // namespace
}  // namespace csi_proxy::transport
