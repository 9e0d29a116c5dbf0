#include "server/transport/pipe_stream_windows.h"

#include <array>
#include <atomic>
#include <functional>
#include <utility>

#include "server/pipe/io_port.h"

namespace csi_proxy::transport {
namespace {

// The bytes of one read.
constexpr size_t kReadBytes = 8 << 10;

// The stream of a Connection over a server's end of a pipe.
class PipeEnd final : public Stream {
 public:
  PipeEnd(std::unique_ptr<pipe::PipeStream> pipe, const void* tenant)
      : pipe_(std::move(pipe)), tenant_(tenant) {}

  bool Read(absl::string_view* bytes) override {
    *bytes = "";
    if (is_over_) return true;
    pipe::Stream::Result result;
    if (pipe_->Read(
            read_.data(), read_.size(),
            [](void* self, DWORD error, DWORD size) {
              auto* const pipe = static_cast<PipeEnd*>(self);
              pipe->events_->OnRead(pipe->Bytes(error, size));
            },
            this, &result)) {
      *bytes = Bytes(result.error, result.bytes);
      return true;
    }
    CancelIfOver();
    return false;
  }

  bool Write(absl::string_view bytes, bool* ok) override {
    left_ = bytes;
    return WriteOn(ok);
  }

  void HangUp() override {
    if (!is_over_.exchange(true)) pipe_->HangUp();
  }
  void Disconnect() override {
    is_over_ = true;
    pipe_->Disconnect();
  }
  bool Post(std::function<void()> work) override {
    return pipe::IoPort::Get().Post(std::move(work), tenant_);
  }

 private:
  absl::string_view Bytes(DWORD error, DWORD size) const {
    return error == ERROR_SUCCESS ? absl::string_view(read_.data(), size) : "";
  }

  // Writes what is left, until a write does not end synchronously.
  bool WriteOn(bool* ok) {
    while (!left_.empty()) {
      if (is_over_) break;
      pipe::Stream::Result result;
      if (!pipe_->Write(
              left_.data(), static_cast<DWORD>(left_.size()),
              [](void* self, DWORD error, DWORD size) {
                static_cast<PipeEnd*>(self)->Written(error, size);
              },
              this, &result)) {
        CancelIfOver();
        return false;
      }
      if (result.error != ERROR_SUCCESS) break;
      left_.remove_prefix(result.bytes);
    }
    *ok = left_.empty();
    return true;
  }

  void Written(DWORD error, DWORD size) {
    left_.remove_prefix(size);
    bool ok = false;
    if (error != ERROR_SUCCESS || WriteOn(&ok)) events_->OnWritten(ok);
  }

  // Cancels the operation that has begun if the connection has ended: another thread may have ended
  // the connection before the operation began.
  void CancelIfOver() {
    if (is_over_) pipe_->Cancel();
  }

  const std::unique_ptr<pipe::PipeStream> pipe_;
  const void* const tenant_;
  std::atomic<bool> is_over_ = false;
  std::array<char, kReadBytes> read_;
  absl::string_view left_;  // of the write under way
};

}  // namespace

size_t ReadingThreads() { return pipe::IoPort::Get().thread_count(); }

std::shared_ptr<Stream> NewPipeStream(std::unique_ptr<pipe::PipeStream> pipe, const void* tenant) {
  return std::make_shared<PipeEnd>(std::move(pipe), tenant);
}

}  // namespace csi_proxy::transport
