#include "server/transport/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/transport/wire.h"

namespace csi_proxy::transport {
namespace {

using Method = SessionHandler::Method;

// Large enough that only the windows of calls limit a client that has acknowledged the settings:
// 256 calls may send 4 MiB unasked, and the account's room has 1 MiB.
constexpr int32_t kConnectionWindow = 16 << 20;

// RFC 9113, section 4.1.
constexpr size_t kFrameHeader = 9;

// The headers of a request that the session reads. It ignores `te`, `user-agent` and `:authority`:
// released Go clients send the pipe's path as the authority, although that is not a valid one.
enum Field : size_t { kMethod, kPath, kContentType, kTimeout, kTraceparent, kFields };
constexpr std::array<absl::string_view, kFields> kFieldNames = {":method", ":path", "content-type",
                                                                "grpc-timeout", "traceparent"};

// The most bytes that a call keeps of such a header. The session does not understand longer values.
constexpr size_t kKeptFieldBytes = 256;

// The violations that OnInvalidFrame() does not see. nghttp2 ends the connection with a GOAWAY, and
// its code tells the violation. Any other code means a frame on a stream that does not allow it.
constexpr struct {
  uint32_t code;
  Http2Violation violation;
} kGoAwayReasons[] = {
    {NGHTTP2_FRAME_SIZE_ERROR, Http2Violation::kFrameSize},
    {NGHTTP2_COMPRESSION_ERROR, Http2Violation::kHeaderBlock},
    {NGHTTP2_FLOW_CONTROL_ERROR, Http2Violation::kUnfinished},
    {NGHTTP2_ENHANCE_YOUR_CALM, Http2Violation::kControlFrames},
};

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
  // The account counts the request as unfinished.
  bool unfinished = true;
  // The values of the headers, and how often each came.
  std::array<std::string, kFields> fields;
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
  // The messages of the answer, framed as in DATA. `answer_sent` bytes of it have left. The account
  // holds the bytes until their memory is freed.
  std::string answer;
  size_t answer_sent = 0;
  absl::Status status;
};

using Headers = std::vector<std::pair<absl::string_view, std::string>>;
constexpr std::pair<absl::string_view, const char*> kContentHeader = {"content-type",
                                                                      "application/grpc"};

Headers OkHeaders() { return {{":status", "200"}, kContentHeader}; }

// The headers that carry a status.
Headers StatusHeaders(const absl::Status& status) {
  Headers headers = {{"grpc-status", absl::StrCat(status.raw_code())}};
  if (!status.message().empty()) {
    headers.emplace_back("grpc-message", EncodeStatusText(status.message()));
  }
  return headers;
}

// Returns `headers` for nghttp2. REQUIRES: `headers` outlive the result; nghttp2 copies the values.
std::vector<nghttp2_nv> ForNghttp2(const Headers& headers) {
  const auto bytes = [](absl::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  std::vector<nghttp2_nv> fields;
  for (const auto& [name, value] : headers) {
    // The texts of errors seldom repeat, so they stay out of HPACK's table.
    const int flags = name == "grpc-message" ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    fields.push_back({bytes(name), bytes(value), name.size(), value.size(),
                      static_cast<uint8_t>(flags | NGHTTP2_NV_FLAG_NO_COPY_NAME)});
  }
  return fields;
}

class Nghttp2Session final : public Session {
 public:
  Nghttp2Session(const SessionOptions& options, std::shared_ptr<Http2Account> account,
                 SessionHandler* handler)
      : options_(options), account_(std::move(account)), handler_(*handler) {
    static const nghttp2_session_callbacks* const callbacks = NewCallbacks();
    static const nghttp2_option* const nghttp2_options = NewOptions();
    nghttp2_session_server_new2(&session_, callbacks, this, nghttp2_options);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options_.max_calls},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(kUnaskedBytes)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
         static_cast<uint32_t>(options_.max_header_list_bytes)},
        // nghttp2 then builds no tree of the streams' priorities (CVE-2019-9513).
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  }
  ~Nghttp2Session() override {
    nghttp2_session_del(session_);
    account_->Drop(part_held_);
  }

