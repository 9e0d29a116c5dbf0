#include "client/ctl/command_line.h"

#include "absl/strings/match.h"
#include "client/ctl/catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

using testing::ElementsAre;

CommandLine Parse(const std::vector<std::string>& arguments) {
  const auto line = ParseCommandLine(arguments);
  EXPECT_TRUE(line.ok()) << line.status();
  return line.ok() ? *line : CommandLine();
}

TEST(CommandLineTest, TheParserSeparatesWordsFlagsAndFields) {
  const CommandLine line = Parse({"disk", "--disk-number=3", "partition-disk", "--api", "v1beta1",
                                  "--socket-dir=/x", "--force", "--note=a=b", "--empty="});
  EXPECT_THAT(line.words, ElementsAre("disk", "partition-disk"));
  EXPECT_EQ(line.api, "v1beta1");
  EXPECT_EQ(line.client.socket_dir, "/x");
  ASSERT_EQ(line.fields.size(), 4);
  EXPECT_EQ(line.fields[0].name, "disk-number");
  EXPECT_EQ(line.fields[0].value, "3");
  EXPECT_TRUE(line.fields[0].has_value);
  EXPECT_EQ(line.fields[1].name, "force");
  EXPECT_FALSE(line.fields[1].has_value);
  EXPECT_EQ(line.fields[2].value, "a=b");
  EXPECT_EQ(line.fields[3].value, "");
  EXPECT_TRUE(line.fields[3].has_value);
}

TEST(CommandLineTest, OneDashMeansTheSameAsTwo) {
  const CommandLine line = Parse({"-api=v1", "-disk-number=3", "-v", "volume"});
  EXPECT_EQ(line.api, "v1");
  EXPECT_TRUE(line.verbose);
  ASSERT_EQ(line.fields.size(), 1);
  EXPECT_EQ(line.fields[0].name, "disk-number");
  EXPECT_TRUE(Parse({"-h"}).help);
  EXPECT_TRUE(Parse({"-version"}).version);
  EXPECT_THAT(Parse({"-"}).words, ElementsAre("-"));
}

TEST(CommandLineTest, AValueMayBeginWithADash) {
  EXPECT_EQ(Parse({"--json", "-"}).json, "-");
  EXPECT_EQ(Parse({"--socket-dir", "--api", "volume"}).client.socket_dir, "--api");
}

TEST(CommandLineTest, AllFlagsAfterADoubleDashAreFields) {
  const CommandLine line = Parse({"sim", "dump-state", "--verbose", "--", "--json", "-api=x"});
  EXPECT_TRUE(line.verbose);
  EXPECT_EQ(line.json, "");
  ASSERT_EQ(line.fields.size(), 2);
  EXPECT_EQ(line.fields[0].name, "json");
  EXPECT_FALSE(line.fields[0].has_value);
  EXPECT_EQ(line.fields[1].name, "api");
}

TEST(CommandLineTest, TimeoutsNeedAUnitAndMustBePositive) {
  const CommandLine line = Parse({"--timeout=90s", "--connect-timeout", "250ms"});
  EXPECT_EQ(line.call.timeout, absl::Seconds(90));
  EXPECT_EQ(line.client.connect_timeout, absl::Milliseconds(250));
  EXPECT_EQ(Parse({}).call.timeout, absl::Minutes(1));
  for (const char* bad :
       {"--timeout=30", "--timeout=0s", "--timeout=-1s", "--timeout=", "--connect-timeout=soon"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCommandLine({bad}).status())) << bad;
  }
}

TEST(CommandLineTest, WatchAcceptsAPauseAndHasADefault) {
  EXPECT_EQ(Parse({"disk"}).watch, absl::ZeroDuration());
  const CommandLine line = Parse({"-w", "storage", "list-disks"});
  EXPECT_EQ(line.watch, absl::Seconds(2));
  EXPECT_THAT(line.words, ElementsAre("storage", "list-disks")) << "no word is its value";
  EXPECT_EQ(Parse({"--watch=5"}).watch, absl::Seconds(5));
  EXPECT_EQ(Parse({"-w=0.5"}).watch, absl::Milliseconds(500));
  EXPECT_EQ(Parse({"-watch=1m"}).watch, absl::Minutes(1));
  for (const char* bad : {"--watch=0", "--watch=-1", "--watch=soon", "--watch=0.01", "--watch=25h",
                          "--watch=nan", "--watch=inf", "--watch=1e300"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCommandLine({bad}).status())) << bad;
  }
}

TEST(CommandLineTest, ErrorsNameTheWrongFlag) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--output=xml"}, {"--api"}, {"--verbose=1"}, {"--api=v1", "--api=v2"}}) {
    const absl::Status status = ParseCommandLine(wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong[0];
    const std::string name = wrong[0].substr(2, wrong[0].find('=') - 2);
    EXPECT_TRUE(absl::StrContains(status.message(), name)) << status;
  }
}

TEST(CommandLineTest, TheModeIsAlwaysRemote) {
  EXPECT_EQ(Parse({"volume"}).client.mode, Mode::kRemote);
}

TEST(CommandLineTest, HelpNamesEveryFlagAndExitCode) {
  const std::string help = HelpText();
  EXPECT_GE(OwnFlags().size(), 9);
  for (const std::string& flag : OwnFlags()) EXPECT_TRUE(absl::StrContains(help, flag)) << flag;
  for (const char* code : {"0 done", "1 the call failed", "2 wrong usage", "3 the service",
                           "4 the time", "5 diagnose found"}) {
    EXPECT_TRUE(absl::StrContains(help, code)) << code;
  }
}

// A field with the name of a flag could only be set after `--`.
TEST(CommandLineTest, NoReleasedFieldHasTheNameOfAFlag) {
  const Catalog catalog;
  for (const Method& method : catalog.AllMethods()) {
    if (method.group == kSimulatedGroup) continue;
    for (const std::string& field : FieldFlags(*method.descriptor->input_type())) {
      for (const std::string& flag : OwnFlags()) {
        EXPECT_NE(field.substr(0, field.find('=')), flag) << method.path();
      }
    }
  }
}

}  // namespace
}  // namespace csi_proxy::ctl
