#include "integration/sample/env/rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/env/testing.h"

namespace csi_proxy::sample {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Request = env::NodeGetEnvVarsRequest;
using enum absl::StatusCode;

// Sets a field of GoodRequest(): `pod/KEY`, `context/KEY`, `env/ATTRIBUTE`, `volume_id`, or the
// `name` or `key` of the second query. kErased removes a key.
constexpr char kErased[] = "(erased)";
void Set(Request& request, absl::string_view where, const std::string& value) {
  const auto entry = [&value](auto& map, const std::string& key) {
    map[key] = value;
    if (value == kErased) map.erase(key);
  };
  auto& query = *request.mutable_queries(1);
  if (where == "volume_id") return request.set_volume_id(value);
  if (where == "name") return query.set_name(value);
  if (where == "key") return query.set_key(value);
  if (absl::ConsumePrefix(&where, "pod/")) {
    return entry(*request.mutable_pod_context(), std::string(where));
  }
  if (absl::ConsumePrefix(&where, "env/")) {
    return entry(*request.mutable_volume_context(), absl::StrCat(kContext, where));
  }
  ASSERT_TRUE(absl::ConsumePrefix(&where, "context/"));
  entry(*request.mutable_volume_context(), absl::StrCat("csi.storage.k8s.io/", where));
}

void ExpectRefused(const Request& request, absl::StatusCode code, const std::string& text) {
  const absl::Status status = CheckEnvRequest(request).status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith(text));
}

TEST(CheckEnvRequestTest, TheCheckExtractsThePodAndTheQueries) {
  Request request = GoodRequest();
  const auto checked = CheckEnvRequest(request);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->pod_namespace + checked->service_account, "productionapp");
  EXPECT_EQ(checked->provider + checked->file, "filedb.json");
  ASSERT_EQ(checked->queries.size(), 2u);
  EXPECT_EQ(checked->queries[1].name + checked->queries[1].key, "DB_PASSWORDpassword");
  AskVault(&request);
  EXPECT_EQ(CheckEnvRequest(request)->path, "databases/main");
  EXPECT_EQ(ProviderOf(request), "vault");
  Set(request, "env/provider", "hunter2");
  EXPECT_EQ(ProviderOf(request), "none") << "never the caller's text";
}

