#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/rpc/http2_guard_testing.h"

namespace csi_proxy::rpc {
namespace {

TEST(PrefaceTest, EveryProperPrefixIsPartial) {
  for (size_t n = 0; n < kHttp2Preface.size(); ++n) {
    EXPECT_EQ(MatchPreface(kHttp2Preface.substr(0, n)), PrefaceMatch::kPartial) << n;
  }
}

TEST(PrefaceTest, CompleteWithAndWithoutWhatFollows) {
  EXPECT_EQ(MatchPreface(kHttp2Preface), PrefaceMatch::kComplete);
  EXPECT_EQ(MatchPreface(std::string(kHttp2Preface) + std::string("\0\0\0\4", 4)),
            PrefaceMatch::kComplete);
}

TEST(PrefaceTest, OneWrongByteAnywhereIsAMismatch) {
  for (size_t n = 0; n < kHttp2Preface.size(); ++n) {
    std::string bytes(kHttp2Preface);
    bytes[n] ^= 1;
    EXPECT_EQ(MatchPreface(bytes), PrefaceMatch::kMismatch) << n;
    EXPECT_EQ(MatchPreface(bytes.substr(0, n + 1)), PrefaceMatch::kMismatch) << n;
  }
  EXPECT_EQ(MatchPreface("GET / HTTP/1.1\r\n"), PrefaceMatch::kMismatch);
}

TEST_F(Http2GuardTest, HonestCallsPassForEver) {
  ASSERT_EQ(Send(kSettings, 0, 0, 18), kNone);
  for (int i = 0; i < 100000; ++i) {
    // All calls come at one moment, so that no token is earned by waiting.
    ASSERT_EQ(Call(), kNone) << i;
    ASSERT_EQ(Send(kPing, 0, 0, 8), kNone) << i;
    ASSERT_EQ(Send(kWindowUpdate, 0, 0, 4), kNone) << i;
    ASSERT_EQ(Send(kWindowUpdate, 0, stream_, 4), kNone) << i;
  }
}

TEST_F(Http2GuardTest, AMessageIsPlainOrCompressed) {
  for (int flags = 0; flags < 256; ++flags) {
    Http2Guard guard;
    ASSERT_EQ(guard.Received(Frame(kHeaders, kEndHeaders, 1, 20), now_), kNone);
    ASSERT_EQ(guard.Received(Frame(kData, 0, 1, ""), now_), kNone);
    const std::string message = std::string(1, static_cast<char>(flags)) + "\x2\x2";
    EXPECT_EQ(guard.Received(Frame(kData, 0, 1, message), now_), flags <= 1 ? kNone : kMessage);
    if (flags > 1) continue;
    EXPECT_EQ(guard.Received(Frame(kData, 0, 1, "\x2"), now_), kNone) << "later bytes are text";
  }
}

TEST_F(Http2GuardTest, FramesAreFoundWhereverTheBytesAreCut) {
  std::string bytes = Frame(kSettings, 0, 0, 6);
  for (uint32_t stream = 1; stream < 40; stream += 2) {
    absl::StrAppend(&bytes, Frame(kHeaders, 0, stream, 30),
                    Frame(kContinuation, kEndHeaders, stream, 20),
                    Frame(kData, kEndStream, stream, stream));
  }
  const std::string bad = Frame(kPushPromise, 0, 1, 4);
  for (size_t step = 1; step < 50; ++step) {
    Http2Guard guard;
    for (size_t at = 0; at < bytes.size(); at += step) {
      ASSERT_EQ(guard.Received(absl::string_view(bytes).substr(at, step), now_), kNone) << step;
    }
    EXPECT_EQ(guard.Received(absl::string_view(bad).substr(0, 8), now_), kNone);
    EXPECT_EQ(guard.Received(absl::string_view(bad).substr(8), now_), kPush);
  }
}

TEST_F(Http2GuardTest, AHeaderBlockIsMeasuredWhole) {
  EXPECT_EQ(Send(kHeaders, 0, 1, 8 << 10), kNone);
  EXPECT_EQ(Send(kContinuation, 0, 1, 8 << 10), kNone);
  EXPECT_EQ(Send(kContinuation, 0, 1, 1), kHeaderBlock);
  EXPECT_EQ(Send(kPing, 0, 0, 8), kHeaderBlock) << "it stays ended";
  Http2Guard other;
  EXPECT_EQ(other.Received(Frame(kHeaders, kEndHeaders, 1, (16 << 10) + 1), now_), kHeaderBlock);
}

TEST_F(Http2GuardTest, ContinuationsEnd) {
  EXPECT_EQ(Send(kHeaders, 0, 1, 10), kNone);
  EXPECT_EQ(Taken(100, kContinuation, 0, 1, 0), 8);
}

TEST_F(Http2GuardTest, ABlockIsNotInterrupted) {
  EXPECT_EQ(Send(kHeaders, 0, 1, 10), kNone);
  EXPECT_EQ(Send(kPing, 0, 0, 8), kContinuations);
}

TEST_F(Http2GuardTest, AContinuationNeedsABlockOfItsStream) {
  EXPECT_EQ(Send(kContinuation, kEndHeaders, 1, 10), kContinuations);
  Http2Guard other;
  EXPECT_EQ(other.Received(Frame(kHeaders, 0, 1, 10), now_), kNone);
  EXPECT_EQ(other.Received(Frame(kContinuation, 0, 3, 10), now_), kContinuations);
  Http2Guard third;
  EXPECT_EQ(third.Received(Frame(kHeaders, 0, 1, 10), now_), kNone);
  EXPECT_EQ(third.Received(Frame(kContinuation, kEndHeaders, 1, 10), now_), kNone);
  EXPECT_EQ(third.Received(Frame(kContinuation, kEndHeaders, 1, 10), now_), kContinuations);
}

TEST_F(Http2GuardTest, StreamsOpenedAndResetAreFewASecond) {
  int taken = 0;
  while (taken < 100000 && Call() == kNone && Send(kRstStream, 0, stream_, 4) == kNone) ++taken;
  EXPECT_EQ(taken, 512);
}

TEST_F(Http2GuardTest, ResetsComeBackWithTime) {
  for (int second = 0; second < 100; ++second) {
    now_ += std::chrono::seconds(1);
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(Call(), kNone);
      ASSERT_EQ(Send(kRstStream, 0, stream_, 4), kNone) << second;
    }
  }
  // The last second left 412 tokens.
  for (int i = 0; i < 412; ++i) {
    ASSERT_EQ(Call(), kNone);
    ASSERT_EQ(Send(kRstStream, 0, stream_, 4), kNone);
  }
  ASSERT_EQ(Call(), kNone);
  EXPECT_EQ(Send(kRstStream, 0, stream_, 4), kResets);
}

TEST_F(Http2GuardTest, FloodsOfEachControlFrameEnd) {
  constexpr struct {
    uint8_t type;
    size_t length;
  } kFloods[] = {{kPing, 8},         {kSettings, 0},  {kSettings, 384}, {kPriority, 5},
                 {kWindowUpdate, 4}, {kExtension, 0}, {kGoAway, 8}};
  for (const auto& flood : kFloods) {
    guard_.emplace();
    EXPECT_EQ(Taken(100000, flood.type, 0, 0, flood.length), 1000) << int{flood.type};
  }
  guard_.emplace();
  EXPECT_EQ(Taken(100000, kExtension, 0, 0, 64 * 99), 10) << "unknown frames pay for their bytes";
  guard_.emplace();
  ASSERT_EQ(Send(kHeaders, kEndHeaders, 1, 10), kNone);
  EXPECT_EQ(Taken(100000, kData, 0, 1, 0), 1000) << "empty DATA that ends nothing";
}

TEST_F(Http2GuardTest, LengthsAreThoseOfTheType) {
  constexpr struct {
    uint8_t type;
    size_t length;
  } kBad[] = {{kPriority, 4},
              {kPriority, 6},
              {kRstStream, 5},
              {kSettings, 5},
              {kSettings, 390},
              {kPing, 7},
              {kPing, 9},
              {kGoAway, 7},
              {kGoAway, 1025},
              {kWindowUpdate, 3},
              {kExtension, (16 << 10) + 1},
              {kData, (16 << 10) + 1},
              {kData, 0xffffff}};
  for (const auto& bad : kBad) {
    Http2Guard guard;
    EXPECT_EQ(guard.Received(Frame(kHeaders, kEndHeaders, 1, 10), now_), kNone);
    EXPECT_EQ(guard.Received(Frame(bad.type, 0, 1, bad.length), now_), kFrameSize)
        << int{bad.type} << ' ' << bad.length;
  }
}

TEST_F(Http2GuardTest, StreamsAreOpenedInOrderAndByHeaders) {
  for (const uint32_t stream : {0u, 1u, 2u}) {
    Http2Guard guard;
    EXPECT_EQ(guard.Received(Frame(kData, 0, stream, 10), now_), kStream) << stream;
    Http2Guard other;
    EXPECT_EQ(other.Received(Frame(kRstStream, 0, stream, 4), now_), kStream) << stream;
  }
  for (const uint32_t stream : {0u, 2u}) {
    Http2Guard guard;
    EXPECT_EQ(guard.Received(Frame(kHeaders, kEndHeaders, stream, 10), now_), kStream) << stream;
  }
  ASSERT_EQ(Send(kHeaders, kEndHeaders, 5, 10), kNone);
  EXPECT_EQ(Send(kHeaders, kEndHeaders, 5, 10), kStream);
}

TEST_F(Http2GuardTest, DataEndsWithItsRequest) {
  const auto opened = [](uint8_t flags) {
    auto guard = std::make_unique<Http2Guard>();
    EXPECT_EQ(guard->Received(Frame(kHeaders, kEndHeaders | flags, 1, 10), Http2Time()), kNone);
    return guard;
  };
  EXPECT_EQ(opened(kEndStream)->Received(Frame(kData, 0, 1, 10), now_), kStream);
  const auto ended = opened(0);
  EXPECT_EQ(ended->Received(Frame(kData, kEndStream, 1, 10), now_), kNone);
  EXPECT_EQ(ended->Received(Frame(kData, kEndStream, 1, 10), now_), kStream);
  const auto reset = opened(0);
  EXPECT_EQ(reset->Received(Frame(kRstStream, 0, 1, 4), now_), kNone);
  EXPECT_EQ(reset->Received(Frame(kData, 0, 1, 10), now_), kStream);
  const auto never = opened(0);
  EXPECT_EQ(never->Received(Frame(kHeaders, kEndHeaders, 5, 10), now_), kNone);
  EXPECT_EQ(never->Received(Frame(kData, 0, 3, 10), now_), kStream) << "passed over, so closed";
}

TEST_F(Http2GuardTest, WhatIsEndedOrGivenUpIsNotUnfinished) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(Call(), kNone) << i;
    ASSERT_EQ(account_->unfinished(), 0u);
  }
  ASSERT_EQ(Send(kHeaders, kEndHeaders, stream_ += 2, 10), kNone);
  EXPECT_EQ(account_->unfinished(), 1u);
  ASSERT_EQ(Send(kRstStream, 0, stream_, 4), kNone);
  EXPECT_EQ(account_->unfinished(), 0u);
}

