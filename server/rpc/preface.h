// The first bytes of an HTTP/2 connection.
#pragma once

#include "absl/strings/string_view.h"

namespace csi_proxy::rpc {

// The first bytes of every HTTP/2 client (RFC 9113, section 3.4).
inline constexpr absl::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class PrefaceMatch { kPartial, kComplete, kMismatch };

// Compares the bytes received so far with the preface.
inline PrefaceMatch MatchPreface(absl::string_view received) {
  const absl::string_view head = received.substr(0, kHttp2Preface.size());
  if (kHttp2Preface.substr(0, head.size()) != head) return PrefaceMatch::kMismatch;
  return head.size() == kHttp2Preface.size() ? PrefaceMatch::kComplete : PrefaceMatch::kPartial;
}

}  // namespace csi_proxy::rpc
