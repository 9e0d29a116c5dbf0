#include "integration/drivers/sample/env_rules.h"

#include <functional>
#include <random>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/drivers/sample/env_testing.h"
#include "integration/drivers/sample/protected_file.h"

namespace csi_proxy::sample_driver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Request = env::NodeGetEnvVarsRequest;
using enum absl::StatusCode;

std::string& Context(Request& request, const std::string& key) {
  return (*request.mutable_volume_context())[key];
}
std::string& Env(Request& request, const std::string& key) {
  return Context(request, kContext + key);
}
std::string& Pod(Request& request, const std::string& key) {
  return (*request.mutable_pod_context())[key];
}

TEST(CheckEnvRequestTest, TakesWhatItNeeds) {
  const auto checked = CheckEnvRequest(GoodRequest());
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->pod_namespace, "production");
  EXPECT_EQ(checked->service_account, "app");
  EXPECT_EQ(checked->provider, "file");
  EXPECT_EQ(checked->file, "db.json");
  ASSERT_EQ(checked->queries.size(), 2u);
  EXPECT_EQ(checked->queries[1].name, "DB_PASSWORD");
  EXPECT_EQ(checked->queries[1].key, "password");
}

TEST(CheckEnvRequestTest, TakesThePathOfASecret) {
  Request request = GoodRequest();
  AskVault(&request);
  const auto checked = CheckEnvRequest(request);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->provider, "vault");
  EXPECT_EQ(checked->path, "databases/main");
  EXPECT_THAT(AuditSubject(request),
              HasSubstr(R"( provider="vault" file="" path="databases/main" )"));
}

TEST(CheckSecretPathTest, LeadsOnlyFurtherIn) {
  for (const char* path : {"a", "a/b", "a-b_c.d/E9", "a../b"}) {
    EXPECT_TRUE(CheckSecretPath(path).ok()) << path;
  }
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("."), std::string("a/../b"), std::string("a/.b"), std::string("a?version=1"),
        std::string("a#b"), std::string("%2e%2e"), std::string("a b"), std::string("a\r\nb"),
        std::string("a\\b"), std::string("a\0b", 3), std::string("\xc3\xa4"),
        std::string(513, 'a')}) {
    EXPECT_EQ(CheckSecretPath(path).code(), kInvalidArgument) << path;
  }
}

TEST(ProviderOfTest, IsNeverTheCallersText) {
  Request request = GoodRequest();
  EXPECT_EQ(ProviderOf(request), "file");
  Env(request, "provider") = "hunter2";
  EXPECT_EQ(ProviderOf(request), "none");
}

// The rows of README.md's table that need no file.
struct Refusal {
  const char* name;
  std::function<void(Request&)> spoil;
  absl::StatusCode code;
  const char* text;
};

void AskForMany(Request& request, int count) {
  request.clear_queries();
  for (int i = 0; i < count; ++i) {
    auto& query = *request.add_queries();
    query.set_name(absl::StrCat("A", i));
    query.set_key("username");
  }
}

