#include "server/transport/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/transport/session_testing.h"

namespace csi_proxy::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SessionTest, ACallLikeThatOfAReleasedGoClientIsAnswered) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  ASSERT_EQ(handler_.requests.size(), 1u);
  const Request& request = handler_.requests[0];
  EXPECT_EQ(request.call, stream);
  EXPECT_EQ(request.path, "/v1.Volume/Mount");
  EXPECT_EQ(request.message, "request");
  EXPECT_EQ(request.timeout, absl::InfiniteDuration());
  EXPECT_EQ(request.traceparent, "");
  EXPECT_EQ(session_->calls(), 1u);

  session_->Answer(stream, absl::OkStatus(), "response");
  Pump();
  const Reply& reply = client_->replies[stream];
  EXPECT_EQ(reply.headers.at(":status"), "200");
  EXPECT_EQ(reply.headers.at("content-type"), "application/grpc");
  EXPECT_EQ(reply.headers.at("grpc-status"), "0");
  EXPECT_EQ(reply.headers.count("grpc-message"), 0u);
  EXPECT_EQ(reply.data, Message("response"));
  EXPECT_EQ(reply.header_blocks, 2);
  EXPECT_TRUE(reply.closed);
  EXPECT_EQ(reply.error, uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_EQ(session_->calls(), 0u);
  EXPECT_THAT(handler_.cancelled, IsEmpty());
}

TEST_F(SessionTest, AnAnswerIsSentInOneWriteWithTheAcknowledgements) {
  Pump();
  client_->Call("/v1.Volume/Mount", "request");
  nghttp2_submit_ping(client_->session, NGHTTP2_FLAG_NONE, nullptr);
  Receive(client_->Send());
  Echo();
  std::string bytes;
  session_->Send(64 << 10, &bytes);
  EXPECT_FALSE(session_->wants_to_send());
  client_->frames.clear();
  client_->Receive(bytes);
  EXPECT_THAT(client_->frames,
              ElementsAre(NGHTTP2_PING, NGHTTP2_HEADERS, NGHTTP2_DATA, NGHTTP2_HEADERS));
}

TEST_F(SessionTest, SendReturnsAtMostOneFrameBeyondTheRequestedBytes) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  session_->Answer(stream, absl::OkStatus(), std::string(60000, 'x'));
  std::string bytes;
  session_->Send(20000, &bytes);
  EXPECT_GE(bytes.size(), 20000u);
  EXPECT_LE(bytes.size(), 20000u + 9 + (16 << 10));
  EXPECT_TRUE(session_->wants_to_send());
  client_->Receive(bytes);
  Pump();
  EXPECT_EQ(client_->replies[stream].data, Message(std::string(60000, 'x')));
}

TEST_F(SessionTest, BytesMayArriveOneByOne) {
  client_->Call("/v1.Volume/Mount", "request");
  client_->Call("/v1.Volume/Mount", "");
  const std::string bytes = client_->Send();
  for (const char byte : bytes) Receive(absl::string_view(&byte, 1));
  ASSERT_EQ(handler_.requests.size(), 2u);
  EXPECT_EQ(handler_.requests[0].message, "request");
  EXPECT_EQ(handler_.requests[1].message, "");
  EXPECT_EQ(session_->violation(), Http2Violation::kNone);
}

// --- Headers ---

struct RefusedHeaders {
  const char* name;
  Headers (*change)(Headers);
  const char* http_status;
};
class RefusedHeadersTest : public SessionTest,
                           public testing::WithParamInterface<RefusedHeaders> {};

Headers Without(Headers headers, absl::string_view name) {
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  return headers;
}
Headers With(Headers headers, const char* name, const char* value) {
  headers = Without(std::move(headers), name);
  headers.emplace_back(name, value);
  return headers;
}
Headers Twice(Headers headers, const char* name, const char* value) {
  headers.emplace_back(name, value);
  return headers;
}

