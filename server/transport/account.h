// The account of a client. Limits what the client may send over HTTP/2, over all of its connections
// together.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/condition.h"

namespace csi_proxy::transport {

// A time of the steady clock, so that no step of the wall clock fills or empties a token bucket,
// or changes how long a client is barred.
using Http2Time = std::chrono::steady_clock::time_point;

// The reasons to end a connection. Metric labels are `ended_` and a name of kHttp2ViolationNames.
enum class Http2Violation : uint8_t {
  kNone,
  kFrameSize,      // a frame with a length that its type cannot have
  kHeaderBlock,    // a header block or header list that is too long or cannot be decoded
  kContinuations,  // too many CONTINUATIONs in a header block
  kStream,         // any other break of HTTP/2, such as a frame on a stream that is not open
  kUnfinished,     // too many unfinished requests, or more bytes than the limits allow
  kStreams,        // more calls under way than the settings or Http2Limits::calls allow
  kResets,         // more RST_STREAMs, in both directions, than honest clients cause
  kControlFrames,  // too many frames without a call, such as PING, or too many queued frames
  kMessage,        // a request message with flags other than 0 and 1
  kPush,           // PUSH_PROMISE; only servers may send it
  kConnections,    // more connections than the client may begin
  kBarred,         // any frame of a barred client
};
// Defined in the header, because arrays of counters need the number of names.
inline constexpr auto kHttp2ViolationNames = std::to_array<absl::string_view>(
    {"none", "frame_size", "header_block", "continuations", "stream", "unfinished", "streams",
     "resets", "control_frames", "message", "push", "connections", "barred"});
inline constexpr size_t kHttp2Violations = kHttp2ViolationNames.size();
static_assert(kHttp2Violations == static_cast<size_t>(Http2Violation::kBarred) + 1);

// A token bucket: `burst` tokens at first and at most, `per_second` more each second.
struct Http2Allowance {
  double burst = 0;
  double per_second = 0;
};

struct Http2Limits {
  // The most bytes, as sent, of a header block that has not ended. gRPC's clients send about 200.
  size_t header_block_bytes = 16 << 10;
  int continuations = 8;
  // The most requests of a client that have begun to arrive but are not complete. gRPC's clients
  // send a request in one piece.
  size_t unfinished = 512;
  // The most calls under way on all connections of a client. With the default flags no API group
  // queues as many calls for one client.
  size_t calls = 1024;
  // RST_STREAMs of both sides: the server resets a stream that has broken a rule (CVE-2025-8671).
  // An honest client may cancel all its calls concurrently.
  Http2Allowance resets = {.burst = 512, .per_second = 100};
  // For an answer, grpc-go sends at most a PING and two WINDOW_UPDATEs. Each call adds four tokens.
  Http2Allowance control_frames = {.burst = 1000, .per_second = 100};
  double control_frames_per_call = 4;
  // The price of each request of a streaming call, such as reflection's. A tool that reads
  // all descriptions of all pipes sends about 500 such requests.
  double control_frames_per_streamed_request = 1;
  // This many bytes of answers add one token, because a client that reads answers opens its
  // windows: grpc-go and nghttp2 send two WINDOW_UPDATEs for 16 to 32 KiB. gRPC C++ and grpc-go
  // also send a PING now and then.
  double answer_bytes_per_control_frame = 4096;
  // This many bytes of an unknown frame cost one control frame; the frame itself costs another.
  double unknown_bytes_per_control_frame = 64;
  // This many bytes of frames that the session drops unread, such as DATA of a call that was
  // answered early, cost one control frame.
  double dropped_bytes_per_control_frame = 1024;
  // The most bytes that connections hold for a client: what has arrived of messages without room,
  // twice what has arrived of an unfinished frame or header block, requests of kManyRequests that
  // wait, frames and answers that wait for the client, and writes that the client does not read.
  // 512 unfinished requests of 16 KiB take 8 MiB. The rest is for everything else.
  size_t held_bytes = 9 << 20;
  // The bytes that a call takes beside its messages, for its stream and its headers. The tenant's
  // account is charged for them, because a tenant with many processes may have tens of thousands of
  // calls.
  size_t call_bytes = 2 << 10;
  // The room for messages of more than kUnaskedBytes (MessageRoom), in bytes. A message for which
  // there is no room waits. The largest message fits four times.
  size_t room_bytes = 1 << 20;
  // The most frames of a connection that wait until the client reads. 256 calls queue at most three
  // frames each: a window, the headers and the trailers.
  size_t queued_frames = 1024;
  // The bytes that nghttp2 takes for a queued frame.
  size_t queued_frame_bytes = 192;
  // Connections that were ended for a violation. A client that overdraws `violations`,
  // `refused_calls` or `discarded` is barred.
  Http2Allowance violations = {.burst = 8, .per_second = 0.2};
  // Calls that were refused because their tenant had used its share. A driver that must mount the
  // volumes of a thousand pods concurrently has about a thousand calls refused.
  Http2Allowance refused_calls = {.burst = 2048, .per_second = 100};
  // New connections of the client, each of which evicted a connection of its tenant that had sent
  // the preface but never made a call. A driver that never closes its connections is not charged,
  // because it has made calls on them.
  Http2Allowance discarded = {.burst = 1024, .per_second = 20};
  // New connections, counted once they have sent the preface. A driver that dials for every call
  // makes a few each second.
  Http2Allowance connections = {.burst = 4096, .per_second = 200};
  absl::Duration bar = absl::Seconds(5);
};

class MessageRoom;

// The account of one client. All its connections pay from it, so a client gains no advantage by
// redialling after the end of a connection. Thread-safe.
class Http2Account {
 public:
  // The client's messages take room in `tenant`, or in this account if `tenant` is null. `tenant`
  // is also charged for the client's calls and for all bytes that this account holds.
  explicit Http2Account(const Http2Limits& limits = {},
                        std::shared_ptr<Http2Account> tenant = nullptr);