TEST_F(Http2GuardTest, CallsThatAreNotAnsweredAreFew) {
  answered_ = false;
  for (int i = 0; i < 512; ++i) ASSERT_EQ(Call(), kNone) << i;
  // The answers come in another order, and their bytes are cut anywhere.
  std::string answers;
  for (const uint32_t stream : {511u, 1u, 255u, 7u}) answers += Answer(stream);
  for (size_t at = 0; at < answers.size(); at += 5) {
    guard_->Sent(absl::string_view(answers).substr(at, 5), now_);
  }
  guard_->Sent(Answer(7), now_);
  guard_->Sent(Frame(kRstStream, 0, 9, 4), now_);
  ASSERT_EQ(Send(kRstStream, 0, 11, 4), kNone);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(Call(), kNone) << i;
  EXPECT_EQ(Call(), kStreams);
}

TEST_F(Http2GuardTest, CallsOfAllConnectionsOfAClientAreFew) {
  std::vector<std::unique_ptr<Http2Guard>> connections;
  const auto call = [&](uint32_t stream) {
    return connections.back()->Received(Frame(kHeaders, kEndHeaders | kEndStream, stream, 9), now_);
  };
  for (int i = 0; i < 4; ++i) {
    connections.push_back(std::make_unique<Http2Guard>(account_));
    for (uint32_t stream = 1; stream < 512; stream += 2) ASSERT_EQ(call(stream), kNone);
  }
  connections.push_back(std::make_unique<Http2Guard>(account_));
  EXPECT_EQ(call(1), kStreams);
  connections.erase(connections.begin());
  connections[0]->Sent(Answer(1), now_);
  connections.push_back(std::make_unique<Http2Guard>(account_));
  EXPECT_EQ(call(1), kNone) << "what has ended, with its connection or by its answer, is free";
  for (uint32_t stream = 3; stream < 512; stream += 2) ASSERT_EQ(call(stream), kNone);
  connections.push_back(std::make_unique<Http2Guard>(account_));
  EXPECT_EQ(call(1), kNone);
  EXPECT_EQ(call(3), kStreams);
}

