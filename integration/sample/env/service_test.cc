#include "integration/sample/env/service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/env/provider.h"
#include "integration/sample/env/testing.h"
#include "server/base/testing_posix.h"

namespace csi_proxy::sample {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Request = env::NodeGetEnvVarsRequest;

// Appends each record to `lines`.
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
  EnvServiceTest() { Use(directory_.path()); }

  void Use(const std::string& directory) {
    service_ = std::make_unique<EnvService>(
        EnvService::Providers{.file = std::make_unique<FileEnvProvider>(directory),
                              .imds = nullptr,
                              .vault = nullptr},
        std::make_unique<KeptAudit>(&audit_));
  }
  void Write(const std::string& text, mode_t mode = 0600) {
    WriteFile(directory_.path() + "/db.json", text, mode);
  }

  // Returns `name=value` of each variable, or the error. Expects one audit record for the call.
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

TEST_F(EnvServiceTest, OnlyPodsListedAsReadersGetAFilesValues) {
  const auto refused = [this](const std::string& readers) {
    Write(absl::StrCat(R"({"readers": )", readers, R"(, "variables": {"password": ")", kSecret,
                       R"("}})"));
    ExpectRefused(GoodRequest(), absl::StatusCode::kPermissionDenied,
                  "file db.json: has no reader production/app");
  };
  refused("[]");
  refused(R"([{"namespace": "production"}])");
  refused(R"([{"serviceAccount": "*"}])");
  refused(R"([{"namespace": "*", "serviceAccount": "*"}])");
  // No single reader has both the namespace and the account.
  refused(R"([{"namespace": "production", "serviceAccount": "other"},
              {"namespace": "other", "serviceAccount": "app"}])");
  Write(absl::StrCat(R"({"readers": [{"namespace": "production", "serviceAccount": "*"}],
                         "variables": {"username": "", "password": "x"}})"));
  EXPECT_THAT(*Call(GoodRequest()), ElementsAre("DB_USER=", "DB_PASSWORD=x"));
}

TEST_F(EnvServiceTest, AMissingOrBadValueFailsTheWholeRequest) {
  Write(R"({"readers": [{"namespace": "production", "serviceAccount": "app"}],
            "variables": {"username": "admin"}})");
  ExpectRefused(GoodRequest(), absl::StatusCode::kNotFound,
                "queries[1].key: password is not in file db.json");
  Write(absl::StrCat(R"({"readers": [{"namespace": "production", "serviceAccount": "app"}],
                         "variables": {"username": "admin", "password": ")",
                     kSecret, R"(\u0000"}})"));
  ExpectRefused(GoodRequest(), absl::StatusCode::kInvalidArgument,
                "queries[1].key: the value of password has a NUL in it");
  ASSERT_EQ(unlink((directory_.path() + "/db.json").c_str()), 0);
  ExpectRefused(GoodRequest(), absl::StatusCode::kNotFound, "file db.json: does not exist");
  Write(GoodFile(), 0644);
  ExpectRefused(GoodRequest(), absl::StatusCode::kFailedPrecondition, "has permissions for");
  Use("");
  ExpectRefused(GoodRequest(), absl::StatusCode::kFailedPrecondition,
                "needs the driver's flag --env-directory");
}

// Protobuf's error messages quote the file, so neither errors nor stderr may contain them.
TEST_F(EnvServiceTest, ErrorsDoNotQuoteAMalformedFile) {
  const std::string good = GoodFile();
  const std::string secret = absl::StrCat("\"", kSecret, "\"");
  testing::internal::CaptureStderr();
  for (const std::string& text :
       {std::string(), secret, good + "}", absl::StrCat("{\"variables\": ", secret, "}"),
        absl::StrCat("{\"variables\": {\"password\" ", secret, "}}"),
        absl::StrCat("{", secret, ": {}}"),
        absl::StrCat("{\"variables\": {\"password\": \"", kSecret, "\xff\"}}"),
        absl::StrCat("{\"readers\": [", secret, "]}"), std::string(100000, '[')}) {
    Write(text);
    const absl::Status status = Call(GoodRequest()).status();
    // Protobuf accepts some of the texts, but they list no readers.
    if (status.code() == absl::StatusCode::kPermissionDenied) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << text.substr(0, 99);
    EXPECT_EQ(status.message(), "file db.json: is not JSON of `readers` and `variables`");
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr(kSecret)));
}

// Windows PowerShell 5.1 begins UTF-8 files with a byte order mark, and writes UTF-16 by default.
TEST_F(EnvServiceTest, AByteOrderMarkIsSkippedAndUtf16IsRefused) {
  Write(absl::StrCat("\xEF\xBB\xBF", GoodFile()));
  EXPECT_TRUE(Call(GoodRequest()).ok());
  Write("\xFF\xFE{");
  ExpectRefused(GoodRequest(), absl::StatusCode::kFailedPrecondition, "is UTF-16: save it as UTF");
}

TEST_F(EnvServiceTest, BytesThatAreNotARequestAreRefused) {
  EXPECT_EQ(service_->GetEnvVars(Bytes("\x01"), {}).status().message(),
            "the request is not a NodeGetEnvVarsRequest");
  EXPECT_THAT(audit_.back(), StartsWith("NodeGetEnvVars INVALID_ARGUMENT "));
}

}  // namespace
}  // namespace csi_proxy::sample
