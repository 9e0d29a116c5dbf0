#include "client/sidecars/program/go_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace csi_proxy::sidecars {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::StatusOr<GoCommandLine> Read(const std::vector<std::string>& arguments) {
  return ReadGoFlags(arguments, [](absl::string_view name) -> std::optional<GoFlagKind> {
    if (name == "b") return GoFlagKind::kBool;
    if (name == "s") return GoFlagKind::kString;
    return std::nullopt;
  });
}

std::vector<std::string> Flags(const std::vector<std::string>& arguments) {
  std::vector<std::string> flags;
  const absl::StatusOr<GoCommandLine> line = Read(arguments);
  EXPECT_TRUE(line.ok()) << line.status();
  if (!line.ok()) return flags;
  for (const GoFlag& flag : line->flags) flags.push_back(flag.name + "=" + flag.value);
  return flags;
}

TEST(ReadGoFlagsTest, Forms) {
  EXPECT_THAT(Flags({"-s", "1", "--s", "2", "-s=3", "--s=4", "--s=", "-s=a=b"}),
              ElementsAre("s=1", "s=2", "s=3", "s=4", "s=", "s=a=b"));
  // A boolean flag never takes the next argument as its value; other flags always do.
  EXPECT_THAT(Flags({"-b", "--b=false", "-s", "-b"}), ElementsAre("b=true", "b=false", "s=-b"));
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
  EXPECT_TRUE(Read({"--help", "--x"})->help);
  EXPECT_TRUE(Read({"-h"})->help);
  EXPECT_FALSE(Read({"--x", "-h"}).ok());
}

TEST(GoValuesTest, AreReadAsGoReadsThem) {
  EXPECT_EQ(ParseGoDuration("1h2m3.5s"), absl::Hours(1) + absl::Minutes(2) + absl::Seconds(3.5));
  EXPECT_EQ(ParseGoDuration("5µs"), absl::Microseconds(5));
  EXPECT_EQ(ParseGoDuration("-1.5h"), -absl::Minutes(90));
  EXPECT_EQ(ParseGoDuration("0"), absl::ZeroDuration());
  for (const char* text : {"", "1", "inf", "-inf", "1d", "s", "1s ", "9999999h"}) {
    EXPECT_EQ(ParseGoDuration(text), std::nullopt) << text;
  }
  const std::pair<const char*, int64_t> integers[] = {
      {"0", 0}, {"-7", -7}, {"+7", 7}, {"0x1F", 31}, {"0b101", 5}, {"0o17", 15}, {"017", 15}};
  for (const auto& [text, value] : integers) EXPECT_EQ(ParseGoInt(text), value) << text;
  for (const char* text : {"", "-", "1.5", "0x", "9223372036854775808", "08", "--1", "7 "}) {
    EXPECT_EQ(ParseGoInt(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseGoFloat("5"), 5);
  EXPECT_EQ(ParseGoFloat("-2.5e1"), -25);
  for (const char* text : {"", "five", "1.5s", " 1", "1 "}) {
    EXPECT_EQ(ParseGoFloat(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace csi_proxy::sidecars