TEST_P(RefusedHeadersTest, InvalidHeadersAreRefusedAndTheNextCallIsServed) {
  const int32_t stream = client_->Begin(GetParam().change(CallHeaders()), Message("request"));
  Pump();
  EXPECT_THAT(handler_.requests, IsEmpty());
  EXPECT_EQ(client_->replies[stream].headers[":status"], GetParam().http_status);
  EXPECT_EQ(client_->replies[stream].grpc_status(), 13);
  EXPECT_TRUE(client_->replies[stream].closed);
  client_->Call("/v1.Volume/Mount", "request");
  Pump();
  EXPECT_EQ(handler_.requests.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Session, RefusedHeadersTest,
    testing::ValuesIn(std::vector<RefusedHeaders>{
        {"NoPath", [](Headers h) { return Without(std::move(h), ":path"); }, "400"},
        {"EmptyPath", [](Headers h) { return With(std::move(h), ":path", ""); }, "400"},
        {"TwoPaths", [](Headers h) { return Twice(std::move(h), ":path", "/b"); }, "400"},
        {"NoMethod", [](Headers h) { return Without(std::move(h), ":method"); }, "405"},
        {"Get", [](Headers h) { return With(std::move(h), ":method", "GET"); }, "405"},
        {"NoContentType", [](Headers h) { return Without(std::move(h), "content-type"); }, "415"},
        {"Json", [](Headers h) { return With(std::move(h), "content-type", "application/json"); },
         "415"},
        {"Nothing", [](Headers) { return Headers(); }, "405"},
        {"Timeout", [](Headers h) { return With(std::move(h), "grpc-timeout", "1x"); }, "200"},
        {"TwoTimeouts",
         [](Headers h) {
           return Twice(With(std::move(h), "grpc-timeout", "1S"), "grpc-timeout", "2S");
         },
         "200"},
    }),
    [](const auto& info) { return info.param.name; });

TEST_F(SessionTest, TimeoutAndTraceAreReadFromTheHeaders) {
  Headers headers = With(CallHeaders(), "grpc-timeout", "99999999H");
  headers = With(std::move(headers), "traceparent", "00-1-2-01");
  client_->Begin(headers, Message(""));
  client_->Begin(Twice(headers, "traceparent", "00-1-3-01"), Message(""));
  Pump();
  ASSERT_EQ(handler_.requests.size(), 2u);
  EXPECT_EQ(handler_.requests[0].timeout, absl::Hours(99999999));
  EXPECT_EQ(handler_.requests[0].traceparent, "00-1-2-01");
  EXPECT_EQ(handler_.requests[1].traceparent, "") << "only one is a trace";
}

TEST_F(SessionTest, TheTimeoutRunsWhileTheRequestArrives) {
  for (const int left : {0, 7}) {
    const int32_t stream =
        client_->Begin(With(CallHeaders(), "grpc-timeout", "10S"), Message("m"), false);
    Pump();
    now_ += std::chrono::seconds(left == 0 ? 11 : 10 - left);
    client_->Continue(stream, "", true);
    Pump();
    ASSERT_EQ(handler_.requests.size(), 1u);
    EXPECT_EQ(handler_.requests[0].timeout, absl::Seconds(left));
    Echo();
  }
}

TEST_F(SessionTest, TheTeHeaderIsOptionalAndTheContentTypeMayHaveASuffix) {
  client_->Begin(With(Without(CallHeaders(), "te"), "content-type", "application/grpc+proto"),
                 Message(""));
  Pump();
  EXPECT_EQ(handler_.requests.size(), 1u);
}

TEST_F(SessionTest, TrailersDoNotChangeTheMethod) {
  const int32_t stream = client_->Begin(CallHeaders("/v1.Volume/Get"), Message("m"), false);
  Pump();
  const absl::string_view name = ":path", value = "/v1.Volume/Format";
  nghttp2_nv trailer = {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE};
  nghttp2_submit_headers(client_->session, NGHTTP2_FLAG_END_STREAM, stream, nullptr, &trailer, 1,
                         nullptr);
  Pump();
  ASSERT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(handler_.requests[0].path, "/v1.Volume/Get");
}

// --- Errors ---

TEST_F(SessionTest, AnErrorConsistsOfHeadersOnly) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  session_->Answer(stream, absl::NotFoundError("100% of C:\\\n"), "ignored");
  Pump();
  const Reply& reply = client_->replies[stream];
  EXPECT_EQ(reply.header_blocks, 1);
  EXPECT_EQ(reply.data, "");
  EXPECT_EQ(reply.headers.at(":status"), "200");
  EXPECT_EQ(reply.headers.at("content-type"), "application/grpc");
  EXPECT_EQ(reply.headers.at("grpc-status"), "5");
  EXPECT_EQ(reply.headers.at("grpc-message"), "100%25 of C:\\%0A");
  EXPECT_TRUE(reply.closed);
}

