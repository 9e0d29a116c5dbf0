#include <stdio.h>

#include <fstream>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cpp/testing_posix.h"
#include "client/ctl/commands.h"
#include "client/ctl/request.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

std::set<std::string> Sorted(const Catalog& catalog, const std::string& group) {
  const std::vector<std::string> versions = catalog.Versions(group);
  return {versions.begin(), versions.end()};
}

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    script_path_ = directory_.path() + "/completion";
    std::ofstream(script_path_) << CompletionScript(catalog_, "bash").value();
  }

  // Returns the words that bash completes at the end of a line. `words` are shell words in quotes.
  std::set<std::string> Complete(const std::vector<std::string>& words) {
    std::string line = absl::StrCat("source ", script_path_, "; COMP_WORDS=(csi-proxyctl");
    for (const std::string& word : words) absl::StrAppend(&line, " \"", word, "\"");
    absl::StrAppend(&line, "); COMP_CWORD=", words.size(),
                    "; _csi_proxyctl; printf '%s\\n' \"${COMPREPLY[@]}\"");
    const std::string command =
        absl::StrCat("bash -u -c '", absl::StrReplaceAll(line, {{"'", "'\\''"}}), "'");
    FILE* const pipe = popen(command.c_str(), "r");
    std::string output;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, n);
    EXPECT_EQ(pclose(pipe), 0) << command;
    return absl::StrSplit(output, '\n', absl::SkipEmpty());
  }

  const Catalog catalog_;
  const TemporaryDirectory directory_;
  std::string script_path_;
};

TEST_F(CompletionTest, TheScriptOfEachShellContainsEveryMethodAndFlag) {
  const std::map<std::string, std::string> quotes = {
      {"bash", "\""}, {"zsh", "\""}, {"powershell", "'"}};
  for (const auto& [shell, quote] : quotes) {
    const std::string script = CompletionScript(catalog_, shell).value();
    for (const Method& method : catalog_.AllMethods()) {
      const std::string name = KebabCase(method.descriptor->name());
      const std::string row = absl::StrCat("\n    ", quote, method.group, " ", name, quote);
      const size_t start = script.find(row);
      ASSERT_NE(start, std::string::npos) << shell << ": " << method.path();
      const std::string words = script.substr(start, script.find('\n', start + 1) - start);
      for (const std::string& flag : FieldFlags(*method.descriptor->input_type())) {
        EXPECT_THAT(words, HasSubstr(flag.substr(0, flag.find('=')))) << shell;
      }
      EXPECT_THAT(words, HasSubstr(" $flags")) << shell;
    }
    EXPECT_THAT(script, HasSubstr("--socket-dir"));
    EXPECT_THAT(script, HasSubstr("dangling-links")) << shell;
    EXPECT_THAT(script, HasSubstr("bash zsh powershell"));
  }
  EXPECT_EQ(CompletionScript(catalog_, "zsh")->find("autoload"), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(CompletionScript(catalog_, "fish").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CompletionScript(catalog_, "").status()));
}

// PowerShell refuses a hash table with two keys that differ only in case.
TEST_F(CompletionTest, ThePowerShellScriptContainsEachKeyOnce) {
  std::set<std::string> keys, of_table;
  const std::string script = CompletionScript(catalog_, "powershell").value();
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    if (absl::EndsWith(line, "@{")) of_table.clear();
    if (!absl::StartsWith(line, "    '")) continue;
    const std::string key = absl::AsciiStrToLower(line.substr(0, line.find(" = ")));
    EXPECT_TRUE(of_table.insert(key).second) << key;
    keys.insert(key);
  }
  EXPECT_GT(keys.size(), 60u);
  EXPECT_THAT(keys, IsSupersetOf({"    ''", "    'disk'", "    'help disk'", "    'repair'"}));
}

TEST_F(CompletionTest, TheFirstWordCompletesToGroupsAndCommands) {
  EXPECT_THAT(Complete({""}),
              UnorderedElementsAre("disk", "filesystem", "iscsi", "smb", "system", "volume", "sim",
                                   "storage", "completion", "describe", "diagnose", "doctor",
                                   "help", "list", "repair", "report", "selftest", "top"));
  EXPECT_THAT(Complete({"s"}), UnorderedElementsAre("selftest", "sim", "smb", "storage", "system"));
}