TEST_F(Http2GuardTest, CallsThatAreGivenUpNeedNoAnswer) {
  answered_ = false;
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(Call(), kNone) << i;
    ASSERT_EQ(Send(kRstStream, 0, stream_, 4), kNone);
    // The answer was on its way when the call ended.
    guard_->Sent(Answer(stream_), now_);
  }
}

TEST_F(Http2GuardTest, ConnectionsOfAClientPayFromOneAccount) {
  const auto taken_in_turn = [&](Http2Violation expected, const std::string& frames) {
    for (int taken = 0;; ++taken) {
      // A client whose last connection was ended makes a new one each time.
      Http2Guard guard(account_);
      EXPECT_EQ(guard.Received(Frame(kHeaders, kEndHeaders, 1, 10), now_), kNone);
      const Http2Violation violation = guard.Received(frames, now_);
      if (violation == kNone && taken < 10000) continue;
      EXPECT_EQ(violation, expected);
      return taken;
    }
  };
  EXPECT_EQ(taken_in_turn(kResets, Frame(kRstStream, 0, 1, 4)), 512);
  std::string pings;
  for (int i = 0; i < 5; ++i) pings += Frame(kPing, 0, 0, 8);
  // The call of each connection earns four tokens.
  EXPECT_EQ(taken_in_turn(kControlFrames, pings), 996);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(taken_in_turn(kResets, Frame(kRstStream, 0, 1, 4)), 100);
}

