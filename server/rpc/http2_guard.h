// Limits what a client may send over HTTP/2 before it costs the service more than its calls are
// worth.
//
// gRPC 1.51 buffers a header block for as long as the client goes on with it (CVE-2023-33953 and
// the CONTINUATION flood, kb.cert.org/vuls/id/421644), and takes streams that are opened and reset
// as fast as they come (CVE-2023-44487). The guard reads the frames' headers
// (RFC 9113, section 4.1) and the first byte of each request.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/base/condition.h"
#include "server/transport/account.h"

namespace csi_proxy::rpc {

// Every HTTP/2 client sends this first (RFC 9113, section 3.4).
inline constexpr absl::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class PrefaceMatch { kPartial, kComplete, kMismatch };

// Judges the bytes received so far.
inline PrefaceMatch MatchPreface(absl::string_view received) {
  const absl::string_view head = received.substr(0, kHttp2Preface.size());
  if (kHttp2Preface.substr(0, head.size()) != head) return PrefaceMatch::kMismatch;
  return head.size() == kHttp2Preface.size() ? PrefaceMatch::kComplete : PrefaceMatch::kPartial;
}

using transport::Http2Account;
using transport::Http2Allowance;
using transport::Http2Limits;
using transport::Http2Time;
using transport::Http2Violation;
using transport::kHttp2ViolationNames;
using transport::kHttp2Violations;

// A frame's header.
struct Http2Frame {
  uint32_t length = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the frames in bytes that arrive in pieces. Not thread-safe.
class Http2Frames {
 public:
  // Takes bytes off the front, up to the end of the next frame's header. Returns false, with all
  // bytes taken, if that header is still incomplete.
  bool Next(absl::string_view* bytes, Http2Frame* frame);

  // Takes and returns the part of the last frame's payload that `*bytes` begins with. Next() skips
  // the rest by itself.
  absl::string_view TakePayload(absl::string_view* bytes);
  // Returns the number of payload bytes that have not arrived yet.
  size_t payload_left() const { return payload_left_; }

 private:
  static constexpr size_t kHeader = 9;
  std::array<uint8_t, kHeader> header_{};
  size_t have_ = 0;
  size_t payload_left_ = 0;
};

// Checks the bytes of one connection. Received() and Sent() may run at the same time. REQUIRES:
// only one thread at a time calls each, with the bytes in order.
class Http2Guard {
 public:
  explicit Http2Guard(std::shared_ptr<Http2Account> account = std::make_shared<Http2Account>());
  ~Http2Guard();
  Http2Guard(const Http2Guard&) = delete;
  Http2Guard& operator=(const Http2Guard&) = delete;

  // Checks bytes that follow the client's preface. After any result but kNone the connection must
  // end; later calls return the same result. Appends the bytes to `pieces`, if it is not null, in
  // pieces that contain either payload of DATA, which gRPC keeps, or other bytes.
  Http2Violation Received(absl::string_view bytes, Http2Time now,
                          std::vector<absl::string_view>* pieces = nullptr);
  // Reads bytes that the pipe has taken for the client, and ends the calls that they answer.
  void Sent(absl::string_view bytes, Http2Time now);

 private:
  // Check the frame whose header was parsed last (`frame_`).
  Http2Violation Judge(Http2Time now);
  Http2Violation OnHeaders();
  Http2Violation OnContinuation();
  Http2Violation OnBlock();
  // Charges bytes of the frame that gRPC keeps.
  Http2Violation Keep(size_t bytes);
  // Ends the frame, whose payload is complete.
  void EndFrame();
  // Checks a part of DATA. REQUIRES: `payload` is not empty.
  Http2Violation OnData(absl::string_view payload);
  struct Request {
    uint32_t stream;
    size_t bytes = 0;
    bool begun = false;  // the flags of its message have arrived
  };
  // Returns the unfinished request of a stream; null if it has none.
  Request* Find(uint32_t stream);
  void Finish(Request* request);
  // Opens the stream, or returns the reason why it must not be opened.
  Http2Violation Open(uint32_t stream, bool whole);
  void Close(uint32_t stream);

  const std::shared_ptr<Http2Account> account_;

  Http2Frames received_;
  Http2Frame frame_;
  Http2Violation violation_ = Http2Violation::kNone;
  bool begun_ = false;
  // The newest stream, and the stream whose header block is incomplete; 0 for none.
  uint32_t newest_stream_ = 0;
  uint32_t open_block_ = 0;
  size_t block_bytes_ = 0;
  size_t block_kept_ = 0;  // charged to the account
  int continuations_ = 0;
  std::vector<Request> unfinished_;

  Http2Frames sent_;
  std::atomic<bool> sent_too_many_resets_ = false;
  Mutex mutex_;
  // A vector, because most connections have few calls and the newest ends first.
  std::vector<uint32_t> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::rpc