// Requests that the rules refuse before any file is read.
TEST(CheckEnvRequestTest, ErrorsNameTheFieldAndTheReason) {
  std::string keys65 = "a";
  for (int i = 0; i < 64; ++i) keys65 += ",a";
  const struct {
    const char* where;
    std::string value;
    absl::StatusCode code;
    const char* text;
  } kRefusals[] = {
      {"pod/namespace", kErased, kInvalidArgument, "pod_context[namespace]: is missing"},
      {"pod/serviceAccount", "", kInvalidArgument, "pod_context[serviceAccount]: is missing"},
      {"pod/podName", kErased, kInvalidArgument, "pod_context[podName]: is missing"},
      {"pod/podUID", kErased, kInvalidArgument, "pod_context[podUID]: is missing"},
      {"pod/namespace", "*", kInvalidArgument, "pod_context[namespace]: is not a name of"},
      {"pod/namespace", "..", kInvalidArgument, "pod_context[namespace]: is not a name of"},
      {"pod/serviceAccount", ".app", kInvalidArgument, "pod_context[serviceAccount]: is not a"},
      {"pod/podName", std::string(254, 'a'), kInvalidArgument, "pod_context[podName]: is not a"},
      {"context/pod.uid", kErased, kInvalidArgument,
       "volume_context[csi.storage.k8s.io/pod.uid]: is missing; kubelet adds it"},
      {"context/pod.namespace", "test", kPermissionDenied,
       "volume_context[csi.storage.k8s.io/pod.namespace]: is not pod_context[namespace]"},
      {"pod/serviceAccount", "root", kPermissionDenied,
       "volume_context[csi.storage.k8s.io/serviceAccount.name]: is not pod_context[service"},
      {"pod/podName", "app-1", kPermissionDenied,
       "volume_context[csi.storage.k8s.io/pod.name]: is not pod_context[podName]"},
      {"context/pod.uid", "1", kPermissionDenied,
       "volume_context[csi.storage.k8s.io/pod.uid]: is not pod_context[podUID]"},
      {"volume_id", "", kInvalidArgument, "volume_id: is missing"},
      {"volume_id", std::string(129, 'v'), kInvalidArgument, "volume_id: has more than 128 bytes"},
      {"env/provider", "", kInvalidArgument, "volume_context[env.csi-proxy.example/provider]: is"},
      {"env/provider", "Vault", kInvalidArgument,
       "volume_context[env.csi-proxy.example/provider]: must be `file`, `imds` or `vault`"},
      {"env/path", "main", kInvalidArgument,
       "volume_context[env.csi-proxy.example/path]: is for the provider `vault`"},
      {"env/provider", "imds", kInvalidArgument,
       "volume_context[env.csi-proxy.example/file]: is for the provider `file`"},
      {"env/files", "db.json", kInvalidArgument, "volume_context: knows no other env.csi-proxy"},
      {"env/file", kErased, kInvalidArgument,
       "volume_context[env.csi-proxy.example/file]: is missing"},
      {"env/file", "../db.json", kInvalidArgument,
       "volume_context[env.csi-proxy.example/file]: is not the plain name of a file"},
      {"env/keys", "", kInvalidArgument, "volume_context[env.csi-proxy.example/keys]: is missing"},
      {"env/keys", "username,,a", kInvalidArgument,
       "volume_context[env.csi-proxy.example/keys]: is missing"},
      {"env/keys", "username, a", kInvalidArgument,
       "volume_context[env.csi-proxy.example/keys]: may have 253 letters"},
      {"env/keys", keys65, kInvalidArgument,
       "volume_context[env.csi-proxy.example/keys]: lists more than 64 keys"},
      {"env/keys", std::string(20000, ','), kInvalidArgument,
       "volume_context[env.csi-proxy.example/keys]: is too long"},
      {"name", "", kInvalidArgument, "queries[1].name: is missing"},
      {"name", std::string(257, 'A'), kInvalidArgument, "queries[1].name: has more than 256 bytes"},
      {"name", "A-B", kInvalidArgument, "queries[1].name: must be a C identifier"},
      {"name", "Path", kInvalidArgument,
       "queries[1].name: Path is refused: it decides what is run"},
      {"name", "db_user", kInvalidArgument, "queries[1].name: db_user is asked for twice, or"},
      {"key", "", kInvalidArgument, "queries[1].key: is missing"},
      {"key", std::string(254, 'k'), kInvalidArgument, "queries[1].key: may have 253 letters"},
      {"key", "root-password", kPermissionDenied,
       "queries[1].key: root-password is not in volume_context[env.csi-proxy.example/keys]"},
  };
  for (const auto& [where, value, code, text] : kRefusals) {
    Request request = GoodRequest();
    Set(request, where, value);
    ExpectRefused(request, code, text);
  }
  Request request = GoodRequest();
  AskVault(&request);
  Set(request, "env/path", "../other/main");
  ExpectRefused(request, kInvalidArgument,
                "volume_context[env.csi-proxy.example/path]: is not plain names");
  request = GoodRequest();
  request.mutable_queries(1)->set_optional(true);
  ExpectRefused(request, kInvalidArgument, "queries[1].optional: is not supported: all values or");
  request = GoodRequest();
  (*request.mutable_queries(0)->mutable_query_parameters())["version"] = "2";
  ExpectRefused(request, kInvalidArgument, "queries[0].query_parameters: the provider takes none");
  request.clear_queries();
  ExpectRefused(request, kInvalidArgument, "queries: is missing");
  while (request.queries_size() < 65) request.add_queries();
  ExpectRefused(request, kInvalidArgument, "queries: has more than 64 variables");
}

TEST(CheckEnvRequestTest, RequestsExactlyAtTheLimitsAreAccepted) {
  Request request = GoodRequest();
  while (request.queries_size() < 64) {
    request.add_queries()->set_name(absl::StrCat("A", request.queries_size()));
    request.mutable_queries(request.queries_size() - 1)->set_key("username");
  }
  const std::string key(253, 'k');
  Set(request, "env/keys", absl::StrCat("username,", key));
  Set(request, "name", std::string(256, 'A'));
  Set(request, "key", key);
  Set(request, "volume_id", std::string(128, 'v'));
  const auto checked = CheckEnvRequest(request);
  EXPECT_TRUE(checked.ok()) << checked.status();
}

