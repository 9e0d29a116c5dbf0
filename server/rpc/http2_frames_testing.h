// HTTP/2 frames (RFC 9113, section 4.1) for tests to send.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy::rpc {

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

inline std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, absl::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(payload.size() >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(stream >> shift));
  frame.append(payload.data(), payload.size());
  return frame;
}

// Returns a header for a HEADERS frame, in HPACK (RFC 7541, section 6.2.2). REQUIRES: name and
// value have less than 127 bytes each.
inline std::string Literal(absl::string_view name, absl::string_view value) {
  std::string header(1, '\0');
  for (const absl::string_view text : {name, value}) {
    header.push_back(static_cast<char>(text.size()));
    header.append(text.data(), text.size());
  }
  return header;
}

}  // namespace csi_proxy::rpc
