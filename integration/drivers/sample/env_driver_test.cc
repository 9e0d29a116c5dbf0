// NodeGetEnvVars of the real driver, as kubelet would call it over the driver's socket.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
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
#include "integration/drivers/sample/csi.grpc.pb.h"
#include "integration/drivers/sample/env.grpc.pb.h"
#include "integration/drivers/sample/env_testing.h"
#include "integration/support/child_process.h"
#include "integration/support/server_process.h"
#include "server/base/testing_posix.h"
#include "server/http/http_testing.h"

namespace csi_proxy::integration {
namespace {

namespace env = experimental::env::v1alpha1;
using sample_driver::AskVault;
using sample_driver::GoodFile;
using sample_driver::GoodRequest;
using sample_driver::GoodVaultAnswer;
using sample_driver::kSecret;
using sample_driver::kToken;
using sample_driver::kVaultToken;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kGate[] = "--feature-gates=CSIDirectEnvInjection=true";

// A running driver with a directory of values.
class Driver {
 public:
  explicit Driver(std::vector<std::string> flags) {
    const std::string endpoint = absl::StrCat("unix://", directory_.path(), "/csi.sock");
    std::vector<std::string> command = {SAMPLE_DRIVER_BINARY, "--endpoint=" + endpoint,
                                        "--node-id=node-1"};
    command.insert(command.end(), flags.begin(), flags.end());
    auto child = ChildProcess::Start(command, directory_.path() + "/log");
    if (!child.ok()) return;
    child_ = *std::move(child);
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (!absl::StrContains(Log(), " serves ") && child_->Running() && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    channel_ = grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
  }

  int Stop() {
    channel_.reset();
    const int code = child_ == nullptr ? -1 : child_->Stop(absl::Seconds(20));
    child_.reset();
    return code;
  }

  // Counts `text` in the memory that the driver may write.
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
      // Shadow memory of sanitizers.
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
                          env::NodeGetEnvVarsResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    return env::NodeEnv::NewStub(channel_)->NodeGetEnvVars(&context, request, response);
  }
  grpc::Status GetInfo() {
    grpc::ClientContext context;
    csi::v1::NodeGetInfoResponse response;
    return csi::v1::Node::NewStub(channel_)->NodeGetInfo(&context, {}, &response);
  }

 private:
  const TemporaryDirectory directory_;
  std::unique_ptr<ChildProcess> child_;
  std::shared_ptr<grpc::Channel> channel_;
};

env::NodeGetEnvVarsRequest NodeRequest() {
  env::NodeGetEnvVarsRequest request = GoodRequest();
  auto& context = *request.mutable_volume_context();
  context["env.csi-proxy.example/provider"] = "node";
  context["env.csi-proxy.example/keys"] = "nodeId,biosSerialNumber,mac";
  context.erase("env.csi-proxy.example/file");
  request.mutable_queries(0)->set_key("nodeId");
  request.mutable_queries(1)->set_key("biosSerialNumber");
  return request;
}

// The default of the simulated node.
constexpr char kSerial[] = "VMware-42 1a 7c 2e 90 4d 11 5f-b3 8e 6a 00 27 9c d4 51";

// Everything of one mode: values of a file and of the node, refusals, one audit line for each.
void Exercise(const std::vector<std::string>& flags) {
  const TemporaryDirectory values;
  sample_driver::WriteFile(values.path() + "/db.json", GoodFile());
  std::vector<std::string> all = flags;
  all.insert(all.end(), {kGate, "--env-directory=" + values.path()});
  Driver driver(all);
  env::NodeGetEnvVarsResponse response;
  env::NodeGetEnvVarsRequest request = GoodRequest();
  (*request.mutable_volume_context())["csi.storage.k8s.io/serviceAccount.tokens"] = kToken;
  grpc::Status status = driver.GetEnvVars(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message() << driver.Log();
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).name(), "DB_USER");
  EXPECT_EQ(response.results(0).value(), "admin");
  EXPECT_EQ(response.results(1).name(), "DB_PASSWORD");
  EXPECT_EQ(response.results(1).value(), kSecret);

  status = driver.GetEnvVars(NodeRequest(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message() << driver.Log();
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).value(), "node-1");
  EXPECT_EQ(response.results(1).value(), kSerial);

