// Tests the service's start, stop and restart.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "integration/service/calls.h"
#include "server/base/testing_posix.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::integration {
namespace {

TEST(LifeTest, AStopLetsRunningCallsFinish) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE((*server)->InjectFault("operation: 'filesystem.PathExists' latency_ms: 1500").ok());
  absl::Status answer;
  std::thread caller([&] {
    const filesystem::v1::Client files(Connect((*server)->client_options()).value());
    answer = PathExists(files, absl::StrCat(kRoot, "a")).status();
  });
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ((*server)->Stop(absl::Seconds(15)), 0);
  caller.join();
  EXPECT_TRUE(answer.ok()) << answer;
  for (const auto& entry : std::filesystem::directory_iterator((*server)->directory())) {
    EXPECT_NE(entry.path().extension(), ".sock") << entry.path();
  }
}

// The service answers a call, or refuses it so that the caller retries, and cancels no call.
TEST(LifeTest, AStopUnderLoadDoesNotCancelCalls) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  ClientOptions options = (*server)->client_options();
  options.connect_timeout = absl::Milliseconds(50);
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const filesystem::v1::Client files(Connect(options).value());
      while (!stop) {
        const absl::Status status = PathExists(files, absl::StrCat(kRoot, "a")).status();
        EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
        if (status.ok()) ++answered;
      }
    });
  }
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (answered <= 100 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ((*server)->Stop(absl::Seconds(15)), 0);
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(answered, 100);
}

// Stops a service during a call that meets `fault`; kills the service after `limit`.
struct StoppedDuringCall {
  StoppedDuringCall(ServerProcess& server, const std::string& fault, absl::Duration limit) {
    EXPECT_TRUE(server.InjectFault(fault).ok());
    std::thread caller([&] {
      const filesystem::v1::Client files(Connect(server.client_options()).value());
      answer = PathExists(files, absl::StrCat(kRoot, "a")).status();
    });
    absl::SleepFor(absl::Milliseconds(500));
    const absl::Time start = absl::Now();
    exit_code = server.Stop(limit);
    took = absl::Now() - start;
    caller.join();
  }

  int exit_code;
  absl::Duration took;
  absl::Status answer;
};

TEST(LifeTest, AStopCancelsCallsBeyondTheGracePeriod) {
  const auto server = ServerProcess::Start({"--stop-grace-period=500ms"});
  ASSERT_TRUE(server.ok()) << server.status();
  const StoppedDuringCall stopped(**server, "operation: 'filesystem.PathExists' latency_ms: 60000",
                                  absl::Seconds(20));
  EXPECT_EQ(stopped.exit_code, 0);
  EXPECT_LT(stopped.took, absl::Seconds(10));
  EXPECT_FALSE(stopped.answer.ok());
}

// A call that waits in the kernel, e.g. for a dead disk, cannot be cancelled. The stop must end
// without it.
TEST(LifeTest, AStopDoesNotWaitForACallThatNeverReturns) {
  const auto server = ServerProcess::Start({"--stop-grace-period=500ms"});
  ASSERT_TRUE(server.ok()) << server.status();
  const StoppedDuringCall stopped(
      **server, "operation: 'filesystem.PathExists' times: 1 stuck: true", absl::Seconds(30));
  EXPECT_EQ(stopped.exit_code, 3);
  EXPECT_LT(stopped.took, absl::Seconds(15));
  EXPECT_FALSE(stopped.answer.ok());
  EXPECT_TRUE(absl::StrContains((*server)->Log(), "the calls still under way are abandoned"));
  ASSERT_TRUE((*server)->Restart().ok());
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
}

TEST(LifeTest, AClientKeepsWorkingAfterTheServiceRestarts) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  for (int i = 0; i < 5; ++i) {
    const auto before = PathExists(files, absl::StrCat(kRoot, "a"));
    EXPECT_TRUE(before.ok()) << before.status();
    ASSERT_TRUE((*server)->Restart().ok());
    const auto after = PathExists(files, absl::StrCat(kRoot, "a"));
    EXPECT_TRUE(after.ok()) << "the first call after restart " << i << ": " << after.status();
  }
}

TEST(LifeTest, AClientsCallWaitsForAServiceThatRestarts) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  (*server)->Stop(absl::Seconds(20));
  absl::Status answer;
  std::thread caller([&] { answer = PathExists(files, absl::StrCat(kRoot, "a")).status(); });
  absl::SleepFor(absl::Milliseconds(500));
  ASSERT_TRUE((*server)->Restart().ok());
  caller.join();
  EXPECT_TRUE(answer.ok()) << answer;
  (*server)->Stop(absl::Seconds(20));
  const absl::Status gone = PathExists(files, absl::StrCat(kRoot, "a")).status();
  EXPECT_TRUE(absl::IsUnavailable(gone)) << gone;
}

TEST(LifeTest, ASecondServerInTheSameDirectoryRefusesToStart) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string command = absl::StrCat(
      CSI_PROXY_BINARY, " --host=simulated --socket-dir=", (*server)->directory(), " 2>/dev/null");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok()) << "the first one is unharmed";
}

