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

// No step of the wall clock fills a bucket, empties it or prolongs a bar.
using SteadyTime = std::chrono::steady_clock::time_point;

// The reasons to end a connection. The names of kHttp2ViolationNames are metric labels.
enum class Http2Violation : uint8_t {
  kNone,
  kFrameSize,      // a length its type cannot have
  kHeaderBlock,    // HEADERS and its CONTINUATIONs longer than a block may be
  kContinuations,  // a CONTINUATION too many, without a block, or another frame amid one
  kStream,         // a frame on a stream that is not open, or that a client cannot open
  kUnfinished,     // requests begun and not ended, too many of them or too much
  kStreams,        // more calls under way than the server's settings allow
  kResets,         // more RST_STREAM, to and fro, than calls are given up
  kControlFrames,  // PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and unknown frames
  kMessage,        // a request whose message has other flags than 0 and 1
  kPush,           // PUSH_PROMISE, which is for servers
  kConnections,    // a connection more than its client may begin
  kBarred,         // anything, by a client that is barred
};
// In the header, for the metrics use them where no guard is linked.
inline constexpr auto kHttp2ViolationNames = std::to_array<absl::string_view>(
    {"none", "frame_size", "header_block", "continuations", "stream", "unfinished", "streams",
     "resets", "control_frames", "message", "push", "connections", "barred"});
inline constexpr size_t kHttp2Violations = kHttp2ViolationNames.size();
static_assert(kHttp2Violations == static_cast<size_t>(Http2Violation::kBarred) + 1);

// Frames of a kind are paid from this: so many at once, and so many more each second.
struct Http2Allowance {
  double burst = 0;
  double per_second = 0;
};

struct Http2Limits {
  // A block of headers, in bytes as sent; grpc-go and gRPC C++ send about 200 for a call.
  size_t header_block_bytes = 16 << 10;
  int continuations = 8;
  // Requests of a client that have begun and not ended, for each of which gRPC 1.51 keeps 13 KB.
  // Clients of gRPC send a request in one piece.
  size_t unfinished = 512;
  // The memory that gRPC keeps for them, and for frames that have not come whole. A whole request
  // has a few hundred bytes, and must not have more than ServerLimits::max_request_bytes.
  size_t unfinished_bytes = 4 << 20;
  // The part of that memory which gRPC takes for each DATA frame, and for each read that brings
  // more of a frame, beside the bytes: on 64 bits a grpc_slice of 32 bytes in an array that grows
  // by half, up to 24 bytes of a reference count, and 32 for malloc to round up and to note.
  size_t piece_bytes = 128;
  // Calls of a connection whose answers the pipe has not taken, for each of which gRPC keeps 20 KB.
  // gRPC's settings say 256, but 1.51 does not enforce them on a client that acknowledges them
  // before they are sent, or never (parsing.cc, init_header_frame_parser): a client that read no
  // answers took 400 MB. Clients of gRPC wait for the settings before their first call; they may
  // have read 256 answers, and called as often again, before the end of the write is seen here.
  size_t calls = 512;
  // The same of all connections of a client. No group lets one client have as many wait.
  size_t calls_of_client = 1024;
  // Both sides pay here. A client that gives up all its calls at once is honest; a reset costs
  // gRPC 134 us. The server resets a stream that has broken a rule (CVE-2025-8671).
  Http2Allowance resets = {.burst = 512, .per_second = 100};
  // grpc-go sends up to a PING and two WINDOW_UPDATEs for an answer: each call adds four.
  Http2Allowance control_frames = {.burst = 1000, .per_second = 100};
  double control_frames_per_call = 4;
  // An unknown frame costs one control frame, and one more for so many bytes.
  double unknown_bytes_per_control_frame = 64;
  // Connections that end for one of these. To end one with hundreds of calls under way costs gRPC
  // tens of milliseconds, so a client that has overdrawn is barred.
  Http2Allowance violations = {.burst = 8, .per_second = 0.2};
  // Calls that are refused because their client has all of its share. A driver that is told to
  // mount the volumes of a thousand pods at once has this happen to as many.
  Http2Allowance refused_calls = {.burst = 2048, .per_second = 100};
  // Connections that have never made a call and end so that their client gets a new one. A driver
  // that never closes any has made calls on them.
  Http2Allowance discarded = {.burst = 1024, .per_second = 20};
  // Connections that have sent their preface, for each of which gRPC makes a transport. A driver
  // that dials for every call makes a few in a second.
  Http2Allowance connections = {.burst = 4096, .per_second = 200};
  absl::Duration bar = absl::Seconds(5);
};

// All connections of a client pay from it: a client that is ended and dials again has no more than
// before. Thread-safe.
class Http2Account {
 public:
  explicit Http2Account(const Http2Limits& limits = {});

  const Http2Limits& limits() const { return limits_; }

  // Each returns whether there was so much left.
  bool PayReset(SteadyTime now);
  bool PayControlFrames(double price, SteadyTime now);
  bool PayConnection(SteadyTime now);
  // One more call begins, whose request is `whole` or goes on, unless too many of either are under
  // way (kStreams, kUnfinished); it pays for the control frames that belong to it. Calls end.
  Http2Violation BeginCall(bool whole);
  void EndCalls(size_t count);
  // gRPC keeps so many bytes more of what is unfinished, unless there are too many already; it lets
  // go of them; and so with a request, which ends.
  bool Keep(size_t bytes);
  void LetGo(size_t bytes);
  void EndRequest(size_t bytes);

