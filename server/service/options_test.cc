#include "server/service/options.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/service/open_node.h"

namespace csi_proxy {
namespace {

absl::StatusOr<Options> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "csi-proxy");
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
}

Options MustParse(std::vector<const char*> arguments) {
  const absl::StatusOr<Options> options = Parse(std::move(arguments));
  EXPECT_TRUE(options.ok()) << options.status();
  return options.ok() ? *options : Options();
}

TEST(OptionsTest, WithoutFlagsItIsAWindowsServiceForTheKubelet) {
  const Options options = MustParse({});
  EXPECT_EQ(options.host, HostKind::kWindows);
  EXPECT_EQ(options.working_dirs, std::vector<std::string>{R"(C:\var\lib\kubelet)"});
  EXPECT_TRUE(options.require_privacy);
  EXPECT_TRUE(options.log.to_stderr);
}

TEST(OptionsTest, FlagsAreWrittenAsInGo) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"-host=simulated"},
                                             {"--host=simulated"},
                                             {"-host", "simulated"},
                                             {"--host", "simulated"}}) {
    EXPECT_EQ(MustParse(arguments).host, HostKind::kSimulated) << arguments[0];
  }
  EXPECT_EQ(MustParse({"-v", "4"}).log.verbosity, 4);
  EXPECT_EQ(MustParse({"-v=4"}).log.verbosity, 4);
  EXPECT_EQ(MustParse({"--v=4"}).log.verbosity, 4);
}

TEST(OptionsTest, BooleansStandAloneOrTakeAValue) {
  EXPECT_FALSE(MustParse({"-require-privacy=false"}).require_privacy);
  EXPECT_TRUE(MustParse({"-require-privacy"}).require_privacy);
  EXPECT_TRUE(MustParse({"-require-privacy=true"}).require_privacy);
  EXPECT_FALSE(MustParse({}).bind_smb_credentials) << "as the Go release has it";
  EXPECT_TRUE(MustParse({"-smb-bind-credentials"}).bind_smb_credentials);
  EXPECT_FALSE(MustParse({}).allow_local_shares);
  EXPECT_TRUE(MustParse({"-allow-local-shares"}).allow_local_shares);
  EXPECT_FALSE(MustParse({}).keep_foreign_data) << "as the Go release has it";
  EXPECT_TRUE(MustParse({"-keep-foreign-data"}).keep_foreign_data);
  EXPECT_FALSE(MustParse({"-logtostderr=false"}).log.to_stderr);
  // Go would end the flags at `false`; the product reads it as the value.
  EXPECT_FALSE(MustParse({"-require-privacy", "false"}).require_privacy);
  EXPECT_TRUE(MustParse({"-require-privacy", "-v=2"}).require_privacy);
}

TEST(OptionsTest, AllowedServicesAreListed) {
  EXPECT_TRUE(MustParse({}).allowed_services.empty());
  EXPECT_EQ(MustParse({"--allowed-services=MSiSCSI", "--allowed-services", "My Service"})
                .allowed_services,
            (std::vector<std::string>{"MSiSCSI", "My Service"}));
}

TEST(OptionsTest, TakesTheFlagsOfNodeBootstraps) {
  const Options gke =
      MustParse({"-log_file=C:\\etc\\kubernetes\\logs\\csi-proxy.log", "-logtostderr=false"});
  EXPECT_EQ(gke.log.file, "C:\\etc\\kubernetes\\logs\\csi-proxy.log");
  EXPECT_FALSE(gke.log.to_stderr);
  MustParse({"-v", "4", "-windows-service=false"});
  const service::LogOptions klogs =
      MustParse({"-stderrthreshold=2", "-vmodule=a=1", "-one_output", "-skip_headers=true",
                 "-skip_log_headers", "-add_dir_header", "-log_backtrace_at=:0", "-alsologtostderr",
                 "-log_file_max_size=10", "-log_dir=C:\\logs"})
          .log;
  EXPECT_TRUE(klogs.skip_headers && klogs.skip_file_headers && klogs.add_dir_header);
}