  void Receive(absl::string_view bytes, Http2Time now) override {
    now_ = now;
    if (violation_ != Http2Violation::kNone) return;
    if (account_->barred(now)) return End(Http2Violation::kBarred);
    if (!std::exchange(connected_, true) && !account_->PayConnection(now)) {
      return End(Http2Violation::kConnections);
    }
    const ssize_t result = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (result == NGHTTP2_ERR_FLOODED) return End(Http2Violation::kControlFrames);
    if (result == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) return End(Http2Violation::kContinuations);
    if (result < 0) return End(Http2Violation::kStream);
    received_ += bytes.size();
    if (in_block_ && received_ > begin_ + account_->limits().header_block_bytes) {
      End(Http2Violation::kHeaderBlock);
    }
    HoldPart();
    if (received_ > announced_) {
      Pay(static_cast<double>(received_ - announced_) /
          account_->limits().dropped_bytes_per_control_frame);
      announced_ = received_;
    }
    if (nghttp2_session_get_outbound_queue_size(session_) > account_->limits().queued_frames) {
      End(Http2Violation::kControlFrames);
    }
  }

  void Write(CallId id, absl::string_view message) override {
    Call* const call = Find(id);
    if (call == nullptr || call->finished || violation_ != Http2Violation::kNone) return;
    // A stream of answers does not grow.
    FreeSent(call);
    if (!account_->Hold(kPrefixBytes + message.size())) {
      return Refuse(id, call,
                    absl::ResourceExhaustedError(absl::StrCat(
                        "the answers to this client that wait to be read have "
                        "more than ",
                        account_->limits().held_bytes, " bytes; read them, then try again")));
    }
    AppendMessage(message, &call->answer);
    SendData(id, call);
  }

  void Finish(CallId id, const absl::Status& status) override {
    Call* const call = Find(id);
    if (call == nullptr || call->finished || violation_ != Http2Violation::kNone) return;
    Close(id, call, status);
  }

  void OpenWindows() override {
    for (const auto& [id, call] : calls_) OpenWindow(id, *call);
  }

  void GoAway() override {
    if (std::exchange(going_away_, true)) return;
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
  }

  void Cancel() override {
    for (const auto& [id, call] : calls_) CancelCall(id, *call);
  }

  bool wants_to_send() const override { return nghttp2_session_want_write(session_) != 0; }

