// What the guard says of a connection does not depend on where its bytes are cut, and stays.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/transport/http2_guard.h"

namespace {

using csi_proxy::transport::Http2Guard;
using csi_proxy::transport::Http2Violation;

Http2Violation CheckInPieces(absl::string_view bytes, size_t size) {
  Http2Guard guard;
  Http2Violation result = Http2Violation::kNone;
  // The other way the same bytes are as good as any.
  for (size_t at = 0; at < bytes.size(); at += size)
    guard.Sent(bytes.substr(at, size), absl::UnixEpoch());
  for (size_t at = 0; at < bytes.size(); at += size) {
    const Http2Violation next = guard.Received(bytes.substr(at, size), absl::UnixEpoch());
    if (result != Http2Violation::kNone && next != result) std::abort();
    result = next;
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] % 32;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (CheckInPieces(bytes, bytes.size() + 1) != CheckInPieces(bytes, piece)) std::abort();
  return 0;
}