// Upgraded nodes keep klog's flags, tested above, and those of cmd/csi-proxy/main.go of v1.3.0.
TEST(OptionsTest, TakesEveryFlagOfTheGoRelease) {
  const Options options = MustParse({"-kubelet-path=D:\\kubelet", "-working-dir=D:\\work",
                                     "-require-privacy=false", "-metrics-bind-address=:8888",
                                     "-windows-service", "-log_file=C:\\csi-proxy.log", "-v=4"});
  EXPECT_THAT(options.working_dirs, testing::UnorderedElementsAre("D:\\kubelet", "D:\\work"));
  EXPECT_FALSE(options.require_privacy);
  EXPECT_EQ(options.metrics_bind_address, ":8888");
  EXPECT_TRUE(options.windows_service);
}

// The current file and five old ones.
TEST(OptionsTest, LogsTakeLittleOfADiskUnlessFlagsSayOtherwise) {
  EXPECT_EQ(MustParse({}).log.file_max_megabytes, 20u);
  EXPECT_EQ(MustParse({"-log_file_max_size=1800"}).log.file_max_megabytes, 1800u);
}

TEST(OptionsTest, WorkingDirectoriesAddUpAndReplaceTheDefault) {
  EXPECT_EQ(MustParse({"-working-dir=C:\\a", "--working-dir", "D:\\b"}).working_dirs,
            (std::vector<std::string>{"C:\\a", "D:\\b"}));
  EXPECT_EQ(MustParse({"-working-dir=C:\\a", "-kubelet-path=E:\\k"}).working_dirs,
            (std::vector<std::string>{"C:\\a", "E:\\k"}));
}

TEST(OptionsTest, ListsAreSplitAtCommas) {
  const Options options =
      MustParse({"--api-groups=disk, volume", "--api-versions=v1", "--api-versions=disk/v1beta2"});
  EXPECT_EQ(options.api_groups, (std::vector<std::string>{"disk", "volume"}));
  EXPECT_EQ(options.api_versions, (std::vector<std::string>{"v1", "disk/v1beta2"}));
}

TEST(OptionsTest, ABadFlagIsNamedWithTheReason) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"--bogus"}, "bogus"},
      {{"--host=mac"}, "--host: \"mac\" is neither windows nor simulated"},
      {{"--log-format=xml"}, "--log-format: \"xml\" is neither text nor json"},
      {{"--scenario=f"}, "--scenario: needs --host=simulated"},
      {{"--preface-timeout=soon"}, "--preface-timeout: \"soon\" is not a duration"},
      {{"--preface-timeout=1ms"}, "--preface-timeout: 1ms is not from 10ms"},
      {{"--max-workers=0"}, "--max-workers: 0 is not from 1"},
      {{"--max-workers=many"}, "max-workers"},
      {{"--client-share=0"}, "--client-share: 0 is not from 1 to 100"},
      {{"--client-share=101"}, "--client-share: 101 is not from 1 to 100"},
      {{"-v=much"}, "v"},
      {{"stray"}, "positional"},
      {{"--host"}, "host"},
  };
  for (const auto& [arguments, expected] : cases) {
    const absl::Status status = Parse(arguments).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << arguments[0] << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), expected)) << arguments[0] << ": " << status;
  }
}

TEST(OptionsTest, HelpNamesEveryFlag) {
  const std::string help = OptionsHelp();
  for (const char* flag : {"--host", "--scenario", "--list-scenarios", "--socket-dir",
                           "--api-groups", "--api-versions", "--working-dir", "--kubelet-path",
                           "--require-privacy", "--v ", "--log_file", "--stop-grace-period"}) {
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
TEST(NoSimulationTest, TheProgramThatSimulatesIsNamed) {
  Options options;
  options.host = HostKind::kSimulated;
  ExpectRefused(OpenNode(options).status(), "--host=simulated: ");
  options.scenario = "azure-scsi";
  ExpectRefused(OpenNode(options).status(), "--host=simulated: ");
  ExpectRefused(ListScenarios().status(), "--list-scenarios: ");
}

}  // namespace

}  // namespace csi_proxy
