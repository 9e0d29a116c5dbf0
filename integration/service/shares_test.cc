// Tests that other clients get their share while one client takes all it can get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/storage/v1alpha1/client.h"
#include "csi_proxy/volume/v1/client.h"
#include "integration/service/calls.h"
#include "server/base/testing_posix.h"
#include "server/rpc/preface.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::integration {
namespace {

using rpc::ConnectUnix;

constexpr absl::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);

storage::v1alpha1::StageShareRequest ShareAt(const std::string& path) {
  storage::v1alpha1::StageShareRequest request;
  request.set_remote_path(R"(\\fileserver.example\data)");
  request.set_target_path(path);
  request.set_username(R"(EXAMPLE\storage)");
  request.set_password("correct horse");
  return request;
}

// This process is the greedy client; another process is the honest one.
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

  // Returns the time that another process needs for a call, including its start; infinite if the
  // call fails.
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

  // The limits of running calls of a client's first and further connections (ServerLimits).
  static constexpr int kCallsOfMain = 108, kCallsOfFurther = 12;

  // Returns clients of this process, each with its own connection; the first connection is the main
  // one.
  std::vector<filesystem::v1::Client> Clients(int count) {
    std::vector<filesystem::v1::Client> clients;
    for (int i = 0; i < count; ++i) {
      clients.emplace_back(Connect(server_->client_options()).value());
      EXPECT_TRUE(PathExists(clients.back(), absl::StrCat(kRoot, "a")).ok());
    }
    return clients;
  }
  // Returns the number of callers of each client.
  static std::vector<std::pair<const filesystem::v1::Client*, int>> Callers(
      const std::vector<filesystem::v1::Client>& clients, int of_main, int of_further) {
    std::vector<std::pair<const filesystem::v1::Client*, int>> callers;
    for (const filesystem::v1::Client& client : clients) {
      callers.emplace_back(&client, callers.empty() ? of_main : of_further);
    }
    return callers;
  }

  // Returns connections that begin HTTP/2 and then send nothing.
  std::vector<UniqueFd> IdleConnections(size_t count) {
    std::vector<UniqueFd> idle;
    const std::string begin = absl::StrCat(rpc::kHttp2Preface, kSettings);
    while (idle.size() < count) {
      idle.push_back(ConnectUnix(server_->directory() + "/csi-proxy-filesystem-v1.sock"));
      EXPECT_TRUE(idle.back().valid()) << idle.size();
      send(idle.back().get(), begin.data(), begin.size(), MSG_NOSIGNAL);
    }
    return idle;
  }

  // Waits until the metrics contain this line.
  static void AwaitInMetrics(const std::string& port, const std::string& line) {
    const std::string command =
        absl::StrCat("bash -c 'exec 3<>/dev/tcp/127.0.0.1/", port,
                     "; printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3'");
    std::string metrics;
    for (const absl::Time give_up = absl::Now() + absl::Seconds(120);
         !absl::StrContains(metrics, line) && absl::Now() < give_up;) {
      metrics.clear();
      FILE* const pipe = popen(command.c_str(), "r");
      std::array<char, 4096> bytes;
      while (const size_t read = fread(bytes.data(), 1, bytes.size(), pipe)) {
        metrics.append(bytes.data(), read);
      }
      pclose(pipe);
    }
    EXPECT_THAT(metrics, testing::HasSubstr(line));
  }

  std::unique_ptr<ServerProcess> server_;
};

TEST_F(SharesTest, IdleConnectionsOfOneClientDoNotBlockOtherClients) {
  Start();
  const absl::Duration before = HonestCall();
  const std::vector<UniqueFd> idle = IdleConnections(1100);
  for (int i = 0; i < 3; ++i) {
    const absl::Duration during = HonestCall();
    EXPECT_LT(during, 5 * before + absl::Seconds(1)) << before << " before";
  }
  EXPECT_THAT(server_->Log(),
              testing::HasSubstr(absl::StrCat(
                  "pid=", getpid(), " image=\"service_test\" has used its share of connections")));
}

