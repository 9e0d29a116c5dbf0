#include "integration/drivers/sample/env_service.h"

#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/drivers/sample/env_provider.h"
#include "integration/drivers/sample/env_testing.h"
#include "server/base/testing_posix.h"

namespace csi_proxy::sample_driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Request = env::NodeGetEnvVarsRequest;

// Keeps what it is told.
class KeptAudit final : public AuditLog {
 public:
  explicit KeptAudit(std::vector<std::string>* lines) : lines_(lines) {}
  void Record(const AuditRecord& record) override {
    lines_->push_back(absl::StrCat(
        record.method, " ", absl::StatusCodeToString(record.status.code()), " ", record.subject));
  }

 private:
  std::vector<std::string>* const lines_;
};

// In place of the node: one value for all keys, or an error.
class FixedProvider final : public EnvProvider {
 public:
  explicit FixedProvider(absl::StatusOr<std::string> value) : value_(std::move(value)) {}
  absl::StatusOr<std::vector<Secret>> Get(const EnvRequest& request, const CallOptions&) override {
    if (!value_.ok()) return value_.status();
    return std::vector<Secret>(request.queries.size(), Secret(*value_));
  }

 private:
  const absl::StatusOr<std::string> value_;
};

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

class EnvServiceTest : public testing::Test {
 protected:
  EnvServiceTest() { Use(std::string("node-1")); }

  void Use(absl::StatusOr<std::string> node) {
    Use(std::make_unique<FileEnvProvider>(directory_.path()), std::move(node));
  }
  void Use(std::unique_ptr<EnvProvider> file, absl::StatusOr<std::string> node) {
    service_ = std::make_unique<EnvService>(
        EnvService::Providers{
            .file = std::move(file),
            .node = std::make_unique<FixedProvider>(std::move(node)),
            .vault = std::make_unique<FixedProvider>(absl::DeadlineExceededError("slow"))},
        std::make_unique<KeptAudit>(&audit_));
  }
  void Write(const std::string& text, mode_t mode = 0600) {
    WriteFile(directory_.path() + "/db.json", text, mode);
  }

  // `name=value` of each variable, or the error; there is one audit record of either.
  absl::StatusOr<std::vector<std::string>> Call(const Request& request) {
    const size_t before = audit_.size();
    const auto bytes = service_->GetEnvVars(Bytes(request.SerializeAsString()), {});
    EXPECT_EQ(audit_.size(), before + 1);
    EXPECT_THAT(
        audit_.back(),
        StartsWith(absl::StrCat("NodeGetEnvVars ", absl::StatusCodeToString(bytes.status().code()),
                                " namespace=\"")));
    EXPECT_THAT(audit_.back(), Not(HasSubstr(kSecret)));
    EXPECT_THAT(bytes.status().message(), Not(HasSubstr(kSecret)));
    if (!bytes.ok()) return bytes.status();
    env::NodeGetEnvVarsResponse response;
    EXPECT_TRUE(response.ParseFromString(Text(*bytes)));
    std::vector<std::string> variables;
    for (const auto& result : response.results()) {
      variables.push_back(absl::StrCat(result.name(), "=", result.value()));
    }
    return variables;
  }

  void ExpectRefused(const Request& request, absl::StatusCode code, const std::string& text) {
    const absl::Status status = Call(request).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(status.message(), HasSubstr(text));
  }

  const TemporaryDirectory directory_;
  std::vector<std::string> audit_;
  std::unique_ptr<EnvService> service_;
};

TEST_F(EnvServiceTest, AnswersInTheOrderOfTheQueries) {
  Write(GoodFile());
  Request request = GoodRequest();
  const auto variables = Call(request);
  ASSERT_TRUE(variables.ok()) << variables.status();
  EXPECT_THAT(*variables, ElementsAre("DB_USER=admin", absl::StrCat("DB_PASSWORD=", kSecret)));
  request.mutable_queries()->SwapElements(0, 1);
  EXPECT_THAT(*Call(request), ElementsAre(absl::StrCat("DB_PASSWORD=", kSecret), "DB_USER=admin"));
  EXPECT_THAT(audit_.back(),
              HasSubstr(R"(variables=["DB_PASSWORD":"password" "DB_USER":"username"])"));
}

TEST_F(EnvServiceTest, AskingAgainSeesWhatTheFileSaysNow) {
  Write(GoodFile());
  EXPECT_TRUE(Call(GoodRequest()).ok());
  Write(R"({"readers": [], "variables": {"username": "a", "password": "b"}})");
  ExpectRefused(GoodRequest(), absl::StatusCode::kPermissionDenied, "has no reader");
}

