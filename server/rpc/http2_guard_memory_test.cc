// Tests that clients are charged for the memory of unfinished requests, and for connections.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/rpc/http2_guard_testing.h"

namespace csi_proxy::rpc {
namespace {

TEST_F(Http2GuardTest, UnfinishedRequestsAreFew) {
  // The requests come on three connections.
  Http2Guard first(account_), second(account_);
  for (uint32_t stream = 1; stream < 512; stream += 2) {
    ASSERT_EQ(first.Received(Frame(kHeaders, kEndHeaders, stream, 10), now_), kNone);
    ASSERT_EQ(second.Received(Frame(kHeaders, kEndHeaders, stream, 10), now_), kNone);
  }
  EXPECT_EQ(account_->unfinished(), 512u);
  EXPECT_EQ(Send(kHeaders, kEndHeaders, 1, 10), kUnfinished);
}

TEST_F(Http2GuardTest, UnfinishedRequestsAreSmall) {
  // Whole requests may have any size, one after the other.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(Send(kHeaders, kEndHeaders, stream_ += 2, 10), kNone);
    for (int part = 0; part < 60; ++part) ASSERT_EQ(Send(kData, 0, stream_, 16 << 10), kNone);
    ASSERT_EQ(Send(kData, kEndStream, stream_, 0), kNone);
    guard_->Sent(Answer(stream_), now_);
  }
  int taken = 0;
  for (Http2Violation violation = kNone; violation == kNone; taken += violation == kNone) {
    violation = Send(kHeaders, kEndHeaders, stream_ += 2, 10);
    if (violation == kNone) violation = Send(kData, 0, stream_, 16 << 10);
  }
  EXPECT_EQ(taken, (4 << 20) / ((16 << 10) + 128));
  EXPECT_EQ(Send(kPing, 0, 0, 8), kUnfinished);
}

TEST_F(Http2GuardTest, RequestsEndWithTheirConnection) {
  ASSERT_EQ(Send(kHeaders, kEndHeaders, 1, 10), kNone);
  EXPECT_EQ(account_->unfinished(), 1u);
  ASSERT_EQ(Send(kData, 0, 1, 16 << 10), kNone);
  EXPECT_EQ(account_->unfinished_bytes(), (16u << 10) + 128);
  ASSERT_EQ(Send(kHeaders, 0, 3, 10), kNone);
  EXPECT_EQ(account_->unfinished_bytes(), (16u << 10) + 128 + 10 + 128);
  guard_.reset();
  EXPECT_EQ(account_->unfinished(), 0u);
  EXPECT_EQ(account_->unfinished_bytes(), 0u);
}

TEST_F(Http2GuardTest, EachPieceOfAFrameIsPaidUntilTheFrameIsWhole) {
  struct {
    uint8_t type, flags;
  } const kFrames[] = {{kData, 0}, {kData, kEndStream}, {kHeaders, kEndHeaders}};
  for (const auto& [type, flags] : kFrames) {
    guard_.emplace(account_);
    ASSERT_EQ(Send(kHeaders, kEndHeaders, 1, 10), kNone);
    const std::string frame = Frame(type, flags, type == kData ? 1 : 3, 1000);
    // The incomplete header is free; the payload that follows comes byte by byte.
    for (size_t sent = 1; sent < frame.size(); ++sent) {
      ASSERT_EQ(guard_->Received(frame.substr(sent - 1, 1), now_), kNone);
      ASSERT_EQ(account_->unfinished_bytes(), sent < 9 ? 0 : 1000 + 128 * (sent - 8)) << sent;
    }
    ASSERT_EQ(guard_->Received(frame.substr(frame.size() - 1), now_), kNone);
    const bool goes_on = type == kData && flags == 0;
    EXPECT_EQ(account_->unfinished_bytes(), goes_on ? 1000u + 128 * 1001 : 0u);
    guard_.reset();
    EXPECT_EQ(account_->unfinished_bytes(), 0u);
  }
}

TEST_F(Http2GuardTest, WhatDripsEnds) {
  // A megabyte of such frames would cost gRPC 128 MiB.
  ASSERT_EQ(Send(kHeaders, kEndHeaders, stream_ += 2, 10), kNone);
  int taken = 0;
  while (taken < 1 << 20 && Send(kData, 0, stream_, 1) == kNone) ++taken;
  EXPECT_EQ(taken, (4 << 20) / 129);
  guard_.reset();
  Http2Guard other(account_);
  ASSERT_EQ(other.Received(Frame(kHeaders, kEndHeaders, 1, 10), now_), kNone);
  taken = 0;
  for (Http2Violation violation = kNone; violation == kNone && taken < 1 << 20; ++taken) {
    if (taken % 100 == 0) violation = other.Received(Frame(kData, 0, 1, 100).substr(0, 9), now_);
    if (violation == kNone) violation = other.Received("x", now_);
  }
  EXPECT_LT(taken, (4 << 20) / 128);
}

TEST_F(Http2GuardTest, WhatGrpcKeepsStandsAlone) {
  const std::string data = Frame(kData, 0, 1, 60);
  const std::string all =
      absl::StrCat(Frame(kHeaders, kEndHeaders, 1, 20), data, data, Frame(kPing, 0, 0, 8),
                   Frame(kData, kEndStream, 1, 3), Frame(kPing, 0, 0, 8));
  // Marks the bytes that are DATA's payload.
  std::string kept(all.size(), '-');
  for (const size_t at : {29u + 9, 29u + 69 + 9}) kept.replace(at, 60, 60, 'k');
  kept.replace(29 + 2 * 69 + 17 + 9, 3, "kkk");
  for (size_t size = 1; size <= all.size(); ++size) {
    Http2Guard guard;
    std::string joined;
    for (size_t at = 0; at < all.size(); at += size) {
      std::vector<absl::string_view> pieces;
      ASSERT_EQ(guard.Received(absl::string_view(all).substr(at, size), now_, &pieces), kNone);
      for (const absl::string_view piece : pieces) {
        ASSERT_FALSE(piece.empty());
        const std::string marks = kept.substr(joined.size(), piece.size());
        EXPECT_EQ(marks, std::string(marks.size(), marks[0])) << size << ' ' << joined.size();
        absl::StrAppend(&joined, piece);
      }
    }
    EXPECT_EQ(joined, all) << size;
  }
}

TEST_F(Http2GuardTest, ConnectionsBegunAreFewASecond) {
  const auto begun = [&] {
    int taken = 0;
    while (taken < 100000 && Http2Guard(account_).Received("", now_) == kNone) ++taken;
    return taken;
  };
  EXPECT_EQ(begun(), 4096);
  EXPECT_EQ(Http2Guard(account_).Received("", now_), kConnections);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(begun(), 200);
}

TEST_F(Http2GuardTest, TheWallClockMovesNoPurse) {
  static_assert(Http2Time::clock::is_steady);
  // The steady clock may begin anywhere, and goes on from there.
  now_ = Http2Time() - std::chrono::hours(1);
  EXPECT_EQ(Taken(2000, kPing, 0, 0, 8), 1000);
  guard_.emplace(account_);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(Taken(2000, kPing, 0, 0, 8), 100);
}

}  // namespace
}  // namespace csi_proxy::rpc
