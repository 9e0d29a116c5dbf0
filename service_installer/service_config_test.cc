#include "service_installer/service_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace csi_proxy::service_installer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

TEST(CommandLineTest, TheProgramIsAlwaysQuoted) {
  EXPECT_EQ(CommandLine({R"(C:\Program Files\csi-proxy.exe)"}),
            R"("C:\Program Files\csi-proxy.exe")");
  EXPECT_EQ(CommandLine({R"(C:\csi-proxy.exe)", "-v", "4"}), R"("C:\csi-proxy.exe" -v 4)");
}

TEST(CommandLineTest, WordsAreQuotedOnlyIfNecessary) {
  EXPECT_EQ(QuoteArgument("plain"), "plain");
  EXPECT_EQ(QuoteArgument(""), R"("")");
  EXPECT_EQ(QuoteArgument("two words"), R"("two words")");
  EXPECT_EQ(QuoteArgument(R"(C:\dir\)"), R"(C:\dir\)");
  EXPECT_EQ(QuoteArgument(R"(C:\a dir\)"), R"("C:\a dir\\")");
  EXPECT_EQ(QuoteArgument(R"(say "hi")"), R"("say \"hi\"")");
  EXPECT_EQ(QuoteArgument(R"(\")"), R"("\\\"")");
}

TEST(CommandLineTest, SplitCommandLineSplitsAsWindowsDoes) {
  // The examples in
  // https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw and in
  // the C runtime's documentation.
  const std::pair<const char*, Words> table[] = {
      {R"(p "abc" d e)", {"p", "abc", "d", "e"}},
      {R"(p a\\b d"e f"g h)", {"p", R"(a\\b)", "de fg", "h"}},
      {R"(p a\\\"b c d)", {"p", R"(a\"b)", "c", "d"}},
      {R"(p a\\\\"b c" d e)", {"p", R"(a\\b c)", "d", "e"}},
      {R"(p "a b""c d")", {"p", R"(a b"c d)"}},
      {R"("C:\Program Files\x.exe" -v=4)", {R"(C:\Program Files\x.exe)", "-v=4"}},
      {R"("C:\dir\" x)", {R"(C:\dir\)", "x"}},
      {"p  \t a", {"p", "a"}},
  };
  for (const auto& [line, words] : table) {
    const auto split = SplitCommandLine(line);
    ASSERT_TRUE(split.ok()) << line << split.status();
    EXPECT_EQ(*split, words) << line;
  }
}

TEST(CommandLineTest, AJoinedLineSplitsIntoTheSameWords) {
  const Words words = {
      R"(C:\Program Files\csi proxy.exe)", "",  R"(\\server\share\)", R"(a"b)", R"(tail\\")",
      R"(D:P(A;;GA;;;SY)(A;;GA;;;BA))",    "\t"};
  const auto split = SplitCommandLine(CommandLine(words));
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(*split, words);
}

TEST(CommandLineTest, MalformedCommandLinesAreRefused) {
  for (const char* bad : {"", "   ", R"("C:\open)"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SplitCommandLine(bad).status())) << bad;
  }
}

TEST(ServiceConfigTest, DifferencesListTheSettingAndBothValues) {
  ServiceConfig from;
  from.command = {"a.exe"};
  ServiceConfig to = from;
  EXPECT_TRUE(Differences(from, to).empty());
  from.account = "localsystem";
  EXPECT_TRUE(Differences(from, to).empty()) << "Windows spells it as it likes";
  from.start_type = StartType::kManual;
  to.command = {"b c.exe"};
  to.restart_delay = absl::Seconds(5);
  EXPECT_THAT(Differences(from, to),
              ElementsAre(R"(command: "a.exe" -> "b c.exe")", "start type: manual -> automatic",
                          "restart delay: 10s -> 5s"));
}

TEST(ServiceConfigTest, StartTypesAreParsedFromTheirNames) {
  for (const char* name : {"automatic", "automatic-delayed", "manual", "disabled"}) {
    const auto type = ParseStartType(name);
    ASSERT_TRUE(type.ok()) << type.status();
    EXPECT_STREQ(Name(*type), name);
  }
  const auto bad = ParseStartType("auto");
  EXPECT_TRUE(absl::IsInvalidArgument(bad.status()));
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("--start-type"));
}

}  // namespace
}  // namespace csi_proxy::service_installer