  env::NodeGetEnvVarsRequest refused = NodeRequest();
  refused.mutable_queries(1)->set_key("mac");
  status = driver.GetEnvVars(refused, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(),
            "queries[1].key: mac is neither `nodeId` nor `biosSerialNumber`");
  // The same refusal again and again: each has its line nevertheless.
  refused = request;
  (*refused.mutable_pod_context())["serviceAccount"] = "other";
  (*refused.mutable_volume_context())["csi.storage.k8s.io/serviceAccount.name"] = "other";
  for (int i = 0; i < 10; ++i) {
    status = driver.GetEnvVars(refused, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(status.error_message(), "file db.json: has no reader production/other");
  }
  // A value that breaks the file, and one that cannot be set.
  for (const std::string& broken :
       {absl::StrCat("{\"variables\": {\"password\" \"", kSecret, "\"}}"),
        absl::StrCat(R"({"readers": [{"namespace": "production", "serviceAccount": "*"}],
                         "variables": {"username": "", "password": ")",
                     kSecret, "\\u0000\"}}")}) {
    sample_driver::WriteFile(values.path() + "/db.json", broken);
    status = driver.GetEnvVars(request, &response);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.error_message(), Not(HasSubstr(kSecret)));
  }
  EXPECT_EQ(driver.Stop(), 0);

  const std::vector<std::string> audit = driver.AuditLines();
  ASSERT_THAT(audit, SizeIs(15)) << driver.Log();
  EXPECT_THAT(audit[0], HasSubstr("] audit method=NodeGetEnvVars code=OK ms="));
  EXPECT_THAT(
      audit[0],
      HasSubstr(
          R"( namespace="production" pod="app-0" pod_uid="0f5a1cbe-1234-4a6b-9a57-3c2b1d0e9f88" )"
          R"(service_account="app" volume_id="csi-0123456789" provider="file" file="db.json" )"
          R"(variables=["DB_USER":"username" "DB_PASSWORD":"password"])"));
  EXPECT_THAT(audit[2], HasSubstr(" code=NOT_FOUND "));
  EXPECT_THAT(std::vector<std::string>(audit.begin() + 3, audit.begin() + 13),
              Each(HasSubstr(" code=PERMISSION_DENIED ")));
  // Neither the values nor what else came with the volume is anywhere in the driver's output.
  for (const char* hidden : {kSecret, "admin", kSerial, kToken}) {
    EXPECT_THAT(driver.Log(), Not(HasSubstr(hidden)));
  }
}

TEST(EnvDriverTest, EmbeddedAnswers) { Exercise({"--mode=embedded"}); }

// Neither the message stays nor the bytes it was sent as. Traces of the file that protobuf's JSON
// parser leaves are another matter: see README.md.
TEST(EnvDriverTest, TheResponseDoesNotStayInTheDriversMemory) {
  const TemporaryDirectory values;
  Driver driver({"--mode=embedded", kGate, "--env-directory=" + values.path()});
  for (const size_t size : {size_t{40}, size_t{1000}, size_t{16000}}) {
    const std::string value = kSecret + std::string(size, 'x');
    sample_driver::WriteFile(values.path() + "/db.json",
                             absl::StrReplaceAll(GoodFile(), {{kSecret, value}}));
    env::NodeGetEnvVarsResponse response;
    ASSERT_TRUE(driver.GetEnvVars(GoodRequest(), &response).ok()) << driver.Log();
    ASSERT_EQ(response.results(1).value(), value);
    // As it is on the wire: the name, then the tag and the size of the value, then the value.
    const std::string result = response.results(1).SerializeAsString();
    const std::string sent = result.substr(result.find("DB_PASSWORD"), 32);
    ASSERT_THAT(sent, HasSubstr("hunter2"));
    // The driver lets go of the bytes when the client may have read them already.
    const absl::Time give_up = absl::Now() + absl::Seconds(10);
    int left = 0;
    while ((left = driver.CountInMemory(sent)) != 0 && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_EQ(left, 0) << size;
    // The search does find the rest of a request, of which only the tokens are wiped.
    EXPECT_GT(driver.CountInMemory("csi.storage.k8s.io/pod.namespace"), 0);
  }
}

TEST(EnvDriverTest, RemoteAnswers) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_NO_FATAL_FAILURE(Exercise({"--mode=remote", "--socket-dir=" + (*server)->directory()}));
  for (const char* hidden : {kSecret, "admin", kToken}) {
    EXPECT_THAT((*server)->Log(), Not(HasSubstr(hidden)));
  }
}

TEST(EnvDriverTest, WithoutTheServiceTheNodeIsUnknownAndFilesAreNot) {
  const auto server = ServerProcess::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const TemporaryDirectory values;
  sample_driver::WriteFile(values.path() + "/db.json", GoodFile());
  Driver driver({"--mode=remote", "--socket-dir=" + (*server)->directory(), kGate,
                 "--env-directory=" + values.path()});
  (*server)->Stop(absl::Seconds(10));
  env::NodeGetEnvVarsResponse response;
  const grpc::Status status = driver.GetEnvVars(NodeRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_TRUE(driver.GetEnvVars(GoodRequest(), &response).ok());
  EXPECT_THAT(driver.AuditLines(), SizeIs(2));
}

// Vault's answer, the metrics of it, and that the token is nowhere in the driver afterwards.
TEST(EnvDriverTest, VaultAnswers) {
  const std::string body = GoodVaultAnswer();
  const http_testing::RawServer vault(
      absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  const TemporaryDirectory files;
  // Long, so that other data does not soon take the place of a trace.
  const std::string around(1500, 't');
  sample_driver::WriteFile(files.path() + "/token", absl::StrCat(around, kVaultToken, around));
  const int port = FreePort();
  Driver driver(
      {"--mode=embedded", kGate, absl::StrCat("--vault-address=http://", ToString(vault.address())),
       "--vault-allow-loopback", absl::StrCat("--vault-token-file=", files.path(), "/token"),
       "--vault-path=secret/data/csi", absl::StrCat("--env-metrics-address=127.0.0.1:", port)});
  env::NodeGetEnvVarsRequest request = GoodRequest();
  AskVault(&request);
  env::NodeGetEnvVarsResponse response;
  const grpc::Status status = driver.GetEnvVars(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message() << driver.Log();
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(1).value(), kSecret);
  ASSERT_THAT(vault.requests(), SizeIs(1));
  EXPECT_THAT(vault.requests()[0], HasSubstr(kVaultToken));
  EXPECT_EQ(driver.CountInMemory(kVaultToken), 0);

  const http_testing::Answer metrics = http_testing::Get(port, "/metrics");
  EXPECT_EQ(metrics.code, 200);
  EXPECT_THAT(metrics.body, HasSubstr("csi_env_request_seconds_count{grpc_status_code=\"OK\","
                                      "provider=\"vault\"} 1\n"));
  EXPECT_EQ(driver.Stop(), 0);
  ASSERT_THAT(driver.AuditLines(), SizeIs(1));
  EXPECT_THAT(driver.AuditLines()[0],
              HasSubstr(R"(provider="vault" file="" path="databases/main")"));
  for (const char* hidden : {kSecret, kVaultToken, "admin"}) {
    EXPECT_THAT(driver.Log(), Not(HasSubstr(hidden)));
    EXPECT_THAT(metrics.body, Not(HasSubstr(hidden)));
  }
}

TEST(EnvDriverTest, CallsAtOnceHaveALineEach) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 50;
  const TemporaryDirectory values;
  sample_driver::WriteFile(values.path() + "/db.json", GoodFile());
  Driver driver({"--mode=embedded", kGate, "--env-directory=" + values.path()});
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&driver, &answered, i] {
      for (int call = 0; call < kCalls; ++call) {
        env::NodeGetEnvVarsRequest request = i % 2 == 0 ? GoodRequest() : NodeRequest();
        request.set_volume_id(absl::StrCat("csi-", i, "-", call));
        env::NodeGetEnvVarsResponse response;
        const bool ok = driver.GetEnvVars(request, &response).ok();
        if (ok && response.results(1).value() == (i % 2 == 0 ? kSecret : kSerial)) ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, kThreads * kCalls);
  const std::vector<std::string> audit = driver.AuditLines();
  EXPECT_THAT(audit, SizeIs(kThreads * kCalls));
  EXPECT_THAT(audit, Each(MatchesRegex("I[0-9]+ [0-9:.]+\\] audit method=NodeGetEnvVars code=OK "
                                       "ms=[0-9.]+ namespace=[^]]*\\]")));
  std::set<std::string> volumes;
  for (const std::string& line : audit) {
    const size_t at = line.find(" volume_id=");
    volumes.insert(line.substr(at, line.find(" provider=") - at));
  }
  EXPECT_THAT(volumes, SizeIs(kThreads * kCalls));
}

TEST(EnvDriverTest, WithoutTheGateThereIsNoSuchRpc) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--mode=embedded"},
        {"--mode=embedded", "--feature-gates=CSIDirectEnvInjection=false"}}) {
    Driver driver(flags);
    env::NodeGetEnvVarsResponse response;
    EXPECT_EQ(driver.GetEnvVars(GoodRequest(), &response).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_TRUE(driver.GetInfo().ok()) << driver.Log();
    EXPECT_THAT(driver.AuditLines(), IsEmpty());
  }
}

TEST(EnvDriverTest, WithoutADirectoryThereAreNoFiles) {
  Driver driver({"--mode=embedded", kGate});
  env::NodeGetEnvVarsResponse response;
  const grpc::Status status = driver.GetEnvVars(GoodRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("--env-directory"));
  EXPECT_TRUE(driver.GetEnvVars(NodeRequest(), &response).ok());
}

TEST(EnvDriverTest, FlagsThatCannotBeMeantEndTheDriver) {
  const std::pair<std::vector<std::string>, const char*> kCases[] = {
      {{"--feature-gates=CSIDirectEnvInjektion=true"}, "unrecognized feature gate"},
      {{"--feature-gates=CSIDirectEnvInjection"}, "missing bool value"},
      {{"--env-directory=/tmp"}, "--env-directory: needs --feature-gates"},
      {{"--vault-address=http://127.0.0.1:1"}, "--vault-address: needs --feature-gates"},
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
