#include "client/grpc/endpoint.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <grpcpp/server.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/pipe/io_port.h"
#include "src/core/ext/transport/chttp2/transport/chttp2_transport.h"
#include "src/core/lib/channel/channel_args_preconditioning.h"
#include "src/core/lib/config/core_configuration.h"
#include "src/core/lib/iomgr/endpoint.h"
#include "src/core/lib/iomgr/exec_ctx.h"
#include "src/core/lib/slice/slice_internal.h"
#include "src/core/lib/surface/channel.h"
#include "src/core/lib/surface/server.h"
#include "src/cpp/client/create_channel_internal.h"

namespace csi_proxy::pipe {
namespace {

constexpr size_t kReadBytes = 8 << 10;

// Prepares an IoPort thread to run gRPC's code. Must be the first object on the thread's stack.
class InCompletion {
  // The destructors of these members run gRPC's callbacks.
  grpc_core::ApplicationCallbackExecCtx callbacks_;
  grpc_core::ExecCtx context_;
};

// Keeps gRPC running after its last channel or server, because a connection that ends on an IoPort
// thread still needs gRPC's executor.
void KeepGrpc() {
  [[maybe_unused]] static const bool kept = [] {
    grpc_init();
    return true;
  }();
}

void Append(const grpc_slice_buffer& slices, std::string* text) {
  text->reserve(text->size() + slices.length);
  for (size_t i = 0; i < slices.count; ++i) {
    text->append(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slices.slices[i])),
                 GRPC_SLICE_LENGTH(slices.slices[i]));
  }
}

// Makes a stream an endpoint of gRPC. gRPC and each operation under way hold a reference.
class Endpoint final : public grpc_endpoint {
 public:
  explicit Endpoint(Connection connection) : connection_(std::move(connection)) {
    vtable = &kVtable;
  }

  // Returns a function that shuts the endpoint down. The function owns a reference.
  std::function<void()> Closer() {
    Ref();
    const std::shared_ptr<Endpoint> kept(this, [](Endpoint* self) { self->Unref(); });
    return [kept] { kept->Shutdown(); };
  }

 private:
  static const grpc_endpoint_vtable kVtable;

  static Endpoint* From(grpc_endpoint* endpoint) { return static_cast<Endpoint*>(endpoint); }

  ~Endpoint() { NotifyClosed(); }

  // Reports the end before destruction, because a broken connection's endpoint lives as long as
  // its channel.
  void NotifyClosed() {
    if (!notified_.exchange(true) && connection_.closed) connection_.closed();
  }

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Keeps the endpoint, because an operation may end before the call that began it returns.
  class Hold {
   public:
    explicit Hold(Endpoint* endpoint) : endpoint_(endpoint) { endpoint->Ref(); }
    ~Hold() { endpoint_->Unref(); }

   private:
    Endpoint* const endpoint_;
  };

  grpc_error_handle Failure(const char* what, DWORD code) const {
    return grpc_error_set_int(GRPC_ERROR_CREATE(absl::StrCat(connection_.stream->kind(), " ", what,
                                                             ": ", win32::ErrorText(code))),
                              grpc_core::StatusIntProperty::kRpcStatus, GRPC_STATUS_UNAVAILABLE);
  }

  void Read(grpc_slice_buffer* slices, grpc_closure* done) {
    // Frees the array of slices, because a read of many frames may enlarge it. A reset would keep
    // the array.
    grpc_slice_buffer_destroy(slices);
    grpc_slice_buffer_init(slices);
    read_slices_ = slices;
    read_done_ = done;
    Ref();
    const Hold hold(this);
    Stream::Result result{.error = ERROR_OPERATION_ABORTED};
    if (shut_down_ || connection_.stream->Read(read_.data(), static_cast<DWORD>(read_.size()),
                                               &Completed<&Endpoint::EndRead>, this, &result)) {
      EndRead(result.error, result.bytes);
    } else if (shut_down_) {
      // Another thread shut the endpoint down between the two conditions. It could not cancel the
      // read, because the read had not begun.
      connection_.stream->Cancel();
    }
  }

