// Calls NodeGetEnvVars of the real driver over its socket, as the kubelet would.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/env/env.grpc.pb.h"
#include "integration/sample/env/testing.h"
#include "integration/support/child_process.h"
#include "server/base/testing_posix.h"
#include "server/http/http_testing.h"

namespace csi_proxy::integration {
namespace {

namespace env = experimental::env::v1alpha1;
using sample::AskVault;
using sample::GoodFile;
using sample::GoodRequest;
using sample::GoodVaultAnswer;
using sample::kSecret;
using sample::kToken;
using sample::kVaultToken;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kGate[] = "--feature-gates=CSIDirectEnvInjection=true";

// A running driver with a directory of values.
class Driver {
 public:
  explicit Driver(std::vector<std::string> flags) {
    std::vector<std::string> command = {SAMPLE_DRIVER_BINARY, "--mode=embedded",
                                        "--endpoint=" + endpoint_};
    command.insert(command.end(), flags.begin(), flags.end());
    auto child = ChildProcess::Start(command, directory_.path() + "/log");
    if (!child.ok()) return;
    child_ = *std::move(child);
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (!absl::StrContains(Log(), " serves ") && child_->IsRunning() && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(10));
    }
  }

  // Returns a new connection; the kubelet, too, opens one for each call.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(endpoint_, grpc::InsecureChannelCredentials(), own);
  }

  int Stop() {
    const int code = child_ == nullptr ? -1 : child_->Stop(absl::Seconds(20));
    child_.reset();
    return code;
  }

  // Counts `text` in the driver's writable memory.
  int CountInMemory(const std::string& text) const {
    const std::string process = absl::StrCat("/proc/", child_->pid());
    std::ifstream maps(process + "/maps");
    std::ifstream memory(process + "/mem", std::ios::binary);
    EXPECT_TRUE(maps.is_open() && memory.is_open());
    constexpr uint64_t kLargestMapping = uint64_t{1} << 30;
    int count = 0;
    for (std::string line; std::getline(maps, line);) {
      // `55d0c0000000-55d0c0021000 rw-p ...`
      uint64_t begin = 0;
      uint64_t end = 0;
      const std::vector<std::string> range = absl::StrSplit(line, absl::ByAnyChar("- "));
      if (range.size() < 3 || !absl::StartsWith(range[2], "rw") ||
          !absl::SimpleHexAtoi(range[0], &begin) || !absl::SimpleHexAtoi(range[1], &end)) {
        continue;
      }
      // Skips the shadow memory of sanitizers.
      if (end - begin > kLargestMapping) continue;
      std::string bytes(end - begin, '\0');
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      for (size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
        ++count;
      }
    }
    return count;
  }

  std::string Log() const {
    std::ifstream file(directory_.path() + "/log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::vector<std::string> AuditLines() const {
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(Log(), '\n')) {
      if (absl::StrContains(line, "] audit method=")) lines.emplace_back(line);
    }
    return lines;
  }

  grpc::Status GetEnvVars(const env::NodeGetEnvVarsRequest& request,
                          env::NodeGetEnvVarsResponse* response) const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    return env::NodeEnv::NewStub(Connect())->NodeGetEnvVars(&context, request, response);
  }

 private:
  const TemporaryDirectory directory_;
  const std::string endpoint_ = absl::StrCat("unix://", directory_.path(), "/csi.sock");
  std::unique_ptr<ChildProcess> child_;
};

