#include "server/base/go_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace csi_proxy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::StatusOr<GoCommandLine> Read(const std::vector<std::string>& arguments) {
  return ReadGoFlags(arguments, [](absl::string_view name) -> std::optional<GoFlagKind> {
    if (name == "b") return GoFlagKind::kBool;
    if (name == "s") return GoFlagKind::kText;
    return std::nullopt;
  });
}

std::vector<std::string> FlagsOf(const std::vector<std::string>& arguments) {
  std::vector<std::string> flags;
  const absl::StatusOr<GoCommandLine> line = Read(arguments);
  EXPECT_TRUE(line.ok()) << line.status();
  if (!line.ok()) return flags;
  for (const GoFlag& flag : line->flags) flags.push_back(flag.name + "=" + flag.value);
  return flags;
}

TEST(ReadGoFlagsTest, Forms) {
  EXPECT_THAT(FlagsOf({"-s", "1", "--s", "2", "-s=3", "--s=4", "--s=", "-s=a=b", "-s", ""}),
              ElementsAre("s=1", "s=2", "s=3", "s=4", "s=", "s=a=b", "s="));
  // A boolean flag never takes the next argument as its value; other flags always do.
  EXPECT_THAT(FlagsOf({"-b", "--b=false", "-s", "-b", "-s", "--"}),
              ElementsAre("b=true", "b=false", "s=-b", "s=--"));
}

TEST(ReadGoFlagsTest, StopsAtWhatIsNotAFlag) {
  for (const std::string stray : {"word", "-", ""}) {
    const absl::StatusOr<GoCommandLine> line = Read({"-b", stray, "--no-such"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->flags.size(), 1);
    EXPECT_THAT(line->rest, ElementsAre(stray, "--no-such"));
  }
  EXPECT_THAT(Read({"-b", "--", "-x"})->rest, ElementsAre("-x"));
  EXPECT_THAT(Read({"-b", "--"})->rest, IsEmpty());
}

TEST(ReadGoFlagsTest, Errors) {
  for (const std::string argument : {"---b", "--=", "-=1", "--x", "-x=1", "-s"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Read({argument}).status())) << argument;
  }
  for (const std::string help : {"-h", "--help", "-help=false"}) {
    EXPECT_TRUE(Read({help, "--x"})->help) << help;
  }
  EXPECT_FALSE(Read({"--x", "-h"}).ok());
}

// integration/flags compares random values with Go's.
TEST(GoValueTest, IsCanonicalOrRefusedByNameOfFlagAndValue) {
  using enum GoFlagKind;
  const struct {
    GoFlagKind kind;
    std::vector<std::pair<const char*, const char*>> values;
    std::vector<const char*> refused;
  } cases[] = {
      {kBool,
       {{"1", "true"},
        {"t", "true"},
        {"T", "true"},
        {"true", "true"},
        {"TRUE", "true"},
        {"True", "true"},
        {"0", "false"},
        {"f", "false"},
        {"F", "false"},
        {"false", "false"},
        {"FALSE", "false"},
        {"False", "false"}},
       {"", "yes", "on", "tRue", "2", "true "}},
      {kInt,
       {{"0", "0"},
        {"-7", "-7"},
        {"+7", "7"},
        {"0x1F", "31"},
        {"0b101", "5"},
        {"0o17", "15"},
        {"017", "15"},
        {"1_000", "1000"},
        {"0_7", "7"},
        {"0x_f", "15"},
        {"-9223372036854775808", "-9223372036854775808"}},
       {"", "-", "1.5", "0x", "9223372036854775808", "08", "--1", "7 ", "_1", "1_", "1__0"}},
      {kUint,
       {{"0", "0"}, {"0x10", "16"}, {"18446744073709551615", "18446744073709551615"}},
       {"", "-1", "+1", "18446744073709551616"}},
      {kFloat, {{"5", "5"}, {"-2.5e1", "-2.5e1"}}, {"", "five", "1.5s", " 1", "1 "}},
      {kDuration,
       {{"1h2m3.5s", "1h2m3.5s"}, {"5µs", "5µs"}, {"-1.5h", "-1.5h"}, {"0", "0"}},
       {"", "1", "inf", "-inf", "1d", "s", "1s ", "9999999h"}},
      {kText, {{"", ""}, {" -x", " -x"}}, {}},
      {kLevel,
       {{"4", "4"}, {"-4", "-4"}, {"+010", "10"}, {"-2147483648", "-2147483648"}},
       {"", "0x4", "1_0", "2147483648", "much"}},
      {kSeverity, {{"INFO", "INFO"}, {"warning", "warning"}, {"-3", "-3"}}, {"", "x", "0x1"}},
      {kVmodule,
       {{"", ""}, {"a=1,,b*=0", "a=1,,b*=0"}},
       {"a", "a=", "=1", "a=-1", "a=1=2", "a=x", "a=1, b"}},
      {kBacktrace,
       {{"", ""}, {"a.go:234", "a.go:234"}},
       {"a:3", ":0", "a.go:0", "a.go", "a.go:1:2", "a.go:x"}},
  };
  for (const auto& [kind, values, refused] : cases) {
    for (const auto& [text, value] : values) {
      EXPECT_EQ(GoValue({"f", text}, kind).value_or("refused"), value) << text;
    }
    for (const std::string text : refused) {
      const absl::Status status = GoValue({"f", text}, kind).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
      EXPECT_THAT(std::string(status.message()),
                  ::testing::StartsWith("--f: \"" + text + "\" is not "));
    }
  }
  EXPECT_EQ(ParseGoDuration("1h2m3.5s"), absl::Hours(1) + absl::Minutes(2) + absl::Seconds(3.5));
  EXPECT_EQ(ParseGoDuration("5µs"), absl::Microseconds(5));
}

}  // namespace
}  // namespace csi_proxy
