#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "client/ctl/catalog.h"
#include "client/ctl/output.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

std::string Yaml(const std::string& json) {
  const absl::StatusOr<std::string> yaml = JsonToYaml(json);
  return yaml.ok() ? *yaml : yaml.status().ToString();
}

TEST(YamlTest, ObjectsAndListsAreBlocks) {
  EXPECT_EQ(Yaml(R"({"disks": [{"number": 0, "ids": ["a", "b"]}, {"number": 1, "ids": []}],
                     "of": {"a": {"b": 1.5, "c": {}}}, "incomplete": false, "none": null})"),
            "disks:\n"
            "  - number: 0\n"
            "    ids:\n"
            "      - a\n"
            "      - b\n"
            "  - number: 1\n"
            "    ids: []\n"
            "of:\n"
            "  a:\n"
            "    b: 1.5\n"
            "    c: {}\n"
            "incomplete: false\n"
            "none: null\n");
  EXPECT_EQ(Yaml("[[1, 2], [{\"a\": []}]]"), "- - 1\n  - 2\n- - a: []\n");
  EXPECT_EQ(Yaml("{}"), "{}\n");
  EXPECT_EQ(Yaml("[ ]"), "[]\n");
  EXPECT_EQ(Yaml(" -2.5e+3 "), "-2.5e+3\n");
  EXPECT_EQ(Yaml("\"a\""), "a\n");
}

// Strings that YAML would read as another type are quoted.
TEST(YamlTest, StringsStayStrings) {
  for (const char* plain : {"SAS", "read-only", "a_1", "Ok", "nullable"}) {
    EXPECT_EQ(Yaml(absl::StrCat("\"", plain, "\"")), absl::StrCat(plain, "\n"));
  }
  for (const char* quoted :
       {"",           "1024",  "1e3", "0x1F", "0o7", "1_000", "12:30:45", "-",    "-a",   "~",
        "null",       "Null",  "YES", "no",   "On",  "off",   "y",        "N",    "true", "FALSE",
        ".nan",       "_x",    "a b", " a",   "a ",  "a: b",  "a:b",      "a #b", "# b",  "[a]",
        "{a",         "a,b",   "&a",  "*a",   "!a",  "|",     ">",        "%a",   "@a",   "`a",
        "2026-11-25", "vol 1", "é",   "<<",   "=",   "?",     "---",      "..."}) {
    EXPECT_EQ(Yaml(absl::StrCat("\"", quoted, "\"")), absl::StrCat("'", quoted, "'\n"));
  }
  EXPECT_EQ(Yaml(R"({"it's": "it's", "1": "x"})"), "'it''s': 'it''s'\n'1': x\n");
}

// Single quotes leave a path unchanged; double quotes would double its backslashes.
TEST(YamlTest, PathsAreShownAsTheyAreAndControlCharactersAreEscaped) {
  EXPECT_EQ(Yaml(R"("\\\\?\\Volume{1}\\")"), "'\\\\?\\Volume{1}\\'\n");
  EXPECT_EQ(Yaml(R"("C:\\a\u001b[2J\n\"")"), R"("C:\\a\u001B[2J\u000A\"")"
                                             "\n");
  EXPECT_EQ(Yaml(R"("a\u0085\u2028\ufeff\u00e9")"), R"("a\u0085\u2028\uFEFF\u00E9")"
                                                    "\n");
  EXPECT_EQ(Yaml(R"("\ud83d\ude00")"), "'\U0001F600'\n");
  EXPECT_EQ(Yaml(R"("\ud83d\ude00\t")"), R"("\U0001F600\u0009")"
                                         "\n");
}

TEST(YamlTest, OtherTextsAreRefused) {
  for (const char* bad :
       {"", "{", "[1", "[1 2]", "{\"a\"}", "{\"a\" 1}", "{1: 2}", "{\"a\": }", "tru", "nan", "inf",
        "1.", "\"a", "\"a\\", "\"\\u12\"", "{} {}", "[1,]", "-", "yes"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(JsonToYaml(bad).status())) << bad;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(JsonToYaml(std::string(100000, '[')).status()));
}

// Every response of a released method can be shown.
TEST(YamlTest, EveryReleasedResponse) {
  const Catalog catalog;
  for (const std::string& group : catalog.Groups()) {
    for (const std::string& version : catalog.Versions(group)) {
      for (const Method& method : catalog.Methods(group, version)) {
        const auto response = catalog.New(method.descriptor->output_type());
        const auto yaml = JsonToYaml(ToJson(*response).value());
        EXPECT_TRUE(yaml.ok()) << method.path() << yaml.status();
      }
    }
  }
}

}  // namespace
}  // namespace csi_proxy::ctl
