// The guard's verdict must not depend on where the bytes are cut, and must not change once given.
// The pieces passed on to gRPC must add up to the bytes received.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "server/rpc/http2_guard.h"

namespace {

using csi_proxy::rpc::Http2Account;
using csi_proxy::rpc::Http2Guard;
using csi_proxy::rpc::Http2Time;
using csi_proxy::rpc::Http2Violation;

// Feeds `bytes` to a guard in pieces whose sizes are the numbers of `cuts`, repeated.
Http2Violation CheckInPieces(absl::string_view bytes, absl::string_view cuts) {
  const auto account = std::make_shared<Http2Account>();
  Http2Violation result = Http2Violation::kNone;
  {
    Http2Guard guard(account);
    // Any bytes serve as the server's side of the connection.
    guard.Sent(bytes, Http2Time());
    size_t turn = 0;
    for (absl::string_view rest = bytes; !rest.empty();) {
      const size_t size = 1 + static_cast<uint8_t>(cuts[turn++ % cuts.size()]);
      const absl::string_view read = rest.substr(0, size);
      rest.remove_prefix(read.size());
      std::vector<absl::string_view> pieces;
      const Http2Violation next = guard.Received(read, Http2Time(), &pieces);
      if (result != Http2Violation::kNone && next != result) std::abort();
      result = next;
      if (next == Http2Violation::kNone && absl::StrJoin(pieces, "") != read) std::abort();
    }
  }
  // A connection that ends must leave nothing on the account.
  if (account->unfinished() != 0 || account->unfinished_bytes() != 0) std::abort();
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kCuts = 4;
  if (size <= kCuts) return 0;
  const absl::string_view all(reinterpret_cast<const char*>(data), size);
  const absl::string_view bytes = all.substr(kCuts);
  const absl::string_view byte_by_byte("\0", 1);
  if (CheckInPieces(bytes, all.substr(0, kCuts)) != CheckInPieces(bytes, byte_by_byte)) {
    std::abort();
  }
  return 0;
}
