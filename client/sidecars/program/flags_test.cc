#include "client/sidecars/program/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The flags that the releases define, each with a value.
constexpr const char* kLogFlags[] = {
    // glog in 1.0; klog in 1.1 to 2.11 of the registrar and to 2.12 of livenessprobe.
    "alsologtostderr=true", "log_backtrace_at=main.go:1", "log_dir=/logs", "logtostderr=true",
    "stderrthreshold=INFO", "v=5", "vmodule=main=2", "add_dir_header=true", "log_file=/log",
    "log_file_max_size=10", "one_output=true", "skip_headers=true", "skip_log_headers=true",
    // k8s.io/component-base/logs in later releases.
    "logging-format=json", "log-flush-frequency=10s", "log-json-info-buffer-size=1Ki",
    "log-json-split-stream=true", "log-text-info-buffer-size=512", "log-text-split-stream=true"};
constexpr const char* kRegistrarFlags[] = {"connection-timeout=15s",
                                           "csi-address=/csi/csi.sock",
                                           "timeout=30s",
                                           "kubelet-registration-path=/plugins/x/csi.sock",
                                           "health-port=9809",
                                           "plugin-registration-path=/registration",
                                           "http-endpoint=:9809",
                                           "mode=kubelet-registration-probe",
                                           "enable-pprof=true",
                                           "version"};
constexpr const char* kProbeFlags[] = {
    "connection-timeout=15s", "csi-address=/csi/csi.sock", "probe-timeout=3s",   "health-port=9808",
    "metrics-address=:8080",  "metrics-path=/metrics",     "http-endpoint=:9808"};

absl::Status Read(const std::string& program, const std::string& argument) {
  const char* const argv[] = {program.c_str(), argument.c_str()};
  return Flags::Read(2, argv).status();
}

void ExpectTaken(const std::string& program, absl::string_view prefix, absl::string_view flag) {
  for (const absl::string_view dashes : {"-", "--"}) {
    const std::string argument = absl::StrCat(dashes, prefix, flag);
    const absl::Status status = Read(program, argument);
    EXPECT_TRUE(status.ok()) << program << " " << argument << ": " << status;
  }
}

TEST(FlagsTest, EveryFlagOfEveryReleaseIsTaken) {
  const auto check = [](const std::string& name, const std::string& component,
                        absl::Span<const char* const> flags) {
    for (const absl::string_view flag : flags) {
      ExpectTaken("/" + name, "", flag);
      ExpectTaken("/" + name, component + "-", flag);
      ExpectTaken("/csi-node-sidecars", component + "-", flag);
      if (!absl::StartsWith(flag, "health-port=")) ExpectTaken("/csi-node-sidecars", "", flag);
    }
  };
  check("csi-node-driver-registrar", "node-driver-registrar", kRegistrarFlags);
  check("csi-node-driver-registrar", "node-driver-registrar", kLogFlags);
  check("livenessprobe", "livenessprobe", kProbeFlags);
  check("livenessprobe", "livenessprobe", kLogFlags);
}

TEST(FlagsTest, DefaultsAreOfTheirKind) {
  for (const FlagRow& row : FlagTable()) {
    EXPECT_TRUE(CheckGoValue(row.name, row.kind, row.default_value).ok()) << row.name;
  }
}

TEST(FlagsTest, AValueOfOneComponentIsNotTheOthers) {
  const char* const argv[] = {"x", "--livenessprobe-http-endpoint=:1", "--http-endpoint=:2",
                              "--node-driver-registrar-health-port=3"};
  const absl::StatusOr<Flags> flags = Flags::Read(4, argv);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->Text("http-endpoint", Component::kLivenessProbe), ":1");
  EXPECT_EQ(flags->Text("http-endpoint", Component::kRegistrar), ":2");
  EXPECT_EQ(flags->Text("health-port", Component::kLivenessProbe), "9808");
  EXPECT_EQ(flags->Text("health-port", Component::kRegistrar), "3");
  EXPECT_EQ(flags->Spelling("http-endpoint", Component::kRegistrar), "--http-endpoint");
  EXPECT_EQ(flags->Spelling("http-endpoint", Component::kLivenessProbe),
            "--livenessprobe-http-endpoint");
  EXPECT_EQ(flags->Spelling("health-port", Component::kLivenessProbe),
            "--livenessprobe-health-port");
}

TEST(FlagsTest, HelpNamesEveryFlag) {
  for (const FlagRow& row : FlagTable()) {
    EXPECT_THAT(FlagsHelp(), HasSubstr(absl::StrCat("--", row.name)));
  }
}

absl::StatusOr<GoCommandLine> Read(const std::vector<std::string>& arguments) {
  return ReadGoFlags(arguments, [](absl::string_view name) -> std::optional<GoFlagKind> {
    if (name == "b") return GoFlagKind::kBool;
    if (name == "s") return GoFlagKind::kString;
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
  EXPECT_THAT(FlagsOf({"-s", "1", "--s", "2", "-s=3", "--s=4", "--s=", "-s=a=b"}),
              ElementsAre("s=1", "s=2", "s=3", "s=4", "s=", "s=a=b"));
  // A boolean flag never takes the next argument as its value; other flags always do.
  EXPECT_THAT(FlagsOf({"-b", "--b=false", "-s", "-b"}), ElementsAre("b=true", "b=false", "s=-b"));
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
