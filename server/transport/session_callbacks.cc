#include <limits>

#include "server/transport/nghttp2_session.h"

namespace csi_proxy::transport {
namespace {

absl::string_view Text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

const nghttp2_session_callbacks* Nghttp2Session::NewCallbacks() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_frame_callback(
      callbacks, [](auto*, auto* frame, void* self) { return Of(self).OnBeginFrame(*frame), 0; });
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](auto*, auto* frame, void* self) { return Of(self).OnBeginHeaders(*frame), 0; });
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

const nghttp2_option* Nghttp2Session::NewOptions() {
  nghttp2_option* options = nullptr;
  nghttp2_option_new(&options);
  // nghttp2 would refuse the `:authority` of released Go clients, so BeginCall() checks headers.
  nghttp2_option_set_no_http_messaging(options, 1);
  nghttp2_option_set_no_auto_window_update(options, 1);
  // The account counts resets, over all connections of the client and by a clock of its own.
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  nghttp2_option_set_stream_reset_rate_limit(options, kAny, kAny);
  // nghttp2 counts a CONTINUATION once for each piece in which its frame header arrives, so this
  // limit is loose. OnBeginFrame() counts exactly, but is not called for header blocks that nghttp2
  // drops. These have only this limit.
  nghttp2_option_set_max_continuations(options, 10 * Http2Limits().continuations);
  for (int type = NGHTTP2_CONTINUATION + 1; type <= std::numeric_limits<uint8_t>::max(); ++type) {
    nghttp2_option_set_user_recv_extension_type(options, static_cast<uint8_t>(type));
  }
  return options;
}

}  // namespace csi_proxy::transport