const Refusal kRefusals[] = {
    {"NoNamespace", [](Request& r) { Pod(r, "namespace").clear(); }, kInvalidArgument,
     "pod_context[namespace]: is missing"},
    {"NoAccount", [](Request& r) { r.mutable_pod_context()->erase("serviceAccount"); },
     kInvalidArgument, "pod_context[serviceAccount]: is missing"},
    {"NoPodName", [](Request& r) { r.mutable_pod_context()->erase("podName"); }, kInvalidArgument,
     "pod_context[podName]: is missing"},
    {"NoPodUid", [](Request& r) { r.mutable_pod_context()->erase("podUID"); }, kInvalidArgument,
     "pod_context[podUID]: is missing"},
    {"StarNamespace", [](Request& r) { Pod(r, "namespace") = "*"; }, kInvalidArgument,
     "pod_context[namespace]: is not a name of Kubernetes"},
    {"NamespaceAbove",
     [](Request& r) {
       Pod(r, "namespace") = Context(r, "csi.storage.k8s.io/pod.namespace") = "..";
     },
     kInvalidArgument, "pod_context[namespace]: is not a name of Kubernetes"},
    {"HiddenAccount", [](Request& r) { Pod(r, "serviceAccount") = ".app"; }, kInvalidArgument,
     "pod_context[serviceAccount]: is not a name of Kubernetes"},
    {"LongPodName", [](Request& r) { Pod(r, "podName") = std::string(254, 'a'); }, kInvalidArgument,
     "pod_context[podName]: is not a name of Kubernetes"},
    {"NoPodInfo",
     [](Request& r) { r.mutable_volume_context()->erase("csi.storage.k8s.io/pod.uid"); },
     kInvalidArgument, "volume_context[csi.storage.k8s.io/pod.uid]: is missing; kubelet adds it"},
    {"OtherNamespace", [](Request& r) { Context(r, "csi.storage.k8s.io/pod.namespace") = "test"; },
     kPermissionDenied,
     "volume_context[csi.storage.k8s.io/pod.namespace]: is not pod_context[namespace]"},
    {"OtherAccount", [](Request& r) { Pod(r, "serviceAccount") = "root"; }, kPermissionDenied,
     "volume_context[csi.storage.k8s.io/serviceAccount.name]: is not pod_context[serviceAccount]"},
    {"OtherPod", [](Request& r) { Pod(r, "podName") = "app-1"; }, kPermissionDenied,
     "volume_context[csi.storage.k8s.io/pod.name]: is not pod_context[podName]"},
    {"OtherUid", [](Request& r) { Context(r, "csi.storage.k8s.io/pod.uid") = "1"; },
     kPermissionDenied, "volume_context[csi.storage.k8s.io/pod.uid]: is not pod_context[podUID]"},
    {"NoVolume", [](Request& r) { r.clear_volume_id(); }, kInvalidArgument,
     "volume_id: is missing"},
    {"LongVolume", [](Request& r) { r.set_volume_id(std::string(129, 'v')); }, kInvalidArgument,
     "volume_id: has more than 128 bytes"},
    {"NoProvider", [](Request& r) { Env(r, "provider").clear(); }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/provider]: is missing"},
    {"OtherProvider", [](Request& r) { Env(r, "provider") = "Vault"; }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/provider]: must be `file`, `node` or `vault`"},
    {"NoPath",
     [](Request& r) {
       AskVault(&r);
       Env(r, "path").clear();
     },
     kInvalidArgument, "volume_context[env.csi-proxy.example/path]: is missing"},
    {"PathElsewhere",
     [](Request& r) {
       AskVault(&r);
       Env(r, "path") = "../other/main";
     },
     kInvalidArgument, "volume_context[env.csi-proxy.example/path]: is not plain names"},
    {"PathForFile", [](Request& r) { Env(r, "path") = "main"; }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/path]: is for the provider `vault`"},
    {"FileForVault",
     [](Request& r) {
       AskVault(&r);
       Env(r, "file") = "db.json";
     },
     kInvalidArgument, "volume_context[env.csi-proxy.example/file]: is for the provider `file`"},
    {"OtherAttribute", [](Request& r) { Env(r, "files") = "db.json"; }, kInvalidArgument,
     "volume_context: knows no other env.csi-proxy.example/ attributes"},
    {"NoFile",
     [](Request& r) { r.mutable_volume_context()->erase(absl::StrCat(kContext, "file")); },
     kInvalidArgument, "volume_context[env.csi-proxy.example/file]: is missing"},
    {"FileElsewhere", [](Request& r) { Env(r, "file") = "../db.json"; }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/file]: is not the plain name of a file"},
    {"FileForNode", [](Request& r) { Env(r, "provider") = "node"; }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/file]: is for the provider `file`"},
    {"NoKeys", [](Request& r) { Env(r, "keys").clear(); }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/keys]: is missing"},
    {"EmptyKey", [](Request& r) { Env(r, "keys") = "username,,password"; }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/keys]: is missing"},
    {"OddKey", [](Request& r) { Env(r, "keys") = "username, password"; }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/keys]: may have 253 letters"},
    {"ManyKeys",
     [](Request& r) {
       Env(r, "keys") = "a";
       for (int i = 0; i < 64; ++i) Env(r, "keys") += ",a";
     },
     kInvalidArgument, "volume_context[env.csi-proxy.example/keys]: lists more than 64 keys"},
    {"HugeKeys", [](Request& r) { Env(r, "keys") = std::string(20000, ','); }, kInvalidArgument,
     "volume_context[env.csi-proxy.example/keys]: is too long"},
    {"NoQueries", [](Request& r) { r.clear_queries(); }, kInvalidArgument, "queries: is missing"},
    {"ManyQueries", [](Request& r) { AskForMany(r, 65); }, kInvalidArgument,
     "queries: has more than 64 variables"},
    {"NoName", [](Request& r) { r.mutable_queries(1)->clear_name(); }, kInvalidArgument,
     "queries[1].name: is missing"},
    {"LongName", [](Request& r) { r.mutable_queries(0)->set_name(std::string(257, 'A')); },
     kInvalidArgument, "queries[0].name: has more than 256 bytes"},
    {"OddName", [](Request& r) { r.mutable_queries(1)->set_name("A-B"); }, kInvalidArgument,
     "queries[1].name: must be a C identifier"},
    {"RefusedName", [](Request& r) { r.mutable_queries(1)->set_name("Path"); }, kInvalidArgument,
     "queries[1].name: Path is refused: it decides what is run or loaded"},
    {"SameName", [](Request& r) { r.mutable_queries(1)->set_name("db_user"); }, kInvalidArgument,
     "queries[1].name: db_user is asked for twice, or differs in case alone"},
    {"NoKey", [](Request& r) { r.mutable_queries(0)->clear_key(); }, kInvalidArgument,
     "queries[0].key: is missing"},
    {"LongKey", [](Request& r) { r.mutable_queries(0)->set_key(std::string(254, 'k')); },
     kInvalidArgument, "queries[0].key: may have 253 letters"},
    {"UnlistedKey", [](Request& r) { r.mutable_queries(0)->set_key("root-password"); },
     kPermissionDenied,
     "queries[0].key: root-password is not in volume_context[env.csi-proxy.example/keys]"},
    {"Optional", [](Request& r) { r.mutable_queries(1)->set_optional(true); }, kInvalidArgument,
     "queries[1].optional: is not supported: all values or none"},
    {"Parameters",
     [](Request& r) { (*r.mutable_queries(0)->mutable_query_parameters())["version"] = "2"; },
     kInvalidArgument, "queries[0].query_parameters: the provider takes none"},
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, NamesTheFieldAndTheReason) {
  Request request = GoodRequest();
  GetParam().spoil(request);
  const absl::Status status = CheckEnvRequest(request).status();
  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(std::string(status.message()), testing::StartsWith(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(All, RefusalTest, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return test.param.name; });

TEST(CheckEnvRequestTest, TheLimitsThemselvesAreAllowed) {
  Request request = GoodRequest();
  AskForMany(request, 64);
  request.mutable_queries(0)->set_name(std::string(256, 'A'));
  const std::string key(253, 'k');
  request.mutable_queries(0)->set_key(key);
  Env(request, "keys") = absl::StrCat("username,", key);
  request.set_volume_id(std::string(128, 'v'));
  const auto checked = CheckEnvRequest(request);
  EXPECT_TRUE(checked.ok()) << checked.status();
}

TEST(CheckVariableNameTest, NamesThatChangeHowProgramsAreRunAreRefusedInAnyCase) {
  for (const char* name : {"PATH",
                           "Path",
                           "path",
                           "PATHEXT",
                           "ComSpec",
                           "SystemRoot",
                           "windir",
                           "PSModulePath",
                           "LD_PRELOAD",
                           "ld_library_path",
                           "LD_X",
                           "DYLD_INSERT_LIBRARIES",
                           "KUBERNETES_SERVICE_HOST",
                           "kubernetes_x",
                           "BASH_ENV",
                           "PYTHONPATH",
                           "NODE_OPTIONS",
                           "DOTNET_STARTUP_HOOKS",
                           "CORECLR_PROFILER",
                           "COR_PROFILER_PATH",
                           "JAVA_TOOL_OPTIONS",
                           "_JAVA_OPTIONS"}) {
    EXPECT_THAT(CheckVariableName(name).message(), HasSubstr("is refused")) << name;
  }
  for (const char* name : {"A", "_", "_a9", "DB_PASSWORD", "MY_PATH", "PATHS", "OLD_", "xLD_"}) {
    EXPECT_TRUE(CheckVariableName(name).ok()) << name;
  }
}

TEST(CheckVariableNameTest, OnlyCIdentifiersAreNames) {
  for (const std::string& name :
       {std::string("9A"), std::string("A=B"), std::string("A B"), std::string("A.B"),
        std::string("A-B"), std::string("A\0", 2), std::string("\xc3\x84"), std::string("A\n"),
        std::string("=C:")}) {
    EXPECT_THAT(CheckVariableName(name).message(), HasSubstr("must be a C identifier")) << name;
  }
}

std::string ValueError(const std::vector<std::string>& values) {
  std::vector<EnvQuery> queries;
  std::vector<Secret> secrets;
  for (const std::string& value : values) {
    queries.push_back({.name = "A", .key = "key"});
    secrets.emplace_back(value);
  }
  const absl::Status status = CheckValues(queries, secrets);
  EXPECT_EQ(status.code(), status.ok() ? kOk : kInvalidArgument);
  return std::string(status.message());
}

TEST(CheckValuesTest, ValuesAreTextWithinTheLimits) {
  EXPECT_EQ(ValueError({"", "a", "\xf0\x9f\x94\x91 line\nnext\t"}), "");
  EXPECT_EQ(ValueError({std::string(16384, 'x')}), "");
  EXPECT_EQ(ValueError({"a", std::string(16385, 'x')}),
            "queries[1].key: the value of key has more than 16384 bytes");
  EXPECT_EQ(ValueError({std::string("a\0b", 3)}),
            "queries[0].key: the value of key has a NUL in it");
  for (const char* text : {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(ValueError({text}), "queries[0].key: the value of key is not UTF-8");
  }
}

// Each variable takes its name, `=`, its value and a NUL.
TEST(CheckValuesTest, AllTogetherHaveALimit) {
  const std::string most(16384, 'x');
  const std::string rest(65536 - 3 * (16384 + 3) - 3, 'x');
  EXPECT_EQ(ValueError({most, most, most, rest}), "");
  EXPECT_EQ(ValueError({most, most, most, rest + "x"}),
            "queries: all variables have more than 65536 bytes");
}

TEST(AuditSubjectTest, NamesPodVolumeAndVariables) {
  Request request = GoodRequest();
  Context(request, "csi.storage.k8s.io/serviceAccount.tokens") = kToken;
  EXPECT_EQ(AuditSubject(request),
            R"(namespace="production" pod="app-0" pod_uid="0f5a1cbe-1234-4a6b-9a57-3c2b1d0e9f88" )"
            R"(service_account="app" volume_id="csi-0123456789" provider="file" file="db.json" )"
            R"(variables=["DB_USER":"username" "DB_PASSWORD":"password"])");
  EXPECT_EQ(AuditSubject(Request()),
            R"(namespace="" pod="" pod_uid="" service_account="" volume_id="" provider="" file="" )"
            "variables=[]");
}

// Every granted request keeps the rules, and every audit line is one line, whatever a caller sends.
TEST(CheckEnvRequestTest, NoRequestGetsAroundTheRules) {
  std::mt19937 random(20261122);
  const std::vector<std::string> texts = {"",
                                          "username",
                                          "password",
                                          "DB_USER",
                                          "db_user",
                                          "PATH",
                                          "A",
                                          "node",
                                          "file",
                                          "*",
                                          "production",
                                          "app",
                                          "db.json",
                                          "../db",
                                          std::string(1, 0),
                                          "\n\"audit method=",
                                          "\xff\xfe",
                                          "a,b,,c",
                                          "username,password",
                                          std::string(300, 'x'),
                                          std::string(70000, ',')};
  const std::vector<std::string> keys = {"namespace",
                                         "serviceAccount",
                                         "podName",
                                         "podUID",
                                         "csi.storage.k8s.io/pod.name",
                                         "csi.storage.k8s.io/pod.namespace",
                                         "env.csi-proxy.example/provider",
                                         "env.csi-proxy.example/keys",
                                         "env.csi-proxy.example/file",
                                         "env.csi-proxy.example/",
                                         "env.csi-proxy.example/x"};
  const auto any = [&random](const std::vector<std::string>& of) {
    return of[std::uniform_int_distribution<size_t>(0, of.size() - 1)(random)];
  };
  int granted = 0;
  for (int i = 0; i < 20000; ++i) {
    Request request = GoodRequest();
    Context(request, "csi.storage.k8s.io/serviceAccount.tokens") = kToken;
    for (unsigned changes = random() % 4; changes > 0; --changes) {
      auto& query = *request.mutable_queries(static_cast<int>(random() % 2));
      switch (random() % 6) {
        case 0:
          query.set_name(any(texts));
          break;
        case 1:
          query.set_key(any(texts));
          break;
        case 2:
          Context(request, any(keys)) = any(texts);
          break;
        case 3:
          Pod(request, any(keys)) = any(texts);
          break;
        case 4:
          request.mutable_volume_context()->erase(any(keys));
          break;
        case 5:
          request.set_volume_id(any(texts));
          break;
      }
    }
    const auto checked = CheckEnvRequest(request);
    const std::string shown = absl::StrCat(AuditSubject(request), checked.status().message());
    ASSERT_TRUE(absl::c_all_of(shown, absl::ascii_isprint)) << shown;
    ASSERT_LT(shown.size(), 8192u);
    ASSERT_THAT(shown, Not(HasSubstr(kToken)));
    if (!checked.ok()) continue;
    ++granted;
    std::set<std::string> names;
    for (const EnvQuery& query : checked->queries) {
      ASSERT_TRUE(CheckVariableName(query.name).ok());
      ASSERT_TRUE(names.insert(absl::AsciiStrToLower(query.name)).second);
      ASSERT_THAT(absl::StrCat(",", Env(request, "keys"), ","),
                  HasSubstr(absl::StrCat(",", query.key, ",")));
    }
    ASSERT_EQ(checked->pod_namespace, Context(request, "csi.storage.k8s.io/pod.namespace"));
    ASSERT_TRUE(checked->provider == "node" || CheckPlainFileName(checked->file).ok());
  }
  EXPECT_GT(granted, 1000);
  EXPECT_LT(granted, 19000);
}

}  // namespace
}  // namespace csi_proxy::sample_driver