TEST(LifeTest, TheServerWarnsOfADirectoryOnAMissingDrive) {
  const auto server =
      ServerProcess::Start({R"(--kubelet-path=Z:\k)", R"(--working-dir=C:\absent)"});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(
      absl::StrContains((*server)->Log(), "--kubelet-path: the node has no drive Z:, so calls for"))
      << (*server)->Log();
  EXPECT_FALSE(absl::StrContains((*server)->Log(), "no drive C:"));
}

TEST(LifeTest, TheServerStartsWhileTheDriveOfADirectoryDoesNotAnswer) {
  const TemporaryDirectory directory;
  const std::string scenario = absl::StrCat(directory.path(), "/mute.textproto");
  std::ofstream(scenario) << R"(
    disk { size_bytes: 1073741824 style: GPT
           partition { size_bytes: 536870912 volume { file_system: "NTFS" drive_letter: "C" } } }
    fault { operation: "win32.Open" resource: "D:\\" latency_ms: 600000 })";
  const auto server =
      ServerProcess::Start({absl::StrCat("--scenario=", scenario), R"(--working-dir=D:\x)"});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(absl::StrContains((*server)->Log(), "--working-dir: drive D: does not answer"))
      << (*server)->Log();
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
}

TEST(LifeTest, ANewServerTakesOverAKilledServersSockets) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  kill(static_cast<pid_t>((*server)->pid()), SIGKILL);
  (*server)->Stop(absl::Seconds(5));
  ASSERT_TRUE((*server)->Restart().ok());
  const filesystem::v1::Client files(Connect((*server)->client_options()).value());
  EXPECT_TRUE(PathExists(files, absl::StrCat(kRoot, "a")).ok());
}

std::string OutputOf(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, n);
  pclose(pipe);
  return output;
}

class SecretsTest : public testing::TestWithParam<const char*> {};

// Passwords and CHAP secrets of every call, valid or not, must not appear in the log of any format
// and verbosity, the audit, the metrics, or an answer.
TEST_P(SecretsTest, SecretsAppearInNoLogMetricOrAnswer) {
  const std::string port = absl::StrCat(20000 + getpid() % 20000);
  const auto server =
      ServerProcess::Start({"-v=9", absl::StrCat("--log-format=", GetParam()),
                            absl::StrCat("--metrics-bind-address=127.0.0.1:", port)});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string flags = absl::StrCat(" --socket-dir=", (*server)->directory());
  const std::string ctl = CSI_PROXYCTL_BINARY;
  std::string output;
  for (
      const std::string& arguments : std::vector<std::string>{
          R"( smb NewSmbGlobalMapping --remote-path='\\fileserver.example\data' --username='EXAMPLE\storage' --password='correct horse')",
          R"( smb NewSmbGlobalMapping --remote-path='\\fileserver.example\scratch' --username=u --password=Wr0ngSecret)",
          R"( smb NewSmbGlobalMapping --remote-path=bad --username=u --password=Wr0ngSecret)",
          R"( iscsi AddTargetPortal --target-portal.target-address=10.0.0.5)",
          R"( iscsi ConnectTarget --target-portal.target-address=10.0.0.5 --iqn=iqn.2026-01.example.storage:chap --auth-type=ONE_WAY_CHAP --chap-username=node-1 --chap-secret=Wr0ngChapKey)",
          R"( iscsi ConnectTarget --target-portal.target-address=10.0.0.5 --iqn=iqn.2026-01.example.storage:chap --auth-type=ONE_WAY_CHAP --chap-username=node-1 --chap-secret=short1)",
          R"( iscsi SetMutualChapSecret --mutualchapsecret=MutualKey1234)", R"( sim DumpState)"}) {
    absl::StrAppend(&output, OutputOf(absl::StrCat(ctl, arguments, flags)));
  }
  const std::string metrics =
      OutputOf(absl::StrCat("bash -c 'exec 3<>/dev/tcp/127.0.0.1/", port,
                            "; printf \"GET /metrics HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3'"));
  EXPECT_TRUE(absl::StrContains(metrics, "grpc_method=\"NewSmbGlobalMapping\"")) << metrics;
  absl::StrAppend(&output, metrics);
  EXPECT_TRUE(absl::StrContains((*server)->Log(), "password=")) << "calls are audited";
  EXPECT_TRUE(absl::StrContains((*server)->Log(), "csi-proxy-iscsi-v1alpha2"));
  for (const char* secret : {"correct horse", "Wr0ngSecret", "Wr0ngChapKey", "short1",
                             "MutualKey1234", "one-way-secret", "mutual-secret1"}) {
    EXPECT_FALSE(absl::StrContains((*server)->Log(), secret)) << secret;
    EXPECT_FALSE(absl::StrContains(output, secret)) << secret;
  }
}

INSTANTIATE_TEST_SUITE_P(LogFormats, SecretsTest, testing::Values("text", "json"));

}  // namespace
}  // namespace csi_proxy::integration
