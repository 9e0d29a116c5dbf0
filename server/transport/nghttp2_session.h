// The implementation of Session over nghttp2. Only its sources include this: session.cc (frames,
// and the end of the session), session_requests.cc, session_answers.cc and session_callbacks.cc
// (the callbacks of nghttp2).
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/transport/session.h"
#include "server/transport/wire.h"

namespace csi_proxy::transport {

using Method = SessionHandler::Method;

// The headers of a request that the session reads. It ignores `te`, `user-agent` and `:authority`:
// released Go clients send the pipe's path as the authority, although a path is not valid there.
enum Field : size_t { kMethod, kPath, kContentType, kTimeout, kTraceparent, kFields };

// One stream: its request, and the part of its answer that has not been sent.
struct Call {
  explicit Call(std::shared_ptr<Http2Account> client) : account(std::move(client)) {}
  ~Call() {
    if (unfinished) account->EndRequest();
    account->EndCall();
    account->Drop(request_held + answer.size());
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  size_t answer_held() const { return answer.size() - answer_sent; }

  const std::shared_ptr<Http2Account> account;
  // True while the account counts the request as unfinished.
  bool unfinished = true;
  // The values of the headers.
  std::array<std::string, kFields> fields;
  // How often each header came: 0, 1, or 2 for more than once.
  std::array<uint8_t, kFields> times{};
  size_t header_list_bytes = 0;

  Method method = Method::kOneRequest;
  absl::Duration timeout = absl::InfiniteDuration();  // from `headers_came` on
  Http2Time headers_came;
  MessageReader reader;
  bool has_message = false;  // of kOneRequest: the message is complete
  std::string message;
  std::unique_ptr<MessageRoom> room;
  size_t request_held = 0;

  bool begun = false;     // the handler knows the call
  bool has_head = false;  // the headers of the answer are queued
  bool finished = false;  // the status is queued
  // The messages of the answer with their prefixes. nghttp2 has taken the first `answer_sent`
  // bytes. The account holds the bytes until their memory is freed.
  std::string answer;
  size_t answer_sent = 0;
  absl::Status status;
};

using Headers = std::vector<std::pair<absl::string_view, std::string>>;
inline constexpr std::pair<absl::string_view, const char*> kContentHeader = {"content-type",
                                                                             "application/grpc"};

inline Headers OkHeaders() { return {{":status", "200"}, kContentHeader}; }

class Nghttp2Session final : public Session {
 public:
  Nghttp2Session(const SessionOptions& options, std::shared_ptr<Http2Account> account,
                 SessionHandler* handler);
  ~Nghttp2Session() override;
  void Receive(absl::string_view bytes, Http2Time now) override;
  void Write(CallId id, absl::string_view message) override;
  void Finish(CallId id, const absl::Status& status) override;
  void OpenWindows() override;
  void GoAway() override;
  void Cancel() override;

  bool wants_to_send() const override { return nghttp2_session_want_write(session_) != 0; }
  void Send(size_t most, std::string* bytes) override;

  bool ended() const override;
  Http2Violation violation() const override { return violation_; }
  size_t calls() const override { return calls_.size(); }

 private:
  Call* Find(CallId id) const;

  // Ends the connection for a violation. nghttp2 still sends a GOAWAY, and drops all other frames.
  void End(Http2Violation violation);
  // Ends the session because the account cannot hold `bytes` more. Counts no violation if only the
  // tenant is at its limit, because the tenant's other clients may be the cause.
  void EndForMemory(size_t bytes);
  void Violate(Http2Violation violation);

  void Pay(double price);
  void PayReset();

  void CancelCall(CallId id, Call& call);
  // Frees what has arrived of a request, because an answered or cancelled call may live on.
  void DropRequest(Call& call);

  // --- Requests ---

  // Charges the account for the bytes that nghttp2 keeps of an incomplete header block or frame.
  // Charges twice the bytes, because decoded Huffman codes take up to 8/5 of the encoded bytes.
  // Ends the charge when the block or frame is complete.
  void HoldPart();
  // Charges the account for the frames that wait until the client reads. Ends the connection if
  // there are too many.
  void HoldQueue();
  // Changes a charge, `*held`, to `bytes`. Ends the session if the account cannot hold them.
  void Hold(uint64_t bytes, uint64_t* held);