  void Send(size_t most, std::string* bytes) override {
    while (bytes->size() < most) {
      const uint8_t* frame = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &frame);
      if (size < 0) return End(Http2Violation::kStream);
      if (size == 0) return;
      bytes->append(reinterpret_cast<const char*>(frame), static_cast<size_t>(size));
    }
  }

  bool ended() const override {
    return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
  }
  Http2Violation violation() const override { return violation_; }
  size_t calls() const override { return calls_.size(); }

 private:
  Call* Find(CallId id) const {
    const auto found = calls_.find(id);
    return found != calls_.end() ? found->second.get() : nullptr;
  }

  // Ends the connection. nghttp2 drops all frames but a GOAWAY.
  void End(Http2Violation violation) {
    Violate(violation);
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
  }
  // Ends the session because the account has no room for `bytes`. It is no violation if only the
  // tenant has no room, because other clients of the tenant may have taken it.
  void EndForMemory(size_t bytes) {
    if (!account_->MayHold(bytes)) return End(Http2Violation::kUnfinished);
    ends_without_fault_ = true;
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
  }
  void Violate(Http2Violation violation) {
    if (violation_ != Http2Violation::kNone) return;
    violation_ = violation;
    // A barred client does not prolong its bar.
    if (violation != Http2Violation::kBarred) account_->CountViolation(now_);
    Cancel();
  }

  void Pay(double price) {
    if (!account_->PayControlFrames(price, now_)) End(Http2Violation::kControlFrames);
  }
  void PayReset() {
    if (!account_->PayReset(now_)) End(Http2Violation::kResets);
  }

  void CancelCall(CallId id, Call& call) {
    if (std::exchange(call.finished, true)) return;
    if (call.begun) handler_.OnCancel(id);
    call.status = absl::UnavailableError("the connection has ended");
    DropRequest(call);
    if (std::exchange(call.unfinished, false)) account_->EndRequest();
  }
  // Frees what has arrived of a request, also if the session lives on for another call.
  void DropRequest(Call& call) {
    call.room.reset();
    call.reader = MessageReader();
    call.message = std::string();
    account_->Drop(std::exchange(call.request_held, 0));
  }

  // --- Requests ---

  // Charges the account for what has arrived of a header block or a frame, if nghttp2 keeps that
  // until it is complete. Charges twice the bytes, because a Huffman code becomes up to 8/5 as
  // long.
  void HoldPart() {
    const uint64_t held = 2 * std::min(received_ - begin_, part_bytes_);
    if (held <= part_held_) {
      account_->Drop(part_held_ - held);
    } else if (!account_->Hold(held - part_held_)) {
      return EndForMemory(held - part_held_);
    }
    part_held_ = held;
  }

  // Called for each frame that nghttp2 does not drop unread, before it looks at the payload.
  void OnBeginFrame(const nghttp2_frame_hd& frame) {
    if (frame.type != NGHTTP2_CONTINUATION) {
      begin_ = announced_;
      part_bytes_ = 0;
    }
    // nghttp2 does not keep DATA and frames of unknown types.
    if (frame.type != NGHTTP2_DATA && frame.type <= NGHTTP2_CONTINUATION) {
      part_bytes_ += kFrameHeader + frame.length;
    }
    in_block_ = (frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_CONTINUATION) &&
                (frame.flags & NGHTTP2_FLAG_END_HEADERS) == 0;
    announced_ += kFrameHeader + frame.length;
    switch (frame.type) {
      case NGHTTP2_DATA:        // OnFrame() pays for empty ones
      case NGHTTP2_RST_STREAM:  // OnFrame() pays
        return;
      case NGHTTP2_HEADERS:
        continuations_ = 0;
        // Trailers, or a call of a client that has received a GOAWAY.
        if (frame.stream_id <= newest_ || going_away_) Pay(1);
        newest_ = std::max(newest_, frame.stream_id);
        return;
      case NGHTTP2_CONTINUATION:
        if (++continuations_ > account_->limits().continuations) {
          End(Http2Violation::kContinuations);
        }
        return;
      case NGHTTP2_PUSH_PROMISE:
        return End(Http2Violation::kPush);
      default:
        const double unknown_bytes =
            frame.type > NGHTTP2_CONTINUATION ? static_cast<double>(frame.length) : 0;
        Pay(1 + unknown_bytes / account_->limits().unknown_bytes_per_control_frame);
    }
  }

  void OnBeginHeaders(const nghttp2_frame& frame) {
    // The GOAWAY says that calls from here on were not begun, so clients may make them again.
    if (frame.headers.cat != NGHTTP2_HCAT_REQUEST || going_away_) return;
    const std::optional<Http2Violation> refused = account_->BeginCall();
    if (!refused.has_value()) {
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                                NGHTTP2_REFUSED_STREAM);
      return;
    }
    if (*refused != Http2Violation::kNone) return End(*refused);
    calls_.emplace(frame.hd.stream_id, std::make_unique<Call>(account_));
  }

  int OnHeader(const nghttp2_frame& frame, absl::string_view name, absl::string_view value) {
    if (violation_ != Http2Violation::kNone) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    Call* const call = Find(frame.hd.stream_id);
    if (call == nullptr) return 0;
    // RFC 9113, section 6.5.2.
    constexpr size_t kOverhead = 32;
    call->header_list_bytes += name.size() + value.size() + kOverhead;
    if (call->header_list_bytes > options_.max_header_list_bytes) {
      End(Http2Violation::kHeaderBlock);
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    const auto* const field = std::find(kFieldNames.begin(), kFieldNames.end(), name);
    // Trailers have no effect.
    if (field == kFieldNames.end() || frame.headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const auto i = static_cast<size_t>(field - kFieldNames.begin());
    call->times[i] = call->times[i] == 0 ? 1 : 2;
    call->fields[i] = std::string(value.substr(0, kKeptFieldBytes));
    return 0;
  }

  // Called for each complete frame of an open stream.
  void OnFrame(const nghttp2_frame& frame) {
    part_bytes_ = 0;
    const CallId id = frame.hd.stream_id;
    const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame.hd.type) {
      case NGHTTP2_HEADERS:
        if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
          BeginCall(id);
        } else if (!ends) {
          // Headers within a request are malformed (RFC 9113, section 8.1).
          nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_PROTOCOL_ERROR);
        }
        break;
      case NGHTTP2_DATA:
        if (frame.hd.length == frame.data.padlen && !ends) Pay(1);
        break;
      case NGHTTP2_RST_STREAM:
        return PayReset();
      case NGHTTP2_SETTINGS:
        if ((frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) Acknowledged();
        return;
      default:
        return;
    }
    if (ends) EndRequest(id);
  }

  // Raises the connection's window from 65,535 bytes, because the client now keeps to the windows
  // of calls. A client that never acknowledges the settings stays limited by the small window.
  void Acknowledged() {
    if (std::exchange(acknowledged_, true)) return;
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
    // The settings have made the windows of open calls smaller.
    OpenWindows();
  }

  // Judges the headers of a call.
  void BeginCall(CallId id) {
    Call* const call = Find(id);
    if (call == nullptr || violation_ != Http2Violation::kNone) return;
    const auto field = [&](Field i) {
      return call->times[i] == 1 ? absl::string_view(call->fields[i]) : absl::string_view();
    };
    const auto refuse = [&](absl::string_view text, const char* http_status = "200") {
      Refuse(id, call, absl::InternalError(text), {{":status", http_status}, kContentHeader});
    };
    if (field(kMethod) != "POST") return refuse("the request is not a POST", "405");
    if (field(kPath).empty()) return refuse("the request must have one :path", "400");
    if (!IsGrpcContentType(field(kContentType))) {
      return refuse("the content-type is not application/grpc", "415");
    }
    if (call->times[kTimeout] > 0) {
      const std::optional<absl::Duration> timeout = ParseTimeout(field(kTimeout));
      if (!timeout.has_value()) return refuse("grpc-timeout is malformed");
      call->timeout = *timeout;
      call->headers_came = now_;
    }
    call->method = handler_.Find(field(kPath));
    if (call->method == Method::kUnknown) {
      Refuse(id, call, absl::UnimplementedError("unknown method"));
    }
  }

  void OnData(CallId id, absl::string_view bytes) {
    if (acknowledged_) nghttp2_session_consume_connection(session_, bytes.size());
    Call* const call = Find(id);
    // Bytes for a call that has been answered are dropped. Its window stays as it is.
    if (call == nullptr || call->finished || violation_ != Http2Violation::kNone) return;
    for (;;) {
      if (call->has_message && !bytes.empty()) {
        return Refuse(id, call, absl::InternalError("the call has two requests"));
      }
      switch (call->reader.Take(&bytes)) {
        case MessageReader::Event::kNeedsMore:
          // Only now, because nghttp2 has counted all of `bytes` against the window.
          OpenWindow(id, *call);
          return Hold(*call);
        case MessageReader::Event::kPrefix:
          if (!BeginMessage(id, call)) return;
          break;
        case MessageReader::Event::kMessage:
          call->message = call->reader.TakeMessage();
          if (call->method == Method::kManyRequests) {
            Pay(account_->limits().control_frames_per_streamed_request);
            if (violation_ != Http2Violation::kNone) return;
            HandOver(id, *call);
          } else {
            call->has_message = true;
          }
      }
    }
  }

  // Judges the prefix of a message. Returns false if the message must not be read.
  bool BeginMessage(CallId id, Call* call) {
    const size_t length = call->reader.length();
    if (call->reader.flags() > 1) {
      End(Http2Violation::kMessage);
      return false;
    }
    if (call->reader.flags() == 1) {
      Refuse(id, call, absl::UnimplementedError("compressed messages are not accepted"),
             {{":status", "200"}, kContentHeader, {"grpc-accept-encoding", "identity"}});
      return false;
    }
    if (length > options_.max_message_bytes) {
      Refuse(id, call,
             absl::ResourceExhaustedError(absl::StrCat("Received message larger than max (", length,
                                                       " vs. ", options_.max_message_bytes, ")")));
      return false;
    }
    if (length > kUnaskedBytes) {
      call->room =
          std::make_unique<MessageRoom>(Http2Account::WithRooms(account_), length, &handler_);
    }
    return true;
  }

  // Lets the client send the rest of the message that has begun, if it has room, or the beginning
  // of the next one.
  void OpenWindow(CallId id, Call& call) {
    if (call.finished) return;
    if (!call.reader.in_message()) {
      // Short requests share a WINDOW_UPDATE.
      return call.method == Method::kManyRequests ? Widen(id, kUnaskedBytes, kUnaskedBytes / 2)
                                                  : Widen(id, 1, 0);
    }
    if (call.room != nullptr) {
      if (!call.room->granted()) return;
      call.reader.Reserve();
      account_->Drop(std::exchange(call.request_held, 0));
    }
    // Clients of nghttp2 also need a window for an empty DATA that ends the request.
    Widen(id, call.reader.missing() + 1, 0);
  }
  // Opens the window of the call to `bytes` from now on. Has no effect if at most `spare` bytes of
  // them are missing.
  void Widen(CallId id, size_t bytes, size_t spare) {
    const int32_t window = nghttp2_session_get_stream_effective_local_window_size(session_, id) -
                           nghttp2_session_get_stream_effective_recv_data_length(session_, id);
    const int32_t more = static_cast<int32_t>(bytes) - window;
    if (more > static_cast<int32_t>(spare)) {
      nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, id, more);
    }
  }

  // Charges the account for the part of a message that has arrived without room.
  void Hold(Call& call) {
    if (call.room != nullptr && call.room->granted()) return;
    const size_t more = call.reader.kept() + call.message.size() - call.request_held;
    if (!account_->Hold(more)) return EndForMemory(more);
    call.request_held += more;
  }

  void HandOver(CallId id, Call& call) {
    account_->Drop(std::exchange(call.request_held, 0));
    // The message came before the client knew the windows. The handler gets it without a room,
    // because it may end before the request.
    if (call.room != nullptr && !call.room->granted()) call.room.reset();
    call.begun = true;
    Request request;
    request.call = id;
    request.path = call.fields[kPath];
    if (call.times[kTimeout] == 1) {
      const absl::Duration passed = absl::FromChrono(now_ - call.headers_came);
      request.timeout = std::max(call.timeout - passed, absl::ZeroDuration());
    }
    if (call.times[kTraceparent] == 1) request.traceparent = call.fields[kTraceparent];
    request.message = std::exchange(call.message, {});
    request.room = std::move(call.room);
    handler_.OnRequest(std::move(request));
  }

  // The client has sent all of the call.
  void EndRequest(CallId id) {
    Call* const call = Find(id);
    if (call == nullptr) return;
    if (std::exchange(call->unfinished, false)) account_->EndRequest();
    if (call->finished || violation_ != Http2Violation::kNone) return;
    if (!call->reader.at_start()) {
      return Refuse(id, call, absl::InternalError("the request ends within a message"));
    }
    if (call->method == Method::kManyRequests) {
      call->begun = true;
      handler_.OnRequestsEnd(id);
    } else if (call->has_message) {
      HandOver(id, *call);
    } else {
      Refuse(id, call, absl::InternalError("the call has no request"));
    }
  }

  // --- Answers ---

  // Ends the answer of a call, and drops what its client still sends. `headers` go out if the
  // answer has no messages.
  void Close(CallId id, Call* call, const absl::Status& status, Headers headers = OkHeaders()) {
    call->finished = true;
    DropRequest(*call);
    call->status = status;
    if (call->has_head) return SendData(id, call);
    for (auto& header : StatusHeaders(status)) headers.push_back(std::move(header));
    const std::vector<nghttp2_nv> fields = ForNghttp2(headers);
    nghttp2_submit_response(session_, id, fields.data(), fields.size(), nullptr);
  }
  // Closes a call because of what its client has sent.
  void Refuse(CallId id, Call* call, const absl::Status& status, Headers headers = OkHeaders()) {
    if (call->begun) handler_.OnCancel(id);
    Close(id, call, status, std::move(headers));
  }

  // Sends the headers of an answer with messages, or goes on with its messages.
  void SendData(CallId id, Call* call) {
    if (std::exchange(call->has_head, true)) {
      nghttp2_session_resume_data(session_, id);
      return;
    }
    const Headers headers = OkHeaders();
    const std::vector<nghttp2_nv> fields = ForNghttp2(headers);
    nghttp2_data_provider provider = {
        .source = {},
        .read_callback = [](nghttp2_session*, CallId stream, uint8_t* bytes, size_t most,
                            uint32_t* flags, nghttp2_data_source*, void* self) -> ssize_t {
          return Of(self).ReadAnswer(stream, bytes, most, flags);
        }};
    nghttp2_submit_response(session_, id, fields.data(), fields.size(), &provider);
  }

  // Frees the part of an answer that has left, once it is half of the answer, so that each byte
  // moves about once.
  void FreeSent(Call* call) {
    if (call->answer_sent < call->answer_held()) return;
    account_->Drop(call->answer_sent);
    call->answer = call->answer.substr(std::exchange(call->answer_sent, 0));
  }

  ssize_t ReadAnswer(CallId id, uint8_t* bytes, size_t most, uint32_t* flags) {
    Call* const call = Find(id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t size = std::min(most, call->answer_held());
    std::copy_n(call->answer.data() + call->answer_sent, size, bytes);
    call->answer_sent += size;
    account_->CreditSent(size);
    if (call->answer_held() > 0) return static_cast<ssize_t>(size);
    FreeSent(call);
    if (!call->finished && size == 0) return NGHTTP2_ERR_DEFERRED;
    if (!call->finished) return static_cast<ssize_t>(size);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const Headers trailers = StatusHeaders(call->status);
    const std::vector<nghttp2_nv> fields = ForNghttp2(trailers);
    nghttp2_submit_trailer(session_, id, fields.data(), fields.size());
    return static_cast<ssize_t>(size);
  }

  // Called for most errors that end the connection, and for errors of a stream alone.
  void OnInvalidFrame(const nghttp2_frame& frame, int error) {
    part_bytes_ = 0;
    if (error == NGHTTP2_ERR_REFUSED_STREAM) return;
    if (error == NGHTTP2_ERR_FLOW_CONTROL && frame.hd.stream_id != 0) return;
    // A client that closes its connection may name any stream as the server's last: grpc-go names
    // an odd one (internal/transport/http2_client.go, outgoingGoAwayHandler). nghttp2 then ends the
    // session. That is what the client wants.
    if (frame.hd.type == NGHTTP2_GOAWAY) {
      ends_without_fault_ = true;
      return;
    }
    const bool opens = frame.hd.type == NGHTTP2_HEADERS && calls_.size() >= options_.max_calls;
    Violate(opens ? Http2Violation::kStreams : Http2Violation::kStream);
  }

  void OnFrameSent(const nghttp2_frame& frame) {
    switch (frame.hd.type) {
      case NGHTTP2_HEADERS:
        // An answer before the end of the request frees the stream. Only now, because nghttp2 drops
        // the headers of a stream that is about to be reset.
        if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
            nghttp2_session_get_stream_remote_close(session_, frame.hd.stream_id) == 0) {
          nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                                    NGHTTP2_NO_ERROR);
        }
        return;
      case NGHTTP2_RST_STREAM:
        return PayReset();
      case NGHTTP2_GOAWAY: {
        if (ends_without_fault_ || frame.goaway.error_code == NGHTTP2_NO_ERROR) return;
        const auto* const reason =
            std::find_if(std::begin(kGoAwayReasons), std::end(kGoAwayReasons),
                         [&](const auto& row) { return row.code == frame.goaway.error_code; });
        return Violate(reason != std::end(kGoAwayReasons) ? reason->violation
                                                          : Http2Violation::kStream);
      }
      default:
        return;
    }
  }

  // Must not fail, because nghttp2 would call it again for the same stream.
  void OnStreamClosed(CallId id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    CancelCall(id, *found->second);
    calls_.erase(found);
  }

  // --- nghttp2 ---

  static Nghttp2Session& Of(void* self) { return *static_cast<Nghttp2Session*>(self); }
  static absl::string_view Text(const uint8_t* bytes, size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }

  static const nghttp2_session_callbacks* NewCallbacks() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_frame_callback(
        callbacks, [](auto*, auto* frame, void* self) { return Of(self).OnBeginFrame(*frame), 0; });
    nghttp2_session_callbacks_set_on_begin_headers_callback(
        callbacks,
        [](auto*, auto* frame, void* self) { return Of(self).OnBeginHeaders(*frame), 0; });
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](auto*, auto* frame, auto* name, size_t name_size, auto* value,
                      size_t value_size, uint8_t, void* self) {
          return Of(self).OnHeader(*frame, Text(name, name_size), Text(value, value_size));
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](auto*, auto* frame, void* self) { return Of(self).OnFrame(*frame), 0; });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](auto*, uint8_t, CallId id, auto* bytes, size_t size, void* self) {
          return Of(self).OnData(id, Text(bytes, size)), 0;
        });
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
        callbacks, [](auto*, auto* frame, int error, void* self) {
          return Of(self).OnInvalidFrame(*frame, error), 0;
        });
    nghttp2_session_callbacks_set_on_frame_send_callback(
        callbacks, [](auto*, auto* frame, void* self) { return Of(self).OnFrameSent(*frame), 0; });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks,
        [](auto*, CallId id, uint32_t, void* self) { return Of(self).OnStreamClosed(id), 0; });
    // Drops the payload of unknown frames; OnBeginFrame() has counted it.
    nghttp2_session_callbacks_set_unpack_extension_callback(
        callbacks, [](auto*, auto**, auto*, void*) -> int { return NGHTTP2_ERR_CANCEL; });
    return callbacks;
  }

  static const nghttp2_option* NewOptions() {
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    // nghttp2 would refuse the `:authority` of released Go clients, so BeginCall() checks headers.
    nghttp2_option_set_no_http_messaging(options, 1);
    nghttp2_option_set_no_auto_window_update(options, 1);
    // The account counts resets, over all connections of the client and by a clock of its own.
    constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
    nghttp2_option_set_stream_reset_rate_limit(options, kAny, kAny);
    // nghttp2 counts a CONTINUATION once for each received piece of its header. OnBeginFrame()
    // counts frames; nghttp2 counts in blocks that are dropped.
    nghttp2_option_set_max_continuations(options, 10 * Http2Limits().continuations);
    for (int type = NGHTTP2_CONTINUATION + 1; type <= std::numeric_limits<uint8_t>::max(); ++type) {
      nghttp2_option_set_user_recv_extension_type(options, static_cast<uint8_t>(type));
    }
    return options;
  }

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
  // The last block of headers that began has not ended, as far as OnBeginFrame() has seen.
  bool in_block_ = false;
  uint64_t begin_ = 0;       // of that block, or of the last frame, in the bytes received
  uint64_t part_bytes_ = 0;  // of that block or frame; 0 if nghttp2 drops it
  uint64_t part_held_ = 0;   // charged for it by HoldPart()
  // All bytes received; and the bytes of the preface and of all frames that OnBeginFrame() has
  // seen. nghttp2 has dropped the difference unread.
  uint64_t received_ = 0;
  uint64_t announced_ = NGHTTP2_CLIENT_MAGIC_LEN;
};

}  // namespace

std::unique_ptr<Session> Session::New(const SessionOptions& options,
                                      std::shared_ptr<Http2Account> account,
                                      SessionHandler* handler) {
  return std::make_unique<Nghttp2Session>(options, std::move(account), handler);
}

}  // namespace csi_proxy::transport