TEST_F(EnvServiceTest, OnlyTheReadersOfAFileGetItsValues) {
  const auto refused = [this](const std::string& readers) {
    Write(absl::StrCat(R"({"readers": )", readers, R"(, "variables": {"password": ")", kSecret,
                       R"("}})"));
    ExpectRefused(GoodRequest(), absl::StatusCode::kPermissionDenied,
                  "file db.json: has no reader production/app");
  };
  refused("[]");
  refused("null");
  refused(R"([{"namespace": "production"}])");
  refused(R"([{"serviceAccount": "app"}])");
  refused(R"([{"serviceAccount": "*"}])");
  refused(R"([{"namespace": "*", "serviceAccount": "*"}])");
  refused(R"([{"namespace": "production", "serviceAccount": "app2"}])");
  refused(R"([{"namespace": "test", "serviceAccount": "app"}])");
  // The namespace of one and the account of another.
  refused(R"([{"namespace": "production", "serviceAccount": "other"},
              {"namespace": "other", "serviceAccount": "app"}])");
  Write(absl::StrCat(R"({"readers": [{"namespace": "production", "serviceAccount": "*"}],
                         "variables": {"username": "", "password": "x"}})"));
  EXPECT_THAT(*Call(GoodRequest()), ElementsAre("DB_USER=", "DB_PASSWORD=x"));
}

// A pod that may not read the file does not learn the file's keys.
TEST_F(EnvServiceTest, AStrangerDoesNotLearnTheKeys) {
  Write(R"({"variables": {}})");
  ExpectRefused(GoodRequest(), absl::StatusCode::kPermissionDenied, "has no reader");
}

TEST_F(EnvServiceTest, AllOrNothing) {
  Write(R"({"readers": [{"namespace": "production", "serviceAccount": "app"}],
            "variables": {"username": "admin"}})");
  ExpectRefused(GoodRequest(), absl::StatusCode::kNotFound,
                "queries[1].key: password is not in file db.json");
}

TEST_F(EnvServiceTest, AFileThatIsNotProtectedIsNotUsed) {
  ExpectRefused(GoodRequest(), absl::StatusCode::kNotFound, "file db.json: does not exist");
  Write(GoodFile(), 0644);
  ExpectRefused(GoodRequest(), absl::StatusCode::kFailedPrecondition, "has permissions for");
  Use(std::make_unique<FileEnvProvider>(""), std::string());
  ExpectRefused(GoodRequest(), absl::StatusCode::kFailedPrecondition,
                "needs the driver's flag --env-directory");
}

// Protobuf's messages quote the text around an error; neither they nor its log may get out.
TEST_F(EnvServiceTest, ABrokenFileIsNotQuoted) {
  const std::string good = GoodFile();
  const std::string secret = absl::StrCat("\"", kSecret, "\"");
  testing::internal::CaptureStderr();
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string(kSecret), secret,
        good.substr(0, good.size() - 1), good + "}", absl::StrCat("{\"variables\": ", secret, "}"),
        absl::StrCat("{\"variables\": {\"password\" ", secret, "}}"),
        absl::StrCat("{\"variables\": {\"password\": [", secret, "]}}"),
        absl::StrCat("{\"variables\": {\"password\": ", kSecret, "}}"),
        absl::StrCat("{\"passwords\": {\"password\": ", secret, "}}"),
        absl::StrCat("{", secret, ": {}}"),
        absl::StrCat("{\"variables\": {\"password\": \"", kSecret, "\xff\"}}"),
        absl::StrCat("{\"variables\": {\"password\": \"", kSecret, "\\ud800\"}}"),
        absl::StrCat("{\"readers\": [", secret, "]}"), std::string(100000, '[')}) {
    Write(text);
    const absl::Status status = Call(GoodRequest()).status();
    // A text that protobuf can read has no readers.
    if (status.code() == absl::StatusCode::kPermissionDenied) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << text.substr(0, 99);
    EXPECT_EQ(status.message(), "file db.json: is not JSON of `readers` and `variables`");
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr(kSecret)));
}

TEST_F(EnvServiceTest, ValuesThatCannotBeSetAreRefused) {
  const auto write = [this](const std::string& password) {
    Write(absl::StrCat(R"({"readers": [{"namespace": "production", "serviceAccount": "app"}],
                           "variables": {"username": "admin", "password": ")",
                       password, R"("}})"));
  };
  write(absl::StrCat(kSecret, "\\u0000"));
  ExpectRefused(GoodRequest(), absl::StatusCode::kInvalidArgument,
                "queries[1].key: the value of password has a NUL in it");
  write(absl::StrCat(kSecret, std::string(16384, 'x')));
  ExpectRefused(GoodRequest(), absl::StatusCode::kInvalidArgument,
                "queries[1].key: the value of password has more than 16384 bytes");
}