// Checks three kinds of requests, an error and the audit lines. Neither Vault's token nor the
// values may be in the driver's output, or afterwards in its memory.
TEST(EnvDriverTest, TheDriverAnswersAndKeepsNoSecretInMemoryOrOutput) {
  const std::string body = GoodVaultAnswer();
  const http_testing::RawServer vault(
      absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  const http_testing::RawServer imds("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ni-1");
  const TemporaryDirectory files;
  // Long, so that other data is unlikely to overwrite all traces.
  const std::string value = kSecret + std::string(1000, 'x');
  const std::string around(1500, 't');
  sample::WriteFile(files.path() + "/db.json", absl::StrReplaceAll(GoodFile(), {{kSecret, value}}));
  sample::WriteFile(files.path() + "/token", absl::StrCat(around, kVaultToken, around));
  const int port = FreePort();
  Driver driver(
      {kGate, "--env-directory=" + files.path(),
       absl::StrCat("--imds-address=", ToString(imds.address())),
       absl::StrCat("--vault-address=http://", ToString(vault.address())), "--vault-allow-loopback",
       absl::StrCat("--vault-token-file=", files.path(), "/token"), "--vault-path=secret/data/csi",
       absl::StrCat("--env-metrics-address=127.0.0.1:", port)});
  env::NodeGetEnvVarsRequest request = GoodRequest();
  (*request.mutable_volume_context())["csi.storage.k8s.io/serviceAccount.tokens"] = kToken;
  env::NodeGetEnvVarsResponse response;
  grpc::Status status = driver.GetEnvVars(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message() << driver.Log();
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).value(), "admin");
  EXPECT_EQ(response.results(1).value(), value);
  // The value as encoded: the variable's name, then tag and size, then the value.
  const std::string result = response.results(1).SerializeAsString();
  const std::string sent = result.substr(result.find("DB_PASSWORD"), 32);
  ASSERT_THAT(sent, HasSubstr("hunter2"));
  // Waits, because the driver may free the bytes later than the client reads them.
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (driver.CountInMemory(sent) != 0 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(driver.CountInMemory(sent), 0);
  // The driver keeps its flags in memory: finding one proves that the search works.
  EXPECT_GT(driver.CountInMemory(files.path()), 0);

  AskVault(&request);
  status = driver.GetEnvVars(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message() << driver.Log();
  EXPECT_EQ(response.results(1).value(), kSecret);
  EXPECT_EQ(driver.CountInMemory(kVaultToken), 0);

  request = GoodRequest();
  auto& context = *request.mutable_volume_context();
  context["env.csi-proxy.example/provider"] = "imds";
  context["env.csi-proxy.example/keys"] = "instanceId";
  context.erase("env.csi-proxy.example/file");
  request.mutable_queries()->RemoveLast();
  request.mutable_queries(0)->set_key("instanceId");
  status = driver.GetEnvVars(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message() << driver.Log();
  EXPECT_EQ(response.results(0).value(), "i-1");
  // Each refusal writes its own line, even if it equals the one before.
  context["csi.storage.k8s.io/pod.name"] = "other";
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(driver.GetEnvVars(request, &response).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  const http_testing::Answer metrics = http_testing::Get(port, "/metrics");
  EXPECT_THAT(metrics.body, HasSubstr("csi_env_request_seconds_count{grpc_status_code=\"OK\","
                                      "provider=\"vault\"} 1\n"));
  EXPECT_THAT(metrics.body,
              HasSubstr("{grpc_status_code=\"PermissionDenied\",provider=\"imds\"} 10\n"));
  for (const char* hidden : {"production", "app-0", "db.json"}) {
    EXPECT_THAT(metrics.body, Not(HasSubstr(hidden)));
  }
  EXPECT_EQ(driver.Stop(), 0);

  const std::vector<std::string> audit = driver.AuditLines();
  ASSERT_THAT(audit, SizeIs(13)) << driver.Log();
  EXPECT_THAT(audit[0], MatchesRegex("I[0-9]+ [0-9:.]+\\] audit method=NodeGetEnvVars code=OK "
                                     "ms=[0-9.]+ namespace=\"production\" pod=\"app-0\" [^]]*\\]"));
  EXPECT_THAT(audit[1], HasSubstr(R"(provider="vault" file="" path="databases/main")"));
  EXPECT_THAT(std::vector<std::string>(audit.begin() + 3, audit.end()),
              Each(HasSubstr(" code=PERMISSION_DENIED ")));
  for (const char* hidden : {kSecret, kVaultToken, kToken, "admin"}) {
    EXPECT_THAT(driver.Log() + metrics.body, Not(HasSubstr(hidden)));
  }
}

// 100 pods start repeatedly and ask for their variables over their own connections. The goal is a
// p99 of 100 ms on an idle machine; the test prints the times and fails only on errors.
TEST(EnvDriverTest, AHundredPodsCanStartConcurrentlyAndRepeatedly) {
  constexpr int kPods = 100;
  constexpr int kStarts = 5;
  const TemporaryDirectory values;
  sample::WriteFile(values.path() + "/db.json", GoodFile());
  Driver driver({kGate, "--env-directory=" + values.path()});
  std::mutex mutex;
  std::vector<double> took;  // guarded by mutex
  std::atomic<int> failed = 0;
  std::vector<std::thread> pods;
  const absl::Time began = absl::Now();
  for (int pod = 0; pod < kPods; ++pod) {
    pods.emplace_back([&, pod] {
      std::mt19937 random(static_cast<unsigned>(pod));
      for (int start = 0; start < kStarts; ++start) {
        absl::SleepFor(absl::Milliseconds(std::uniform_int_distribution<>(0, 2000)(random)));
        env::NodeGetEnvVarsRequest request = GoodRequest();
        request.set_volume_id(absl::StrCat("csi-", pod, "-", start));
        env::NodeGetEnvVarsResponse response;
        const absl::Time asked = absl::Now();
        const grpc::Status status = driver.GetEnvVars(request, &response);
        const double ms = absl::ToDoubleMilliseconds(absl::Now() - asked);
        const std::lock_guard lock(mutex);
        took.push_back(ms);
        if (!status.ok() || response.results(1).value() != kSecret) ++failed;
      }
    });
  }
  for (std::thread& pod : pods) pod.join();
  std::sort(took.begin(), took.end());
  std::cout << took.size() << " starts of pods, "
            << static_cast<double>(took.size()) / absl::ToDoubleSeconds(absl::Now() - began)
            << "/s; failed " << failed << "; p50 " << took[took.size() / 2] << " ms, p99 "
            << took[took.size() * 99 / 100] << " ms\n";
  EXPECT_EQ(failed, 0);
  std::set<std::string> volumes;
  for (const std::string& line : driver.AuditLines()) {
    const size_t at = line.find(" volume_id=");
    volumes.insert(line.substr(at, line.find(" provider=") - at));
  }
  EXPECT_THAT(volumes, SizeIs(kPods * kStarts));
}

TEST(EnvDriverTest, TheRpcIsUnimplementedIfTheFeatureGateIsOff) {
  Driver driver({"--feature-gates=CSIDirectEnvInjection=false"});
  env::NodeGetEnvVarsResponse response;
  EXPECT_EQ(driver.GetEnvVars(GoodRequest(), &response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED)
      << driver.Log();
}

TEST(EnvDriverTest, TheDriverExitsOnInvalidFlags) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"--feature-gates=CSIDirectEnvInjektion=true"}, "--feature-gates: must be"},
      {{"--env-directory=/tmp"}, "--env-directory: needs --feature-gates"},
      {{kGate, "--vault-address=http://10.0.0.1:8200"}, "--vault-address: must be a port of the"},
      {{kGate, "--env-metrics-address=9810"}, "--env-metrics-address: \"9810\" is neither"}};
  for (const auto& [flags, text] : kCases) {
    Driver driver(flags);
    EXPECT_EQ(driver.Stop(), 2) << driver.Log();
    EXPECT_THAT(driver.Log(), HasSubstr(text));
  }
}

}  // namespace
}  // namespace csi_proxy::integration
