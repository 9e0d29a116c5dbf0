#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/transport/nghttp2_session.h"

namespace csi_proxy::transport {
namespace {

constexpr std::array<absl::string_view, kFields> kFieldNames = {":method", ":path", "content-type",
                                                                "grpc-timeout", "traceparent"};

// The most bytes that a call keeps of a header of kFieldNames. The values that the session uses are
// shorter.
constexpr size_t kKeptFieldBytes = 256;

// The bytes that a request takes beside its message: its objects and the kept headers.
constexpr size_t kRequestBytes = 1 << 10;

}  // namespace

void Nghttp2Session::OpenWindows() {
  for (const auto& [id, call] : calls_) OpenWindow(id, *call);
}

void Nghttp2Session::OnBeginHeaders(const nghttp2_frame& frame) {
  // The GOAWAY says that later calls were not begun, so clients may make these calls again.
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST || going_away_) return;
  const std::optional<Http2Violation> refused = account_->BeginCall();
  if (!refused.has_value()) {
    ++memory_refusals_;
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                              NGHTTP2_REFUSED_STREAM);
    return;
  }
  if (*refused != Http2Violation::kNone) return End(*refused);
  calls_.emplace(frame.hd.stream_id, std::make_unique<Call>(account_));
}

int Nghttp2Session::OnHeader(const nghttp2_frame& frame, absl::string_view name,
                             absl::string_view value) {
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

void Nghttp2Session::BeginCall(CallId id) {
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

void Nghttp2Session::OnData(CallId id, absl::string_view bytes) {
  if (acknowledged_) nghttp2_session_consume_connection(session_, bytes.size());
  Call* const call = Find(id);
  // Drops bytes for a call that has been answered, and does not raise the call's window.
  if (call == nullptr || call->finished || violation_ != Http2Violation::kNone) return;
  for (;;) {
    if (call->has_message && !bytes.empty()) {
      return Refuse(id, call, absl::InternalError("the call has two requests"));
    }
    switch (call->reader.Take(&bytes)) {
      case MessageReader::Event::kNeedsMore:
        // Opens the window only after the last byte, because nghttp2 has counted all of `bytes`
        // against the window.
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
          if (call->finished) return;
        } else {
          call->has_message = true;
        }
    }
  }
}

bool Nghttp2Session::BeginMessage(CallId id, Call* call) {
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

void Nghttp2Session::OpenWindow(CallId id, Call& call) {
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

void Nghttp2Session::Widen(CallId id, size_t bytes, size_t spare) {
  const int32_t window = nghttp2_session_get_stream_effective_local_window_size(session_, id) -
                         nghttp2_session_get_stream_effective_recv_data_length(session_, id);
  const int32_t more = static_cast<int32_t>(bytes) - window;
  if (more > static_cast<int32_t>(spare)) {
    nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, id, more);
  }
}

void Nghttp2Session::Hold(Call& call) {
  if (call.room != nullptr && call.room->granted()) return;
  const size_t more = call.reader.kept() + call.message.size() - call.request_held;
  if (!account_->Hold(more)) return EndForMemory(more);
  call.request_held += more;
}

void Nghttp2Session::HandOver(CallId id, Call& call) {
  account_->Drop(std::exchange(call.request_held, 0));
  // A message without granted room came before the client knew the windows. It is handed over
  // without a room, because a waiting room must not outlive the handler.
  if (call.room != nullptr && !call.room->granted()) call.room.reset();
  Request request;
  if (call.method == Method::kManyRequests) {
    const size_t bytes = kRequestBytes + (call.room == nullptr ? call.message.size() : 0);
    if (!account_->Hold(bytes)) {
      return Refuse(id, &call,
                    absl::ResourceExhaustedError(
                        "the requests and answers of this client that wait take too much memory; "
                        "read answers before you send more requests"));
    }
    request.held = std::make_unique<HeldBytes>(account_, bytes);
  }
  call.begun = true;
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

void Nghttp2Session::EndRequest(CallId id) {
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

}  // namespace csi_proxy::transport
