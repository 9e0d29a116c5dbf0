// Feeds a client's bytes to the server's end of a pipe in reads of any size that complete at once
// or later. The order of completion must not matter: all honest calls are answered, and every
// connection ends without leaving anything behind. The endpoint, the guard and gRPC are the
// product's; the pipe and the completion port are fakes.
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/http2_guard.h"
#include "server/rpc/pipe/endpoint.h"
#include "server/rpc/pipe/io_port.h"
#include "server/rpc/pipe_listener_windows.h"
#include "server/rpc/pipe_server.h"

namespace csi_proxy {

std::string win32::ErrorText(DWORD code) { return absl::StrCat("error ", code); }

namespace pipe {
namespace {

struct Posts {
  std::mutex mutex;
  std::condition_variable more;
  std::deque<std::function<void()>> queue;
};
Posts& PostsOfPort() {
  static auto* const posts = new Posts();
  return *posts;
}

}  // namespace

IoPort& IoPort::Get() {
  static auto* const port = new IoPort([](auto work) { return std::thread(std::move(work)); });
  return *port;
}

IoPort::IoPort(ThreadStarter start_thread) : start_thread_(std::move(start_thread)) {
  for (int i = 0; i < 2; ++i) threads_.push_back(*start_thread_([this] { Run(); }));
}

size_t IoPort::thread_count() { return threads_.size(); }

bool IoPort::Post(std::function<void()> work) {
  Posts& posts = PostsOfPort();
  const std::lock_guard lock(posts.mutex);
  posts.queue.push_back(std::move(work));
  posts.more.notify_one();
  return true;
}

void IoPort::Run() {
  Posts& posts = PostsOfPort();
  while (true) {
    std::unique_lock lock(posts.mutex);
    posts.more.wait(lock, [&] { return !posts.queue.empty(); });
    const std::function<void()> work = std::move(posts.queue.front());
    posts.queue.pop_front();
    lock.unlock();
    work();
  }
}

namespace {

// Makes choices from the input's first bytes, repeated.
class Choices {
 public:
  explicit Choices(absl::string_view bytes) : bytes_(bytes) {}
  uint8_t Next() { return static_cast<uint8_t>(bytes_[turn_++ % bytes_.size()]); }

 private:
  const absl::string_view bytes_;
  size_t turn_ = 0;
};

// The client of a pipe, which counts the answers.
class Client {
 public:
  // Hangs up after `calls` answers, or when the server ends the connection.
  explicit Client(size_t calls) : calls_(calls) {}

  void Take(absl::string_view bytes) {
    rpc::Http2Frame frame;
    while (frames_.Next(&bytes, &frame)) {
      constexpr uint8_t kHeaders = 1, kReset = 3, kEndStream = 1;
      if (frame.type == kHeaders && (frame.flags & kEndStream) != 0) ++answers_;
      // The server must not reset a stream of an honest client.
      if (frame.type == kReset) ++resets_;
    }
  }
  bool done() const { return answers_ >= calls_; }
  bool honest_was_served() const { return answers_ == calls_ && resets_ == 0; }

 private:
  const size_t calls_;
  rpc::Http2Frames frames_;
  size_t answers_ = 0;
  size_t resets_ = 0;
};

// The server's end of a pipe whose client sends `input`.
class FakePipe final : public Stream {
 public:
  FakePipe(std::string input, absl::string_view choices, Client* client,
           absl::Notification* destroyed)
      : input_(std::move(input)),
        reads_(choices),
        writes_(choices.substr(1)),
        client_(*client),
        destroyed_(*destroyed) {}
  ~FakePipe() override { destroyed_.Notify(); }

  const char* kind() const override { return "pipe"; }

  bool Read(void* buffer, DWORD size, Done done, void* argument, Result* result) override {
    const std::lock_guard lock(mutex_);
    if (read_done_ != nullptr) std::abort();
    const uint8_t choice = reads_.Next();
    if (at_ == input_.size() && !over()) {
      read_done_ = done;
      read_argument_ = argument;
      return false;
    }
    if (over()) {
      *result = {.error = ERROR_BROKEN_PIPE, .bytes = 0};
    } else {
      const size_t bytes = std::min<size_t>({size, size_t{1} + choice / 2, input_.size() - at_});
      input_.copy(static_cast<char*>(buffer), bytes, at_);
      at_ += bytes;
      *result = {.error = ERROR_SUCCESS, .bytes = static_cast<DWORD>(bytes)};
    }
    return CompletedSynchronously(choice % 2 == 0, done, argument, *result);
  }

  bool Write(const void* data, DWORD size, Done done, void* argument, Result* result) override {
    const std::lock_guard lock(mutex_);
    const uint8_t choice = writes_.Next();
    if (disconnected_ || hung_up_) {
      *result = {.error = ERROR_BROKEN_PIPE, .bytes = 0};
    } else {
      const DWORD bytes = std::min<DWORD>(size, choice < 16 ? 1 + choice : size);
      client_.Take({static_cast<const char*>(data), bytes});
      *result = {.error = ERROR_SUCCESS, .bytes = bytes};
      if (at_ == input_.size() && client_.done()) EndRead(ERROR_BROKEN_PIPE);
    }
    return CompletedSynchronously(choice % 2 == 0, done, argument, *result);
  }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    EndRead(ERROR_OPERATION_ABORTED);
  }
  void Disconnect() override {
    const std::lock_guard lock(mutex_);
    disconnected_ = true;
    EndRead(ERROR_BROKEN_PIPE);
  }
  void HangUp() override {
    const std::lock_guard lock(mutex_);
    hung_up_ = true;
    EndRead(ERROR_BROKEN_PIPE);
  }

