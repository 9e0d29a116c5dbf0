// A listener with a service that keeps its calls, and raw clients, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/listener.h"
#include "server/rpc/pipe_server.h"
#include "server/rpc/preface.h"

namespace csi_proxy::rpc {

// A client's end of a socket or a pipe. Defined by the platform.
class RawClient {
 public:
  // Connects. On Windows retries for five seconds, because all instances may be in use.
  RawClient(const PipePlace& place, const std::string& name);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&& other) = delete;

  bool connected() const;
  bool Send(absl::string_view bytes);
  // Reads until the server ends the connection. Appends the bytes to `*received` if it is not null.
  // Returns false if the server is silent for five seconds; on Windows waits without a limit.
  bool Ended(std::string* received = nullptr);
  void Close();

 private:
  intptr_t handle_;
};

// On Windows each call of TestPipeName() returns a new name.
PipePlace TestPlace();
std::string TestPipeName();

// Keeps the calls that it receives.
class Keeper final : public RemoteService {
 public:
  bool Has(absl::string_view path) const override { return path == "/keep"; }
  void Begin(RemoteCall call) override {
    call.served->BeginCall();
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  std::vector<RemoteCall> TakeAll() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }
  size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<RemoteCall> calls_;
};

class ListenerTest : public testing::Test {
 protected:
  void Start(ListenerLimits limits) {
    listener_ = NewListener(place_, limits);
    const absl::Status status = listener_->Listen({NewServer(&keeper_)});
    ASSERT_TRUE(status.ok()) << status;
  }
  ~ListenerTest() override {
    if (listener_ == nullptr) return;
    listener_->Stop();
    listener_->CloseLive();
    keeper_->TakeAll();
  }

  std::shared_ptr<const PipeServer> NewServer(Keeper** keeper = nullptr) {
    auto service = std::make_unique<Keeper>();
    if (keeper != nullptr) *keeper = service.get();
    return std::make_shared<PipeServer>(name_, "v1.Pipe", std::move(service), ServerLimits());
  }

  RawClient Dial() { return RawClient(place_, name_); }
  ListenerCounters counters() { return listener_->connections().counters(); }

  // Begins a call on a connection that has sent its preface. The keeper keeps the call.
  void BeginCall(RawClient& client) {
    const size_t before = keeper_->calls();
    const std::string headers = Literal(":method", "POST") + Literal(":path", "/keep") +
                                Literal("content-type", "application/grpc");
    ASSERT_TRUE(client.Send(Frame(kSettings, 0, 0, "") + Frame(kHeaders, kEndHeaders, 1, headers) +
                            Frame(kData, kEndStream, 1, std::string(5, '\0'))));
    ASSERT_TRUE(Eventually([&] { return keeper_->calls() == before + 1; }));
  }

  // Returns true if `condition` becomes true within ten seconds.
  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }

  const PipePlace place_ = TestPlace();
  const std::string name_ = TestPipeName();
  Keeper* keeper_ = nullptr;
  std::unique_ptr<Listener> listener_;
};

}  // namespace csi_proxy::rpc
