// One client takes all it can get: the others have theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "integration/service/calls.h"
#include "server/transport/preface.h"
#include "server/transport/testing_posix.h"

namespace csi_proxy::integration {
namespace {

using transport::ConnectUnix;
using transport::UniqueFd;

constexpr absl::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);

// This process is the greedy client; the honest one is another.
class SharesTest : public testing::Test {
 protected:
  SharesTest() {
    rlimit limit;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  void Start(const std::vector<std::string>& flags = {}) {
    auto server = ServerProcess::Start(flags);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // How long another process takes for a call, with its start; infinite when the call fails.
  absl::Duration HonestCall(const std::string& method = "path-exists") {
    return HonestRun({"filesystem", method, absl::StrCat("--path=", kRoot, "a")});
  }
  absl::Duration HonestRun(std::vector<std::string> words) {
    const absl::Time start = absl::Now();
    words.insert(words.begin(), CSI_PROXYCTL_BINARY);
    for (const std::string& flag : {"--socket-dir=" + server_->directory(), std::string("--api=v1"),
                                    std::string("--timeout=20s")}) {
      words.push_back(flag);
    }
    auto child = ChildProcess::Start(words, server_->directory() + ".honest");
    EXPECT_TRUE(child.ok()) << child.status();
    const int code = (*child)->Wait(absl::Seconds(30));
    return code == 0 ? absl::Now() - start : absl::InfiniteDuration();
  }

  // Connections that send what begins HTTP/2 and no more.
  std::vector<UniqueFd> IdleConnections(size_t count) {
    std::vector<UniqueFd> idle;
    const std::string begin = absl::StrCat(transport::kHttp2Preface, kSettings);
    while (idle.size() < count) {
      idle.push_back(ConnectUnix(server_->directory() + "/csi-proxy-filesystem-v1.sock"));
      EXPECT_TRUE(idle.back().valid()) << idle.size();
      send(idle.back().get(), begin.data(), begin.size(), MSG_NOSIGNAL);
    }
    return idle;
  }

  std::unique_ptr<ServerProcess> server_;
};

TEST_F(SharesTest, IdleConnectionsOfOneClientDoNotKeepOthersOut) {
  Start();
  const absl::Duration before = HonestCall();
  const std::vector<UniqueFd> idle = IdleConnections(1100);
  for (int i = 0; i < 3; ++i) {
    const absl::Duration during = HonestCall();
    EXPECT_LT(during, 5 * before + absl::Seconds(1)) << before << " before";
  }
  EXPECT_THAT(server_->Log(), testing::HasSubstr(absl::StrCat(
                                  "pid=", getpid(),
                                  " image=\"service_test\" has all of its share of connections")));
}

TEST_F(SharesTest, NorDoTheyWhenDescriptorsRunOut) {
  Start();
  const rlimit few{.rlim_cur = 512, .rlim_max = 512};
  ASSERT_EQ(prlimit(static_cast<pid_t>(server_->pid()), RLIMIT_NOFILE, &few, nullptr), 0);
  const absl::Duration before = HonestCall();
  const std::vector<UniqueFd> idle = IdleConnections(1100);
  for (int i = 0; i < 3; ++i) {
    const absl::Duration during = HonestCall();
    EXPECT_LT(during, 5 * before + absl::Seconds(1)) << before << " before";
  }
  EXPECT_LE(OpenDescriptors(server_->pid()), 512);
}

TEST_F(SharesTest, SlowCallsOfOneClientDoNotDelayOthers) {
  Start();
  const absl::Duration before = HonestCall("mkdir");
  ASSERT_TRUE(server_->InjectFault("operation: 'filesystem.Exists' latency_ms: 60000").ok());
  constexpr int kConnections = 4, kCallsOfEach = 75;
  std::vector<decltype(filesystem::v1::Client::Create(server_->client_options()))> clients;
  for (int i = 0; i < kConnections; ++i) {
    clients.push_back(filesystem::v1::Client::Create(server_->client_options()));
    ASSERT_TRUE(clients.back().ok()) << clients.back().status();
  }
  std::atomic<int> refused = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < kConnections * kCallsOfEach; ++i) {
    callers.emplace_back([&, &client = *clients[static_cast<size_t>(i % kConnections)]] {
      const absl::Status status = PathExists(client, absl::StrCat(kRoot, "a")).status();
      if (absl::IsResourceExhausted(status)) ++refused;
    });
  }
  // 12 of the 16 workers and 192 of the 256 places in the queue are taken, and as many of the
  // threads that read connections as may be at a call.
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (refused < 96 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(refused, 96);
  for (int i = 0; i < 3; ++i) {
    const absl::Duration during = HonestCall("mkdir");
    EXPECT_LT(during, 5 * before + absl::Seconds(1)) << before << " before";
    const absl::Duration elsewhere = HonestRun({"disk", "list-disk-ids"});
    EXPECT_LT(elsewhere, 5 * before + absl::Seconds(1)) << before << " before";
  }
  EXPECT_THAT(server_->Log(),
              testing::HasSubstr(absl::StrCat(
                  "pid=", getpid(), " image=\"service_test\" has all of its share of calls")));
  server_->Stop(absl::ZeroDuration());
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace csi_proxy::integration