  // Called with the header of each frame that nghttp2 processes, before nghttp2 reads the payload.
  void OnBeginFrame(const nghttp2_frame_hd& frame);
  void OnBeginHeaders(const nghttp2_frame& frame);
  int OnHeader(const nghttp2_frame& frame, absl::string_view name, absl::string_view value);

  // Called for each complete frame that nghttp2 accepts.
  void OnFrame(const nghttp2_frame& frame);

  // Handles the acknowledgement of the settings. Raises the connection's window from 65,535 bytes,
  // because the client now keeps to the windows of calls. A client that never acknowledges the
  // settings stays limited by the small window.
  void Acknowledged();

  // Checks the headers of a call. Refuses the call if they are invalid or the method is unknown.
  void BeginCall(CallId id);
  void OnData(CallId id, absl::string_view bytes);

  // Checks the prefix of a message, and takes room for a long message. Returns false if the message
  // must not be read.
  bool BeginMessage(CallId id, Call* call);

  // Lets the client send the rest of the message that has begun, unless that message waits for
  // room. Between messages, lets the client begin the next one.
  void OpenWindow(CallId id, Call& call);
  // Raises the call's receive window to `bytes` if more than `spare` bytes are missing.
  void Widen(CallId id, size_t bytes, size_t spare);

  // Charges the account for what has arrived of the call's message, unless the message has room.
  void Hold(Call& call);
  void HandOver(CallId id, Call& call);

  // Handles the end of a request. Refuses a call that ends within a message, and a call of
  // kOneRequest that has no message.
  void EndRequest(CallId id);

  // --- Answers ---

  // Ends the answer of a call with `status`, and drops the rest of its request. Sends `headers` if
  // the answer has no messages.
  void Close(CallId id, Call* call, const absl::Status& status, Headers headers = OkHeaders());
  // Closes a call whose request or answer the session refuses. If the handler knows the call, calls
  // OnCancel() first.
  void Refuse(CallId id, Call* call, const absl::Status& status, Headers headers = OkHeaders());

  // Queues the headers of an answer with messages, or resumes the messages after the headers.
  void SendData(CallId id, Call* call);

  // Frees the part of an answer that nghttp2 has taken, once that part is at least half of the
  // answer, so that each byte moves about once.
  void FreeSent(Call* call);
  ssize_t ReadAnswer(CallId id, uint8_t* bytes, size_t most, uint32_t* flags);

  // Called for most invalid frames, whether they end the connection or only a stream.
  void OnInvalidFrame(const nghttp2_frame& frame, int error);
  void OnFrameSent(const nghttp2_frame& frame);

  // Must not fail, because nghttp2 would call it again for the same stream.
  void OnStreamClosed(CallId id);

  // --- nghttp2 ---

  static Nghttp2Session& Of(void* self) { return *static_cast<Nghttp2Session*>(self); }
  static const nghttp2_session_callbacks* NewCallbacks();
  static const nghttp2_option* NewOptions();

  const SessionOptions options_;
  const std::shared_ptr<Http2Account> account_;
  SessionHandler& handler_;
  nghttp2_session* session_ = nullptr;
  absl::flat_hash_map<CallId, std::unique_ptr<Call>> calls_;

  Http2Time now_ = Http2Time::min();
  bool ends_without_fault_ = false;
  Http2Violation violation_ = Http2Violation::kNone;
  bool connected_ = false;
  bool acknowledged_ = false;  // our settings
  bool going_away_ = false;
  CallId newest_ = 0;
  int continuations_ = 0;
  // The resets, not yet sent, of calls that the tenant had no memory for.
  size_t memory_refusals_ = 0;
  // True while the last header block that OnBeginFrame() has seen has not ended.
  bool in_block_ = false;
  uint64_t begin_ = 0;       // where the last header block or frame begins in the bytes received
  uint64_t part_bytes_ = 0;  // the bytes of that block or frame; 0 if nghttp2 keeps none of it
  uint64_t part_held_ = 0;   // the bytes that HoldPart() has charged for that block or frame
  uint64_t queue_held_ = 0;  // the bytes that HoldQueue() has charged
  // The bytes received. Beyond `announced_` are bytes dropped unread, or part of a frame's header.
  uint64_t received_ = 0;
  // The bytes of the preface, of all frames that OnBeginFrame() has seen, and of drops paid for.
  uint64_t announced_ = NGHTTP2_CLIENT_MAGIC_LEN;
};

}  // namespace csi_proxy::transport
