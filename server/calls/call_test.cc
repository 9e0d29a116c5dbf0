#include "server/calls/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/steady_time.h"
#include "server/names/unicode.h"
#include "server/platform/peer_process.h"

namespace csi_proxy::rpc {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr MethodInfo kMethod = {
    "volume", "v1", "v1.Volume", "MountVolume", "csi-proxy-volume-v1", "/v1.Volume/MountVolume"};

class Recorder final : public CallObserver {
 public:
  void OnStart(const MethodInfo& method) override {
    lines.push_back(absl::StrCat("start ", method.method));
  }
  void OnDone(const MethodInfo& method, const CallContext& call, const absl::Status& status,
              absl::Duration duration) override {
    EXPECT_THAT(call.peer().image_path, HasSubstr("calls_test"));
    EXPECT_GE(duration, absl::ZeroDuration());
    lines.push_back(absl::StrCat(method.method, " ", absl::StatusCodeToString(status.code()),
                                 status.GetPayload("inside").has_value() ? " with payload" : ""));
  }
  std::vector<std::string> lines;
};

class EmbeddedCallTest : public testing::Test {
 protected:
  Recorder recorder_;
  Executor executor_{{.max_threads = 1, .max_queued = 1, .max_blocked = 1}};
  CallDeps deps_{.executor = &executor_, .observers = {&recorder_}, .own_process = OwnProcess()};
};

TEST_F(EmbeddedCallTest, AnEmbeddedCallRunsOnTheCallersThreadAndNotifiesObservers) {
  deps_.max_call_duration = absl::Seconds(5);
  std::thread::id ran;
  const absl::Status status = RunAt(&deps_, kMethod, CallContext(), [&](const CallContext& call) {
    ran = std::this_thread::get_id();
    EXPECT_STREQ(call.pipe(), "csi-proxy-volume-v1");
    EXPECT_GT(call.peer().process_id, 0);
    EXPECT_LE(call.deadline(), SteadyTime::Now() + absl::Seconds(5));
    std::thread other([&] {
      const auto nothing = [](const CallContext&) { return absl::OkStatus(); };
      EXPECT_TRUE(RunAt(&deps_, kMethod, CallContext(), nothing).ok());
    });
    while (executor_.queued() == 0) std::this_thread::yield();
    // The other call, on its own thread, gets the slot that this call yields.
    const YieldSlot yielded(call);
    other.join();
    absl::Status error = absl::NotFoundError("no such volume");
    error.SetPayload("inside", absl::Cord("more"));
    return error;
  });
  EXPECT_EQ(status, absl::NotFoundError("no such volume")) << "code and text alone";
  EXPECT_EQ(ran, std::this_thread::get_id());
  EXPECT_EQ(executor_.threads(), 0u);
  EXPECT_THAT(recorder_.lines, ElementsAre("start MountVolume", "start MountVolume",
                                           "MountVolume OK", "MountVolume NOT_FOUND with payload"));
}

TEST_F(EmbeddedCallTest, ACancelledOrExpiredCallDoesNotRun) {
  absl::Notification cancelled;
  cancelled.Notify();
  const auto never = [](const CallContext&) { return absl::InternalError("ran"); };
  const CallContext gone(SteadyTime::InfiniteFuture(), &cancelled);
  EXPECT_TRUE(absl::IsCancelled(RunAt(&deps_, kMethod, gone, never)));
  deps_.max_call_duration = -absl::Seconds(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunAt(&deps_, kMethod, CallContext(), never)));
}

TEST(StatusForCallerTest, LongErrorsKeepTheirBeginningAndEnd) {
  for (const char* filler : {"x", "ä", "\x80"}) {
    std::string text = "field: ";
    while (text.size() < 40000) text += filler;
    text += ": reason";
    const absl::Status error = StatusForCaller(absl::NotFoundError(text));
    EXPECT_TRUE(absl::IsNotFound(error)) << error;
    EXPECT_LE(error.message().size(), 2200u);
    if (*filler == '\x80') continue;
    EXPECT_THAT(std::string(error.message()), StartsWith("field: "));
    EXPECT_THAT(std::string(error.message()), EndsWith(": reason"));
    EXPECT_GE(Utf16Length(error.message()), 0) << "no character is cut";
  }
}

}  // namespace
}  // namespace csi_proxy::rpc
