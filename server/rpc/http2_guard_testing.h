// A guard, and the frames that tests send through it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/rpc/http2_guard.h"

namespace csi_proxy::rpc {

using enum Http2Violation;

enum : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
  kExtension = 0x42,
};
inline constexpr uint8_t kEndStream = 1;
inline constexpr uint8_t kEndHeaders = 4;

inline std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(length >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(stream >> shift));
  return frame.append(length, 'x');
}

class Http2GuardTest : public testing::Test {
 protected:
  Http2Violation Send(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
    return guard_->Received(Frame(type, flags, stream, length), now_);
  }
  // A call as grpc-go makes one, on the next stream.
  Http2Violation Call() {
    stream_ += 2;
    const std::string call = absl::StrCat(Frame(kHeaders, kEndHeaders, stream_, 200),
                                          Frame(kData, kEndStream, stream_, 60));
    const Http2Violation violation = guard_->Received(call, now_);
    if (answered_) guard_->Sent(Answer(stream_), now_);
    return violation;
  }
  // The bytes that gRPC sends for one: headers, a message, trailers that end the stream.
  static std::string Answer(uint32_t stream) {
    return absl::StrCat(Frame(kHeaders, kEndHeaders, stream, 60), Frame(kData, 0, stream, 7),
                        Frame(kHeaders, kEndHeaders | kEndStream, stream, 20));
  }
  // Returns how many of these, of `most`, are taken.
  int Taken(int most, uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
    int taken = 0;
    while (taken < most && Send(type, flags, stream, length) == kNone) ++taken;
    return taken;
  }

  std::shared_ptr<Http2Account> account_ = std::make_shared<Http2Account>();
  std::optional<Http2Guard> guard_{account_};
  SteadyTime now_{};
  uint32_t stream_ = static_cast<uint32_t>(-1);
  bool answered_ = true;
};

}  // namespace csi_proxy::rpc
