#include "client/ctl/commands.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "api/released.h"
#include "client/cpp/testing_posix.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST_F(CommandsTest, ACallPrintsItsAnswerAndNothingElse) {
  ASSERT_EQ(RunLine({"system", "get-service", "--name=kubelet"}), kOk) << err_.str();
  EXPECT_EQ(out_.str(),
            "{\n \"display_name\": \"kubelet\",\n \"start_type\": \"BOOT\",\n \"status\": "
            "\"RUNNING\"\n}\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandsTest, PeopleGetATableUnlessTheyAskForJson) {
  ASSERT_EQ(RunLine({"system", "GetService", "--name=a"}, "", true), kOk);
  EXPECT_THAT(out_.str(), StartsWith("display_name  a\n"));
  ASSERT_EQ(RunLine({"system", "GetService", "--name=a", "--output=json"}, "", true), kOk);
  EXPECT_THAT(out_.str(), StartsWith("{"));
  ASSERT_EQ(RunLine({"system", "GetService", "--name=a", "--output=table"}), kOk);
  EXPECT_THAT(out_.str(), StartsWith("display_name  a\n"));
}

TEST_F(CommandsTest, AnAnswerCanBeYaml) {
  ASSERT_EQ(RunLine({"system", "GetService", "--name=a", "-o", "yaml"}, "", true), kOk);
  EXPECT_EQ(out_.str(), "display_name: a\nstart_type: BOOT\nstatus: RUNNING\n");
}

TEST_F(CommandsTest, HelpIsThatOfTheMethodThatIsNamed) {
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

TEST_F(CommandsTest, VerboseTellsWhatIsCalledAndWhere) {
  ASSERT_EQ(RunLine({"system", "GetService", "-v"}), kOk);
  EXPECT_EQ(err_.str(), "calling /v1alpha1.System/GetService on " + server_.path() + "\n");
}

TEST_F(CommandsTest, AFailureHasACodeATextAndAnExitCode) {
  struct Case {
    const char* code;
    int exit;
    const char* text;
    const char* hint;
  };
  for (const Case& c :
       {Case{"5", kCallFailed, "error: NOT_FOUND: text of 5\n", ""},
        Case{"3", kCallFailed, "error: INVALID_ARGUMENT: text of 3\n", "help GROUP METHOD"},
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

TEST_F(CommandsTest, TimeRunsOut) {
  EXPECT_EQ(RunLine({"system", "GetService", "--name=wait", "--timeout=300ms"}), kDeadline);
  EXPECT_THAT(err_.str(), StartsWith("error: DEADLINE_EXCEEDED: "));
}

TEST_F(CommandsTest, AServiceThatIsNotThereIsUnreachable) {
  EXPECT_EQ(RunLine({"volume", "MountVolume"}), kUnreachable);
  EXPECT_THAT(err_.str(), HasSubstr(directory_.path() + "/csi-proxy-volume-v1.sock"));
  EXPECT_EQ(RunLine({"sim", "dump-state"}), kUnreachable);
  EXPECT_THAT(err_.str(), HasSubstr(directory_.path() + "/csi-proxy-admin.sock"));
}

TEST_F(CommandsTest, WrongUsageCallsNothing) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{},
                                             {"system"},
                                             {"system", "GetServices"},
                                             {"sytem", "GetService"},
                                             {"system", "GetService", "--nme=a"},
                                             {"system", "GetService", "--api=v1"},
                                             {"system", "GetService", "more"},
                                             {"list", "more"},
                                             {"list", "--watch"},
                                             {"doctor", "--output=name"},
                                             {"system", "StopService", "--watch"},
                                             {"system", "GetService", "--output=name"},
                                             {"help", "sytem"},
                                             {"help", "system", "GetServices"},
                                             {"help", "system", "GetService", "more"},
                                             {"system", "GetService", "--help", "--api=v1"},
                                             {"list", "--name=a"},
                                             {"doctor", "more"},
                                             {"diagnose", "more"},
                                             {"diagnose", "--metrics=x"},
                                             {"repair"},
                                             {"repair", "--yes"},
                                             {"repair", "--what=dangling"},
                                             {"repair", "--what=dangling-mounts,"},
                                             {"repair", "--what=dangling-mounts", "more"},
                                             {"completion"},
                                             {"completion", "fish"},
                                             {"describe", "nothing"}}) {
    EXPECT_EQ(RunLine(wrong), kUsage) << testing::PrintToString(wrong);
    EXPECT_NE(err_.str(), "");
    EXPECT_EQ(out_.str(), "");
  }
  EXPECT_EQ(server_.system.calls, 0);
}

TEST_F(CommandsTest, CommandsAnswerToStandardOutput) {
  EXPECT_EQ(RunLine({"--help"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes:"));
  EXPECT_EQ(RunLine({"--version"}), kOk);
  EXPECT_THAT(out_.str(), testing::MatchesRegex("csi-proxyctl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(RunLine({"list"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("volume v1: "));
  EXPECT_EQ(RunLine({"describe", "volume"}), kOk);
  EXPECT_EQ(RunLine({"completion", "bash"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("complete -F"));
  EXPECT_EQ(RunLine({"doctor"}), kOk);
  EXPECT_THAT(out_.str(),
              HasSubstr(absl::StrCat("1 of ", std::size(api::kReleasedVersions), " pipes answer")));
}

// Secrets stay hidden in every way of giving them and in every failure.
TEST_F(CommandsTest, SecretsAreNotEchoed) {
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
                                             {"--json=-", "--password=-"}}) {
    std::vector<std::string> arguments = call;
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_NE(RunLine(arguments, "Hidden\n"), kOk) << "there is no pipe";
    EXPECT_NE(err_.str(), "");
    EXPECT_THAT(out_.str() + err_.str(), Not(HasSubstr("Hidden"))) << more[0];
  }
}

// A service's text may contain names from a pod, and must not reach the terminal raw.
TEST(ComplainTest, ControlCharactersAreShownAsSuch) {
  std::ostringstream err;
  EXPECT_EQ(Complain(absl::NotFoundError("no \x1b[31m\nC:\\a"), err), kCallFailed);
  EXPECT_EQ(err.str(), "error: NOT_FOUND: no \\x1b[31m\\x0aC:\\a\n");
}

}  // namespace
}  // namespace csi_proxy::ctl