TEST_F(SessionTest, AnErrorsTextIsLimitedInLength) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  session_->Answer(stream, absl::InternalError(std::string(100000, '\n')), "");
  Pump();
  EXPECT_EQ(client_->replies[stream].headers["grpc-message"].size(), 3 * kMaxStatusText);
}

TEST_F(SessionTest, AnUnknownMethodIsUnimplemented) {
  const int32_t stream = client_->Call("/unknown", "request");
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 12);
  EXPECT_EQ(client_->replies[stream].headers[":status"], "200");
  EXPECT_THAT(handler_.requests, IsEmpty());
}

TEST_F(SessionTest, ACompressedMessageIsUnimplemented) {
  const int32_t stream = client_->Begin(With(CallHeaders(), "grpc-encoding", "gzip"),
                                        "\x01" + Message("\x1f\x8b").substr(1));
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 12);
  EXPECT_THAT(client_->replies[stream].text(), testing::HasSubstr("compress"));
  EXPECT_EQ(client_->replies[stream].headers["grpc-accept-encoding"], "identity");
  EXPECT_THAT(handler_.requests, IsEmpty());
  client_->Begin(With(CallHeaders(), "grpc-encoding", "gzip"), Message("plain"));
  Pump();
  EXPECT_EQ(handler_.requests.size(), 1u) << "a plain message of a client that may compress";
}

TEST_F(SessionTest, AMessageBeyondTheMaximumIsRefusedBeforeItArrives) {
  Pump();
  const int32_t fits = client_->Call("/v1.Volume/Mount", std::string(256 << 10, 'x'));
  const int32_t longer = client_->Call("/v1.Volume/Mount", std::string((256 << 10) + 1, 'x'));
  Pump();
  EXPECT_EQ(client_->replies[longer].grpc_status(), 8);
  EXPECT_EQ(client_->replies[longer].text(),
            "Received message larger than max (262145 vs. 262144)");
  EXPECT_LE(client_->bodies[longer]->sent, kUnaskedBytes) << "the rest never came";
  EXPECT_TRUE(client_->replies[longer].closed);
  ASSERT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(handler_.requests[0].call, fits);
}

TEST_F(SessionTest, ACallNeedsExactlyOneCompleteRequest) {
  const std::map<std::string, int32_t> calls = {
      {"the call has no request", client_->Begin(CallHeaders(), "")},
      {"the call has two requests", client_->Begin(CallHeaders(), Message("a") + Message("b"))},
      {"the request ends within a message",
       client_->Begin(CallHeaders(), Message("abc").substr(0, 7))},
  };
  const int32_t in_prefix = client_->Begin(CallHeaders(), Message("").substr(0, 4));
  Pump();
  EXPECT_THAT(handler_.requests, IsEmpty());
  for (const auto& [text, stream] : calls) {
    EXPECT_EQ(client_->replies[stream].grpc_status(), 13) << text;
    EXPECT_EQ(client_->replies[stream].text(), text);
  }
  EXPECT_EQ(client_->replies[in_prefix].text(), "the request ends within a message");
}

// nghttp2 drops the headers of a stream that is about to be reset.
TEST_F(SessionTest, AResetIsSentAfterTheAnswer) {
  const int32_t stream =
      client_->Begin(CallHeaders("/unknown"), Message("abc").substr(0, 6), false);
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 12);
  EXPECT_TRUE(client_->replies[stream].closed) << "the stream is free for another call";
  EXPECT_EQ(client_->replies[stream].error, uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_EQ(session_->calls(), 0u);
}

TEST_F(SessionTest, AnAnswerToACompleteRequestSendsNoReset) {
  client_->Call("/unknown", "request");
  Pump();
  EXPECT_EQ(std::count(client_->frames.begin(), client_->frames.end(), NGHTTP2_RST_STREAM), 0);
}

// --- Long messages ---

TEST_F(SessionTest, ALongMessageArrivesOnceItsWindowIsOpened) {
  Pump();
  EXPECT_EQ(nghttp2_session_get_remote_window_size(client_->session), 16 << 20);
  const std::string message(250000, 'x');
  client_->Call("/v1.Volume/Mount", message);
  Pump();
  ASSERT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(handler_.requests[0].message, message);
  EXPECT_EQ(account_->room_bytes(), message.size());
  Echo();
  EXPECT_EQ(account_->room_bytes(), 0u) << "the room goes with the request";
}