TEST_F(CompletionTest, FurtherWordsCompleteToMethodsFieldsAndFlags) {
  EXPECT_THAT(Complete({"system", "get"}),
              UnorderedElementsAre("get-bios-serial-number", "get-service"));
  EXPECT_THAT(Complete({"system", "stop-service", "--"}),
              UnorderedElementsAre("--name=", "--force", "--api", "--json", "--output", "--timeout",
                                   "--connect-timeout", "--socket-dir", "--verbose", "--help",
                                   "--version", "--watch"));
  // bash splits words at `=`.
  EXPECT_THAT(Complete({"system", "stop-service", "--name", "=", "x", "--fo"}),
              UnorderedElementsAre("--force"));
  EXPECT_THAT(
      Complete({"iscsi", "connect-target", "--target-portal."}),
      UnorderedElementsAre("--target-portal.target-address=", "--target-portal.target-port="));
  EXPECT_THAT(Complete({"disk", "rescan", "--"}), Contains("--api"));
  EXPECT_THAT(Complete({"disk", "rescan", "--"}), Not(Contains("--name=")));
  EXPECT_THAT(Complete({"volume", "no-such-method", "--ti"}), UnorderedElementsAre("--timeout"));
}

TEST_F(CompletionTest, TheOutputFlagCompletesToItsFormats) {
  for (const char* flag : {"-o", "--output"}) {
    EXPECT_THAT(Complete({"storage", "list-disks", flag, ""}),
                UnorderedElementsAre("json", "yaml", "table", "wide", "name"));
  }
  EXPECT_THAT(Complete({"storage", "list-disks", "--output", "=", "w"}),
              UnorderedElementsAre("wide"));
}

TEST_F(CompletionTest, ValuesOfEnumsAndVersionsOfTheGroupAreOffered) {
  const std::vector<std::string> connect = {"iscsi", "connect-target"};
  const auto complete = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = connect;
    words.insert(words.end(), more.begin(), more.end());
    return Complete(words);
  };
  EXPECT_THAT(complete({"--auth-type", "=", ""}),
              UnorderedElementsAre("NONE", "ONE_WAY_CHAP", "MUTUAL_CHAP"));
  EXPECT_THAT(complete({"--auth-type", "=", "ONE"}), UnorderedElementsAre("ONE_WAY_CHAP"));
  EXPECT_THAT(complete({"--api", "=", ""}), testing::ElementsAreArray(Sorted(catalog_, "iscsi")));
  EXPECT_THAT(complete({"--api", ""}), testing::ElementsAreArray(Sorted(catalog_, "iscsi")));
  EXPECT_THAT(Complete({"disk", "rescan", "--api", "=", "v1b"}), Contains("v1beta1"));
  const std::string script = CompletionScript(catalog_, "powershell").value();
  EXPECT_THAT(script, HasSubstr("    '--auth-type' = 'MUTUAL_CHAP NONE ONE_WAY_CHAP'\n"));
  EXPECT_THAT(script,
              HasSubstr(absl::StrCat("    'iscsi' = '",
                                     absl::StrJoin(catalog_.Versions("iscsi"), " "), "'\n")));
}

TEST_F(CompletionTest, CommandsCompleteTheirOwnArguments) {
  EXPECT_THAT(Complete({"describe", "vol"}), UnorderedElementsAre("volume"));
  EXPECT_THAT(Complete({"describe", "disk", "resc"}), UnorderedElementsAre("rescan"));
  EXPECT_THAT(Complete({"help", "vol"}), UnorderedElementsAre("volume"));
  EXPECT_THAT(Complete({"help", "disk", "resc"}), UnorderedElementsAre("rescan"));
  EXPECT_THAT(Complete({"completion", ""}), UnorderedElementsAre("bash", "powershell", "zsh"));
  EXPECT_THAT(Complete({"selftest", "--di"}), UnorderedElementsAre("--disk=", "--disk-is-mine"));
  EXPECT_THAT(Complete({"top", "--metrics", "=", ":9", "--in"}),
              UnorderedElementsAre("--interval="));
  EXPECT_THAT(Complete({"diagnose", "--m"}), UnorderedElementsAre("--metrics="));
  EXPECT_THAT(Complete({"repair", "--"}), IsSupersetOf({"--what=", "--yes", "--output"}));
  EXPECT_THAT(Complete({"repair", "--yes", "--what", "=", "dangling"}),
              UnorderedElementsAre("dangling-links", "dangling-mounts"));
}

}  // namespace
}  // namespace csi_proxy::ctl
