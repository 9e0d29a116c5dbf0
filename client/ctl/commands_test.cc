#include "client/ctl/commands.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/released.h"
#include "client/cpp/testing_posix.h"
#include "client/ctl/rpcs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/http/http_testing.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Runs command lines against a small service.
class CommandsTest : public testing::Test {
 protected:
  CommandsTest() : server_(directory_.path()) {}

  int RunLine(std::vector<std::string> arguments, const std::string& standard_input = "",
              bool terminal = false) {
    out_.str("");
    err_.str("");
    arguments.insert(arguments.begin(), "--socket-dir=" + directory_.path());
    const auto line = ParseCommandLine(arguments);
    EXPECT_TRUE(line.ok()) << line.status();
    if (!line.ok()) return -1;
    std::istringstream in(standard_input);
    Input input(in);
    return ctl::Run(*line, {input, out_, err_, terminal});
  }

  const TemporaryDirectory directory_;
  client::FakeServer server_;
  std::ostringstream out_, err_;
};

TEST_F(CommandsTest, ACallPrintsOnlyItsAnswer) {
  ASSERT_EQ(RunLine({"system", "get-service", "--name=kubelet"}), kOk) << err_.str();
  EXPECT_EQ(out_.str(),
            "{\n \"display_name\": \"kubelet\",\n \"start_type\": \"BOOT\",\n \"status\": "
            "\"RUNNING\"\n}\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandsTest, EachFormOfHelpExplainsTheNamedMethod) {
  ASSERT_EQ(RunLine({"system", "get-service", "--help"}), kOk);
  const std::string help = out_.str();
  EXPECT_THAT(help, StartsWith("system get-service - /v1alpha1.System/GetService\n"));
  for (const std::vector<std::string>& same :
       std::vector<std::vector<std::string>>{{"help", "system", "GetService"},
                                             {"system", "get-service", "--name=a", "-h"},
                                             {"-h", "help", "system", "GetService"}}) {
    ASSERT_EQ(RunLine(same), kOk);
    EXPECT_EQ(out_.str(), help);
  }
  ASSERT_EQ(RunLine({"system", "--help"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("  get-service  "));
  for (const std::vector<std::string>& general :
       std::vector<std::vector<std::string>>{{"help"}, {"help", "top"}, {"top", "--help"}}) {
    ASSERT_EQ(RunLine(general), kOk);
    EXPECT_EQ(out_.str(), HelpText());
  }
  EXPECT_EQ(server_.system.calls, 0);
}

TEST_F(CommandsTest, ARequestCanBeJson) {
  ASSERT_EQ(RunLine({"system", "GetService", "--json", R"({"name": "a"})"}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"display_name\": \"a\""));
  ASSERT_EQ(RunLine({"system", "GetService", "--json=-"}, R"({"name": "b"})"), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\"display_name\": \"b\""));
  EXPECT_EQ(RunLine({"system", "GetService", "--json={"}), kUsage);
  EXPECT_THAT(err_.str(), StartsWith("error: --json: not a valid GetServiceRequest: "));
}

TEST_F(CommandsTest, VerbosePrintsTheMethodAndThePipe) {
  ASSERT_EQ(RunLine({"system", "GetService", "-v"}), kOk);
  EXPECT_EQ(err_.str(), "calling /v1alpha1.System/GetService on " + server_.path() + "\n");
}

TEST_F(CommandsTest, AFailurePrintsCodeAndTextAndSetsTheExitCode) {
  struct Case {
    const char* code;
    int exit;
    const char* text;
    const char* hint;
  };
  for (const Case& c : {Case{"5", kCallFailed, "error: NOT_FOUND: text of 5\n", ""},
                        Case{"3", kCallFailed, "error: INVALID_ARGUMENT: text of 3\n",
                             "hint: `csi-proxyctl help system get-service` explains"},
                        Case{"7", kCallFailed, "error: PERMISSION_DENIED: text of 7\n", ""},
                        Case{"14", kCallFailed, "error: UNAVAILABLE: text of 14\n", ""},
                        Case{"4", kDeadline, "error: DEADLINE_EXCEEDED: ", "--timeout"}}) {
    EXPECT_EQ(RunLine({"system", "GetService", std::string("--name=code:") + c.code}), c.exit);
    EXPECT_THAT(err_.str(), StartsWith(c.text));
    EXPECT_THAT(err_.str(), HasSubstr(c.hint));
    EXPECT_EQ(err_.str().find("hint: ") != std::string::npos, *c.hint != '\0');
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(CommandsTest, TheHintOfALateQueryNamesWmi) {
  Complain(absl::DeadlineExceededError("query `SELECT * FROM MSFT_Disk`: late"), err_, "");
  EXPECT_THAT(err_.str(), HasSubstr("WmiPrvSE"));
  EXPECT_THAT(err_.str(), testing::Not(HasSubstr("--timeout")));
}

TEST_F(CommandsTest, AnExpiredCallHasItsOwnExitCode) {
  EXPECT_EQ(RunLine({"system", "GetService", "--name=wait", "--timeout=300ms"}), kDeadline);
  EXPECT_THAT(err_.str(), StartsWith("error: DEADLINE_EXCEEDED: "));
}

TEST_F(CommandsTest, TheErrorNamesThePipeOfAMissingService) {
  EXPECT_EQ(RunLine({"volume", "MountVolume"}), kUnreachable);
  EXPECT_THAT(err_.str(), HasSubstr(directory_.path() + "/csi-proxy-volume-v1.sock"));
  EXPECT_EQ(RunLine({"sim", "dump-state"}), kUnreachable);
  EXPECT_THAT(err_.str(), HasSubstr(directory_.path() + "/csi-proxy-admin.sock"));
}

TEST_F(CommandsTest, WrongUsageSendsNoCall) {
  // Lines separated by `;`. The first line is empty.
  constexpr char kWrong[] =
      "; system; system GetServices; sytem GetService; system GetService --nme=a; system "
      "GetService --api=v1; system GetService more; list more; list --watch; doctor "
      "--output=name; system StopService --watch; system GetService --output=name; help sytem; "
      "help system GetServices; help system GetService more; system GetService --help --api=v1;"
      " list --name=a; doctor more; diagnose more; diagnose --metrics=x; repair; repair --yes; "
      "repair --what=dangling; repair --what=dangling-mounts,; repair --what=dangling-mounts "
      "more; completion; completion fish; describe nothing; describe volume mount; "
      "describe volume MountVolume more; describe volume --api=v9; top; top --metrics=host; top "
      "--metrics=host:0; top --metrics=host:65536; top --metrics=[::1:9; top more --metrics=:9;"
      " top --metrics=:9 --intervall=2s; top --metrics=:9 --interval=2; top --metrics=:9 "
      "--interval=1ms; top --metrics=:9 --interval=inf";
  for (const absl::string_view wrong : absl::StrSplit(kWrong, ';')) {
    EXPECT_EQ(RunLine(absl::StrSplit(wrong, ' ', absl::SkipEmpty())), kUsage) << wrong;
    EXPECT_NE(err_.str(), "");
    EXPECT_EQ(out_.str(), "");
  }
  EXPECT_EQ(server_.system.calls, 0);
}

TEST_F(CommandsTest, CommandsPrintToStandardOutput) {
  EXPECT_EQ(RunLine({"--help"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes:"));
  EXPECT_EQ(RunLine({"--version"}), kOk);
  EXPECT_THAT(out_.str(), testing::MatchesRegex("csi-proxyctl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(RunLine({"list"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("volume v1: "));
  EXPECT_EQ(RunLine({"describe", "volume"}), kOk);
  EXPECT_EQ(RunLine({"completion", "bash"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("complete -F"));
}

TEST_F(CommandsTest, TheErrorNamesAServerWithoutMetrics) {
  const http_testing::RawServer server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(RunLine({"top", "--metrics=" + ToString(server.address())}), kCallFailed);
  EXPECT_THAT(err_.str(), HasSubstr("has no /metrics: it answers with the HTTP status 404"));
}

// Output and errors hide a secret, whichever way the secret is given.
TEST_F(CommandsTest, OutputHidesSecrets) {
  const std::string file = directory_.path() + "/password";
  std::ofstream(file) << "Hidden\n";
  const std::vector<std::string> call = {"smb", "NewSmbGlobalMapping", "-v"};
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--password=Hidden"},
                                             {"--password=-"},
                                             {"--password-file=" + file},
                                             {"--password", "Hidden"},
                                             {"--password=Hidden", "--nonsense=Hidden"},
                                             {"--json", R"({"password": "Hidden"})"},
                                             {"--json", R"({"password": "Hidden)"},
                                             {"--json", R"({"password": ["Hidden"]})"},
                                             {"--json", R"({"Hidden": 1})"},
                                             {"--pasword=Hidden"},
                                             {"--password=Hidden\xff"},
                                             {"--password=Hidden", "--password=Hidden"},
                                             {"--json=-", "--password=-"}}) {
    std::vector<std::string> arguments = call;
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_NE(RunLine(arguments, "Hidden\n"), kOk) << "there is no pipe";
    EXPECT_NE(err_.str(), "");
    EXPECT_THAT(out_.str() + err_.str(), Not(HasSubstr("Hidden"))) << more[0];
  }
}

// A service's text may contain names from a pod, and must not reach the terminal raw.
TEST(ComplainTest, ErrorsEscapeControlCharacters) {
  std::ostringstream err;
  EXPECT_EQ(Complain(absl::NotFoundError("no \x1b[31m\nC:\\a"), err), kCallFailed);
  EXPECT_EQ(err.str(), "error: NOT_FOUND: no \\x1b[31m\\x0aC:\\a\n");
}

int RunDoctor(const TemporaryDirectory& directory, std::ostringstream& out) {
  std::istringstream in;
  Input input(in);
  CommandLine line;
  line.client = client::OptionsFor(directory);
  return Doctor(Catalog(), line, {input, out, out}).value();
}

TEST(DoctorTest, DoctorSeparatesAnsweringPipesFromMissingOnes) {
  const TemporaryDirectory directory;
  client::FakeServer server(directory.path());
  const PipeReport report =
      NewRemotePipes(client::OptionsFor(directory), {})->Examine("system", "v1alpha1");
  ASSERT_TRUE(report.status.ok()) << report.status;
  EXPECT_GT(report.connecting, absl::ZeroDuration());
  EXPECT_GT(report.answering, absl::ZeroDuration());

  std::ostringstream out;
  EXPECT_EQ(RunDoctor(directory, out), kOk);
  EXPECT_THAT(out.str(), HasSubstr("pipes " + directory.path()));
  EXPECT_THAT(out.str(), HasSubstr("system      v1alpha1  answers    "));
  EXPECT_THAT(out.str(), HasSubstr("volume      v1        no answer  "));
  EXPECT_THAT(out.str(), HasSubstr("volume v1: there is no pipe"));
  EXPECT_THAT(out.str(), HasSubstr(absl::StrCat("\n1 of ", std::size(api::kReleasedVersions),
                                                " pipes answer\n")));
  EXPECT_EQ(server.system.calls, 1) << "the doctor asks each group one question";
  EXPECT_THAT(out.str(), HasSubstr("system  system get-service  OK "));
}

TEST(DoctorTest, AServiceThatReportsNotServingIsUnavailable) {
  const TemporaryDirectory directory;
  client::FakeServer server(directory.path());
  server.SetServing(false);
  const PipeReport report =
      NewRemotePipes(client::OptionsFor(directory), {})->Examine("system", "v1alpha1");
  EXPECT_TRUE(absl::IsUnavailable(report.status)) << report.status;
  EXPECT_THAT(std::string(report.status.message()), HasSubstr("is not serving"));
}

TEST(DoctorTest, ASilentServiceDoesNotDelayTheDoctor) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/csi-proxy-system-v1alpha1.sock";
  const UniqueFd listener = rpc::ListenUnix(path);
  const absl::Time start = absl::Now();
  std::ostringstream out;
  EXPECT_EQ(RunDoctor(directory, out), kCallFailed);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_THAT(out.str(), HasSubstr("system v1alpha1: nothing answers on the pipe " + path));
}

class InputTest : public testing::Test {
 protected:
  // Returns the path of a file with that content.
  std::string File(const std::string& content) {
    const std::string path = directory_.path() + "/file";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  TemporaryDirectory directory_;
  std::istringstream standard_input_{"typed\nmore\n"};
  Input input_{standard_input_};
};

TEST_F(InputTest, FilesAreReadCompletely) {
  EXPECT_EQ(input_.Read(File(std::string("a\n\0b\n", 5))).value(), std::string("a\n\0b\n", 5));
  EXPECT_EQ(input_.Read(File("")).value(), "");
}

TEST_F(InputTest, SecretsLoseOnlyTheLastLineBreak) {
  EXPECT_EQ(input_.ReadSecret(File("a b \n")).value(), "a b ");
  EXPECT_EQ(input_.ReadSecret(File("a\r\n")).value(), "a");
  EXPECT_EQ(input_.ReadSecret(File("a\n\n")).value(), "a\n");
  EXPECT_EQ(input_.ReadSecret(File("a\r")).value(), "a\r");
  EXPECT_EQ(input_.ReadSecret(File("a")).value(), "a");
  EXPECT_EQ(input_.ReadSecret(File("\xEF\xBB\xBFpw\r\n")).value(), "pw");
  EXPECT_TRUE(absl::StrContains(input_.ReadSecret(File("\xFF\xFEp")).status().message(),
                                "is UTF-16: save it as UTF-8"));
  EXPECT_EQ(input_.ReadSecret("-").value(), "typed\nmore");
}

TEST_F(InputTest, StandardInputCanBeReadOnlyOnce) {
  EXPECT_EQ(input_.Read("-").value(), "typed\nmore\n");
  EXPECT_TRUE(absl::IsInvalidArgument(input_.Read("-").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(input_.ReadSecret("-").status()));
}

// A file that cannot be read must not make a secret empty.
TEST_F(InputTest, TheErrorNamesAFileThatCannotBeRead) {
  for (const std::string& path : {directory_.path() + "/none", directory_.path(), std::string()}) {
    for (const auto& result : {input_.Read(path), input_.ReadSecret(path)}) {
      EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << path;
      EXPECT_TRUE(absl::StrContains(result.status().message(), "\"" + path + "\""))
          << result.status();
    }
  }
}

}  // namespace
}  // namespace csi_proxy::ctl