TEST_F(SessionTest, MessagesAsLongAsTheWindowArrive) {
  Pump();
  for (size_t size = kUnaskedBytes - 7; size <= kUnaskedBytes + 7; ++size) {
    client_->Call("/v1.Volume/Mount", std::string(size, 'x'));
    Pump();
    ASSERT_EQ(handler_.requests.size(), 1u) << size;
    EXPECT_EQ(handler_.requests[0].message.size(), size);
    EXPECT_EQ(handler_.requests[0].room != nullptr, size > kUnaskedBytes) << size;
    Echo();
    Pump();
  }
}

// The account has room for four messages. Further messages wait, and the connection stays open.
TEST_F(SessionTest, ManyConcurrentLongCallsWaitForRoom) {
  Connect({.max_calls = 256});
  Pump();
  std::vector<int32_t> streams;
  for (int i = 0; i < 256; ++i) {
    streams.push_back(client_->Call("/v1.Volume/Mount", std::string(250000, 'x')));
  }
  size_t answered = 0;
  while (answered < streams.size()) {
    Pump();
    ASSERT_EQ(session_->violation(), Http2Violation::kNone);
    ASSERT_EQ(handler_.requests.size(), 4u) << answered;
    EXPECT_LE(account_->room_bytes(), account_->limits().room_bytes);
    EXPECT_LE(account_->held_bytes(), 256 * kUnaskedBytes);
    answered += handler_.requests.size();
    handler_.rooms = 0;
    Echo();
    EXPECT_EQ(handler_.rooms, answered < streams.size() ? 4 : 0);
    session_->OpenWindows();
  }
  Pump();
  for (const int32_t stream : streams) EXPECT_EQ(client_->replies[stream].grpc_status(), 0);
}

TEST_F(SessionTest, AMessageWaitsForRoomThatAnotherConnectionUses) {
  Pump();
  const auto other =
      std::make_unique<MessageRoom>(account_, account_->limits().room_bytes - 100, &handler_);
  client_->Call("/v1.Volume/Mount", std::string(20000, 'x'));
  client_->Call("/v1.Volume/Mount", "short");
  Pump();
  ASSERT_EQ(handler_.requests.size(), 1u) << "a short message needs no room";
  EXPECT_EQ(account_->held_bytes(), kUnaskedBytes - kPrefixBytes);
  // OpenWindows() has no effect before OnRoom().
  session_->OpenWindows();
  Pump();
  EXPECT_EQ(handler_.requests.size(), 1u);
  const_cast<std::unique_ptr<MessageRoom>&>(other).reset();
  EXPECT_EQ(handler_.rooms, 1);
  session_->OpenWindows();
  Pump();
  EXPECT_EQ(handler_.requests.size(), 2u);
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(SessionTest, ARequestThatExactlyFillsItsWindowCanEnd) {
  Pump();
  for (const size_t size : {kUnaskedBytes, size_t{200000}}) {
    const int32_t stream =
        client_->Begin(CallHeaders(), Message(std::string(size - kPrefixBytes, 'x')), false);
    Pump();
    client_->Continue(stream, "", true);
    Pump();
    EXPECT_EQ(handler_.requests.size(), 1u) << size;
    Echo();
  }
}

TEST_F(SessionTest, AWindowIsNotOpenedForACompleteMessage) {
  Pump();
  client_->frames.clear();
  client_->Call("/v1.Volume/Mount", std::string(15000, 'x'));
  client_->Begin(CallHeaders(), Message(std::string(15000, 'x')), false);
  Pump();
  session_->OpenWindows();
  Pump();
  EXPECT_THAT(client_->frames, IsEmpty());
}

// Before a client knows the settings, a call's window is the default, which is larger.
TEST_F(SessionTest, AMessageStartedBeforeTheSettingsArrives) {
  const std::string message(200000, 'x');
  client_->Call("/v1.Volume/Mount", message);
  Receive(client_->Send());
  EXPECT_GT(client_->bodies[1]->sent, 3 * kUnaskedBytes);
  Pump();
  ASSERT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(handler_.requests[0].message, message);
}

// A request may outlive the handler, so no request may contain a MessageRoom that still waits.
TEST_F(SessionTest, AMessageReceivedBeforeTheSettingsDoesNotWait) {
  const MessageRoom other(account_, account_->limits().room_bytes, &handler_);
  client_->Call("/v1.Volume/Mount", std::string(40000, 'x'));
  Receive(client_->Send());
  ASSERT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(handler_.requests[0].room, nullptr);
  EXPECT_EQ(account_->held_bytes(), 0u);
}

// --- Cancellation ---

TEST_F(SessionTest, AResetIsReportedOnceAndTheLateAnswerIsDropped) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  client_->Reset(stream);
  Pump();
  EXPECT_THAT(handler_.cancelled, ElementsAre(stream));
  EXPECT_EQ(session_->calls(), 0u);
  session_->Answer(stream, absl::OkStatus(), "late");
  session_->Finish(stream, absl::OkStatus());
  session_->Cancel();
  EXPECT_FALSE(session_->wants_to_send());
  EXPECT_THAT(handler_.cancelled, ElementsAre(stream));
}

