// Tests how much a hostile client can send before the session ends its connection.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/transport/session_testing.h"

namespace csi_proxy::transport {
namespace {

using rpc::Frame;
using rpc::Literal;
using enum Http2Violation;

// A number of four bytes, as frames contain it.
std::string Number(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

// Joins frames, which are evaluated from left to right. The operands of + have no such order.
std::string Join(std::initializer_list<std::string> frames) {
  std::string bytes;
  for (const std::string& frame : frames) bytes += frame;
  return bytes;
}

class SessionAttackTest : public SessionTest {
 protected:
  SessionAttackTest() { Introduce(); }

  // Sends a client's preface and settings, and acknowledges the session's settings if
  // `acknowledges`.
  void Introduce(bool acknowledges = true) {
    Receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    Receive(Frame(rpc::kSettings, 0, 0, ""));
    if (acknowledges) Receive(Frame(rpc::kSettings, 1, 0, ""));
    Sent();
  }
  void Reconnect() {
    Connect();
    Introduce();
  }

  // Returns the header block of a call.
  static std::string Block(absl::string_view path = "/v1.Volume/Mount") {
    return absl::StrCat(Literal(":method", "POST"), Literal(":path", path),
                        Literal("content-type", "application/grpc"));
  }
  // Opens the next stream.
  std::string Open(uint8_t flags = 0, absl::string_view path = "/v1.Volume/Mount") {
    stream_ += 2;
    return Frame(rpc::kHeaders, rpc::kEndHeaders | flags, stream_, Block(path));
  }
  std::string Data(absl::string_view bytes, uint8_t flags = 0) const {
    return Frame(rpc::kData, flags, stream_, bytes);
  }
  std::string Call() {
    const std::string headers = Open();
    return headers + Data(Message("m"), rpc::kEndStream);
  }
  std::string Reset() const { return Frame(rpc::kRstStream, 0, stream_, std::string(4, '\0')); }

  // Repeats `attack` until the connection ends, at most `most` times, and returns how often the
  // connection stayed. If `reads`, calls are answered and the client reads after each attack.
  int Until(const std::function<std::string()>& attack, bool reads = true, int most = 200000) {
    for (int i = 0; i < most; ++i) {
      Receive(attack());
      if (reads) {
        Echo();
        Sent();
      }
      if (session_->violation() != kNone) return i;
    }
    return most;
  }
  // Expects that the connection ends with a GOAWAY, and that later calls are dropped.
  void ExpectEnd(Http2Violation violation) {
    EXPECT_EQ(session_->violation(), violation);
    client_->Receive(Sent());
    EXPECT_TRUE(session_->ended());
    EXPECT_FALSE(session_->wants_to_send());
    handler_.requests.clear();
    Receive(Call());
    EXPECT_TRUE(handler_.requests.empty());
  }

  uint32_t stream_ = static_cast<uint32_t>(-1);
};

TEST_F(SessionAttackTest, HonestCallsAreNeverAViolation) {
  const std::string ping = Frame(rpc::kPing, 0, 0, std::string(8, '\0'));
  // All calls come at one moment, so that no token is earned by waiting.
  EXPECT_EQ(Until(
                [&] {
                  const std::string call = Call();
                  return absl::StrCat(call, ping, Frame(rpc::kWindowUpdate, 0, 0, Number(6)),
                                      Frame(rpc::kWindowUpdate, 0, stream_, Number(6)));
                },
                true, 50000),
            50000);
  EXPECT_EQ(account_->calls(), 0u);
}

TEST_F(SessionAttackTest, TheGoAwayOfGrpcGoIsNotAViolation) {
  for (int i = 0; i < 100; ++i) {
    Receive(Call());
    Echo();
    // grpc-go names its own last stream.
    Receive(Frame(rpc::kGoAway, 0, 0, absl::StrCat(Number(stream_), Number(0), "shutdown")));
    Sent();
    ASSERT_EQ(session_->violation(), kNone) << i;
    EXPECT_TRUE(session_->ended());
    stream_ = static_cast<uint32_t>(-1);
    Reconnect();
  }
}

// --- Nghttp2's own bounds, and the violations that they cause ---

TEST_F(SessionAttackTest, TooManyContinuationsEndTheConnection) {
  Receive(Frame(rpc::kHeaders, 0, 1, Block()));
  EXPECT_EQ(Until([] { return Frame(rpc::kContinuation, 0, 1, Literal("a", "b")); }), 8);
  ExpectEnd(kContinuations);
}

TEST_F(SessionAttackTest, TooManyContinuationsAfterGoAwayEndTheConnection) {
  Receive(Open());
  session_->GoAway();
  Sent();
  Receive(Frame(rpc::kHeaders, 0, 3, Block()));
  EXPECT_LE(Until([] { return Frame(rpc::kContinuation, 0, 3, Literal("a", "b")); }), 80);
  EXPECT_EQ(session_->violation(), kContinuations);
}

TEST_F(SessionAttackTest, TooManyPingsEndTheConnectionWhetherAnswersAreReadOrNot) {
  const std::string ping = Frame(rpc::kPing, 0, 0, std::string(8, '\0'));
  EXPECT_EQ(Until([&] { return ping; }), 1000 - 2);
  ExpectEnd(kControlFrames);
  account_ = std::make_shared<Http2Account>();
  Reconnect();
  EXPECT_LE(Until([&] { return ping; }, false), 1000);
  EXPECT_EQ(session_->violation(), kControlFrames);
}

TEST_F(SessionAttackTest, TooManyControlFramesEndTheConnection) {
  const struct {
    const char* name;
    std::string frame;
    int taken;
  } kFloods[] = {
      {"settings", Frame(rpc::kSettings, 0, 0, ""), 1000},
      {"priority", Frame(rpc::kPriority, 0, 1, std::string(4, '\0') + "x"), 1000},
      {"window of the connection", Frame(rpc::kWindowUpdate, 0, 0, Number(1)), 1000},
      {"goaway", Frame(rpc::kGoAway, 0, 0, std::string(8, '\0')), 1000},
      {"unknown", Frame(rpc::kExtension, 0, 0, ""), 1000},
      {"unknown and long", Frame(rpc::kExtension, 0, 0, std::string(640, 'x')), 90},
      {"altsvc", Frame(0xa, 0, 0, std::string(64, 'x')), 500},
      {"priority update", Frame(0x10, 0, 0, std::string(64, '\0')), 500},
  };
  for (const auto& flood : kFloods) {
    account_ = std::make_shared<Http2Account>();
    Reconnect();
    // Begins a call, because without a call a client's GOAWAY ends the session.
    stream_ = static_cast<uint32_t>(-1);
    Receive(Open());
    EXPECT_EQ(Until([&] { return flood.frame; }), flood.taken) << flood.name;
    EXPECT_EQ(session_->violation(), kControlFrames) << flood.name;
  }
}

TEST_F(SessionAttackTest, TooManyEmptyFramesOfACallEndTheConnection) {
  const struct {
    const char* name;
    std::function<std::string()> frame;
  } kFloods[] = {
      {"empty data", [&] { return Data(""); }},
      {"padding alone", [&] { return Frame(rpc::kData, 0x8, stream_, std::string("\2\0\0", 3)); }},
      {"window of the call", [&] { return Frame(rpc::kWindowUpdate, 0, stream_, Number(1)); }},
  };
  for (const auto& flood : kFloods) {
    account_ = std::make_shared<Http2Account>();
    Reconnect();
    stream_ = static_cast<uint32_t>(-1);
    Receive(Open());
    EXPECT_EQ(Until(flood.frame), 1000) << flood.name;
    EXPECT_EQ(session_->violation(), kControlFrames) << flood.name;
  }
}

TEST_F(SessionAttackTest, RepeatedTrailersEndTheConnection) {
  // Trailers that do not end the request reset the call.
  EXPECT_EQ(
      Until([&] {
        return Join({Open(), Frame(rpc::kHeaders, rpc::kEndHeaders, stream_, Literal("a", "b"))});
      }),
      512);
  EXPECT_EQ(session_->violation(), kResets);
  // Sends trailers of a call that has been reset.
  account_ = std::make_shared<Http2Account>();
  Reconnect();
  stream_ = static_cast<uint32_t>(-1);
  Receive(Join({Open(), Reset()}));
  EXPECT_LE(
      Until([&] { return Frame(rpc::kHeaders, rpc::kEndHeaders, stream_, Literal("a", "b")); }),
      1000);
  EXPECT_EQ(session_->violation(), kControlFrames);
}

TEST_F(SessionAttackTest, TooManyDataFramesForAnEndedCallEndTheConnection) {
  Receive(Join({Open(), Reset()}));
  // 113 empty frames are about a KiB.
  const int taken = Until([&] { return Data(""); });
  EXPECT_GT(taken, 100000);
  EXPECT_LT(taken, 120000);
  EXPECT_EQ(session_->violation(), kControlFrames);
}

TEST_F(SessionAttackTest, TimeAndCallsRestoreTheControlFrameLimit) {
  const std::string ping = Frame(rpc::kPing, 0, 0, std::string(8, '\0'));
  EXPECT_EQ(Until([&] { return ping; }, true, 998), 998);
  Receive(Call());
  Receive(ping + ping + ping + ping);
  EXPECT_EQ(session_->violation(), kNone) << "a call pays for four";
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(Until([&] { return ping; }), 100);
}

// --- Resets ---

TEST_F(SessionAttackTest, RapidResetEndsTheConnection) {
  EXPECT_EQ(Until([&] { return Join({Open(), Reset()}); }), 512);
  ExpectEnd(kResets);
}

TEST_F(SessionAttackTest, TooManyCancelledCallsEndTheConnection) {
  EXPECT_EQ(Until([&] { return Join({Call(), Reset()}); }), 512);
  EXPECT_EQ(session_->violation(), kResets);
  EXPECT_EQ(handler_.cancelled.size(), 513u);
}

// MadeYouReset, CVE-2025-8671: the client makes the server reset a call that goes on.
TEST_F(SessionAttackTest, TooManyResetsByTheServerEndTheConnection) {
  const std::string most = Number(0x7fffffff);
  EXPECT_EQ(Until([&] {
              return Join({Call(), Frame(rpc::kWindowUpdate, 0, stream_, most)});
            }),
            512);
  ExpectEnd(kResets);
  account_ = std::make_shared<Http2Account>();
  Reconnect();
  stream_ = static_cast<uint32_t>(-1);
  // Sends more than the call's window.
  EXPECT_LE(Until([&] { return Join({Open(), Data(std::string(16384, '\0')), Data("x")}); }), 512);
  EXPECT_EQ(session_->violation(), kResets);
}

TEST_F(SessionAttackTest, TooManyUnreadResetsEndTheConnection) {
  const std::string most = Number(0x7fffffff);
  const int taken = Until(
      [&] {
        return Join({Call(), Frame(rpc::kWindowUpdate, 0, stream_, most)});
      },
      false);
  EXPECT_EQ(taken, 256);
  EXPECT_EQ(session_->violation(), kStreams);
}

TEST_F(SessionAttackTest, ResetsAreCountedOverAllConnections) {
  EXPECT_EQ(Until([&] { return Join({Open(), Reset()}); }, true, 300), 300);
  Reconnect();
  stream_ = static_cast<uint32_t>(-1);
  EXPECT_EQ(Until([&] { return Join({Open(), Reset()}); }), 212);
}

TEST_F(SessionAttackTest, EarlyAnswersCountAsResets) {
  EXPECT_EQ(Until([&] { return Open(0, "/unknown"); }), 512);
  EXPECT_EQ(session_->violation(), kResets);
}

// --- Answers that cannot be sent ---

// A client may make many calls concurrently and read the answers later, so its connection stays
// open.
TEST_F(SessionAttackTest, AnswersThatWaitForAWindowAreLimited) {
  Receive(Frame(rpc::kSettings, 0, 0, std::string("\0\4\0\0\0\0", 6)));
  for (int i = 0; i < 250; ++i) {
    Receive(Call());
    for (const Request& request : std::exchange(handler_.requests, {})) {
      session_->Answer(request.call, absl::OkStatus(), std::string(100000, 'x'));
    }
    Sent();
  }
  EXPECT_EQ(session_->violation(), kNone);
  EXPECT_LE(account_->held_bytes(), account_->limits().held_bytes);
  EXPECT_EQ(session_->calls(), account_->limits().held_bytes / 100005) << "the rest was refused";
  EXPECT_EQ(handler_.cancelled.size(), 250 - session_->calls()) << "and the handler knows";
}

TEST_F(SessionAttackTest, RequestsOfOneCallAreLimited) {
  Receive(Open(0, "/many"));
  size_t requests = 0;
  while (session_->violation() == kNone && requests < 5000) {
    Receive(Data(Message("")));
    for (const Request& request : std::exchange(handler_.requests, {})) {
      session_->Write(request.call, std::string(1000, 'x'));
      ++requests;
    }
    Sent();
  }
  EXPECT_GE(requests, 1000u);
  EXPECT_LT(requests, 1500u);
  ExpectEnd(kControlFrames);
}

// The answers earn the price of further requests, and the requests wait for a slow handler.
TEST_F(SessionAttackTest, RequestsOfOneCallThatWaitAreLimited) {
  Receive(Open(0, "/many"));
  size_t requests = 0;
  for (; handler_.cancelled.empty() && requests < 10'000; ++requests) {
    account_->CreditSent(1 << 20);
    Receive(Data(Message(std::string(4000, 'x'))));
    Sent();
  }
  EXPECT_LT(requests, account_->limits().held_bytes / 4000);
  EXPECT_LE(account_->held_bytes(), account_->limits().held_bytes);
  EXPECT_EQ(session_->violation(), kNone);
  const size_t before = handler_.requests.size();
  Receive(Data(Message("a") + Message("b")));
  EXPECT_EQ(handler_.requests.size(), before) << "the call was refused";
  handler_.requests.clear();
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(SessionAttackTest, WaitingEmptyRequestsOfOneCallAreLimited) {
  Receive(Open(0, "/many"));
  while (handler_.cancelled.empty() && handler_.requests.size() < 20'000) {
    account_->CreditSent(1 << 20);
    Receive(Data(Message("") + Message("") + Message("")));
  }
  EXPECT_LT(handler_.requests.size(), 10'000u);
  EXPECT_EQ(session_->violation(), kNone);
}

TEST_F(SessionAttackTest, UnsentAnswersOfOneCallAreLimited) {
  Receive(Open(0, "/many"));
  size_t answers = 0;
  for (int i = 0; i < 1000; ++i) {
    now_ += std::chrono::milliseconds(100);  // earns what a request costs
    Receive(Data(Message(std::string(10000, 'x'))));
    for (const Request& request : std::exchange(handler_.requests, {})) {
      session_->Write(request.call, request.message);
      ++answers;
    }
    Sent();
  }
  EXPECT_LE(account_->held_bytes(), account_->limits().held_bytes);
  constexpr size_t kFirstWindow = 65535;  // RFC 9113, section 6.9.2
  EXPECT_LE(answers, 1 + (account_->limits().held_bytes + kFirstWindow) / 10005);
}

TEST_F(SessionAttackTest, UnreadAnswersAreLimited) {
  const int taken = Until([&] { return Call(); }, false);
  EXPECT_EQ(taken, 256);
  EXPECT_EQ(session_->violation(), kStreams);
}

TEST_F(SessionAttackTest, ConcurrentCallsAreLimitedOverAllConnections) {
  std::vector<std::unique_ptr<Session>> sessions;
  size_t calls = 0;
  for (int i = 0; i < 10 && session_->violation() == kNone; ++i) {
    calls += static_cast<size_t>(Until([&] { return Call(); }, false, 200));
    sessions.push_back(std::move(session_));
    Reconnect();
    stream_ = static_cast<uint32_t>(-1);
    if (sessions.back()->violation() != kNone) break;
  }
  EXPECT_EQ(calls, 1024u);
  EXPECT_EQ(sessions.back()->violation(), kStreams);
}

TEST_F(SessionAttackTest, CallsBeyondTheAnnouncedLimitEndTheConnection) {
  SessionOptions options;
  options.max_calls = 12;
  Connect(options);
  Introduce();
  EXPECT_EQ(Until([&] { return Call(); }, false), 12);
  EXPECT_EQ(handler_.requests.size(), 12u);
  EXPECT_EQ(handler_.cancelled.size(), 12u);
  ExpectEnd(kStreams);
}

TEST_F(SessionAttackTest, CallsBeyondALimitNotYetAcknowledgedAreRefused) {
  SessionOptions options;
  options.max_calls = 12;
  Connect(options);
  Introduce(false);
  for (int i = 0; i < 20; ++i) Receive(Call());
  EXPECT_EQ(handler_.requests.size(), 12u);
  EXPECT_EQ(session_->violation(), kNone);
  EXPECT_EQ(account_->calls(), 12u);
}

// The session refuses these calls without keeping them, so only the queue of resets grows.
TEST_F(SessionAttackTest, TooManyUnreadRefusalsEndTheConnection) {
  SessionOptions options;
  options.max_calls = 1;
  Connect(options);
  Introduce(false);
  const int taken = Until([&] { return Call(); }, false);
  EXPECT_EQ(taken, 1 + 1024);
  ExpectEnd(kControlFrames);
}

// --- Memory ---

// A tenant may have thousands of connections, and each of them may have many unread refusals.
TEST_F(SessionAttackTest, TheAccountIsChargedForUnreadRefusals) {
  SessionOptions options;
  options.max_calls = 1;
  Connect(options);
  Introduce(false);
  const size_t before = account_->held_bytes();
  std::string calls;
  for (int i = 0; i <= 800; ++i) calls += Call();
  Receive(calls);
  EXPECT_GE(account_->held_bytes() - before, 800 * account_->limits().queued_frame_bytes);
  Sent();
  EXPECT_EQ(account_->held_bytes(), before) << "the client has read the refusals";
}

TEST_F(SessionAttackTest, FewUnreadRefusalsEndASessionWhoseTenantHasNoMemory) {
  const auto tenant = std::make_shared<Http2Account>();
  account_ = std::make_shared<Http2Account>(Http2Limits(), tenant);
  SessionOptions options;
  options.max_calls = 1;
  Connect(options);
  Introduce(false);
  Receive(Call());
  const size_t others = tenant->limits().held_bytes - tenant->held_bytes();
  ASSERT_TRUE(tenant->Hold(others));
  for (int i = 0; i < 100; ++i) Receive(Call());
  Sent();
  EXPECT_TRUE(session_->ended());
  EXPECT_EQ(session_->violation(), kNone);
  tenant->Drop(others);
}

TEST_F(SessionAttackTest, TheSizeOfAHeaderListIsLimited) {
  // A long header enters HPACK's table (RFC 7541, section 6.2.1). Then each byte is a copy of it.
  const std::string value(4000, 'v');
  const std::string entry = std::string("\x40\1a\x7f\xa1\x1e", 6) + value;
  Receive(Frame(rpc::kHeaders, rpc::kEndHeaders, 1, entry + std::string(10000, '\xbe')));
  ExpectEnd(kHeaderBlock);
}

// HPACK keeps the text of a header until it is complete (RFC 7541, section 5.2). This header has
// 60,000 bytes.
TEST_F(SessionAttackTest, TheSizeOfAnUnfinishedHeaderIsLimited) {
  for (const bool dropped : {false, true}) {
    account_ = std::make_shared<Http2Account>();
    Reconnect();
    if (dropped) {
      Receive(Frame(rpc::kHeaders, rpc::kEndHeaders, 1, Block()));
      session_->GoAway();
      Sent();
    }
    const uint32_t stream = dropped ? 3 : 1;
    Receive(Frame(rpc::kHeaders, 0, stream, std::string("\0\1a\x7f\xe1\xd3\3", 7)));
    const std::string more = Frame(rpc::kContinuation, 0, stream, std::string(4000, 'x'));
    EXPECT_EQ(Until([&] { return more; }, true, 7), 4) << dropped;
    EXPECT_EQ(session_->violation(), kHeaderBlock) << dropped;
  }
}

// Nghttp2 keeps what has arrived of a header block and of a GOAWAY. A tenant may have thousands of
// connections.
TEST_F(SessionAttackTest, TheAccountIsChargedForAnUnfinishedFrame) {
  const std::string text = std::string("\0\1a\x7f\xe1\xd3\3", 7) + std::string(4000, 'x');
  const std::string begun = Frame(rpc::kHeaders, 0, 3, Block() + text);
  const std::string goaway = Frame(rpc::kGoAway, 0, 0, std::string(4000, '\0'));
  for (const std::string& part : {begun, begun.substr(0, 4000), goaway.substr(0, 4000)}) {
    Receive(part);
    EXPECT_EQ(account_->held_bytes(), 2 * part.size());
    Reconnect();
    EXPECT_EQ(account_->held_bytes(), 0u) << "the connection has ended";
  }
  const std::string call = Call();
  for (const char byte : call) Receive({&byte, 1});
  EXPECT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(account_->held_bytes(), 0u) << "the request was handed over";
  // A read may end within the header of a frame.
  const std::string ping = Frame(rpc::kPing, 0, 0, std::string(8, '\0'));
  for (const char byte : ping) Receive({&byte, 1});
  EXPECT_EQ(account_->held_bytes(), 0u);
  EXPECT_TRUE(account_->Hold(account_->limits().held_bytes));
  Receive(begun);
  EXPECT_EQ(session_->violation(), kUnfinished);
  account_->Drop(account_->limits().held_bytes);
}

// A process must not bar the other processes of its tenant.
TEST_F(SessionAttackTest, AClientIsRefusedButNotBarredIfItsTenantsMemoryIsUsedUp) {
  const auto tenant = std::make_shared<Http2Account>();
  account_ = std::make_shared<Http2Account>(Http2Limits(), tenant);
  ASSERT_TRUE(tenant->Hold(tenant->limits().held_bytes));
  for (int i = 0; i < 20; ++i) {
    Reconnect();
    Receive(Call());
    EXPECT_TRUE(handler_.requests.empty());
    EXPECT_EQ(session_->violation(), kNone);
    EXPECT_FALSE(session_->ended());
    Receive(Frame(rpc::kHeaders, 0, stream_ + 2, Block()));
    Sent();
    EXPECT_EQ(session_->violation(), kNone);
    EXPECT_TRUE(session_->ended());
  }
  tenant->Drop(tenant->limits().held_bytes);
  Reconnect();
  Receive(Call());
  EXPECT_EQ(handler_.requests.size(), 1u);
}

// The memory that is left is enough for headers, but not for a call.
TEST_F(SessionAttackTest, CallsRefusedForATenantsMemoryDoNotCountAsResetsOfTheClient) {
  const auto tenant = std::make_shared<Http2Account>();
  account_ = std::make_shared<Http2Account>(Http2Limits(), tenant);
  Reconnect();
  const size_t others = tenant->limits().held_bytes - tenant->limits().call_bytes + 1;
  ASSERT_TRUE(tenant->Hold(others));
  EXPECT_EQ(Until([&] { return Call(); }, true, 2000), 2000);
  EXPECT_FALSE(session_->ended());
  tenant->Drop(others);
  EXPECT_EQ(Until([&] { return Join({Open(), Reset()}); }), 512) << "the client's own resets count";
}

TEST_F(SessionAttackTest, LongHeaderValuesAreTruncated) {
  Receive(Join(
      {Frame(rpc::kHeaders, rpc::kEndHeaders, 1,
             Block() + std::string("\0\xbtraceparent\x7f\xa1\x1e", 16) + std::string(4000, 'x')),
       Frame(rpc::kData, rpc::kEndStream, 1, Message("m"))}));
  ASSERT_EQ(handler_.requests.size(), 1u);
  EXPECT_EQ(handler_.requests[0].traceparent, std::string(256, 'x'));
}

// A client that has read all but the end of an answer pays for the whole answer until the session
// frees it.
TEST_F(SessionAttackTest, AnAnswerIsChargedUntilItsMemoryIsFreed) {
  Receive(Frame(rpc::kWindowUpdate, 0, 0, Number(1 << 20)));
  Receive(Join({Open(0, "/many"), Data(Message("m"))}));
  handler_.requests.clear();
  session_->Write(1, std::string(65535, 'x'));
  Sent();
  EXPECT_EQ(account_->held_bytes(), 65535 + kPrefixBytes);
  session_->Write(1, "short");
  EXPECT_EQ(account_->held_bytes(), 5 + 2 * kPrefixBytes);
  Receive(Frame(rpc::kWindowUpdate, 0, 1, Number(100)));
  Sent();
  EXPECT_EQ(account_->held_bytes(), 0u);
}

TEST_F(SessionAttackTest, UnfinishedRequestsAreLimited) {
  std::vector<std::unique_ptr<Session>> sessions;
  int calls = 0;
  while (sessions.size() < 20) {
    calls += Until(
        [&] {
          return Join({Open(), Data(Message(std::string(100, 'x')).substr(0, 50))});
        },
        false, 100);
    if (session_->violation() != kNone) break;
    sessions.push_back(std::move(session_));
    Reconnect();
    stream_ = static_cast<uint32_t>(-1);
  }
  EXPECT_EQ(calls, 512);
  ExpectEnd(kUnfinished);
}

TEST_F(SessionAttackTest, MemoryOfFilledWindowsIsLimited) {
  std::vector<std::unique_ptr<Session>> sessions;
  const std::string most = Message(std::string(200000, 'x')).substr(0, kUnaskedBytes);
  while (sessions.size() < 20 && session_->violation() == kNone) {
    Until([&] { return Join({Open(), Data(most)}); }, false, 100);
    EXPECT_LE(account_->held_bytes() + account_->room_bytes(), size_t{10} << 20);
    sessions.push_back(std::move(session_));
    Reconnect();
    stream_ = static_cast<uint32_t>(-1);
    if (sessions.back()->violation() != kNone) break;
  }
  EXPECT_EQ(sessions.size(), 6u);
  EXPECT_EQ(sessions.back()->violation(), kUnfinished);
}

TEST_F(SessionAttackTest, AClientThatNeverAcknowledgesTheSettingsCanSendLittle) {
  Connect();
  Introduce(false);
  const std::string part = Message(std::string(200000, 'x')).substr(0, 16000);
  EXPECT_EQ(Until([&] { return Join({Open(), Data(part)}); }, true), 4);
  EXPECT_EQ(session_->violation(), kUnfinished);
  EXPECT_LE(account_->held_bytes(), 65535u);
}

TEST_F(SessionAttackTest, AnAnnouncedLengthReservesNoRoomBeyondTheLimit) {
  const std::string prefix = Message(std::string(250000, 'x')).substr(0, kPrefixBytes);
  Until([&] { return Join({Open(), Data(prefix)}); }, true, 200);
  EXPECT_EQ(session_->violation(), kNone);
  EXPECT_EQ(account_->room_bytes(), 1000000u);
}

// --- Frames that no client may send ---

TEST_F(SessionAttackTest, ForbiddenFramesEndTheConnection) {
  const std::string unknown_flags = "\x02" + Message("m").substr(1);
  const struct {
    const char* name;
    std::function<std::string()> bytes;
    Http2Violation violation;
  } kAttacks[] = {
      {"push promise",
       [&] {
         return Join({Open(), Frame(rpc::kPushPromise, 4, stream_, Number(2))});
       },
       kPush},
      {"flags of a message",
       [&] {
         return Join({Open(), Data(unknown_flags)});
       },
       kMessage},
      {"long frame", [] { return Frame(rpc::kData, 0, 1, std::string(16385, 'x')); }, kFrameSize},
      {"short ping", [] { return Frame(rpc::kPing, 0, 0, "1234567"); }, kFrameSize},
      {"data of no stream", [] { return Frame(rpc::kData, 0, 0, "x"); }, kStream},
      {"data of an idle stream", [] { return Frame(rpc::kData, 0, 5, "x"); }, kStream},
      {"an even stream", [] { return Frame(rpc::kHeaders, 4, 2, Block()); }, kStream},
      {"data after the end",
       [&] {
         return Join({Call(), Data("x")});
       },
       kStream},
      {"headers after the end",
       [&] {
         return Join({Call(), Frame(rpc::kHeaders, 4, stream_, "")});
       },
       kStream},
      {"continuation of nothing", [] { return Frame(rpc::kContinuation, 4, 1, ""); }, kStream},
      {"window of nothing", [] { return Frame(rpc::kWindowUpdate, 0, 0, Number(0)); }, kStream},
      {"a window that overflows",
       [] { return Frame(rpc::kWindowUpdate, 0, 0, Number(0x7fffffff)); }, kStream},
      {"bad HPACK", [] { return Frame(rpc::kHeaders, 4, 1, "\xff\xff\xff\xff\xff\xff"); },
       kHeaderBlock},
      {"many settings", [] { return Frame(rpc::kSettings, 0, 0, std::string(6 * 33, '\0')); },
       kControlFrames},
  };
  for (const auto& attack : kAttacks) {
    account_ = std::make_shared<Http2Account>();
    handler_.cancelled.clear();
    Reconnect();
    stream_ = static_cast<uint32_t>(-1);
    Receive(attack.bytes());
    Sent();
    EXPECT_EQ(session_->violation(), attack.violation) << attack.name;
    EXPECT_TRUE(session_->ended()) << attack.name;
    EXPECT_EQ(handler_.cancelled.size(), handler_.requests.size()) << attack.name;
    handler_.requests.clear();
    session_.reset();
    EXPECT_EQ(account_->calls() + account_->held_bytes() + account_->unfinished(), 0u)
        << attack.name;
  }
}

TEST_F(SessionAttackTest, OtherProtocolsEndTheConnection) {
  for (const char* bytes :
       {"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\1\0\0\0\0\1"}) {
    Connect();
    Receive(absl::string_view(bytes, bytes[0] == 'G' ? 18 : 33));
    Sent();
    EXPECT_EQ(session_->violation(), kStream) << bytes;
    EXPECT_TRUE(session_->ended()) << bytes;
  }
}

TEST_F(SessionAttackTest, TheEndOfTheConnectionCancelsItsRunningCalls) {
  Receive(Join({Call(), Open(), Frame(rpc::kPushPromise, 4, 1, Number(2))}));
  EXPECT_EQ(handler_.cancelled.size(), 1u);
  session_->Answer(1, absl::OkStatus(), "late");
  Sent();
  EXPECT_TRUE(session_->ended());
  EXPECT_EQ(handler_.cancelled.size(), 1u);
}

// --- Connections ---

TEST_F(SessionAttackTest, TheConnectionsThatAClientOpensAreLimited) {
  int connections = 1;
  for (; connections < 10000 && session_->violation() == kNone; ++connections) {
    Connect();
    Receive("PRI");
  }
  EXPECT_EQ(connections, 4097);
  EXPECT_EQ(session_->violation(), kConnections);
}

TEST_F(SessionAttackTest, AClientWithRepeatedViolationsIsBarredForATime) {
  int ended = 0;
  for (; session_->violation() != kBarred && ended < 100; ++ended) {
    Receive(Frame(rpc::kPushPromise, 4, 1, Number(2)));
    Reconnect();
  }
  EXPECT_EQ(ended, 9);
  now_ += std::chrono::seconds(2);
  for (int i = 0; i < 100; ++i) Reconnect();
  EXPECT_EQ(session_->violation(), kBarred);
  now_ += std::chrono::seconds(3);
  Reconnect();
  EXPECT_EQ(session_->violation(), kNone);
}

}  // namespace
}  // namespace csi_proxy::transport