  void EndRead(DWORD error, DWORD bytes) {
    grpc_closure* const done = std::exchange(read_done_, nullptr);
    grpc_error_handle failure;
    const absl::string_view read(read_.data(), bytes);
    if (error == ERROR_SUCCESS && !read.empty() && connection_.admits != nullptr &&
        !connection_.admits(read)) {
      error = ERROR_INVALID_DATA;
      // Without Disconnect(), an unread write would keep gRPC from closing the connection.
      connection_.stream->Disconnect();
      Shutdown();
    }
    if (error == ERROR_SUCCESS && bytes > 0) {
      // The slice is no larger than its content, because gRPC 1.51 keeps all slices of an
      // incomplete message (frame_data.cc).
      grpc_slice_buffer_add(read_slices_, grpc_slice_from_copied_buffer(read.data(), read.size()));
    } else {
      NotifyClosed();
      failure = Failure("read", error == ERROR_SUCCESS ? DWORD{ERROR_BROKEN_PIPE} : error);
    }
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, done, failure);
    Unref();
  }

  void Write(grpc_slice_buffer* slices, grpc_closure* done) {
    Ref();
    write_done_ = done;
    if (slices->count == 1) {
      // gRPC keeps the slice until the write has ended.
      left_ = {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slices->slices[0])),
               GRPC_SLICE_LENGTH(slices->slices[0])};
    } else {
      // A pipe has no gathering write, so small slices are joined for one system call.
      joined_.clear();
      Append(*slices, &joined_);
      left_ = joined_;
    }
    WriteOn();
  }

  void WriteOn() {
    const Hold hold(this);
    Stream::Result result;
    while (!left_.empty()) {
      if (shut_down_) return EndWrite(ERROR_OPERATION_ABORTED);
      if (!connection_.stream->Write(left_.data(), static_cast<DWORD>(left_.size()),
                                     &Completed<&Endpoint::Written>, this, &result)) {
        if (shut_down_) connection_.stream->Cancel();
        return;
      }
      if (result.error != ERROR_SUCCESS) return EndWrite(result.error);
      left_.remove_prefix(result.bytes);
    }
    EndWrite(ERROR_SUCCESS);
  }

  void Written(DWORD error, DWORD bytes) {
    if (error != ERROR_SUCCESS) return EndWrite(error);
    left_.remove_prefix(bytes);
    WriteOn();
  }

  void EndWrite(DWORD error) {
    grpc_closure* const done = std::exchange(write_done_, nullptr);
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, done,
                            error == ERROR_SUCCESS ? absl::OkStatus() : Failure("write", error));
    Unref();
  }

  void Shutdown() {
    // Hangs up now, not in the destructor, because gRPC may keep the endpoint.
    if (!shut_down_.exchange(true)) connection_.stream->HangUp();
    NotifyClosed();
  }

  template <void (Endpoint::*End)(DWORD, DWORD)>
  static void Completed(void* argument, DWORD error, DWORD bytes) {
    const InCompletion here;
    (static_cast<Endpoint*>(argument)->*End)(error, bytes);
  }

  Connection connection_;
  std::atomic<int> references_ = 1;
  std::atomic<bool> shut_down_ = false;
  std::atomic<bool> notified_ = false;

  grpc_slice_buffer* read_slices_ = nullptr;
  grpc_closure* read_done_ = nullptr;
  // The buffer of every read. Reads copy the bytes out of it.
  std::array<char, kReadBytes> read_;

  grpc_closure* write_done_ = nullptr;
  absl::string_view left_;
  std::string joined_;
};