 private:
  bool over() const {
    return disconnected_ || hung_up_ || (at_ == input_.size() && client_.done());
  }

  // Returns true if the operation completes at once; otherwise completes it on a thread of the
  // port.
  static bool CompletedSynchronously(bool at_once, Done done, void* argument, Result result) {
    if (at_once) return true;
    IoPort::Get().Post([=] { done(argument, result.error, result.bytes); });
    return false;
  }

  void EndRead(DWORD error) {
    if (read_done_ == nullptr) return;
    IoPort::Get().Post([done = std::exchange(read_done_, nullptr), argument = read_argument_,
                        error] { done(argument, error, 0); });
  }

  const std::string input_;
  std::mutex mutex_;
  Choices reads_;
  Choices writes_;
  Client& client_;
  absl::Notification& destroyed_;
  size_t at_ = 0;
  bool disconnected_ = false;
  bool hung_up_ = false;
  Done read_done_ = nullptr;
  void* read_argument_ = nullptr;
};

class Guarded final : public Watcher {
 public:
  bool Read(absl::string_view bytes, std::vector<absl::string_view>* pieces) override {
    return guard_.Received(bytes, Now(), pieces) == rpc::Http2Violation::kNone;
  }
  void Written(absl::string_view bytes) override { guard_.Sent(bytes, Now()); }

 private:
  static rpc::Http2Time Now() { return rpc::Http2Time::clock::now(); }
  rpc::Http2Guard guard_;
};

// Returns a call of grpc.health.v1.Health.Check, which every pipe answers. Its message has
// `padding` bytes in an unknown field (RFC 7541, appendix A has the header indices).
std::string HonestCall(uint32_t stream, uint8_t padding) {
  static const std::string* const kHeaders = new std::string(absl::StrCat(
      "\x83\x86", absl::string_view("\x04\x1c", 2), "/grpc.health.v1.Health/Check",
      absl::string_view("\x01\x09", 2), "localhost", absl::string_view("\x0f\x10\x10", 3),
      "application/grpc", absl::string_view("\x00\x02te\x08trailers", 13)));
  // Field 3, length-delimited. Its length has one or two bytes.
  std::string message("\x1a");
  if (padding >= 0x80) message.push_back(static_cast<char>(padding));
  message.push_back(static_cast<char>(padding >= 0x80 ? 1 : padding));
  message.append(padding, 'p');
  std::string data(4, '\0');
  data.push_back(static_cast<char>(message.size()));
  if (message.size() > 0xff) {
    data[3] = static_cast<char>(message.size() >> 8);
    data[4] = static_cast<char>(message.size());
  }
  data.append(message);
  return absl::StrCat(rpc::Frame(rpc::kHeaders, rpc::kEndHeaders, stream, *kHeaders),
                      rpc::Frame(rpc::kData, rpc::kEndStream, stream, data));
}

// The input's calls and raw bytes. A byte below 0x40 is an honest call; any other byte minus 0x40
// is the number of bytes that follow and are sent unchanged.
struct Script {
  std::string bytes = rpc::Frame(rpc::kSettings, 0, 0, "");
  size_t calls = 0;
  bool honest = true;
};
Script Read(absl::string_view input) {
  constexpr size_t kMostCalls = 100;  // below each of the guard's limits
  Script script;
  while (!input.empty() && script.calls < kMostCalls) {
    const auto kind = static_cast<uint8_t>(input[0]);
    input.remove_prefix(1);
    if (kind < 0x40) {
      const uint32_t stream = 1 + 2 * static_cast<uint32_t>(script.calls++);
      absl::StrAppend(&script.bytes, HonestCall(stream, static_cast<uint8_t>(kind * 4)));
    } else {
      script.honest = false;
      absl::StrAppend(&script.bytes, input.substr(0, kind - 0x40));
      input.remove_prefix(std::min<size_t>(input.size(), kind - 0x40));
    }
  }
  return script;
}

}  // namespace
}  // namespace pipe
}  // namespace csi_proxy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace csi_proxy;  // NOLINT: a program of its own
  static rpc::PipeServer* const server =
      rpc::PipeServer::Create("csi-proxy-fuzz-v1", "grpc.health.v1.Health",
                              std::make_unique<grpc::Service>(), {})
          ->release();
  constexpr size_t kChoices = 16;
  if (size <= kChoices) return 0;
  const absl::string_view all(reinterpret_cast<const char*>(data), size);
  const pipe::Script script = pipe::Read(all.substr(kChoices));
  absl::Notification closed;
  absl::Notification destroyed;
  // Waits for the answers only if all bytes belong to honest calls.
  pipe::Client client(script.honest ? script.calls : 0);
  server->Serve(std::make_unique<rpc::ReadyPipe>(pipe::Connection{
                    .stream = std::make_shared<pipe::FakePipe>(
                        script.bytes, all.substr(0, kChoices), &client, &destroyed),
                    .received = std::string(rpc::kHttp2Preface),
                    .name = "the client",
                    .watcher = std::make_unique<pipe::Guarded>(),
                    .closed = [&] { closed.Notify(); }}),
                /*is_main=*/true);
  // A wait without end is a finding, because libFuzzer limits the time.
  closed.WaitForNotification();
  destroyed.WaitForNotification();
  if (script.honest && !client.honest_was_served()) std::abort();
  return 0;
}
