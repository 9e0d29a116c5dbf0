// The table of server/host/README.md: a row for every rpc, and only steps and parts in it
// that there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/selftest/steps.h"

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

TEST(VerificationTest, ThePartsNamedAreThoseOfTheScript) {
  const std::vector<std::string> parts =
      Find(Read("scripts/node-check.ps1"), R"re(Test-Part "([^"]+)")re");
  EXPECT_GT(parts.size(), 15);
  for (const auto& [rpc, row] : Rows()) {
    for (const std::string& name : Find(row.node_check, "`([^`]+)`")) {
      EXPECT_THAT(parts, testing::Contains(name)) << rpc;
    }
  }
  // And those that do not belong to an rpc.
  const std::string text = Read("server/host/README.md");
  for (const std::string& part : parts) {
    const bool of_all =
        part == "disk-image" || part == "answers" || part == "selftest" || part == "clean-up";
    EXPECT_TRUE(of_all || absl::StrContains(text, absl::StrCat("`", part, "`"))) << part;
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::selftest