const grpc_endpoint_vtable Endpoint::kVtable = {
    .read = [](grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool,
               int) { From(endpoint)->Read(slices, done); },
    .write = [](grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void*,
                int) { From(endpoint)->Write(slices, done); },
    // Completions arrive through the IoPort, so gRPC need not poll.
    .add_to_pollset = [](grpc_endpoint*, grpc_pollset*) {},
    .add_to_pollset_set = [](grpc_endpoint*, grpc_pollset_set*) {},
    .delete_from_pollset_set = [](grpc_endpoint*, grpc_pollset_set*) {},
    .shutdown = [](grpc_endpoint* endpoint, grpc_error_handle) { From(endpoint)->Shutdown(); },
    .destroy =
        [](grpc_endpoint* endpoint) {
          From(endpoint)->Shutdown();
          From(endpoint)->Unref();
        },
    .get_peer = [](grpc_endpoint* endpoint) -> absl::string_view {
      return From(endpoint)->connection_.name;
    },
    .get_local_address = [](grpc_endpoint* endpoint) -> absl::string_view {
      return From(endpoint)->connection_.stream->kind();
    },
    .get_fd = [](grpc_endpoint*) { return -1; },
    .can_track_err = [](grpc_endpoint*) { return false; },
};

// Returns a closure that calls `todo` unless gRPC reports an error.
grpc_closure* OnSuccess(std::function<void()> todo) {
  return GRPC_CLOSURE_CREATE(
      [](void* argument, grpc_error_handle error) {
        const std::unique_ptr<std::function<void()>> owned(
            static_cast<std::function<void()>*>(argument));
        if (error.ok() && *owned) (*owned)();
      },
      new std::function<void()>(std::move(todo)), nullptr);
}

}  // namespace

void Serve(grpc::Server* server, Connection connection) {
  KeepGrpc();
  const InCompletion here;
  grpc_core::Server* const core = grpc_core::Server::FromC(server->c_server());
  const grpc_core::ChannelArgs arguments = core->channel_args();
  // grpc_chttp2_transport_start_reading() empties `received` and frees it by gpr_free().
  auto* const received = static_cast<grpc_slice_buffer*>(gpr_malloc(sizeof(grpc_slice_buffer)));
  grpc_slice_buffer_init(received);
  grpc_slice_buffer_add(received, grpc_slice_from_cpp_string(std::move(connection.received)));
  grpc_transport* const transport = grpc_create_chttp2_transport(
      arguments, new Endpoint(std::move(connection)), /*is_client=*/false);
  if (core->SetupTransport(transport, nullptr, arguments, nullptr).ok()) {
    grpc_chttp2_transport_start_reading(transport, received, nullptr, nullptr);
  } else {
    // The server is shutting down and has not taken over `transport` and `received`.
    grpc_transport_destroy(transport);
    grpc_slice_buffer_destroy(received);
    gpr_free(received);
  }
}

Channel NewChannel(std::unique_ptr<Stream> stream, ChannelEvents events,
                   std::function<bool(absl::string_view bytes)> admits) {
  KeepGrpc();
  const char* const kind = stream->kind();
  Channel made;
  {
    grpc_core::ApplicationCallbackExecCtx callback_context;
    grpc_core::ExecCtx context;
    const grpc_core::ChannelArgs arguments = grpc_core::CoreConfiguration::Get()
                                                 .channel_args_preconditioning()
                                                 .PreconditionChannelArgs(nullptr)
                                                 .Set(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    auto* const endpoint = new Endpoint({.stream = std::move(stream),
                                         .received = "",
                                         .name = kind,
                                         .admits = std::move(admits),
                                         .closed = std::move(events.closed)});
    made.close = endpoint->Closer();
    grpc_transport* const transport =
        grpc_create_chttp2_transport(arguments, endpoint, /*is_client=*/true);
    auto channel =
        grpc_core::Channel::Create(kind, arguments, GRPC_CLIENT_DIRECT_CHANNEL, transport);
    if (channel.ok()) {
      grpc_chttp2_transport_start_reading(transport, nullptr, OnSuccess(std::move(events.answered)),
                                          nullptr);
      made.channel = grpc::CreateChannelInternal("", channel->release()->c_ptr(), {});
    } else {
      grpc_transport_destroy(transport);
    }
  }
  return made;
}

}  // namespace csi_proxy::pipe