TEST_F(SessionTest, ResetsOfUnfinishedAndAnsweredCallsAreNotReported) {
  const int32_t unfinished = client_->Begin(CallHeaders(), Message("abc").substr(0, 6), false);
  const int32_t answered = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  session_->Answer(answered, absl::OkStatus(), "unsent");
  client_->Reset(unfinished);
  client_->Reset(answered);
  Pump();
  EXPECT_THAT(handler_.cancelled, IsEmpty());
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(SessionTest, ABrokenConnectionCancelsItsCalls) {
  client_->Call("/v1.Volume/Mount", "a");
  const int32_t answered = client_->Call("/v1.Volume/Mount", "b");
  client_->Call("/v1.Volume/Mount", "c");
  Pump();
  session_->Answer(answered, absl::OkStatus(), "");
  session_->Cancel();
  EXPECT_THAT(handler_.cancelled, testing::UnorderedElementsAre(1, 5));
  session_->Cancel();
  EXPECT_EQ(handler_.cancelled.size(), 2u);
}

// A cancelled session may live on, because a service may still have one of its calls.
TEST_F(SessionTest, ACancelledSessionKeepsNoRequestsAndSendsNoOk) {
  Pump();
  const int32_t stream = client_->Call("/grpc.health.v1.Health/Watch", "service");
  client_->Begin(CallHeaders(), Message(std::string(100000, 'x')).substr(0, 50000), false);
  client_->Begin(CallHeaders(), Message("abc").substr(0, 6), false);
  Pump();
  EXPECT_EQ(account_->unfinished(), 2u);
  session_->Write(stream, "SERVING");
  session_->Cancel();
  EXPECT_EQ(account_->unfinished() + account_->room_bytes(), 0u);
  Pump();
  EXPECT_EQ(account_->held_bytes(), 0u);
  EXPECT_NE(client_->replies[stream].grpc_status(), 0);
}

TEST_F(SessionTest, AResetIsHandledInEachStateOfAnAnswer) {
  for (int frames = 0; frames < 8; ++frames) {
    const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
    Pump();
    session_->Answer(stream, absl::OkStatus(), std::string(40000, 'x'));
    handler_.requests.clear();
    for (int i = 0; i < frames; ++i) {
      std::string bytes;
      session_->Send(1, &bytes);
      client_->Receive(bytes);
    }
    client_->Reset(stream);
    Pump();
    EXPECT_EQ(session_->calls(), 0u) << frames;
    EXPECT_EQ(account_->held_bytes(), 0u) << frames;
    ASSERT_EQ(session_->violation(), Http2Violation::kNone);
  }
}

// --- Streams of messages ---

TEST_F(SessionTest, AnAnswerMayConsistOfSeveralMessages) {
  const int32_t stream = client_->Call("/grpc.health.v1.Health/Watch", "service");
  Pump();
  std::string expected;
  for (const char* state : {"SERVING", "", "NOT_SERVING"}) {
    session_->Write(stream, state);
    Pump();
    expected += Message(state);
    EXPECT_EQ(client_->replies[stream].data, expected);
    EXPECT_FALSE(client_->replies[stream].closed);
  }
  EXPECT_EQ(account_->held_bytes(), 0u);
  session_->Finish(stream, absl::UnavailableError("the service is stopping"));
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 14);
  EXPECT_TRUE(client_->replies[stream].closed);
  EXPECT_EQ(client_->replies[stream].header_blocks, 2);
}

