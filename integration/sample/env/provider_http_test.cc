#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/env/provider.h"
#include "integration/sample/env/testing.h"
#include "server/base/testing_posix.h"
#include "server/http/http_testing.h"

namespace csi_proxy::sample {
namespace {

using http_testing::RawServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using enum absl::StatusCode;

constexpr char kPathField[] = "volume_context[env.csi-proxy.example/path]: ";

std::string Http(absl::string_view code, absl::string_view body,
                 absl::string_view more_headers = "") {
  return absl::StrCat("HTTP/1.1 ", code, " x\r\nContent-Type: application/json\r\n", more_headers,
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}

class VaultTest : public testing::Test {
 protected:
  VaultTest() { WriteFile(token_file_, absl::StrCat(kVaultToken, "\n")); }

  VaultOptions Options(const RawServer& vault) const {
    return {.address = absl::StrCat("http://", ToString(vault.address())),
            .token_file = token_file_,
            .path = "secret/data/csi",
            .allow_loopback = true};
  }

  // Returns `key=value` for each query, or the error. Fails if stderr shows a secret.
  static absl::StatusOr<std::vector<std::string>> Get(const VaultOptions& options,
                                                      const EnvRequest& request = VaultRequest(),
                                                      const CallOptions& call = {}) {
    auto provider = VaultEnvProvider::Create(options);
    if (!provider.ok()) return provider.status();
    testing::internal::CaptureStderr();
    const auto values = (*provider)->Get(request, call);
    const std::string written = testing::internal::GetCapturedStderr();
    for (const char* hidden : {kSecret, kVaultToken}) {
      EXPECT_THAT(written, Not(HasSubstr(hidden)));
      EXPECT_THAT(std::string(values.status().message()), Not(HasSubstr(hidden)));
    }
    if (!values.ok()) return values.status();
    std::vector<std::string> texts;
    for (size_t i = 0; i < values->size(); ++i) {
      texts.push_back(absl::StrCat(request.queries[i].key, "=", (*values)[i].Reveal()));
    }
    return texts;
  }

  void ExpectRefused(const std::string& answer, absl::StatusCode code, const std::string& text) {
    const RawServer vault(answer);
    const absl::Status status = Get(Options(vault)).status();
    EXPECT_EQ(status.code(), code) << status << answer.substr(0, 99);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_THAT(vault.requests(), SizeIs(1));
  }

  static EnvRequest VaultRequest() {
    auto request = GoodRequest();
    AskVault(&request);
    return *CheckEnvRequest(request);
  }

  const TemporaryDirectory directory_;
  const std::string token_file_ = directory_.path() + "/token";
};

TEST_F(VaultTest, ValuesAreReturnedInTheOrderOfTheQueries) {
  const RawServer vault(Http("200", GoodVaultAnswer()));
  EnvRequest request = VaultRequest();
  const auto values = Get(Options(vault), request);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre("username=admin", absl::StrCat("password=", kSecret)));
  std::swap(request.queries[0], request.queries[1]);
  EXPECT_THAT(*Get(Options(vault), request),
              ElementsAre(absl::StrCat("password=", kSecret), "username=admin"));
  ASSERT_THAT(vault.requests(), SizeIs(2));
  const std::string asked = vault.requests()[0];
  EXPECT_THAT(asked, StartsWith("GET /v1/secret/data/csi/production/app/databases/main HTTP/1.1"));
  EXPECT_THAT(asked, HasSubstr(absl::StrCat("\r\nX-Vault-Token: ", kVaultToken, "\r\n")));
  EXPECT_THAT(asked, HasSubstr("\r\nX-Vault-Request: true\r\n"));
}

TEST_F(VaultTest, AnUnprotectedOrInvalidTokenIsNotSent) {
  const RawServer vault(Http("200", GoodVaultAnswer()));
  const auto refused = [&](const std::string& text) {
    const absl::Status status = Get(Options(vault)).status();
    EXPECT_EQ(status.code(), kFailedPrecondition) << status;
    EXPECT_EQ(status.message(), absl::StrCat("--vault-token-file: ", text));
  };
  for (const std::string& text :
       {std::string("\n"), absl::StrCat(kVaultToken, "\r\nX-A: a"), std::string(8193, 'a')}) {
    WriteFile(token_file_, text);
    refused("does not hold a token of up to 8192 bytes and nothing else");
  }
  WriteFile(token_file_, kVaultToken, 0640);
  refused("file token: has permissions for its group or for others");
  EXPECT_THAT(vault.requests(), IsEmpty());
}

TEST_F(VaultTest, VaultsRefusalsMapToTheirCodes) {
  const std::string errors = absl::StrCat(R"({"errors":["no )", kSecret, R"("]})");
  ExpectRefused(Http("403", errors), kPermissionDenied,
                absl::StrCat(kPathField, "Vault does not let the driver's token read ",
                             "production/app/databases/main"));
  ExpectRefused(Http("404", R"({"errors":[]})"), kNotFound,
                absl::StrCat(kPathField, "Vault has no secret production/app/databases/main"));
  for (const char* code : {"429", "500"}) {
    ExpectRefused(Http(code, errors), kUnavailable,
                  absl::StrCat("--vault-address: answers with the HTTP status ", code));
  }
  for (const char* code : {"100", "204", "400"}) {
    ExpectRefused(Http(code, code[0] == '4' ? errors : ""), kFailedPrecondition,
                  absl::StrCat("--vault-address: answers with the HTTP status ", code));
  }
}

// Following a redirect would send the token to another server.
TEST_F(VaultTest, ARedirectIsNotFollowed) {
  const RawServer elsewhere(Http("200", GoodVaultAnswer()));
  for (const char* code : {"301", "308"}) {
    ExpectRefused(Http(code, "",
                       absl::StrCat("Location: http://", ToString(elsewhere.address()),
                                    "/v1/secret/data/csi/production/app/databases/main\r\n")),
                  kFailedPrecondition,
                  absl::StrCat("--vault-address: answers with the HTTP status ", code,
                               "; redirects are not followed"));
  }
  EXPECT_THAT(elsewhere.requests(), IsEmpty());
}

// Neither protobuf's errors, which quote the text, nor its log may reach the caller.
TEST_F(VaultTest, ErrorsDoNotQuoteAMalformedAnswer) {
  const std::string good = GoodVaultAnswer();
  const std::string secret = absl::StrCat("\"", kSecret, "\"");
  for (const std::string& body :
       {std::string(), std::string("[]"), secret, good + "}",
        absl::StrCat("{\"data\": {\"password\": ", secret, "}}"),
        absl::StrCat("{\"data\": {\"data\": ", secret, "}}"),
        absl::StrCat("{\"data\": {\"data\": {\"password\" ", secret, "}}}"),
        std::string(100'000, '[')}) {
    ExpectRefused(Http("200", body), kFailedPrecondition,
                  "--vault-address: the answer is not a secret of KV version 2");
  }
}

TEST_F(VaultTest, OneMissingOrBadValueFailsTheWholeRequest) {
  const auto answer = [](absl::string_view password) {
    return Http("200", absl::StrCat(R"({"data":{"data":{"username":")", kSecret, "\"", password,
                                    R"(},"metadata":{"version":3}}})"));
  };
  ExpectRefused(answer(""), kNotFound,
                "queries[1].key: password is not in production/app/databases/main");
  for (const char* value : {"1", "null"}) {
    ExpectRefused(answer(absl::StrCat(",\"password\":", value)), kFailedPrecondition,
                  "queries[1].key: password is not a string in production/app/databases/main");
  }
}

TEST_F(VaultTest, AnAnswerBeyondTheSizeLimitIsRefused) {
  ExpectRefused(Http("200", absl::StrCat(kSecret, std::string(256 * 1024, 'x'))),
                kFailedPrecondition, " is larger than 262144 bytes");
}

TEST_F(VaultTest, ASlowVaultEndsTheRequestAtItsDeadline) {
  const RawServer silent("", {.stays = true});
  VaultOptions options = Options(silent);
  options.timeout = absl::Milliseconds(200);
  EXPECT_EQ(Get(options).status().code(), kDeadlineExceeded);
  // The caller's deadline limits the time as well.
  options.timeout = absl::Hours(1);
  const absl::Status status =
      Get(options, VaultRequest(), {.timeout = absl::Milliseconds(200)}).status();
  EXPECT_EQ(status.message(), absl::StrCat("--vault-address: ", ToString(silent.address()),
                                           " did not answer in time"));
}

TEST_F(VaultTest, TheProviderNeedsTheVaultAddressFlag) {
  const absl::Status status = Get({}).status();
  EXPECT_EQ(status.code(), kFailedPrecondition);
  EXPECT_EQ(status.message(), "the provider `vault` needs the driver's flag --vault-address");
}

TEST(VaultOptionsTest, InvalidFlagsAreRefused) {
  const VaultOptions good = {.address = "http://127.0.0.1:8200",
                             .token_file = "/run/vault/token",
                             .path = "secret/data",
                             .allow_loopback = true};
  for (const char* address :
       {"http://127.0.0.1:8200/", "http://localhost:8200", "http://[::1]:1"}) {
    VaultOptions options = good;
    options.address = address;
    EXPECT_TRUE(VaultEnvProvider::Create(options).ok()) << address;
  }
  VaultOptions plain = good;
  plain.allow_loopback = false;
  EXPECT_THAT(std::string(VaultEnvProvider::Create(plain).status().message()),
              testing::HasSubstr("--vault-allow-loopback"));
  const auto refused = [&good](std::string VaultOptions::*flag, const std::string& value,
                               const std::string& text) {
    VaultOptions options = good;
    options.*flag = value;
    const absl::Status status = VaultEnvProvider::Create(options).status();
    EXPECT_EQ(status.code(), kInvalidArgument) << value;
    EXPECT_THAT(std::string(status.message()), StartsWith(text)) << value;
  };
  refused(&VaultOptions::address, "https://127.0.0.1:8200",
          "--vault-address: must begin with http://; there is");
  for (const char* address : {"http://10.0.0.1:8200", "http://:8200", "http://127.0.0.1:0",
                              "http://127.0.0.1.example:8200", "http://a@127.0.0.1:8200"}) {
    refused(&VaultOptions::address, address, "--vault-address: must be a port of the loopback");
  }
  refused(&VaultOptions::token_file, "token", "--vault-token-file: must be an absolute path");
  refused(&VaultOptions::token_file, "/run/a b", "--vault-token-file: is not the plain name of a");
  for (const char* path : {"", "/secret/data", "secret/../data", "secret/data?a"}) {
    refused(&VaultOptions::path, path, "--vault-path: is not plain names");
  }
  for (const char* path : {"secret/csi", "data", "secret/database"}) {
    refused(&VaultOptions::path, path, "--vault-path: must be MOUNT/data or MOUNT/data/PATH");
  }
}

constexpr char kImdsToken[] = "AQAAANjUxiJmtoken==";

EnvRequest ImdsRequest(const std::string& key) {
  EnvRequest request;
  request.provider = "imds";
  request.queries = {{"ZONE", "availabilityZone"}, {"B", key}};
  return request;
}

absl::Status AskImds(const RawServer& imds, const std::string& key = "instanceId") {
  auto provider = ImdsEnvProvider::Create(ToString(imds.address()));
  if (!provider.ok()) return provider.status();
  return (*provider)->Get(ImdsRequest(key), {}).status();
}

TEST(ImdsTest, TheProviderRequestsATokenAndThenEachValue) {
  const RawServer imds(
      {Http("200", kImdsToken), Http("200", "eu-west-1a"), Http("200", "i-0123456789abcdef0")});
  auto provider = ImdsEnvProvider::Create(ToString(imds.address()));
  ASSERT_TRUE(provider.ok()) << provider.status();
  const auto values = (*provider)->Get(ImdsRequest("instanceId"), {});
  ASSERT_TRUE(values.ok()) << values.status();
  ASSERT_THAT(*values, SizeIs(2));
  EXPECT_EQ((*values)[0].Reveal(), "eu-west-1a");
  EXPECT_EQ((*values)[1].Reveal(), "i-0123456789abcdef0");
  const std::vector<std::string> asked = imds.requests();
  ASSERT_THAT(asked, SizeIs(3));
  EXPECT_THAT(asked[0], StartsWith("PUT /latest/api/token HTTP/1.1"));
  EXPECT_THAT(asked[0], HasSubstr("\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n"));
  EXPECT_THAT(asked[1], StartsWith("GET /latest/meta-data/placement/availability-zone HTTP/1.1"));
  EXPECT_THAT(asked[2], StartsWith("GET /latest/meta-data/instance-id HTTP/1.1"));
  EXPECT_THAT(asked[2],
              HasSubstr(absl::StrCat("\r\nX-aws-ec2-metadata-token: ", kImdsToken, "\r\n")));
}

TEST(ImdsTest, OnlyListedFactsAreRequested) {
  const RawServer imds(Http("200", kImdsToken));
  for (const char* key : {"iam/security-credentials/node", "user-data", "instance-id"}) {
    const absl::Status status = AskImds(imds, key);
    EXPECT_EQ(status.code(), kNotFound);
    EXPECT_EQ(status.message(), absl::StrCat("queries[1].key: ", key,
                                             " is not a fact that the provider `imds` gives"));
  }
  EXPECT_THAT(imds.requests(), IsEmpty());
}

TEST(ImdsTest, RefusalsOfImdsMapToTheirCodes) {
  // IMDS is disabled, is too busy, or answers with something other than a token.
  EXPECT_EQ(AskImds(RawServer(Http("403", ""))).code(), kFailedPrecondition);
  EXPECT_EQ(AskImds(RawServer(Http("503", ""))).code(), kUnavailable);
  EXPECT_EQ(AskImds(RawServer(Http("200", "a b"))).message(),
            "--imds-address: answers without a token");
  const RawServer without({Http("200", kImdsToken), Http("200", "eu-west-1a"), Http("404", "")});
  EXPECT_EQ(AskImds(without).message(), "queries[1].key: this instance has no instanceId");
  for (const char* address : {"10.0.0.1:80", "169.254.169.253:80", "metadata:80"}) {
    EXPECT_THAT(std::string(ImdsEnvProvider::Create(address).status().message()),
                StartsWith("--imds-address: must be 169.254.169.254"));
  }
  EXPECT_TRUE(ImdsEnvProvider::Create("169.254.169.254:80").ok());
}

}  // namespace
}  // namespace csi_proxy::sample
