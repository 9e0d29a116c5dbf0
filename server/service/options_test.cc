#include "server/options/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "server/service/open_node.h"

namespace csi_proxy {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

Options MustParse(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseOptions(arguments);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : Options();
}

// Returns the working directories as `FLAG=PATH`.
std::vector<std::string> Directories(const std::vector<std::string>& arguments) {
  std::vector<std::string> directories;
  for (const auto& [flag, path] : MustParse(arguments).working_dirs) {
    directories.push_back(flag + "=" + path.ToString());
  }
  return directories;
}

TEST(OptionsTest, WithoutFlagsTheServerUsesWindowsAndTheKubeletsDirectory) {
  const Options options = MustParse({});
  EXPECT_EQ(options.host, HostKind::kWindows);
  EXPECT_THAT(Directories({}), ElementsAre(R"(--kubelet-path=C:\var\lib\kubelet)"));
  EXPECT_FALSE(options.plugins_dir.has_value() || options.pods_dir.has_value());
  EXPECT_TRUE(options.log.to_stderr);
}

// server/base/go_flags_test.cc and integration/flags test Go's rules themselves.
TEST(OptionsTest, FlagsAreParsedAsInGo) {
  EXPECT_EQ(MustParse({"-v", "4", "--v=2"}).log.verbosity, 2) << "the last one holds";
  EXPECT_EQ(MustParse({"-log_file=x", "-log_file="}).log.file, "");
  const Options options = MustParse({"-v=1", "-require-privacy", "false", "-v=4"});
  EXPECT_TRUE(options.require_privacy);
  EXPECT_EQ(options.log.verbosity, 1);
  EXPECT_THAT(options.ignored_words, ElementsAre("false", "-v=4"));
  for (const char* help : {"-h", "-help", "--help=false"}) {
    EXPECT_TRUE(MustParse({help, "--bogus"}).show_help) << help;
  }
}

TEST(OptionsTest, BooleanFlagsMayHaveAValue) {
  const struct {
    std::string flag;
    bool by_default;
    bool (*value)(const Options&);
  } cases[] = {
      {"require-privacy", true, [](const Options& o) { return o.require_privacy; }},
      {"smb-bind-credentials", false, [](const Options& o) { return o.bind_smb_credentials; }},
      {"allow-local-shares", false, [](const Options& o) { return o.allow_local_shares; }},
      {"keep-foreign-data", false, [](const Options& o) { return o.keep_foreign_data; }},
      {"logtostderr", true, [](const Options& o) { return o.log.to_stderr; }},
      {"alsologtostderr", false, [](const Options& o) { return o.log.also_to_stderr; }},
      {"windows-service", false, [](const Options& o) { return o.windows_service; }},
      {"version", false, [](const Options& o) { return o.show_version; }},
      {"list-scenarios", false, [](const Options& o) { return o.list_scenarios; }},
  };
  for (const auto& [flag, by_default, value] : cases) {
    EXPECT_EQ(value(MustParse({})), by_default) << flag;
    EXPECT_TRUE(value(MustParse({"-" + flag + "=F", "-" + flag}))) << flag;
    EXPECT_TRUE(value(MustParse({"--" + flag + "=1"}))) << flag;
    EXPECT_FALSE(value(MustParse({"-" + flag, "--" + flag + "=FALSE"}))) << flag;
  }
}

TEST(OptionsTest, AllowedServicesMayBeGivenRepeatedly) {
  EXPECT_TRUE(MustParse({}).allowed_services.empty());
  EXPECT_EQ(MustParse({"--allowed-services=MSiSCSI", "--allowed-services", "My Service"})
                .allowed_services,
            (std::vector<std::string>{"MSiSCSI", "My Service"}));
}

TEST(OptionsTest, FlagsOfNodeBootstrapScriptsAreAccepted) {
  const Options gke =
      MustParse({"-log_file=C:\\etc\\kubernetes\\logs\\csi-proxy.log", "-logtostderr=false"});
  EXPECT_EQ(gke.log.file, "C:\\etc\\kubernetes\\logs\\csi-proxy.log");
  EXPECT_EQ(MustParse({"-metrics-bind-address=:8888"}).metrics_bind_address, ":8888");
  const observability::LogOptions klogs =
      MustParse({"-stderrthreshold=2", "-vmodule=a=1", "-one_output", "-skip_headers=true",
                 "-skip_log_headers", "-add_dir_header", "-log_backtrace_at=a.go:1",
                 "-alsologtostderrthreshold=ERROR", "-legacy_stderr_threshold_behavior=false"})
          .log;
  EXPECT_TRUE(klogs.skip_headers && klogs.skip_file_headers && klogs.add_dir_header);
}

// The log has the current file and five old files.
TEST(OptionsTest, LogFilesHave20MegabytesByDefaultAndAnySizeByAFlag) {
  EXPECT_EQ(MustParse({}).log.file_max_megabytes, 20u);
  EXPECT_EQ(MustParse({"-log_file_max_size=1800"}).log.file_max_megabytes, 1800u);
  for (const char* unlimited : {"0", "17592186044416", "18446744073709551615"}) {
    const size_t megabytes = MustParse({"-log_file_max_size", unlimited}).log.file_max_megabytes;
    EXPECT_GT((megabytes << 20) >> 20, size_t{1} << 40) << unlimited;
  }
}

TEST(OptionsTest, WorkingDirectoriesAccumulate) {
  EXPECT_THAT(Directories({R"(-working-dir=C:\a)", "--working-dir", R"(D:\b)"}),
              ElementsAre(R"(--working-dir=C:\a)", R"(--working-dir=D:\b)",
                          R"(--kubelet-path=C:\var\lib\kubelet)"));
  EXPECT_THAT(Directories({R"(-working-dir=C:\a)", R"(-kubelet-path=E:\k)"}),
              ElementsAre(R"(--working-dir=C:\a)", R"(--kubelet-path=E:\k)"));
}

TEST(OptionsTest, OlderFlagsAddWorkingDirectoriesAndSetThePluginsAndPodsDirectories) {
  const std::vector<std::string> line = {R"(-kubelet-pod-path=D:\pods)", R"(-working-dir=C:\a)"};
  EXPECT_THAT(Directories(line), ElementsAre(R"(--working-dir=C:\a)",
                                             R"(--kubelet-csi-plugins-path=C:\var\lib\kubelet)",
                                             R"(--kubelet-pod-path=D:\pods)"));
  EXPECT_EQ(MustParse(line).pods_dir->ToString(), R"(D:\pods)");
  EXPECT_EQ(MustParse(line).plugins_dir->ToString(), R"(C:\var\lib\kubelet)");
  EXPECT_EQ(MustParse({R"(-kubelet-csi-plugins-path=D:\p)"}).plugins_dir->ToString(), R"(D:\p)");
}

TEST(OptionsTest, GroupsAndVersionsAccumulateAndMayBeSeparatedByCommas) {
  const Options options =
      MustParse({"--api-groups=disk, volume", "--api-versions=v1", "--api-versions=disk/v1beta2"});
  EXPECT_TRUE(Selects(options, "disk", "v1") && Selects(options, "disk", "v1beta2"));
  EXPECT_TRUE(Selects(options, "volume", "v1"));
  EXPECT_FALSE(Selects(options, "volume", "v1beta2") || Selects(options, "smb", "v1"));
}

TEST(OptionsTest, TheErrorNamesTheBadFlagAndTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"--bogus", "--bogus: there is no such flag"},
      {"--host", "--host: needs a value"},
      {"--host=mac", "--host: \"mac\" is not windows or simulated"},
      {"--log-format=xml", "--log-format: \"xml\" is not text or json"},
      {"--scenario=f", "--scenario: needs --host=simulated"},
      {"--preface-timeout=soon", "--preface-timeout: \"soon\" is not a duration"},
      {"--preface-timeout=1ms", "--preface-timeout: \"1ms\" is not from 10ms to a year"},
      {"--max-workers=0", "--max-workers: \"0\" is not from 1 to 1000000"},
      {"--max-workers=many", "--max-workers: \"many\" is not a whole number from 0"},
      {"--client-share=0", "--client-share: \"0\" is not from 1 to 100"},
      {"--client-share=101", "--client-share: \"101\" is not from 1 to 100"},
      {"-v=much", "--v: \"much\" is not a whole number"},
      {"-stderrthreshold=x", "--stderrthreshold: \"x\" is not INFO, WARNING"},
      {"-alsologtostderrthreshold=x", "--alsologtostderrthreshold: "},
      {"-vmodule=a=-1", "--vmodule: \"a=-1\" is not a list of FILE=N"},
      {"-log_backtrace_at=a:3", "--log_backtrace_at: \"a:3\" is not FILE.go:LINE"},
      {"-one_output=yes", "--one_output: \"yes\" is not true or false"},
      {"-legacy_stderr_threshold_behavior=yes", "--legacy_stderr_threshold_behavior: \"yes\""},
      {"-working-dir=a", "--working-dir: \"a\": it is not absolute"},
      {"-kubelet-path=a", "--kubelet-path: \"a\": it is not absolute"},
      {"-kubelet-csi-plugins-path=a", "--kubelet-csi-plugins-path: \"a\": it is not absolute"},
      {"-kubelet-pod-path=", "--kubelet-pod-path: "},
      {"--api-groups=disks", "--api-groups: there is no group \"disks\"; there are disk, "},
      {"--api-versions=v9", "--api-versions: there is no version \"v9\"; there are disk/v1, "},
  };
  for (const auto& [argument, expected] : cases) {
    const absl::Status status = ParseOptions({argument}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << argument << ": " << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(expected)) << argument;
  }
  EXPECT_THAT(
      std::string(ParseOptions({"--api-groups=smb", "--api-versions=v2alpha1"}).status().message()),
      StartsWith("--api-groups and --api-versions: no group"));
}