TEST_F(SessionTest, ACallMayHaveManyRequests) {
  const int32_t stream = client_->Begin(CallHeaders("/many"), Message("a") + Message("b"), false);
  Pump();
  ASSERT_EQ(handler_.requests.size(), 2u);
  EXPECT_EQ(handler_.requests[1].call, stream);
  EXPECT_EQ(handler_.requests[1].path, "/many");
  EXPECT_EQ(handler_.requests[1].message, "b");
  session_->Write(stream, "A");
  Pump();
  EXPECT_EQ(client_->replies[stream].data, Message("A"));
  client_->Continue(stream, Message("c"), true);
  Pump();
  ASSERT_EQ(handler_.requests.size(), 3u);
  EXPECT_THAT(handler_.ends, ElementsAre(stream));
  session_->Finish(stream, absl::OkStatus());
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 0);
  EXPECT_THAT(handler_.cancelled, IsEmpty());
}

TEST_F(SessionTest, ACallMayHaveRequestsOfDifferentSizes) {
  Pump();
  const int32_t stream = client_->Begin(CallHeaders("/many"), "", false);
  for (int i = 0; i < 300; ++i) {
    const std::string message(i % 3 == 0 ? 40000 : 9000 + i, 'x');
    now_ += std::chrono::milliseconds(100);  // earns what a request costs
    client_->Continue(stream, Message(message), false);
    Pump();
    ASSERT_EQ(handler_.requests.size(), 1u) << i;
    EXPECT_EQ(handler_.requests[0].message, message);
    handler_.requests.clear();
  }
  EXPECT_EQ(account_->room_bytes(), 0u);
  EXPECT_EQ(account_->held_bytes(), 0u);
}

// The settings make the window of a stream smaller than what has arrived on the stream.
TEST_F(SessionTest, AStreamOfRequestsStartedBeforeTheSettingsContinues) {
  const int32_t stream =
      client_->Begin(CallHeaders("/many"), Message(std::string(40000, 'x')), false);
  Receive(client_->Send());
  Pump();
  client_->Continue(stream, Message("next"), false);
  Pump();
  ASSERT_EQ(handler_.requests.size(), 2u);
  EXPECT_EQ(handler_.requests[1].message, "next");
}

TEST_F(SessionTest, ManyShortRequestsNeedFewWindowUpdates) {
  Pump();
  const int32_t stream = client_->Begin(CallHeaders("/many"), "", false);
  client_->frames.clear();
  for (size_t i = 1; i <= 2000; ++i) {
    now_ += std::chrono::milliseconds(100);  // earns what a request costs
    client_->Continue(stream, Message("short"), false);
    Pump();
    ASSERT_EQ(handler_.requests.size(), i);
  }
  EXPECT_THAT(client_->frames, ElementsAre(NGHTTP2_WINDOW_UPDATE, NGHTTP2_WINDOW_UPDATE));
}

TEST_F(SessionTest, ALaterRequestMayBeRefusedBeforeOrDuringTheAnswer) {
  for (const bool within : {false, true}) {
    const int32_t stream = client_->Begin(CallHeaders("/many"), Message("a"), false);
    Pump();
    if (within) session_->Write(stream, "A");
    Pump();
    client_->Continue(stream, "\x01" + Message("gzip").substr(1), true);
    Pump();
    EXPECT_EQ(client_->replies[stream].grpc_status(), 12);
    EXPECT_EQ(client_->replies[stream].data, within ? Message("A") : "");
    EXPECT_TRUE(client_->replies[stream].closed);
    EXPECT_THAT(handler_.cancelled, ElementsAre(stream));
    handler_.cancelled.clear();
  }
}

TEST_F(SessionTest, AStreamingCallMayHaveNoRequest) {
  const int32_t stream = client_->Begin(CallHeaders("/many"), "");
  Pump();
  EXPECT_THAT(handler_.ends, ElementsAre(stream));
  session_->Finish(stream, absl::OkStatus());
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 0);
}

