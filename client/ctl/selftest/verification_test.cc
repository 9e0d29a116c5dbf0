// Tests the pages on what real nodes have shown and have yet to show. The table of
// server/host/README.md has a row for every rpc, and the list of doubts names a part of
// node-check.ps1 for each doubt. The pages name only steps, parts and fallbacks that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/ctl/selftest/steps.h"
#include "server/base/fallbacks.h"

namespace csi_proxy::ctl::selftest {
namespace {

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(CSI_PROXY_SOURCE_DIR "/" + path).rdbuf();
  EXPECT_NE(text.str(), "") << path;
  return text.str();
}

// All first groups of a pattern.
std::vector<std::string> Find(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

struct Row {
  std::string mechanism, selftest, node_check;
};

std::map<std::string, Row> Rows() {
  std::map<std::string, Row> rows;
  for (const auto& line : absl::StrSplit(Read("server/host/README.md"), '\n')) {
    if (!absl::StartsWith(line, "| `") || !absl::StrContains(line, '.')) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 7) continue;
    const std::string rpc = Find(cells[1], "`([^`]+)`").at(0);
    EXPECT_TRUE(rows.emplace(rpc, Row{cells[2], cells[4], cells[5]}).second) << rpc << " twice";
  }
  return rows;
}

TEST(VerificationTest, EveryRpcOfEveryHubHasItsRow) {
  std::set<std::string> rpcs;
  for (const char* group : {"disk", "filesystem", "iscsi", "smb", "storage", "system", "volume"}) {
    const std::string hub = Read(absl::StrCat("api/", group, "/hub.proto"));
    for (const std::string& rpc : Find(hub, R"(\n  rpc (\w+)\()")) {
      rpcs.insert(absl::StrCat(group, ".", rpc));
    }
  }
  EXPECT_GT(rpcs.size(), 30);
  std::set<std::string> rows;
  for (const auto& [rpc, row] : Rows()) {
    rows.insert(rpc);
    EXPECT_NE(absl::StripAsciiWhitespace(row.mechanism), "") << rpc;
  }
  EXPECT_EQ(rows, rpcs);
}

TEST(VerificationTest, TheStepsNamedCallTheRpc) {
  for (const auto& [rpc, row] : Rows()) {
    const std::vector<std::string> names = Find(row.selftest, "`([^`]+)`");
    EXPECT_TRUE(!names.empty() || absl::StrContains(row.selftest, "none: ")) << rpc;
    for (const std::string& name : names) {
      const auto step = std::find_if(Steps().begin(), Steps().end(),
                                     [&](const Step& s) { return s.name == name; });
      ASSERT_NE(step, Steps().end()) << rpc << ": there is no step " << name;
      EXPECT_THAT(step->rpcs, testing::Contains(rpc)) << name;
    }
  }
}

// The parts of the script, which is in several files.
std::set<std::string> Parts() {
  std::set<std::string> parts;
  std::string text = Read("scripts/node-check.ps1");
  for (const auto& file :
       std::filesystem::directory_iterator(CSI_PROXY_SOURCE_DIR "/scripts/node-check")) {
    if (file.path().extension() != ".ps1") continue;
    absl::StrAppend(&text, Read("scripts/node-check/" + file.path().filename().string()));
  }
  for (const std::string& part : Find(text, R"re(Test-Part "([^"$]+)")re")) parts.insert(part);
  return parts;
}

// Parts of the workflow for Windows are named so in the list of doubts.
constexpr char kWorkflow[] = "windows/";

std::set<std::string> PartsOfTheWorkflow() {
  std::set<std::string> parts;
  const std::string text = Read("integration/windows/run.ps1");
  for (const std::string& part : Find(text, R"re(Test-Part "([^"$]+)")re")) {
    parts.insert(absl::StrCat(kWorkflow, part));
  }
  return parts;
}

// A row of the list of doubts.
struct Doubt {
  std::vector<std::string> cells;
  std::vector<std::string> parts;
  std::string where;
  bool has_no_run = false;
};

std::map<int, Doubt> Doubts() {
  std::map<int, Doubt> doubts;
  for (const auto& line : absl::StrSplit(Read("server/host/doubts.md"), '\n')) {
    const std::vector<std::string> number = Find(std::string(line), R"(^\| (\d+) \| )");
    if (number.empty()) continue;
    Doubt doubt;
    for (const absl::string_view cell : absl::StrSplit(line, '|')) {
      doubt.cells.emplace_back(absl::StripAsciiWhitespace(cell));
    }
    EXPECT_EQ(doubt.cells.size(), 9) << line;
    doubt.cells.resize(9);
    doubt.has_no_run = absl::StartsWith(doubt.cells[5], "no run: ");
    if (!doubt.has_no_run) doubt.parts = Find(doubt.cells[5], "`([^`]+)`");
    doubt.where = doubt.cells[6];
    EXPECT_TRUE(doubts.emplace(std::stoi(number[0]), doubt).second) << number[0] << " twice";
  }
  return doubts;
}

TEST(VerificationTest, ThePartsNamedAreThoseOfTheScript) {
  const std::set<std::string> parts = Parts();
  const std::set<std::string> of_workflow = PartsOfTheWorkflow();
  EXPECT_GT(parts.size(), 25);
  // These make the others possible.
  std::set<std::string> named = {"disk-image", "answers", "clean-up", "go-release",
                                 "server-version"};
  for (const auto& [rpc, row] : Rows()) {
    for (const std::string& name : Find(row.node_check, "`([^`]+)`")) {
      EXPECT_THAT(parts, testing::Contains(name)) << rpc;
      named.insert(name);
    }
  }
  for (const auto& [number, doubt] : Doubts()) {
    for (const std::string& name : doubt.parts) {
      EXPECT_TRUE(parts.contains(name) || of_workflow.contains(name))
          << "doubt " << number << ": there is no part " << name;
      named.insert(name);
    }
  }
  for (const std::string& part : parts) {
    EXPECT_THAT(named, testing::Contains(part)) << "shows neither a doubt nor an rpc";
  }
}

TEST(VerificationTest, EveryDoubtIsSettledByAPartOrSaysWhyNot) {
  const std::map<int, Doubt> doubts = Doubts();
  ASSERT_FALSE(doubts.empty());
  EXPECT_EQ(doubts.begin()->first, 1);
  std::map<std::string, size_t> counts;
  for (const auto& [number, doubt] : doubts) {
    for (const size_t cell : {2, 3, 4, 5, 6, 7}) EXPECT_NE(doubt.cells[cell], "") << number;
    EXPECT_NE(doubt.has_no_run, !doubt.parts.empty()) << number;
    EXPECT_EQ(doubt.where == "-", doubt.has_no_run) << number;
    EXPECT_THAT(doubt.where, testing::AnyOf("runner", "cloud", "-")) << number;
    ++counts[doubt.where];
  }
  // The page says how many.
  std::string text = absl::StrReplaceAll(Read("server/host/doubts.md"), {{"\n", " "}});
  EXPECT_TRUE(absl::StrContains(
      text, absl::StrCat("Of ", doubts.size(),
                         " doubts, one run on a Windows runner of GitHub Actions settles ",
                         counts["runner"], ", one on a node of each cloud ", counts["cloud"],
                         " more, and no run of the script ", counts["-"], ".")))
      << testing::PrintToString(counts);
}

// The report of the script ends with a table of the doubts, from a file of its own.
TEST(VerificationTest, TheScriptKnowsTheDoubtsAndTheirParts) {
  std::map<int, std::set<std::string>> listed, known;
  for (const auto& [number, doubt] : Doubts()) {
    std::set<std::string>& of_doubt = listed[number];
    for (const std::string& part : doubt.parts) {
      if (!absl::StartsWith(part, kWorkflow)) of_doubt.insert(part);
    }
  }
  for (const auto& line : absl::StrSplit(Read("scripts/node-check/doubts.tsv"), '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    if (cells.size() != 4) continue;
    known[std::stoi(cells[0])] = absl::StrSplit(cells[3], ' ', absl::SkipEmpty());
  }
  EXPECT_EQ(known, listed);
}

TEST(VerificationTest, EveryFallbackBelongsToADoubtThatNamesIt) {
  std::map<int, std::set<std::string>> named;
  for (const auto& [number, doubt] : Doubts()) {
    const size_t from = doubt.cells[7].find("ounted as `");
    if (from == std::string::npos) continue;
    for (const std::string& name : Find(doubt.cells[7].substr(from), "`([a-z0-9-]+)`")) {
      named[number].insert(name);
    }
  }
  std::map<int, std::set<std::string>> counted;
  for (const FallbackFacts& facts : kFallbacks) counted[facts.doubt].insert(facts.name);
  EXPECT_EQ(named, counted);
  EXPECT_TRUE(absl::StrContains(Read("server/README.md"), "`csi_proxy_fallbacks_total`"));
}

// Other pages and comments name doubts by number.
TEST(VerificationTest, TheDoubtsThatOthersNameAreInTheList) {
  const std::map<int, Doubt> doubts = Doubts();
  int found = 0;
  for (const char* const file :
       {"SECURITY.md", "client/README.md", "integration/README.md",
        "integration/service/hostile/README.md", "integration/wine/node/README.md",
        "scripts/deploy/README.md", "scripts/deploy/sidecars.md", "server/base/fallbacks.h",
        "server/base/peer_process_windows.cc", "server/host/README.md", "server/host/iscsi_host.cc",
        "server/host/mount_point.h", "server/host/smb_host.cc", "server/machine/layouts.cc",
        "server/machine/windows/cim/connection_windows.cc", "server/rpc/README.md",
        "server/rpc/pipe/object_security.h", "service_installer/service_config.h"}) {
    const std::string text = absl::StrReplaceAll(Read(file), {{"\n// ", " "}, {"\n", " "}});
    for (const std::string& numbers : Find(text, R"([Dd]oubts? +(\d+(?:(?:,| to| and) +\d+)*))")) {
      for (const std::string& number : Find(numbers, R"((\d+))")) {
        EXPECT_TRUE(doubts.contains(std::stoi(number))) << file << " names doubt " << number;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace csi_proxy::ctl::selftest
