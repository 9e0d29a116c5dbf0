#include "server/base/go_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace csi_proxy {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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

TEST(ReadGoFlagsTest, AFlagIsReadInEachFormThatGoAccepts) {
  EXPECT_THAT(FlagsOf({"-s", "1", "--s", "2", "-s=3", "--s=4", "--s=", "-s=a=b", "-s", ""}),
              ElementsAre("s=1", "s=2", "s=3", "s=4", "s=", "s=a=b", "s="));
  // A boolean flag never takes the next argument as its value; other flags always do.
  EXPECT_THAT(FlagsOf({"-b", "--b=false", "-s", "-b", "-s", "--"}),
              ElementsAre("b=true", "b=false", "s=-b", "s=--"));
}

TEST(ReadGoFlagsTest, ParsingEndsAtTheFirstWordThatIsNotAFlag) {
  for (const std::string stray : {"word", "-", ""}) {
    const absl::StatusOr<GoCommandLine> line = Read({"-b", stray, "--no-such"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->flags.size(), 1);
    EXPECT_THAT(line->rest, ElementsAre(stray, "--no-such"));
  }
  EXPECT_THAT(Read({"-b", "--", "-x"})->rest, ElementsAre("-x"));
  EXPECT_THAT(Read({"-b", "--"})->rest, IsEmpty());
  EXPECT_THAT(IgnoredWords({"word", "-b"}), EndsWith("; ignored: \"word\" \"-b\""));
}

TEST(ReadGoFlagsTest, MalformedAndUnknownFlagsAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"---b", "---b: not the form of a flag"}, {"--=x", "--=x: not the form of a flag"},
      {"-=", "-=: not the form of a flag"},     {"--x", "--x: there is no such flag"},
      {"-x=1", "--x: there is no such flag"},   {"-s", "--s: needs a value"}};
  for (const auto& [argument, error] : cases) {
    EXPECT_EQ(Read({argument}).status(), absl::InvalidArgumentError(error));
  }
  for (const std::string help : {"-h", "--help", "-help=false"}) {
    EXPECT_TRUE(Read({help, "--x"})->help) << help;
  }
  EXPECT_FALSE(Read({"--x", "-h"}).ok());
}

// integration/flags also compares the results for random values with those of Go's parser.
TEST(CheckGoValueTest, EachKindAcceptsItsValuesAndErrorsNameTheFlag) {
  using enum GoFlagKind;
  const struct {
    GoFlagKind kind;
    std::vector<const char*> taken, refused;
  } cases[] = {
      {kBool, {"true", "F"}, {"", "yes", "on", "tRue", "2", "true "}},
      {kInt,
       {"0", "0x1F", "-9223372036854775808"},
       {"", "-", "1.5", "0x", "9223372036854775808", "-9223372036854775809", "08", "--1", "7 ",
        "_1", "1_", "1__0"}},
      {kUint, {"0", "18446744073709551615"}, {"", "-1", "+1", "18446744073709551616"}},
      {kFloat, {"5", "-2.5e1"}, {"", "five", "1.5s", " 1", "1 "}},
      {kDuration,
       {"0", "-1.5h"},
       {"", "1", "inf", "-inf", "1d", "s", "1s ", "9999999h", "-9999999h"}},
      {kText, {"", " -x"}, {}},
      {kLevel,
       {"4", "-4", "+010", "-2147483648"},
       {"", "0x4", "1_0", "2147483648", "-2147483649", "much"}},
      {kSeverity, {"INFO", "warning", "Error", "FATAL", "-3"}, {"", "x", "0x1"}},
      {kVmodule, {"", "a=1,,b*=0"}, {"a", "a=", "=1", "a=-1", "a=1=2", "a=x", "a=1, b"}},
      {kBacktrace,
       {"", "a.go:234", "a.go:2147483648"},
       {"a:3", ":0", "a.go:0", "a.go:-1", "a.go", "a.go:1:2", "a.go:x"}},
  };
  for (const auto& [kind, taken, refused] : cases) {
    for (const std::string text : taken) EXPECT_TRUE(CheckGoValue({"f", text}, kind).ok()) << text;
    for (const std::string text : refused) {
      const absl::Status status = CheckGoValue({"f", text}, kind);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
      EXPECT_THAT(std::string(status.message()), StartsWith("--f: \"" + text + "\" is not "));
    }
  }
}

TEST(ParseGoTest, ParsersAcceptGosSpellings) {
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_EQ(ParseGoBool(yes), true) << yes;
  }
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    EXPECT_EQ(ParseGoBool(no), false) << no;
  }
  const std::pair<const char*, int64_t> numbers[] = {
      {"0", 0},     {"-7", -7},  {"+7", 7},       {"0x1f", 31}, {"0X1F", 31}, {"0b101", 5},
      {"0o17", 15}, {"017", 15}, {"1_000", 1000}, {"0_7", 7},   {"0x_f", 15}, {"-0x10", -16}};
  for (const auto& [text, value] : numbers) EXPECT_EQ(ParseGoInt(text), value) << text;
  EXPECT_EQ(ParseGoUint("0x10"), 16u);
  EXPECT_EQ(ParseGoDuration("1h2m3.5s"), absl::Hours(1) + absl::Minutes(2) + absl::Seconds(3.5));
  for (const char* micro : {"5us", "5\u00B5s", "5\u03BCs"}) {
    EXPECT_EQ(ParseGoDuration(micro), absl::Microseconds(5)) << micro;
  }
}

}  // namespace
}  // namespace csi_proxy