TEST_F(SharesTest, IdleConnectionsDoNotBlockOthersIfDescriptorsRunOut) {
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

TEST_F(SharesTest, SlowCallsOfOneClientDoNotDelayOtherClients) {
  Start();
  const absl::Duration before = HonestCall("mkdir");
  // 25 connections allow 396 calls: 108 on the first and 12 on each of the other 24.
  const std::vector<filesystem::v1::Client> clients = Clients(25);
  ASSERT_TRUE(server_->InjectFault("operation: 'filesystem.PathExists' latency_ms: 60000").ok());
  std::atomic<int> refused = 0;
  std::vector<std::thread> callers;
  for (const auto& [client, calls] : Callers(clients, kCallsOfMain, kCallsOfFurther)) {
    for (int i = 0; i < calls; ++i) {
      callers.emplace_back([&, client = client] {
        const absl::Status status = PathExists(*client, absl::StrCat(kRoot, "a")).status();
        if (absl::IsResourceExhausted(status)) ++refused;
      });
    }
  }
  // The calls take 12 of the 16 workers, 288 of the 384 places in the queue, and all reading
  // threads that may execute calls.
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (refused < 96 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(refused, 96);
  for (int i = 0; i < 3; ++i) {
    const absl::Duration during = HonestCall("mkdir");
    EXPECT_LT(during, 5 * before + absl::Seconds(1)) << before << " before";
    const absl::Duration elsewhere = HonestRun({"disk", "list-disk-ids"});
    EXPECT_LT(elsewhere, 5 * before + absl::Seconds(1)) << before << " before";
  }
  EXPECT_THAT(server_->Log(), testing::HasSubstr("service_test\" code=RESOURCE_EXHAUSTED"));
  server_->Stop(absl::ZeroDuration());
  for (std::thread& caller : callers) caller.join();
}

TEST_F(SharesTest, AClientWithinItsLimitOfCallsIsNotRefused) {
  for (const int connections : {1, 4, 16}) {
    Start();
    const std::vector<filesystem::v1::Client> clients = Clients(connections);
    ASSERT_TRUE(server_->InjectFault("operation: 'filesystem.PathExists' latency_ms: 100").ok());
    std::atomic<int> failed = 0;
    std::vector<std::thread> callers;
    // More calls than each connection may have.
    for (const auto& [client, calls] : Callers(clients, 2 * kCallsOfMain, 2 * kCallsOfFurther)) {
      for (int i = 0; i < calls; ++i) {
        callers.emplace_back([&, client = client] {
          const absl::Status status = PathExists(*client, absl::StrCat(kRoot, "a")).status();
          if (!status.ok() && ++failed == 1) ADD_FAILURE() << status;
        });
      }
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(failed, 0) << connections << " connections";
  }
}

// Here other processes of one image are greedy, and this process is honest.
TEST_F(SharesTest, ManyProcessesOfOneTenantLeaveWorkersToOtherTenants) {
  Start({"--max-workers=4", "--max-queued=8"});
  const filesystem::v1::Client honest(Connect(server_->client_options()).value());
  ASSERT_TRUE(server_->InjectFault("operation: 'filesystem.PathExists' latency_ms: 600000").ok());
  std::vector<std::unique_ptr<ChildProcess>> greedy;
  for (int i = 0; i < 16; ++i) {
    auto child = ChildProcess::Start(
        {CSI_PROXYCTL_BINARY, "filesystem", "path-exists", absl::StrCat("--path=", kRoot, "a"),
         "--socket-dir=" + server_->directory(), "--api=v1", "--timeout=600s"},
        absl::StrCat(server_->directory(), ".greedy", i));
    ASSERT_TRUE(child.ok()) << child.status();
    greedy.push_back(*std::move(child));
  }
  // The greedy processes take three of the four workers and six of the eight places in the queue.
  const absl::Time give_up = absl::Now() + absl::Seconds(120);
  size_t refused = 0;
  while (refused < 7 && absl::Now() < give_up) {
    refused += std::erase_if(greedy, [](const auto& child) { return !child->IsRunning(); });
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(refused, 7u);
  filesystem::v1::MkdirRequest mkdir;
  for (int i = 0; i < 3; ++i) {
    mkdir.set_path(absl::StrCat(kRoot, "honest", i));
    const absl::Status made = honest.Mkdir(mkdir, {.timeout = absl::Seconds(60)}).status();
    EXPECT_TRUE(made.ok()) << made;
  }
  server_->Stop(absl::ZeroDuration());
}

TEST_F(SharesTest, CallsToADeadFileServerLeaveWorkersToOtherCallsOfTheClient) {
  const std::string port = absl::StrCat(FreePort());
  Start({"--max-workers=8", "--max-queued=64", "--metrics-bind-address=127.0.0.1:" + port});
  const filesystem::v1::Client client(Connect(server_->client_options()).value());
  const std::string link = absl::StrCat(kRoot, "share");
  const storage::v1alpha1::Client storage(Connect(server_->client_options()).value());
  ASSERT_TRUE(storage.StageShare(ShareAt(link)).ok());
  ASSERT_TRUE(server_->InjectFault("operation: 'win32.Reach' latency_ms: 600000").ok());
  std::vector<std::thread> callers;
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back([&] {
      filesystem::v1::IsSymlinkRequest request;
      request.set_path(link);
      // The call lasts until the service ends.
      EXPECT_FALSE(client.IsSymlink(request, {.timeout = absl::Seconds(600)}).ok());
    });
  }
  AwaitInMetrics(port, "csi_proxy_calls_in_flight{group=\"filesystem\"} 12\n");
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<bool> answer =
        PathExists(client, absl::StrCat(kRoot, "a"), {.timeout = absl::Seconds(60)});
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
  server_->Stop(absl::ZeroDuration());
  for (std::thread& caller : callers) caller.join();
}

// gRPC's clients return RESOURCE_EXHAUSTED instead of a status whose headers exceed 8 KiB.
TEST_F(SharesTest, AVeryLongErrorArrivesShortened) {
  std::string node = R"(
    disk { number: 0 size_bytes: 68719476736 style: GPT
           partition { type: EFI_SYSTEM size_bytes: 104857600 }
           partition { size_bytes: 60000000000 volume {
             id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\"
             file_system: "NTFS" drive_letter: "C" file { path: "var\\lib\\kubelet" } } } }
    smb_server { name: "srv" user { name: "u" password: "p" } share { name: "free" })";
  std::string mappings;
  for (int i = 100; i < 230; ++i) {
    const std::string share = absl::StrCat(std::string(77, 's'), i);
    absl::StrAppend(&node, " share { name: '", share, "' }");
    absl::StrAppend(&mappings, " smb_mapping { remote_path: '", R"(\\\\srv\\)", share,
                    "' username: 'u' }");
  }
  const std::string file = absl::StrCat(testing::TempDir(), "/shares_test.", getpid());
  std::ofstream(file) << node << " }" << mappings;
  Start({"--scenario=" + file});
  const auto connection = Connect(server_->client_options()).value();
  storage::v1alpha1::StageShareRequest stage = ShareAt(absl::StrCat(kRoot, "s"));
  stage.set_remote_path(R"(\\srv\free)");
  const absl::Status refused = storage::v1alpha1::Client(connection).StageShare(stage).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "1219")) << refused;

  volume::v1::GetVolumeIDFromTargetPathRequest where;
  std::string path = absl::StrCat(kRoot, "none");
  for (int i = 0; i < 100; ++i) {
    path += '\\';
    for (int letter = 0; letter < 200; ++letter) path += "ä";
  }
  where.set_target_path(path);
  const absl::Status absent =
      volume::v1::Client(connection).GetVolumeIDFromTargetPath(where).status();
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  // aws-ebs matches these words.
  EXPECT_TRUE(absl::StrContains(absent.message(), "because it does not exist")) << absent;
  server_->Stop(absl::Seconds(10));
  std::remove(file.c_str());
}

TEST_F(SharesTest, TwentyDeadFileServersLeaveWorkersToLiveShares) {
  const std::string port = absl::StrCat(FreePort());
  Start({"--metrics-bind-address=127.0.0.1:" + port});
  const storage::v1alpha1::Client client(Connect(server_->client_options()).value());
  const storage::v1alpha1::StageShareRequest live = ShareAt(absl::StrCat(kRoot, "live"));
  std::vector<std::thread> callers;
  for (int i = 0; i < 20; ++i) {
    storage::v1alpha1::StageShareRequest dead = live;
    dead.set_remote_path(absl::StrCat(R"(\\dead)", i, R"(\data)"));
    dead.set_target_path(absl::StrCat(kRoot, "dead", i));
    ASSERT_TRUE(server_
                    ->InjectFault(absl::StrCat(
                        "operation: 'wmi.Invoke/MSFT_SmbGlobalMapping.Create' resource: '",
                        R"(\\\\dead)", i, R"(\\data)", "' latency_ms: 600000"))
                    .ok());
    callers.emplace_back([&client, dead] {
      // The call lasts until the service ends.
      EXPECT_FALSE(client.StageShare(dead, {.timeout = absl::Seconds(600)}).ok());
    });
  }
  AwaitInMetrics(port, "csi_proxy_calls_in_flight{group=\"storage\"} 20\n");
  AwaitInMetrics(port, "csi_proxy_calls_queued{group=\"storage\"} 0\n");
  storage::v1alpha1::UnstageShareRequest unstage;
  unstage.set_target_path(live.target_path());
  for (int i = 0; i < 3; ++i) {
    const auto staged = client.StageShare(live, {.timeout = absl::Seconds(60)});
    EXPECT_TRUE(staged.ok()) << staged.status();
    const auto unstaged = client.UnstageShare(unstage, {.timeout = absl::Seconds(60)});
    EXPECT_TRUE(unstaged.ok()) << unstaged.status();
  }
  server_->Stop(absl::ZeroDuration());
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace csi_proxy::integration
