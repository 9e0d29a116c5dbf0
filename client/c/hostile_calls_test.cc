// Calls through the C interface that are cancelled, late, too many, for the wrong node, or made
// from within the log; and whether a log shows secrets.
#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "client/c/testing.h"

namespace csi_proxy::c {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The longest time that a call may take. The injected latencies are longer.
constexpr auto kPrompt = seconds(20);
constexpr uint32_t kMinute = 60'000;

// Starts a call on another thread.
std::future<Result> Start(const Node& node, const char* method, std::string request = {},
                          CallOptions options = {}) {
  return std::async(std::launch::async, [&node, method, request = std::move(request), options] {
    return node.Call(method, request, options);
  });
}

TEST(HostileCallsTest, CancelBeforeTheCall) {
  const Node node;
  const csi_proxy_call call = node.Begin();
  csi_proxy_cancel(call);
  csi_proxy_cancel(call);
  EXPECT_EQ(node.Call(kMkdir, Text(1, Directory("x")), {.call = call}).code, kCancelled);
  EXPECT_EQ(node.Call(kPathExists, Text(1, Directory("x"))).response, "") << "it was made";
}

TEST(HostileCallsTest, CancelWhileUnderWayEndsThatCallOnly) {
  const Node node;
  node.SlowDown("disk.*", kMinute);
  const csi_proxy_call first = node.Begin(), second = node.Begin();
  auto cancelled = Start(node, kRescan, "", {.call = first});
  auto stays = Start(node, kRescan, "", {.call = second});
  EXPECT_EQ(cancelled.wait_for(milliseconds(50)), std::future_status::timeout);
  csi_proxy_cancel(first);
  ASSERT_EQ(cancelled.wait_for(kPrompt), std::future_status::ready);
  EXPECT_EQ(cancelled.get().code, kCancelled);
  EXPECT_EQ(stays.wait_for(milliseconds(50)), std::future_status::timeout);
  csi_proxy_cancel(second);
  EXPECT_EQ(stays.get().code, kCancelled);
}

TEST(HostileCallsTest, AnAnnouncementIsForOneCall) {
  const Node node;
  const csi_proxy_call call = node.Begin();
  // A call is used up even if the method does not exist.
  EXPECT_EQ(node.Call("/v1.Disk/Erase", "", {.call = call}).code, kUnimplemented);
  EXPECT_EQ(node.Call(kRescan, "", {.call = call}).code, kNotFound);
  node.SlowDown("disk.*", kMinute);
  const csi_proxy_call again = node.Begin();
  auto first = Start(node, kRescan, "", {.call = again});
  EXPECT_EQ(first.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(node.Call(kRescan, "", {.call = again}).code, kNotFound) << "it is under way";
  EXPECT_EQ(first.wait_for(milliseconds(50)), std::future_status::timeout);
  csi_proxy_cancel(again);
  EXPECT_EQ(first.get().code, kCancelled);
}

TEST(HostileCallsTest, ACallOfAnotherNodeIsNotThere) {
  const Node node, other;
  const csi_proxy_call call = node.Begin();
  EXPECT_EQ(other.Call(kRescan, "", {.call = call}).code, kNotFound);
  EXPECT_EQ(node.Call(kRescan, "", {.call = call}).code, kOk) << "it is still announced";
  csi_proxy_cancel(call);
  EXPECT_EQ(node.Call(kRescan).code, kOk) << "the call has ended";
}

TEST(HostileCallsTest, AnnouncedCallsEndWithTheNode) {
  std::vector<csi_proxy_call> calls;
  const csi_proxy_node closed = Open(kSimulated).node;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(csi_proxy_begin(closed, &calls.emplace_back()), kOk);
  }
  ASSERT_EQ(csi_proxy_close(closed), kOk);
  for (const csi_proxy_call call : calls) csi_proxy_cancel(call);
  const Node node;
  EXPECT_EQ(node.Call(kRescan, "", {.call = calls[0]}).code, kNotFound);
}

TEST(HostileCallsTest, TimeoutsEndCalls) {
  const Node node;
  node.SlowDown("disk.*", kMinute);
  const auto begin = steady_clock::now();
  for (const int64_t timeout : {int64_t{0}, int64_t{1}, kSecond / 20}) {
    EXPECT_EQ(node.Call(kRescan, "", {.timeout_ns = timeout}).code, kDeadlineExceeded) << timeout;
    EXPECT_EQ(node.Call(kRescan, "", {.call = node.Begin(), .timeout_ns = timeout}).code,
              kDeadlineExceeded)
        << timeout;
  }
  EXPECT_LT(steady_clock::now() - begin, kPrompt);
  EXPECT_EQ(node.Call(kInjectFault, "", {.timeout_ns = 0}).code, kDeadlineExceeded);
  for (const int64_t timeout : {INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(node.Call(kPathExists, Text(1, Directory("x")), {.timeout_ns = timeout}).code, kOk)
        << timeout;
  }
}

TEST(HostileCallsTest, CloseEndsCallsUnderWay) {
  const csi_proxy_node node = Open(kSimulated).node;
  ASSERT_EQ(Invoke(node, kInjectFault, Text(1, Text(1, "disk.*") + Number(4, kMinute))).code, kOk);
  csi_proxy_call call = 0;
  ASSERT_EQ(csi_proxy_begin(node, &call), kOk);
  auto announced = std::async(std::launch::async,
                              [&] { return Invoke(node, kRescan, "", {.call = call}).code; });
  auto plain = std::async(std::launch::async, [&] { return Invoke(node, kRescan).code; });
  EXPECT_EQ(announced.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(plain.wait_for(milliseconds(50)), std::future_status::timeout);
  const auto begin = steady_clock::now();
  EXPECT_EQ(csi_proxy_close(node), kOk);
  EXPECT_LT(steady_clock::now() - begin, kPrompt);
  EXPECT_EQ(announced.get(), kCancelled);
  EXPECT_EQ(plain.get(), kCancelled);
}

// The node that a log's callback calls back into.
struct Reentrant {
  csi_proxy_node node = 0;
  bool inside = false;
  std::vector<int32_t> codes;

  static void Log(void* user, int32_t, const char*, size_t) {
    auto* const self = static_cast<Reentrant*>(user);
    if (self->inside) return;
    self->inside = true;
    csi_proxy_call call = 0;
    self->codes.push_back(csi_proxy_begin(self->node, &call));
    // Calls for the directory that the line is about, which writes another line.
    self->codes.push_back(Invoke(self->node, kMkdir, Text(1, Directory("x")),
                                 {.call = call, .timeout_ns = kSecond / 20})
                              .code);
    csi_proxy_cancel(call);
    const Opened opened = Open(kSimulated, &Log, self);
    self->codes.push_back(Invoke(opened.node, kMkdir, Text(1, Directory("x"))).code);
    self->codes.push_back(csi_proxy_close(opened.node));
    self->inside = false;
  }
};

TEST(HostileCallsTest, TheLogMayCallAndTakesItsTurn) {
  Reentrant log;
  const Node node(R"({"node": "SIMULATED", "maxCalls": 1})", &Reentrant::Log, &log);
  log.node = node.handle;
  EXPECT_EQ(node.Call(kMkdir, Text(1, Directory("x"))).code, kOk);
  EXPECT_THAT(log.codes, ElementsAre(kOk, kDeadlineExceeded, kOk, kOk));
}

TEST(HostileCallsTest, SecretsAreNeitherLoggedNorTold) {
  constexpr char kSecret[] = "s3cr3t-of-the-storage";
  const Node node;
  const std::string connect = Text(1, Text(1, "10.0.0.5") + Number(2, 3260)) +
                              Text(2, "iqn.2026-01.example.storage:chap") + Number(3, 1) +
                              Text(4, "node-1") + Text(5, kSecret);
  const Result results[] = {
      node.Call(
          "/v1.Smb/NewSmbGlobalMapping",
          Text(1, R"(\\nobody.example\data)") + Text(3, R"(EXAMPLE\storage)") + Text(4, kSecret)),
      node.Call("/v1alpha2.Iscsi/ConnectTarget", connect),
      // Truncated within the secret.
      node.Call("/v1alpha2.Iscsi/ConnectTarget", connect.substr(0, connect.size() - 3)),
      node.Call("/csi_proxy.simulated.Admin/SetSmbPassword",
                Text(1, "fileserver.example") + Text(2, "u") + Text(3, kSecret)),
      node.Call("/csi_proxy.simulated.Admin/DumpState", Number(1, 1))};
  for (const Result& result : results) {
    EXPECT_THAT(result.message + result.response, Not(HasSubstr("s3cr3t")));
  }
  const std::vector<std::string> lines = node.lines.all();
  EXPECT_THAT(lines, Contains(HasSubstr("method=NewSmbGlobalMapping")));
  EXPECT_THAT(lines, Contains(HasSubstr("method=ConnectTarget")));
  EXPECT_THAT(lines, Each(Not(HasSubstr("s3cr3t"))));
}

}  // namespace
}  // namespace csi_proxy::c
