#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/transport/nghttp2_session.h"

namespace csi_proxy::transport {
namespace {

// Returns the headers that carry a status.
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

}  // namespace

void Nghttp2Session::Write(CallId id, absl::string_view message) {
  Call* const call = Find(id);
  if (call == nullptr || call->finished || violation_ != Http2Violation::kNone) return;
  // Frees what was sent, so that the memory of many answers does not grow.
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

void Nghttp2Session::Finish(CallId id, const absl::Status& status) {
  Call* const call = Find(id);
  if (call == nullptr || call->finished || violation_ != Http2Violation::kNone) return;
  Close(id, call, status);
}

void Nghttp2Session::Close(CallId id, Call* call, const absl::Status& status, Headers headers) {
  call->finished = true;
  DropRequest(*call);
  call->status = status;
  if (call->has_head) return SendData(id, call);
  for (auto& header : StatusHeaders(status)) headers.push_back(std::move(header));
  const std::vector<nghttp2_nv> fields = ForNghttp2(headers);
  nghttp2_submit_response(session_, id, fields.data(), fields.size(), nullptr);
}

void Nghttp2Session::Refuse(CallId id, Call* call, const absl::Status& status, Headers headers) {
  if (call->begun) handler_.OnCancel(id);
  Close(id, call, status, std::move(headers));
}

void Nghttp2Session::SendData(CallId id, Call* call) {
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

void Nghttp2Session::FreeSent(Call* call) {
  if (call->answer_sent < call->answer_held()) return;
  account_->Drop(call->answer_sent);
  call->answer = call->answer.substr(std::exchange(call->answer_sent, 0));
}

ssize_t Nghttp2Session::ReadAnswer(CallId id, uint8_t* bytes, size_t most, uint32_t* flags) {
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

}  // namespace csi_proxy::transport