TEST_F(SessionTest, ALongAnswerWaitsForTheClientsWindow) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Receive(client_->Send());
  session_->Answer(stream, absl::OkStatus(), std::string(100000, 'x'));
  const std::string first = Sent();
  EXPECT_LT(first.size(), 70000u);
  EXPECT_FALSE(session_->wants_to_send());
  EXPECT_GT(account_->held_bytes(), 30000u);
  client_->Receive(first);
  Pump();
  EXPECT_EQ(client_->replies[stream].data.size(), 100000u + kPrefixBytes);
  EXPECT_EQ(client_->replies[stream].grpc_status(), 0);
  EXPECT_EQ(account_->held_bytes(), 0u);
}

// --- The end ---

TEST_F(SessionTest, AGoAwayLetsRunningCallsFinish) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  session_->GoAway();
  session_->GoAway();
  const int32_t late = client_->Call("/v1.Volume/Mount", "late");
  Receive(client_->Send());
  EXPECT_EQ(std::count(client_->frames.begin(), client_->frames.end(), NGHTTP2_GOAWAY), 0);
  Pump();
  EXPECT_EQ(client_->goaway, int64_t{NGHTTP2_NO_ERROR});
  EXPECT_EQ(std::count(client_->frames.begin(), client_->frames.end(), NGHTTP2_GOAWAY), 1);
  EXPECT_FALSE(session_->ended());
  EXPECT_EQ(handler_.requests.size(), 1u) << "a call that the client may make again";
  EXPECT_EQ(client_->replies[late].error, uint32_t{NGHTTP2_REFUSED_STREAM});
  EXPECT_EQ(std::count(client_->frames.begin(), client_->frames.end(), NGHTTP2_RST_STREAM), 0);
  Echo();
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 0);
  EXPECT_TRUE(session_->ended());
  EXPECT_EQ(session_->violation(), Http2Violation::kNone);
}

TEST_F(SessionTest, AnIdleSessionEndsWithItsGoAway) {
  Pump();
  EXPECT_FALSE(session_->ended());
  session_->GoAway();
  EXPECT_FALSE(session_->ended());
  Pump();
  EXPECT_TRUE(session_->ended());
}

TEST_F(SessionTest, AClientsGoAwayEndsTheSessionAfterItsCalls) {
  const int32_t stream = client_->Call("/v1.Volume/Mount", "request");
  Pump();
  nghttp2_submit_goaway(client_->session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
  Pump();
  EXPECT_FALSE(session_->ended());
  Echo();
  Pump();
  EXPECT_EQ(client_->replies[stream].grpc_status(), 0);
  EXPECT_TRUE(session_->ended());
}

TEST_F(SessionTest, APingIsAnsweredOnce) {
  Pump();
  client_->frames.clear();
  nghttp2_submit_ping(client_->session, NGHTTP2_FLAG_NONE, nullptr);
  Pump();
  EXPECT_THAT(client_->frames, ElementsAre(NGHTTP2_PING));
}

TEST_F(SessionTest, TheAccountIsEmptyAfterASessionEndsInAnyState) {
  Pump();
  const auto other = std::make_unique<MessageRoom>(account_, 900000, &handler_);
  client_->Begin(CallHeaders(), "", false);
  client_->Begin(CallHeaders(), Message("abc").substr(0, 6), false);
  client_->Begin(CallHeaders(), Message("abc"), false);
  client_->Call("/v1.Volume/Mount", std::string(100000, 'x'));  // has room
  client_->Call("/v1.Volume/Mount", std::string(200000, 'x'));  // waits
  const int32_t unread = client_->Call("/v1.Volume/Mount", "an answer that never leaves");
  client_->Begin(CallHeaders("/unknown"), Message("abc").substr(0, 6), false);
  client_->Begin(CallHeaders("/many"), Message("abc") + Message("abc").substr(0, 6), false);
  for (int i = 0; i < 3; ++i) {
    Receive(client_->Send());
    client_->Receive(Sent());
  }
  session_->Answer(unread, absl::OkStatus(), std::string(100000, 'x'));
  std::string bytes;
  session_->Send(1, &bytes);
  EXPECT_EQ(account_->calls(), 7u);
  EXPECT_GT(account_->unfinished(), 0u);
  EXPECT_GT(account_->held_bytes(), 0u);
  handler_.requests.clear();
  session_.reset();
  EXPECT_EQ(account_->calls(), 0u);
  EXPECT_EQ(account_->unfinished(), 0u);
  EXPECT_EQ(account_->held_bytes(), 0u);
  EXPECT_EQ(account_->room_bytes(), 900000u);
}

}  // namespace
}  // namespace csi_proxy::transport