TEST_F(EnvServiceTest, TheNodesErrorsArePassedOn) {
  Request request = GoodRequest();
  (*request.mutable_volume_context())["env.csi-proxy.example/provider"] = "node";
  request.mutable_volume_context()->erase("env.csi-proxy.example/file");
  EXPECT_THAT(*Call(request), ElementsAre("DB_USER=node-1", "DB_PASSWORD=node-1"));
  Use(absl::UnavailableError("no pipe"));
  ExpectRefused(request, absl::StatusCode::kUnavailable, "no pipe");
}

TEST_F(EnvServiceTest, MetricsCountRequestsByProviderAndCode) {
  const auto counted = [this](const char* code, const char* provider, int count) {
    const std::string line = absl::StrCat("csi_env_request_seconds_count{grpc_status_code=\"", code,
                                          "\",provider=\"", provider, "\"} ", count, "\n");
    EXPECT_THAT(service_->Metrics().body, HasSubstr(line));
  };
  // There before the first request.
  for (const char* provider : {"file", "node", "vault"}) counted("OK", provider, 0);
  Write(GoodFile());
  EXPECT_TRUE(Call(GoodRequest()).ok());
  EXPECT_TRUE(Call(GoodRequest()).ok());
  Request request = GoodRequest();
  AskVault(&request);
  EXPECT_FALSE(Call(request).ok());
  (*request.mutable_volume_context())["env.csi-proxy.example/provider"] = "chosen-by-a-pod";
  EXPECT_FALSE(Call(request).ok());
  EXPECT_FALSE(service_->GetEnvVars(Bytes("\x01"), {}).ok());
  request = GoodRequest();
  request.mutable_queries(0)->set_key("other");
  EXPECT_FALSE(Call(request).ok());
  counted("OK", "file", 2);
  counted("PermissionDenied", "file", 1);
  counted("DeadlineExceeded", "vault", 1);
  counted("InvalidArgument", "none", 2);
  counted("OK", "node", 0);
  const std::string text = service_->Metrics().body;
  EXPECT_THAT(text, HasSubstr("csi_env_request_seconds_bucket{grpc_status_code=\"OK\","
                              "provider=\"file\",le=\"0.1\"} "));
  for (const char* hidden : {kSecret, "chosen-by-a-pod", "production", "app-0", "db.json"}) {
    EXPECT_THAT(text, Not(HasSubstr(hidden)));
  }
}

TEST_F(EnvServiceTest, WhatIsNotARequestIsRefusedAndRecorded) {
  Write(GoodFile());
  // protobuf would log each text that is not UTF-8 by the name of its field, thousands of times.
  const google::protobuf::LogSilencer silence;
  std::mt19937 random(1);
  std::string good = GoodRequest().SerializeAsString();
  int refused = 0;
  for (size_t i = 0; i < 3000; ++i) {
    std::string text = good.substr(0, i < good.size() ? i : good.size());
    for (unsigned flips = random() % 4; flips > 0 && !text.empty(); --flips) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const auto bytes = service_->GetEnvVars(Bytes(text), {});
    ASSERT_EQ(audit_.size(), i + 1);
    ASSERT_THAT(audit_.back(), Not(HasSubstr("\n")));
    ASSERT_THAT(bytes.status().message(), Not(HasSubstr(kSecret)));
    refused += bytes.ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000) << "the whole request, unchanged, is among them";
  EXPECT_EQ(service_->GetEnvVars(Bytes("\x01"), {}).status().message(),
            "the request is not a NodeGetEnvVarsRequest");
}

TEST(SerializeAndWipeTest, NoValueStaysInTheMessage) {
  env::NodeGetEnvVarsResponse response;
  response.add_results()->set_value(kSecret);
  response.add_results()->set_value(std::string(5000, 's'));
  const std::string before = response.SerializeAsString();
  const char* const place = response.results(1).value().data();
  const grpc::ByteBuffer bytes = SerializeAndWipe(&response);
  EXPECT_EQ(Text(bytes), before);
  EXPECT_EQ(response.results(1).value().data(), place);
  for (const auto& result : response.results()) {
    EXPECT_EQ(result.value(), std::string(result.value().size(), '\0'));
  }
}

TEST(StderrAuditLogTest, WritesOneLineForm) {
  testing::internal::CaptureStderr();
  StderrAuditLog().Record({.method = "NodeGetEnvVars",
                           .subject = AuditSubject(GoodRequest()),
                           .context = CallContext(),
                           .status = absl::PermissionDeniedError("not shown"),
                           .duration = absl::Microseconds(1500)});
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, testing::MatchesRegex("I[0-9]+ [0-9:.]+\\] audit method=NodeGetEnvVars "
                                          "code=PERMISSION_DENIED ms=1\\.500 namespace=.*\n"));
}

}  // namespace
}  // namespace csi_proxy::sample_driver
