// Hostile and faulty clients of the C interface: cancelled and late calls, calls for the wrong node
// and from within the log; null, huge or malformed arguments; stale or forged handles; threads.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/c/method_paths.h"
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
using testing::IsEmpty;
using testing::Not;

// The limit of a call's duration. The injected latencies are longer.
constexpr auto kPrompt = seconds(20);
constexpr uint32_t kMinute = 60'000;

// Starts a call on another thread.
std::future<Result> Start(const Node& node, const char* method, std::string request = {},
                          CallOptions options = {}) {
  return std::async(std::launch::async, [&node, method, request = std::move(request), options] {
    return node.Call(method, request, options);
  });
}

TEST(HostileCallsTest, CancelEndsOnlyTheNamedCall) {
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

TEST(HostileCallsTest, ABegunCallHandleCanBeUsedOnce) {
  const Node node;
  const csi_proxy_call call = node.Begin();
  // A call of a method that does not exist also uses the announcement up.
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

TEST(HostileCallsTest, ACallHandleOfAnotherNodeIsNotFound) {
  const Node node, other;
  const csi_proxy_call call = node.Begin();
  EXPECT_EQ(other.Call(kRescan, "", {.call = call}).code, kNotFound);
  EXPECT_EQ(node.Call(kRescan, "", {.call = call}).code, kOk) << "it is still announced";
  csi_proxy_cancel(call);
  EXPECT_EQ(node.Call(kRescan).code, kOk) << "the call has ended";
}

TEST(HostileCallsTest, ACallEndsAtItsTimeout) {
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

// A log callback that calls the node that writes the log.
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
    // Calls Mkdir for the directory in the line, and so writes another line.
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

TEST(HostileCallsTest, CallsFromTheLogFunctionQueueLikeOtherCalls) {
  Reentrant log;
  const Node node(R"({"node": "SIMULATED", "maxCalls": 1})", &Reentrant::Log, &log);
  log.node = node.handle;
  EXPECT_EQ(node.Call(kMkdir, Text(1, Directory("x"))).code, kOk);
  EXPECT_THAT(log.codes, ElementsAre(kOk, kDeadlineExceeded, kOk, kOk));
}

TEST(HostileCallsTest, SecretsAppearInNeitherLogNorErrors) {
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

// Sizes larger than any object in memory.
constexpr size_t kHuge[] = {size_t{1} << 31, SIZE_MAX / 2, SIZE_MAX};

bool IsUtf8(std::string_view text) {
  size_t more = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (more > 0) {
      if ((byte & 0xC0) != 0x80) return false;
      --more;
    } else if (byte >= 0x80) {
      if (byte < 0xC2 || byte > 0xF4) return false;
      more = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    }
  }
  return more == 0;
}

TEST(HostileOpenTest, OpenAcceptsOrRefusesNullPointersWithoutCrashing) {
  csi_proxy_bytes error = {};
  EXPECT_EQ(
      csi_proxy_open(1, kSimulated, sizeof(kSimulated) - 1, nullptr, nullptr, nullptr, &error),
      kInvalidArgument);
  EXPECT_THAT(Take(&error), HasSubstr("node: is null"));
  csi_proxy_node node = 7;
  EXPECT_EQ(csi_proxy_open(1, nullptr, 1, nullptr, nullptr, &node, nullptr), kInvalidArgument);
  EXPECT_EQ(node, 0u);
  EXPECT_EQ(csi_proxy_open(2, nullptr, 0, nullptr, nullptr, nullptr, nullptr), kFailedPrecondition);
  // The log and the error's text may be omitted.
  EXPECT_EQ(csi_proxy_open(1, kSimulated, sizeof(kSimulated) - 1, nullptr, nullptr, &node, nullptr),
            kOk);
  EXPECT_EQ(csi_proxy_close(node), kOk);
}

TEST(HostileOpenTest, OpenRefusesHugeOptions) {
  for (const size_t size : kHuge) {
    const Opened opened = Open(std::string_view(kSimulated, size));
    EXPECT_EQ(opened.code, kInvalidArgument);
    EXPECT_THAT(opened.error, HasSubstr("options"));
  }
  const std::string nested = "{\"workingDirs\": " + std::string(1'000'000, '[');
  EXPECT_EQ(Open(nested).code, kInvalidArgument);
  const std::string text = R"({"scenario": ")" + std::string(1'000'000, '(') + "\"}";
  EXPECT_EQ(Open(text).code, kInvalidArgument);
}

struct BadOptions {
  const char* json;
  const char* named;
};

TEST(HostileOpenTest, ErrorsNameTheMalformedOption) {
  constexpr BadOptions kBad[] = {
      {R"(})", "options"},
      {"{\"\xff\": 1}", "options"},
      {R"({"colour": 1})", "colour"},
      {R"({"node": "MARS"})", "node"},
      {R"({"node": "SIMULATED", "scenario": "disk {"})", "scenario:1:"},
      {R"({"node": "WINDOWS", "scenario": "disk {}"})", "scenario"},
      {R"({"node": "SIMULATED", "workingDirs": ["relative"]})", "working_dirs"},
      {R"({"node": "SIMULATED", "allowedServices": [{}]})", "allowed_services"},
      {R"({"node": "SIMULATED", "allowPlainSmb": "maybe"})", "allow_plain_smb"},
      {R"({"node": "SIMULATED", "maxCalls": 0})", "max_calls"},
      {R"({"node": "SIMULATED", "maxQueued": 0.5})", "max_queued"},
      {R"({"node": "SIMULATED", "maxCallSeconds": 0})", "max_call_seconds"},
      {R"({"node": "SIMULATED", "maxCallSeconds": "NaN"})", "max_call_seconds"},
      {R"({"node": "SIMULATED", "metricsBindAddress": "nowhere"})", "metrics_bind_address"},
  };
  for (const BadOptions& bad : kBad) {
    const Opened opened = Open(bad.json);
    EXPECT_EQ(opened.code, kInvalidArgument) << bad.json;
    EXPECT_EQ(opened.node, 0u) << bad.json;
    EXPECT_THAT(opened.error, HasSubstr(bad.named)) << bad.json;
    EXPECT_TRUE(IsUtf8(opened.error)) << opened.error;
    EXPECT_THAT(opened.error, Not(HasSubstr("\n")));
  }
}

// A library has options and no flags, so the error names the option.
TEST(HostileOpenTest, OnAMachineWithoutWindowsTheErrorNamesTheOption) {
#ifdef _WIN32
  GTEST_SKIP() << "This machine runs Windows.";
#endif
  const Opened opened = Open(R"({"node": "WINDOWS"})");
  EXPECT_EQ(opened.code, kUnimplemented);
  EXPECT_EQ(opened.error,
            R"(node: this machine is not a Windows node: "node": "SIMULATED" opens one in memory)");
}

TEST(HostileInvokeTest, InvokeAcceptsOrRefusesNullPointersWithoutCrashing) {
  const Node node;
  EXPECT_EQ(csi_proxy_invoke(node.handle, 0, kRescan, nullptr, 0, -1, nullptr, nullptr), kOk);
  EXPECT_EQ(csi_proxy_invoke(node.handle, 0, nullptr, nullptr, 0, -1, nullptr, nullptr),
            kInvalidArgument);
  EXPECT_EQ(
      csi_proxy_invoke(node.handle, 0, "/v1.Disk/ListDiskIDs", nullptr, 0, -1, nullptr, nullptr),
      kOk);
  csi_proxy_bytes message = {};
  EXPECT_EQ(csi_proxy_invoke(node.handle, 0, kRescan, nullptr, 1, -1, nullptr, &message),
            kInvalidArgument);
  EXPECT_THAT(Take(&message), HasSubstr("request: is null"));
  EXPECT_EQ(csi_proxy_begin(node.handle, nullptr), kInvalidArgument);
  csi_proxy_free(nullptr);
}

TEST(HostileInvokeTest, ARefusedInvokeEndsItsCall) {
  const Node node;
  const csi_proxy_call call = node.Begin();
  EXPECT_EQ(csi_proxy_invoke(node.handle, call, nullptr, nullptr, 0, -1, nullptr, nullptr),
            kInvalidArgument);
  EXPECT_EQ(csi_proxy_invoke(node.handle, call, kRescan, nullptr, 0, -1, nullptr, nullptr),
            kNotFound);
}

TEST(HostileInvokeTest, UnknownMethodsAreUnimplemented) {
  const Node node;
  const std::string long_name = "/v1.Disk/" + std::string(1 << 20, 'R');
  for (const char* const method :
       {"", "v1.Disk/Rescan", "/v1.Disk/rescan", "/v1.Disk/Rescan/", "%s%n%s%n",
        "/v1.Disk/\xff\xfe", "/csi_proxy.simulated.Admin/Conquer", long_name.c_str()}) {
    const Result result = node.Call(method);
    EXPECT_EQ(result.code, kUnimplemented) << method;
    EXPECT_THAT(result.message, Not(IsEmpty()));
    EXPECT_TRUE(IsUtf8(result.message)) << method;
    EXPECT_THAT(result.response, IsEmpty());
  }
}

TEST(HostileInvokeTest, BytesThatAreNotAMessageAreRefused) {
  const Node node;
  // Groups that are nested too deeply for a parser.
  const std::string groups(1'000'000, '\x0b');
  const std::string_view requests[] = {
      "\xff",                                          // half a tag
      "\x0a\x05\141bc",                                // less than its length
      "\x0a\xff\xff\xff\xff\x7f",                      // a length of 32 GiB
      "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  // the largest length
      groups,
  };
  for (const char* const method : kMethodPaths) {
    for (const std::string_view request : requests) {
      const Result result = node.Call(method, request);
      EXPECT_EQ(result.code, kInvalidArgument) << method;
      EXPECT_THAT(result.message, Not(IsEmpty())) << method;
      EXPECT_TRUE(IsUtf8(result.message)) << method;
    }
    for (const size_t size : kHuge) {
      EXPECT_EQ(node.Call(method, std::string_view("", size)).code, kInvalidArgument) << method;
    }
  }
  EXPECT_THAT(node.lines.all(), IsEmpty());
}

TEST(HostileHandlesTest, ForgedStaleAndMismatchedHandlesAreRefused) {
  const Node node;
  csi_proxy_node stale = Open(kSimulated).node;
  ASSERT_EQ(csi_proxy_close(stale), kOk);
  const csi_proxy_call call = node.Begin();
  for (const csi_proxy_node wrong :
       {csi_proxy_node{0}, stale, call, node.handle + 1000, UINT64_MAX}) {
    EXPECT_EQ(Invoke(wrong, kRescan).code, kNotFound) << wrong;
    EXPECT_THAT(Invoke(wrong, kRescan).message, HasSubstr("node"));
    csi_proxy_call begun = 7;
    EXPECT_EQ(csi_proxy_begin(wrong, &begun), kNotFound) << wrong;
    EXPECT_EQ(begun, 0u);
    EXPECT_EQ(csi_proxy_begin(wrong, nullptr), kInvalidArgument) << wrong;
    EXPECT_EQ(csi_proxy_close(wrong), kNotFound) << wrong;
  }
  for (const csi_proxy_call forged : {node.handle, stale, call + 1000, UINT64_MAX}) {
    csi_proxy_cancel(forged);
    const Result result = node.Call(kRescan, "", {.call = forged});
    EXPECT_EQ(result.code, kNotFound) << forged;
    EXPECT_THAT(result.message, HasSubstr("call"));
  }
  csi_proxy_cancel(0);
  EXPECT_EQ(node.Call(kRescan, "", {.call = call}).code, kOk) << "nobody has cancelled it";
}

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kThreads = 64;

// Returns the number of calls. CSI_PROXY_TEST_CALLS lowers it for slow sanitizers.
int TotalCalls() {
  const char* const text = std::getenv("CSI_PROXY_TEST_CALLS");
  return text != nullptr ? std::atoi(text) : 100'000;
}

template <typename Function>
std::vector<std::thread> StartThreads(const Function& function) {
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) threads.emplace_back(function, n);
  return threads;
}

void Join(std::vector<std::thread>* threads) {
  for (std::thread& thread : *threads) thread.join();
}

// Counts the lines of a log, and separately the lines after the node was closed.
struct ClosingLog {
  std::atomic<bool> closed = false;
  std::atomic<int> lines = 0, late = 0;

  static void Add(void* user, int32_t, const char*, size_t) {
    auto* const self = static_cast<ClosingLog*>(user);
    ++self->lines;
    if (self->closed) ++self->late;
  }
};

// The number of calls that ended with each code. The last element counts values that are not codes.
struct Counts {
  std::atomic<int> of[18] = {};
  void Add(int32_t code) { ++of[code >= 0 && code <= 16 ? code : 17]; }
};

// Makes a call of a random kind.
int32_t RandomCall(csi_proxy_node node, std::mt19937& random) {
  const std::string path = Text(1, Directory("t" + std::to_string(random() % 100)));
  const char* const method = random() % 2 == 0 ? kMkdir : kPathExists;
  csi_proxy_call call = 0;
  if (random() % 3 > 0) {
    const int32_t code = csi_proxy_begin(node, &call);
    if (code != kOk) return code;
    if (random() % 8 == 0) csi_proxy_cancel(call);
    // Handles count up, so this may cancel a call of any thread.
    if (random() % 8 == 0) csi_proxy_cancel(call - random() % 200);
  }
  const bool rescan = random() % 128 == 0;
  return Invoke(node, rescan ? kRescan : method, rescan ? "" : path, {.call = call}).code;
}

TEST(HostileThreadsTest, CloseEndsTheCallsOfManyThreads) {
  const int rounds = std::max(2, TotalCalls() / 10'000);
  Counts counts;
  std::atomic<int> lines = 0;
  steady_clock::duration longest_close = {};
  for (int round = 0; round < rounds; ++round) {
    ClosingLog log;
    const csi_proxy_node node = Open(kSimulated, &ClosingLog::Add, &log).node;
    // Delays disk calls, so that some calls are waiting when the node is closed.
    ASSERT_EQ(Invoke(node, kInjectFault, Text(1, Text(1, "disk.*") + Number(4, 60'000))).code, kOk);
    std::atomic<int> made = 0;
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads = StartThreads([&](int n) {
      std::mt19937 random(round * kThreads + n);
      while (!stop) {
        const int32_t code = RandomCall(node, random);
        counts.Add(code);
        ++made;
        // Leaves the processor to other threads.
        if (code == kNotFound) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    const auto give_up = steady_clock::now() + seconds(5);
    while (made < 5'000 && steady_clock::now() < give_up) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    const auto begin = steady_clock::now();
    EXPECT_EQ(csi_proxy_close(node), kOk);
    log.closed = true;
    longest_close = std::max(longest_close, steady_clock::now() - begin);
    // Threads that call later find no node.
    std::this_thread::sleep_for(milliseconds(20));
    stop = true;
    Join(&threads);
    EXPECT_EQ(log.late, 0) << "lines of a node that is closed";
    lines += log.lines;
  }
  for (int code = 0; code < 18; ++code) {
    const bool expected = code == kOk || code == kCancelled || code == kNotFound;
    EXPECT_EQ(counts.of[code] > 0, expected) << "code " << code << ", " << counts.of[code];
  }
  EXPECT_GT(lines, 0);
  EXPECT_LT(longest_close, seconds(20));
}

}  // namespace
}  // namespace csi_proxy::c