TEST(OptionsTest, OnlyFlagsThatDifferFromTheDefaultsAreListed) {
  Options options;
  EXPECT_EQ(ChangedFlagsText(FlagsInForce(options)), "limits and switches: the defaults");
  options.max_workers = 4;
  options.max_queued = 97;
  options.idle_timeout = absl::Minutes(90);
  options.require_privacy = false;
  EXPECT_EQ(ChangedFlagsText(FlagsInForce(options)),
            "limits and switches: --idle-timeout=5400 (default 3600), --max-queued=97 (default "
            "384), --max-workers=4 (default 16), --require-privacy=false (default true)");
  Options exact;
  exact.max_queued = 1'000'000;
  exact.idle_timeout = absl::Hours(1) + absl::Milliseconds(1);
  EXPECT_EQ(ChangedFlagsText(FlagsInForce(exact)),
            "limits and switches: --idle-timeout=3600.001 (default 3600), --max-queued=1000000 "
            "(default 384)");
  std::string low;
  for (const FlagInForce& flag : FlagsInForce(options)) {
    if (flag.IsFarBelowDefault()) low += flag.name + " ";
  }
  EXPECT_EQ(low, "max-workers ") << "a quarter of the default or less, and no switch";
}

TEST(OptionsTest, HelpNamesTheFlags) {
  const std::string help = OptionsHelp();
  for (const char* flag :
       {"--host", "--scenario", "--list-scenarios", "--socket-dir", "--api-groups",
        "--api-versions", "--working-dir", "--kubelet-path", "--require-privacy", "--v ",
        "--log_file", "--stop-grace-period", "--kubelet-pod-path", "--vmodule"}) {
    EXPECT_TRUE(absl::StrContains(help, flag)) << flag;
  }
}

}  // namespace
namespace {

void ExpectRefused(const absl::Status& status, absl::string_view flag) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), flag)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "csi-proxy-simulated.exe")) << status;
}

// The service for Windows nodes must name the program that simulates.
TEST(NoSimulationTest, TheErrorNamesTheProgramThatCanSimulate) {
  Options options;
  options.host = HostKind::kSimulated;
  ExpectRefused(OpenNode(options).status(), "--host=simulated: ");
  options.scenario = "azure-scsi";
  ExpectRefused(OpenNode(options).status(), "--host=simulated: ");
  ExpectRefused(ListScenarios().status(), "--list-scenarios: ");
}

}  // namespace

}  // namespace csi_proxy