TEST_F(Http2GuardTest, StreamsThatTheServerResetsCountAsWell) {
  const std::string reset = Frame(kRstStream, 0, 1, 4);
  for (int i = 0; i < 512; ++i) guard_->Sent(reset, now_);
  ASSERT_EQ(Call(), kNone);
  guard_->Sent(reset, now_);
  EXPECT_EQ(Call(), kResets);
  EXPECT_EQ(Call(), kResets) << "it stays ended";
}

TEST_F(Http2GuardTest, WhoBreaksRulesAgainAndAgainIsBarred) {
  const auto break_a_rule = [&] {
    EXPECT_EQ(Http2Guard(account_).Received(Frame(kPushPromise, 0, 1, 4), now_), kPush);
  };
  for (int i = 0; i < 8; ++i) break_a_rule();
  EXPECT_FALSE(account_->barred(now_));
  ASSERT_EQ(Call(), kNone);
  break_a_rule();
  EXPECT_TRUE(account_->barred(now_));
  EXPECT_EQ(Call(), kBarred) << "a connection that has done nothing wrong";
  now_ += std::chrono::seconds(5);
  EXPECT_FALSE(account_->barred(now_));
  EXPECT_EQ(Http2Guard(account_).Received(Frame(kPing, 0, 0, 8), now_), kNone);
  // The client has earned one token since.
  break_a_rule();
  EXPECT_FALSE(account_->barred(now_));
  break_a_rule();
  EXPECT_TRUE(account_->barred(now_));
}

TEST_F(Http2GuardTest, WhoDoesNotTakeARefusalIsBarred) {
  for (int i = 0; i < 2048; ++i) account_->CountRefusedCall(now_);
  EXPECT_FALSE(account_->barred(now_));
  account_->CountRefusedCall(now_);
  EXPECT_TRUE(account_->barred(now_));
}

TEST_F(Http2GuardTest, EveryViolationHasAName) {
  for (const absl::string_view name : kHttp2ViolationNames) EXPECT_FALSE(name.empty());
  EXPECT_EQ(kHttp2ViolationNames[static_cast<size_t>(kPush)], "push");
}

}  // namespace
}  // namespace csi_proxy::rpc
