// A guard, and the frames that tests send through it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/http2_guard.h"

namespace csi_proxy::rpc {

using enum Http2Violation;

// Returns a frame whose payload does not matter: its first byte is the flags of a plain message.
inline std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
  return Frame(type, flags, stream, std::string(length, '\0'));
}

class Http2GuardTest : public testing::Test {
 protected:
  Http2Violation Send(uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
    return guard_->Received(Frame(type, flags, stream, length), now_);
  }
  // Sends a call as grpc-go does, on the next stream.
  Http2Violation Call() {
    stream_ += 2;
    const std::string call = absl::StrCat(Frame(kHeaders, kEndHeaders, stream_, 200),
                                          Frame(kData, kEndStream, stream_, 60));
    const Http2Violation violation = guard_->Received(call, now_);
    if (answered_) guard_->Sent(Answer(stream_), now_);
    return violation;
  }
  // Returns the bytes that gRPC sends for a call: headers, a message, trailers that end the stream.
  static std::string Answer(uint32_t stream) {
    return absl::StrCat(Frame(kHeaders, kEndHeaders, stream, 60), Frame(kData, 0, stream, 7),
                        Frame(kHeaders, kEndHeaders | kEndStream, stream, 20));
  }
  // Sends up to `most` such frames and returns the number that was taken.
  int Taken(int most, uint8_t type, uint8_t flags, uint32_t stream, size_t length) {
    int taken = 0;
    while (taken < most && Send(type, flags, stream, length) == kNone) ++taken;
    return taken;
  }

  std::shared_ptr<Http2Account> account_ = std::make_shared<Http2Account>();
  std::optional<Http2Guard> guard_{account_};
  Http2Time now_{};
  uint32_t stream_ = static_cast<uint32_t>(-1);
  bool answered_ = true;
};

}  // namespace csi_proxy::rpc