TEST(CheckVariableNameTest, VariablesThatAffectHowProgramsRunAreRefusedInAnyCase) {
  for (const char* name : {"PATH", "path", "PATHEXT", "ComSpec", "LD_PRELOAD", "ld_library_path",
                           "DYLD_X", "KUBERNETES_SERVICE_HOST", "COR_X", "CORECLR_PROFILER"}) {
    EXPECT_THAT(CheckVariableName(name).message(), HasSubstr("is refused")) << name;
  }
  for (const char* name : {"A", "_", "_a9", "MY_PATH", "PATHS", "OLD_", "xLD_"}) {
    EXPECT_TRUE(CheckVariableName(name).ok()) << name;
  }
  for (const std::string& name : {std::string("9A"), std::string("A=B"), std::string("A\0", 2),
                                  std::string("\xc3\x84"), std::string("=C:")}) {
    EXPECT_THAT(CheckVariableName(name).message(), HasSubstr("must be a C identifier")) << name;
  }
}

TEST(CheckSecretPathTest, PathsThatLeaveTheirDirectoryAreRefused) {
  for (const char* path : {"a", "a/b", "a-b_c.d/E9", "a../b"}) {
    EXPECT_TRUE(CheckSecretPath(path).ok()) << path;
  }
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("a/../b"), std::string("a?version=1"), std::string("%2e%2e"),
        std::string("a\r\nb"), std::string("a\0b", 3), std::string(513, 'a')}) {
    EXPECT_EQ(CheckSecretPath(path).code(), kInvalidArgument) << path;
  }
}

std::string ValueError(const std::vector<std::string>& values) {
  const std::vector<EnvQuery> queries(values.size(), {.name = "A", .key = "key"});
  const absl::Status status =
      CheckValues(queries, std::vector<Secret>(values.begin(), values.end()));
  EXPECT_EQ(status.code(), status.ok() ? kOk : kInvalidArgument);
  return std::string(status.message());
}

TEST(CheckValuesTest, ValuesMustBeTextWithinTheLimits) {
  EXPECT_EQ(ValueError({"", "a", "\xf0\x9f\x94\x91 line\nnext\t", std::string(16384, 'x')}), "");
  EXPECT_EQ(ValueError({"a", std::string(16385, 'x')}),
            "queries[1].key: the value of key has more than 16384 bytes");
  EXPECT_EQ(ValueError({std::string("a\0b", 3)}),
            "queries[0].key: the value of key has a NUL in it");
  EXPECT_EQ(ValueError({"\xed\xa0\x80"}), "queries[0].key: the value of key is not UTF-8");
  // Each variable counts with its name, `=`, its value and a NUL.
  const std::string most(16384, 'x');
  const std::string rest(65536 - 3 * (16384 + 3) - 3, 'x');
  EXPECT_EQ(ValueError({most, most, most, rest}), "");
  EXPECT_EQ(ValueError({most, most, most, rest + "x"}),
            "queries: all variables have more than 65536 bytes");
}

TEST(AuditSubjectTest, TheAuditLineNamesPodVolumeAndVariables) {
  Request request = GoodRequest();
  Set(request, "context/serviceAccount.tokens", kToken);
  EXPECT_EQ(AuditSubject(request),
            R"(namespace="production" pod="app-0" pod_uid="0f5a1cbe-1234-4a6b-9a57-3c2b1d0e9f88" )"
            R"(service_account="app" volume_id="csi-0123456789" provider="file" file="db.json" )"
            R"(variables=["DB_USER":"username" "DB_PASSWORD":"password"])");
  Set(request, "name", "\n\"audit method=\xff" + std::string(70000, ','));
  while (request.queries_size() < 1000) request.add_queries();
  const std::string shown = AuditSubject(request);
  EXPECT_THAT(shown, HasSubstr(R"("DB_USER":"username" "\n\"audit method=\377,,,)"));
  EXPECT_THAT(shown, Not(HasSubstr("\n")));
  EXPECT_LT(shown.size(), 1024u);
}

}  // namespace
}  // namespace csi_proxy::sample