  // Returns the account in which the messages of `account` take room: its tenant's, or `account`
  // itself without a tenant.
  static std::shared_ptr<Http2Account> WithRooms(const std::shared_ptr<Http2Account>& account) {
    return account->tenant_ != nullptr ? account->tenant_ : account;
  }

  const Http2Limits& limits() const { return limits_; }

  // Charge the client. Return false if the bucket holds too few tokens.
  bool PayReset(Http2Time now);
  bool PayControlFrames(double price, Http2Time now);
  bool PayConnection(Http2Time now);
  // Begins a call and returns kNone. Credits the control frames of the call. The request is
  // unfinished until EndRequest(), and the call is under way until EndCall(). Begins no call and
  // returns kStreams if the client has too many calls; kUnfinished if too many requests are
  // unfinished; nullopt, which is no violation, if the tenant has no memory for the call.
  std::optional<Http2Violation> BeginCall();
  void EndRequest();
  void EndCall();

  // Hold() charges bytes that a session keeps, or returns false at the limit of the client or its
  // tenant. Drop() frees bytes. CreditSent() credits the control frames that a client sends when
  // it reads an answer's bytes.
  bool Hold(size_t bytes);
  // Returns true if the client itself may hold `bytes` more, whatever its tenant holds.
  bool MayHold(size_t bytes) const;
  void Drop(size_t bytes);
  void CreditSent(size_t bytes);

  // Each of these takes one token of `violations`, `refused_calls` or `discarded` (Http2Limits).
  // Bars the client if there is no token.
  void CountViolation(Http2Time now);
  void CountRefusedCall(Http2Time now);
  void CountDiscarded(Http2Time now);
  // Returns true if the client is barred: its connections are ended and no more are admitted.
  bool barred(Http2Time now) const;

  // Return how many requests are unfinished, how many calls are under way, how many bytes are held,
  // and how many bytes the granted rooms have.
  size_t unfinished() const;
  size_t calls() const;
  size_t held_bytes() const;
  size_t room_bytes() const;

 private:
  friend class MessageRoom;
  // The bucket of one Http2Allowance. It is full at first.
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
  size_t Read(size_t Http2Account::*count) const;
  void GrantRooms() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Http2Limits limits_;
  const std::shared_ptr<Http2Account> tenant_;
  std::atomic<Http2Time> barred_until_ = Http2Time::min();
  mutable Mutex mutex_;
  TokenBucket resets_ ABSL_GUARDED_BY(mutex_);
  TokenBucket control_frames_ ABSL_GUARDED_BY(mutex_);
  TokenBucket violations_ ABSL_GUARDED_BY(mutex_);
  TokenBucket refused_calls_ ABSL_GUARDED_BY(mutex_);
  TokenBucket discarded_ ABSL_GUARDED_BY(mutex_);
  TokenBucket connections_ ABSL_GUARDED_BY(mutex_);
  size_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t room_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The rooms that wait, in the order of their turns.
  std::list<MessageRoom*> waiting_ ABSL_GUARDED_BY(mutex_);
};

// Bytes that the account holds until this object is destroyed. Thread-safe.
class HeldBytes {
 public:
  // REQUIRES: `account->Hold(bytes)` has returned true.
  HeldBytes(std::shared_ptr<Http2Account> account, size_t bytes)
      : account_(std::move(account)), bytes_(bytes) {}
  ~HeldBytes() { account_->Drop(bytes_); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

 private:
  const std::shared_ptr<Http2Account> account_;
  const size_t bytes_;
};

// The room of one long message in the account that WithRooms() returns, from the time that its
// length is known until its memory is freed. A message without room arrives only as far as its
// call's window was already open. Thread-safe.
class MessageRoom {
 public:
  class Waiter {
   public:
    // Reports that a room of this waiter was granted after a wait. Called on any thread, under the
    // account's lock: must not block, and must not call the account or a session.
    virtual void OnRoom() = 0;

   protected:
    ~Waiter() = default;
  };

  // Takes room, or queues for it without blocking. A message longer than all room takes all of
  // it. REQUIRES: `waiter` lives until the room is granted or this object is destroyed.
  MessageRoom(std::shared_ptr<Http2Account> account, size_t bytes, Waiter* waiter);
  // Gives the room back or leaves the queue, and grants free room to the rooms that wait.
  ~MessageRoom();
  MessageRoom(const MessageRoom&) = delete;
  MessageRoom& operator=(const MessageRoom&) = delete;

  bool granted() const;

 private:
  friend class Http2Account;
  const std::shared_ptr<Http2Account> account_;
  const size_t bytes_;
  Waiter* const waiter_;
  // Guarded by the account's lock, like `place_`.
  bool granted_ = false;
  // The place in `waiting_` of a waiting room, so that its removal needs no search: a process that
  // ends gives up many rooms together.
  std::list<MessageRoom*>::iterator place_;
};

}  // namespace csi_proxy::transport