  // A connection of the client has been ended; a call of it has been refused; a connection without
  // a call has made room for another of the same client.
  void Violated(SteadyTime now);
  void CallRefused(SteadyTime now);
  void DiscardedUnused(SteadyTime now);
  // Tells whether the client is barred: its connections are ended, and no more are let in.
  bool barred(SteadyTime now) const;

  // Requests that the client has begun and neither ended nor given up, and what is kept of them.
  size_t unfinished() const;
  size_t unfinished_bytes() const;

 private:
  // Holds an Http2Allowance: `burst` tokens at first and at most, `per_second` more each second.
  class TokenBucket {
   public:
    explicit TokenBucket(const Http2Allowance& allowance)
        : allowance_(allowance), left_(allowance.burst) {}
    bool Pay(double price, SteadyTime now);
    void Add(double more);

   private:
    Http2Allowance allowance_;
    double left_;
    SteadyTime since_ = SteadyTime::min();
  };

  bool Pay(TokenBucket Http2Account::*bucket, double price, SteadyTime now);
  void PayOrBar(TokenBucket Http2Account::*bucket, SteadyTime now);

  const Http2Limits limits_;
  std::atomic<SteadyTime> barred_until_ = SteadyTime::min();
  // Guards the rest.
  mutable Mutex mutex_;
  TokenBucket resets_;
  TokenBucket control_frames_;
  TokenBucket violations_;
  TokenBucket refused_calls_;
  TokenBucket discarded_;
  TokenBucket connections_;
  size_t unfinished_ = 0;
  size_t unfinished_bytes_ = 0;
  size_t calls_ = 0;
};

// A frame, without what it carries.
struct Http2Frame {
  uint32_t length = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the frames in bytes that come in pieces. Not thread-safe.
class Http2Frames {
 public:
  // Takes bytes off the front, up to the end of the next frame's header. False: they are all taken.
  bool Next(absl::string_view* bytes, Http2Frame* frame);

  // Takes what comes of the payload of the last frame, and returns it. Next() does so by itself.
  absl::string_view TakePayload(absl::string_view* bytes);
  // The number of bytes of that payload that are still to come.
  size_t payload_left() const { return payload_left_; }

 private:
  static constexpr size_t kHeader = 9;
  std::array<uint8_t, kHeader> header_{};
  size_t have_ = 0;
  size_t payload_left_ = 0;
};

// Checks the bytes of one connection. Received() and Sent() may be called at the same time, but
// each by one thread at a time, with the bytes in their order.
class Http2Guard {
 public:
  explicit Http2Guard(std::shared_ptr<Http2Account> account = std::make_shared<Http2Account>());
  ~Http2Guard();
  Http2Guard(const Http2Guard&) = delete;
  Http2Guard& operator=(const Http2Guard&) = delete;

  // Checks bytes from the client; the first are those behind its preface. Any result but kNone ends
  // the connection, and no later call takes that back. `pieces`, when not null, gets the bytes cut
  // in such a way that the payload of DATA, which gRPC keeps, shares no piece with other bytes.
  Http2Violation Received(absl::string_view bytes, SteadyTime now,
                          std::vector<absl::string_view>* pieces = nullptr);
  // To the client: the pipe has taken them.
  void Sent(absl::string_view bytes, SteadyTime now);

 private:
  // Each is told of the frame whose header came last.
  Http2Violation Judge(SteadyTime now);
  Http2Violation OnHeaders();
  Http2Violation OnContinuation();
  Http2Violation OnBlock();
  // gRPC keeps so many bytes of it.
  Http2Violation Keep(size_t bytes);
  // Its payload has come whole.
  void EndFrame();
  // Checks a part of DATA, which is not empty.
  Http2Violation OnData(absl::string_view payload);
  struct Request {
    uint32_t stream;
    size_t bytes = 0;
    bool begun = false;  // the flags of its message have come
  };
  // The unfinished request of a stream; null when it has none.
  Request* Find(uint32_t stream);
  void Finish(Request* request);
  // Opens the stream, or returns why it may not be opened.
  Http2Violation Open(uint32_t stream, bool whole);
  void Close(uint32_t stream);

  const std::shared_ptr<Http2Account> account_;

  Http2Frames received_;
  Http2Frame frame_;
  Http2Violation violation_ = Http2Violation::kNone;
  bool begun_ = false;
  // The newest stream, and the one whose header block goes on; 0 for none.
  uint32_t newest_stream_ = 0;
  uint32_t open_block_ = 0;
  size_t block_bytes_ = 0;
  size_t block_kept_ = 0;  // on the account
  int continuations_ = 0;
  std::vector<Request> unfinished_;

  Http2Frames sent_;
  std::atomic<bool> sent_too_many_resets_ = false;
  // Guards the rest.
  Mutex mutex_;
  // Most connections have few, and the newest ends first.
  std::vector<uint32_t> calls_;
};

}  // namespace csi_proxy::rpc
