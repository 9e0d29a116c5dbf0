// Compares the output for the invented group with the files in codegen/testdata/golden.
// After a wanted change: CSI_PROXY_UPDATE_GOLDEN=1 ctest -R Golden, and review the diff.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> ReadTree(const fs::path& root) {
  std::map<std::string, std::string> files;
  if (!fs::exists(root)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    files[fs::relative(entry.path(), root)] = text.str();
  }
  return files;
}

// Returns the first line in which two texts differ, from both.
std::string Difference(const std::string& golden, const std::string& now) {
  const std::vector<std::string> a = absl::StrSplit(golden, '\n'), b = absl::StrSplit(now, '\n');
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? a[i] : "(end)", right = i < b.size() ? b[i] : "(end)";
    if (left != right) return absl::StrCat("line ", i + 1, "\n- ", left, "\n+ ", right);
  }
  return "";
}

TEST(GoldenTest, TheGeneratorsOutputEqualsTheGoldenFiles) {
  const auto golden = ReadTree(GARDEN_GOLDEN), output = ReadTree(GARDEN_OUTPUT);
  ASSERT_FALSE(golden.empty());
  for (const auto& [name, text] : golden) {
    const auto found = output.find(name);
    ASSERT_TRUE(found != output.end()) << name << " is not generated any more";
    if (std::getenv("CSI_PROXY_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(fs::path(GARDEN_GOLDEN) / name, std::ios::binary) << found->second;
    }
    EXPECT_TRUE(found->second == text) << name << ": " << Difference(text, found->second);
  }
}

}  // namespace
