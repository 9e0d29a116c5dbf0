// The C interface under many threads: calls, cancellations and closes at any time.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/c/testing.h"

namespace csi_proxy::c {
namespace {

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

// A log that counts the lines after its node was closed.
struct ClosingLog {
  std::atomic<bool> closed = false;
  std::atomic<int> lines = 0, late = 0;

  static void Add(void* user, int32_t, const char*, size_t) {
    auto* const self = static_cast<ClosingLog*>(user);
    ++self->lines;
    if (self->closed) ++self->late;
  }
};

// The number of calls that ended with each code. The last element counts values that are no code.
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

TEST(HostileThreadsTest, CloseWhileManyCall) {
  const int rounds = std::max(2, TotalCalls() / 10'000);
  Counts counts;
  std::atomic<int> lines = 0;
  steady_clock::duration longest_close = {};
  for (int round = 0; round < rounds; ++round) {
    ClosingLog log;
    const csi_proxy_node node = Open(kSimulated, &ClosingLog::Add, &log).node;
    // Slow, so that some calls are waiting when the node is closed.
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

TEST(HostileThreadsTest, OneOfManyClosesIt) {
  for (int round = 0; round < 20; ++round) {
    const csi_proxy_node node = Open(kSimulated).node;
    std::atomic<int> closed = 0, refused = 0;
    std::vector<std::thread> threads = StartThreads([&](int n) {
      if (n % 2 == 0) Invoke(node, kRescan);
      const int32_t code = csi_proxy_close(node);
      if (code == kOk) ++closed;
      if (code == kNotFound) ++refused;
    });
    Join(&threads);
    EXPECT_EQ(closed, 1);
    EXPECT_EQ(refused, kThreads - 1);
  }
}

}  // namespace
}  // namespace csi_proxy::c
