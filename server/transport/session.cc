#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "server/transport/nghttp2_session.h"

namespace csi_proxy::transport {
namespace {

// Large enough that only the windows of calls limit a client that has acknowledged the settings:
// 256 calls may send 4 MiB unasked, and the account's room has 1 MiB.
constexpr int32_t kConnectionWindow = 16 << 20;

// Charges queued frames in steps, so that a session with few of them does not call the account.
constexpr size_t kQueueStep = 16;

// RFC 9113, section 4.1.
constexpr size_t kFrameHeader = 9;

// The violations that OnInvalidFrame() does not see. For these nghttp2 sends a GOAWAY, whose code
// stands for the violation. Any other code means kStream.
constexpr struct {
  uint32_t code;
  Http2Violation violation;
} kGoAwayReasons[] = {
    {NGHTTP2_FRAME_SIZE_ERROR, Http2Violation::kFrameSize},
    {NGHTTP2_COMPRESSION_ERROR, Http2Violation::kHeaderBlock},
    {NGHTTP2_FLOW_CONTROL_ERROR, Http2Violation::kUnfinished},
    {NGHTTP2_ENHANCE_YOUR_CALM, Http2Violation::kControlFrames},
};

}  // namespace

Nghttp2Session::Nghttp2Session(const SessionOptions& options, std::shared_ptr<Http2Account> account,
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
      // With this setting nghttp2 builds no tree of the streams' priorities (CVE-2019-9513).
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

Nghttp2Session::~Nghttp2Session() {
  nghttp2_session_del(session_);
  account_->Drop(part_held_ + queue_held_);
}

void Nghttp2Session::Receive(absl::string_view bytes, Http2Time now) {
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
  HoldQueue();
}

void Nghttp2Session::GoAway() {
  if (std::exchange(going_away_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void Nghttp2Session::Cancel() {
  for (const auto& [id, call] : calls_) CancelCall(id, *call);
}

void Nghttp2Session::Send(size_t most, std::string* bytes) {
  while (bytes->size() < most) {
    const uint8_t* frame = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &frame);
    if (size < 0) return End(Http2Violation::kStream);
    if (size == 0) break;
    bytes->append(reinterpret_cast<const char*>(frame), static_cast<size_t>(size));
  }
  HoldQueue();
}

bool Nghttp2Session::ended() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

Call* Nghttp2Session::Find(CallId id) const {
  const auto found = calls_.find(id);
  return found != calls_.end() ? found->second.get() : nullptr;
}

void Nghttp2Session::End(Http2Violation violation) {
  Violate(violation);
  nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Nghttp2Session::EndForMemory(size_t bytes) {
  if (!account_->MayHold(bytes)) return End(Http2Violation::kUnfinished);
  ends_without_fault_ = true;
  nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Nghttp2Session::Violate(Http2Violation violation) {
  if (violation_ != Http2Violation::kNone) return;
  violation_ = violation;
  // A barred client does not prolong its bar.
  if (violation != Http2Violation::kBarred) account_->CountViolation(now_);
  Cancel();
}

void Nghttp2Session::Pay(double price) {
  if (!account_->PayControlFrames(price, now_)) End(Http2Violation::kControlFrames);
}

void Nghttp2Session::PayReset() {
  if (!account_->PayReset(now_)) End(Http2Violation::kResets);
}

void Nghttp2Session::CancelCall(CallId id, Call& call) {
  if (std::exchange(call.finished, true)) return;
  if (call.begun) handler_.OnCancel(id);
  call.status = absl::UnavailableError("the connection has ended");
  DropRequest(call);
  if (std::exchange(call.unfinished, false)) account_->EndRequest();
}

void Nghttp2Session::DropRequest(Call& call) {
  call.room.reset();
  call.reader = MessageReader();
  call.message = std::string();
  account_->Drop(std::exchange(call.request_held, 0));
}

void Nghttp2Session::Hold(uint64_t bytes, uint64_t* held) {
  if (bytes <= *held) {
    account_->Drop(*held - bytes);
  } else if (!account_->Hold(bytes - *held)) {
    return EndForMemory(bytes - *held);
  }
  *held = bytes;
}

void Nghttp2Session::HoldPart() {
  Hold(2 * std::min(received_ - begin_, part_bytes_), &part_held_);
}

void Nghttp2Session::HoldQueue() {
  const size_t queued = nghttp2_session_get_outbound_queue_size(session_);
  if (queued > account_->limits().queued_frames) return End(Http2Violation::kControlFrames);
  Hold(queued / kQueueStep * kQueueStep * account_->limits().queued_frame_bytes, &queue_held_);
}

void Nghttp2Session::OnBeginFrame(const nghttp2_frame_hd& frame) {
  HoldQueue();
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
      // Charges trailers, and a call after this session's GOAWAY.
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

void Nghttp2Session::OnFrame(const nghttp2_frame& frame) {
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

void Nghttp2Session::Acknowledged() {
  if (std::exchange(acknowledged_, true)) return;
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  // The settings have made the windows of open calls smaller.
  OpenWindows();
}

void Nghttp2Session::OnInvalidFrame(const nghttp2_frame& frame, int error) {
  part_bytes_ = 0;
  if (error == NGHTTP2_ERR_REFUSED_STREAM) return;
  if (error == NGHTTP2_ERR_FLOW_CONTROL && frame.hd.stream_id != 0) return;
  // A client that closes its connection may name any stream as the server's last stream: grpc-go
  // names an odd stream (internal/transport/http2_client.go, outgoingGoAwayHandler). nghttp2 then
  // ends the session, as the client wants.
  if (frame.hd.type == NGHTTP2_GOAWAY) {
    ends_without_fault_ = true;
    return;
  }
  const bool opens = frame.hd.type == NGHTTP2_HEADERS && calls_.size() >= options_.max_calls;
  Violate(opens ? Http2Violation::kStreams : Http2Violation::kStream);
}

void Nghttp2Session::OnFrameSent(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      // Resets a stream whose answer ended before its request. Waits until the headers are sent,
      // because nghttp2 drops the headers of a stream that is about to be reset.
      if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
          nghttp2_session_get_stream_remote_close(session_, frame.hd.stream_id) == 0) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                                  NGHTTP2_NO_ERROR);
      }
      return;
    case NGHTTP2_RST_STREAM:
      // Another process of the tenant may have filled the memory.
      if (memory_refusals_ > 0 && frame.rst_stream.error_code == NGHTTP2_REFUSED_STREAM) {
        --memory_refusals_;
        return;
      }
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

void Nghttp2Session::OnStreamClosed(CallId id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  CancelCall(id, *found->second);
  calls_.erase(found);
}

std::unique_ptr<Session> Session::New(const SessionOptions& options,
                                      std::shared_ptr<Http2Account> account,
                                      SessionHandler* handler) {
  return std::make_unique<Nghttp2Session>(options, std::move(account), handler);
}

}  // namespace csi_proxy::transport
