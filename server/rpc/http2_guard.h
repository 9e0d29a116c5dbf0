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
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/condition.h"

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

// The steady clock, so that no step of the wall clock fills or empties a bucket or prolongs a bar.
using Http2Time = std::chrono::steady_clock::time_point;

// The reasons to end a connection. The names of kHttp2ViolationNames are metric labels.
enum class Http2Violation : uint8_t {
  kNone,
  kFrameSize,      // a length that the type cannot have
  kHeaderBlock,    // HEADERS and its CONTINUATIONs longer than a block may be
  kContinuations,  // too many CONTINUATIONs, one outside a block, or another frame in one
  kStream,         // a frame on a stream that is not open, or that a client cannot open
  kUnfinished,     // too many requests begun and not ended, or too many of their bytes
  kStreams,        // more calls under way than the server's settings allow
  kResets,         // more RST_STREAMs, in both directions, than honest clients cause
  kControlFrames,  // PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and unknown frames
  kMessage,        // a request whose message has flags other than 0 and 1
  kPush,           // PUSH_PROMISE, which only servers may send
  kConnections,    // more connections than the client may begin
  kBarred,         // any frame of a barred client
};
// Defined in the header, because the metrics also use the names where no guard is linked.
inline constexpr auto kHttp2ViolationNames = std::to_array<absl::string_view>(
    {"none", "frame_size", "header_block", "continuations", "stream", "unfinished", "streams",
     "resets", "control_frames", "message", "push", "connections", "barred"});
inline constexpr size_t kHttp2Violations = kHttp2ViolationNames.size();
static_assert(kHttp2Violations == static_cast<size_t>(Http2Violation::kBarred) + 1);

// The token bucket of a kind of frames: at most `burst` tokens, `per_second` more each second.
struct Http2Allowance {
  double burst = 0;
  double per_second = 0;
};

struct Http2Limits {
  // A block of headers, in bytes as sent; grpc-go and gRPC C++ send about 200 for a call.
  size_t header_block_bytes = 16 << 10;
  int continuations = 8;
  // The most requests of a client that have begun and not ended; gRPC 1.51 keeps 13 KB for each.
  // gRPC's clients send a request in one piece.
  size_t unfinished = 512;
  // The most memory that gRPC keeps for those requests, and for incomplete frames. A whole request
  // has a few hundred bytes, and must not exceed ServerLimits::max_request_bytes.
  size_t unfinished_bytes = 4 << 20;
  // The memory that gRPC takes, beside the bytes, for each DATA frame and each read that brings
  // more of a frame: on 64 bits a grpc_slice of 32 bytes in an array that grows by half, up to 24
  // bytes of a reference count, and 32 for malloc's rounding and headers.
  size_t piece_bytes = 128;
  // The most calls of a connection whose answers the pipe has not taken; gRPC keeps 20 KB for each.
  // gRPC's settings say 256, but 1.51 does not enforce them on a client that acknowledges them
  // before they are sent, or never (parsing.cc, init_header_frame_parser): a client that read no
  // answers took 400 MB. gRPC's clients wait for the settings before their first call; they may
  // have read 256 answers and called as often again before the guard sees the end of the write.
  size_t calls = 512;
  // The most calls with unread answers on all connections of a client: more than any group queues
  // for one client.
  size_t calls_of_client = 1024;
  // RST_STREAMs of both sides: the server resets a stream that has broken a rule (CVE-2025-8671). A
  // reset costs gRPC 134 us. An honest client may cancel all its calls at once.
  Http2Allowance resets = {.burst = 512, .per_second = 100};
  // grpc-go sends up to a PING and two WINDOW_UPDATEs for an answer; each call adds four tokens.
  Http2Allowance control_frames = {.burst = 1000, .per_second = 100};
  double control_frames_per_call = 4;
  // The bytes of an unknown frame that cost one control frame; the frame itself costs another.
  double unknown_bytes_per_control_frame = 64;
  // Connections that were ended for a violation. Ending one with hundreds of calls under way costs
  // gRPC tens of milliseconds, so a client that overdraws this is barred.
  Http2Allowance violations = {.burst = 8, .per_second = 0.2};
  // Calls that were refused because their client had used its share. A driver that must mount the
  // volumes of a thousand pods at once has about a thousand calls refused.
  Http2Allowance refused_calls = {.burst = 2048, .per_second = 100};
  // Connections that never made a call and were evicted for a newer one of their client. A driver
  // that never closes its connections is not charged, because it has made calls on them.
  Http2Allowance discarded = {.burst = 1024, .per_second = 20};
  // Connections that have sent their preface; gRPC makes a transport for each. A driver that dials
  // for every call makes a few in a second.
  Http2Allowance connections = {.burst = 4096, .per_second = 200};
  absl::Duration bar = absl::Seconds(5);
};

// The account that all connections of a client pay from, so that a client whose connection was
// ended gains nothing by redialling. Thread-safe.
class Http2Account {
 public:
  explicit Http2Account(const Http2Limits& limits = {});

  const Http2Limits& limits() const { return limits_; }

  // Charge the client. Return false if the bucket holds too few tokens.
  bool PayReset(Http2Time now);
  bool PayControlFrames(double price, Http2Time now);
  bool PayConnection(Http2Time now);
  // Begins a call. Returns kStreams if the client has too many calls, kUnfinished if the request is
  // not `whole` and too many are incomplete; otherwise credits the call's control frames.
  // EndCalls() ends `count` calls.
  Http2Violation BeginCall(bool whole);
  void EndCalls(size_t count);
  // Keep() charges bytes that gRPC buffers for incomplete requests, or returns false at the limit.
  // LetGo() returns the bytes; EndRequest() also ends the request.
  bool Keep(size_t bytes);
  void LetGo(size_t bytes);
  void EndRequest(size_t bytes);

  // Count a connection of the client that was ended, a call that was refused, and a connection
  // without a call that made room for another of the client. Each may bar the client.
  void CountViolation(Http2Time now);
  void CountRefusedCall(Http2Time now);
  void CountDiscarded(Http2Time now);
  // Returns true if the client is barred: its connections are ended and no more are admitted.
  bool barred(Http2Time now) const;

  // Return the requests that the client has begun and neither ended nor given up, and the bytes
  // kept for them.
  size_t unfinished() const;
  size_t unfinished_bytes() const;

 private:
  // Holds an Http2Allowance: `burst` tokens at first and at most, `per_second` more each second.
  class TokenBucket {
   public:
    explicit TokenBucket(const Http2Allowance& allowance)
        : allowance_(allowance), left_(allowance.burst) {}
    bool Pay(double price, Http2Time now);
    void Add(double more);

   private:
    Http2Allowance allowance_;
    double left_;
    Http2Time since_ = Http2Time::min();
  };

  bool Pay(TokenBucket Http2Account::*bucket, double price, Http2Time now);
  void PayOrBar(TokenBucket Http2Account::*bucket, Http2Time now);

  const Http2Limits limits_;
  std::atomic<Http2Time> barred_until_ = Http2Time::min();
  mutable Mutex mutex_;
  TokenBucket resets_ ABSL_GUARDED_BY(mutex_);
  TokenBucket control_frames_ ABSL_GUARDED_BY(mutex_);
  TokenBucket violations_ ABSL_GUARDED_BY(mutex_);
  TokenBucket refused_calls_ ABSL_GUARDED_BY(mutex_);
  TokenBucket discarded_ ABSL_GUARDED_BY(mutex_);
  TokenBucket connections_ ABSL_GUARDED_BY(mutex_);
  size_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t unfinished_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

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
