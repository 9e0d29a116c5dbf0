// A gRPC server's side of one HTTP/2 connection: bytes in, requests out, answers in, bytes out. A
// session has no socket, no thread and no clock, so the owner decides when bytes move:
//
//   session->Receive(bytes_from_the_client, now);   // calls handler->OnRequest()
//   session->Answer(call, status, message);         // now or later
//   while (session->wants_to_send()) { session->Send(kMost, &bytes); ... write `bytes` ... }
//   if (session->ended()) ... close the connection ...
//
// A session charges its client's Http2Account for all that the client has under way, and ends the
// connection of a client that exceeds its limits. A call may send kUnaskedBytes immediately. A
// longer message gets a window only when the account has room for all of it (MessageRoom), so that
// a long message waits instead of ending its connection.
//
// nghttp2 bounds the acknowledgements of PING and SETTINGS that the client has not read, the
// settings of a frame, and the CONTINUATIONs of header blocks that nghttp2 drops. The session
// bounds everything else: other CONTINUATIONs, lists of headers, resets of both sides, frames that
// ask for work without making a call, and frames that the client has not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/transport/account.h"

namespace csi_proxy::transport {

// Names a call within its session. Never used for another call of the session.
using CallId = int32_t;

// The most bytes that a call may send before its window is opened for its message. The requests of
// most calls have a few hundred bytes.
inline constexpr size_t kUnaskedBytes = 16 << 10;

struct SessionOptions {
  // The most calls under way (SETTINGS_MAX_CONCURRENT_STREAMS), at most 256. Further calls are
  // refused until the client knows this limit. Afterwards a further call ends the connection.
  uint32_t max_calls = 256;
  // The largest message of a request, in bytes. A call with a larger one fails with
  // RESOURCE_EXHAUSTED.
  size_t max_message_bytes = 256 << 10;
  // The largest list of headers, in bytes, with 32 added for each header (RFC 9113, section 6.5.2).
  size_t max_header_list_bytes = 16 << 10;
};

// A message of a client, with its call.
struct Request {
  CallId call = 0;
  std::string path;  // `/v1.Volume/MountVolume`
  // The time that the client gives the call from now on; infinite without a `grpc-timeout`.
  absl::Duration timeout = absl::InfiniteDuration();
  // The first 256 bytes of `traceparent`, unchecked; empty unless the call has exactly one.
  std::string traceparent;
  std::string message;
  // Holds the account's room for a message longer than kUnaskedBytes; null for a shorter message.
  // Also null for a longer message that the client sent before it knew the session's windows, if
  // there was no room. The room is free when the request is destroyed, so keep the request as long
  // as the message.
  std::unique_ptr<MessageRoom> room;
  // The charge in the client's account for a request of kManyRequests, because any number of them
  // may wait. Null for other requests.
  std::unique_ptr<HeldBytes> held;
};

// Receives the events of a session. The session calls these functions within its own functions, on
// the thread of the caller; OnRoom() of the base is called on any thread. The functions must not
// block and must not call the session, so an owner queues requests, and begins them after Receive()
// has returned. After OnRoom(), the owner calls OpenWindows() soon.
class SessionHandler : public MessageRoom::Waiter {
 public:
  enum class Method {
    kUnknown,      // calls fail with UNIMPLEMENTED
    kOneRequest,   // a call has one request: unary methods, and streams of answers
    kManyRequests  // a call may have more requests after its first answer
  };

  // Returns the kind of a method.
  virtual Method Find(absl::string_view path) = 0;

  // Begins a call, whose request is complete, or hands over the next request of a call of
  // kManyRequests.
  virtual void OnRequest(Request request) = 0;
  // Reports that no more requests of the call follow. Called only for kManyRequests, even for a
  // call that had no request.
  virtual void OnRequestsEnd(CallId /*call*/) {}
  // Reports that the session takes no more of the answer: the client or the session has reset the
  // call, a later request or an answer's message was refused, or the session has ended. Called at
  // most once for a call, only after its first OnRequest() or OnRequestsEnd(), before its Finish().
  virtual void OnCancel(CallId call) = 0;

 protected:
  ~SessionHandler() = default;
};

// Not thread-safe: a connection calls its session under one lock, from the threads that read, write
// and answer calls.
class Session {
 public:
  // REQUIRES: `handler` outlives the session; `options.max_calls` is from 1 to 256.
  static std::unique_ptr<Session> New(const SessionOptions& options,
                                      std::shared_ptr<Http2Account> account,
                                      SessionHandler* handler);
  // Gives back everything that the account holds for the session. Does not call OnCancel(), so call
  // Cancel() first if calls may be under way. May call OnRoom().
  virtual ~Session() = default;

  // Takes bytes of the client, from the first byte of the preface on, in order, in pieces of any
  // size. Drops the bytes after a violation, or once ended() is true.
  virtual void Receive(absl::string_view bytes, Http2Time now) = 0;

  // Queue an answer for Send(): any number of messages, and one status after them. If the account
  // cannot hold a message, the call finishes with RESOURCE_EXHAUSTED. Answer() queues the message
  // of a unary call if `status` is OK, and then `status`. An error without a message is sent as
  // headers alone (trailers-only) with HTTP status 200. The functions have no effect if the call
  // has been cancelled or finished. REQUIRES: OnRequest() or OnRequestsEnd() was called for the
  // call.
  virtual void Write(CallId call, absl::string_view message) = 0;
  virtual void Finish(CallId call, const absl::Status& status) = 0;
  void Answer(CallId call, const absl::Status& status, absl::string_view message) {
    if (status.ok()) Write(call, message);
    Finish(call, status);
  }

  // Opens the windows of messages that waited for room and have been granted room (OnRoom()).
  virtual void OpenWindows() = 0;

  // Lets calls under way finish and accepts no more (GOAWAY). Clients redial for further calls.
  // After the last call, ended() becomes true. Idempotent.
  virtual void GoAway() = 0;

  // Cancels the calls under way, because the connection is broken. Takes no more of their answers.
  virtual void Cancel() = 0;

  // Returns true if Send() may return bytes; false after a Send() that returned all of them.
  virtual bool wants_to_send() const = 0;
  // Appends bytes for the client until `*bytes` has `most` bytes, or none are left. May exceed
  // `most` by one frame of 16 KiB. The session counts these bytes as sent.
  virtual void Send(size_t most, std::string* bytes) = 0;

  // Returns true if the session neither expects nor sends any more bytes.
  virtual bool ended() const = 0;
  // Returns the violation for which the session ends the connection, or kNone. Set by Receive() or
  // Send(); from then on the calls are cancelled. The account has counted the violation, unless it
  // is kBarred.
  virtual Http2Violation violation() const = 0;

  // Returns the number of calls under way, including those whose request has not ended or whose
  // answer has not been sent.
  virtual size_t calls() const = 0;
};

}  // namespace csi_proxy::transport
