#include "service_installer/installer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "service_installer/testing.h"

namespace csi_proxy::installer {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(InstallerTest, InstallsUnderItsOwnNameWithTheServiceFlag) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {{"-v", "4"}}}).ok());
  EXPECT_THAT(CommandOf("csi-proxy"), ElementsAre(program.string(), "-windows-service", "-v", "4"));
}

TEST_F(InstallerTest, InstallingTwiceChangesNothing) {
  const InstallRequest request{
      .config = {}, .program = Program("csi-proxy.exe", "serves"), .flags = {{"-v=2"}}};
  ASSERT_TRUE(New().Install(request).ok());
  services_.calls.clear();
  ASSERT_TRUE(New().Install(request).ok());
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_THAT(out_.str(), HasSubstr("service csi-proxy needs no change"));
}

TEST_F(InstallerTest, TakesOverTheServiceOfABootstrapWithItsFlags) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csiproxy", program,
             {"-windows-service", "-log_file=C:\\etc\\csi-proxy.log", "-logtostderr=false"});
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {}}).ok());
  EXPECT_THAT(services_.calls, ElementsAre("change csiproxy"));
  EXPECT_THAT(CommandOf("csiproxy"),
              ElementsAre(program.string(), "-windows-service", "-log_file=C:\\etc\\csi-proxy.log",
                          "-logtostderr=false"));
}

TEST_F(InstallerTest, DoesNotTouchAWrapperUnlessAsked) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csi-proxy", R"(C:\k\nssm.exe)", {});
  const absl::Status refused = New().Install({.config = {}, .program = program, .flags = {}});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("nssm.exe"));
  EXPECT_THAT(services_.calls, IsEmpty());
  ASSERT_TRUE(
      New().Install({.config = {}, .program = program, .flags = {}, .replace_wrapper = true}).ok());
  EXPECT_THAT(CommandOf("csi-proxy"), ElementsAre(program.string(), "-windows-service"));
}

TEST_F(InstallerTest, AProgramThatIsNotThereIsAnError) {
  const absl::Status status =
      New().Install({.config = {}, .program = directory_ / "gone.exe", .flags = {}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(InstallerTest, DryRunSaysAndDoesNothing) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  ASSERT_TRUE(New("", true).Install({.config = {}, .program = program, .flags = {}}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("would create service csi-proxy"));
  OldService("csi-proxy", program, {});
  ASSERT_TRUE(New("", true).Upgrade(Program("new.exe", "serves new")).ok());
  ASSERT_TRUE(New("", true).Uninstall().ok());
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_EQ(Content(program), "serves");
}

TEST_F(InstallerTest, StartAndStopAwaitTheStateAndMayBeRepeated) {
  OldService("csi-proxy", Program("csi-proxy.exe", "serves"), {});
  EXPECT_TRUE(New().Start().ok());
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_TRUE(New().Stop().ok());
  EXPECT_TRUE(New().Stop().ok());
  EXPECT_TRUE(New().Start().ok());
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy", "start csi-proxy"));
}

TEST_F(InstallerTest, AServiceThatEndsAtItsStartIsExplained) {
  OldService("csi-proxy", Program("csi-proxy.exe", "fails"), {});
  services_.services.at("csi-proxy").status = {};
  const absl::Status status = New().Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("exit code 2: a flag is wrong"));
}

TEST_F(InstallerTest, AServiceThatNeverGetsToRunIsGivenUp) {
  OldService("csi-proxy", Program("csi-proxy.exe", "hangs"), {});
  services_.services.at("csi-proxy").status = {};
  EXPECT_TRUE(absl::IsDeadlineExceeded(New().Start()));
}

TEST_F(InstallerTest, TheEventSourceComesAndGoesWithTheService) {
  const InstallRequest request{
      .config = {}, .program = Program("csi-proxy.exe", "serves"), .flags = {}};
  ASSERT_TRUE(New().Install(request).ok());
  EXPECT_THAT(services_.event_sources, ElementsAre("csi-proxy"));
  EXPECT_THAT(out_.str(), HasSubstr("register event source csi-proxy"));
  out_.str("");
  ASSERT_TRUE(New().Install(request).ok());
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("event source")));
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_THAT(services_.event_sources, IsEmpty());
}

TEST_F(InstallerTest, ARunningServiceIsSaidToWaitForItsRestart) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csi-proxy", program, {"-windows-service"});
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {{"-v=4"}}}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("runs with its old settings until it is restarted"));
  ASSERT_TRUE(New().Stop().ok());
  out_.str("");
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {{"-v=2"}}}).ok());
  EXPECT_THAT(out_.str(), testing::Not(HasSubstr("restarted")));
}

TEST_F(InstallerTest, UpgradeSwapsTheProgram) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service"});
  const absl::Status status = New().Upgrade(Program("new.exe", "serves new"));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content(program), "serves new");
  EXPECT_FALSE(fs::exists(program.string() + ".old"));
  EXPECT_FALSE(fs::exists(program.string() + ".new"));
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy", "start csi-proxy"));
}

// The program that an earlier upgrade has moved aside may still be in use.
TEST_F(InstallerTest, UpgradeGoesRoundAnOldProgramThatCannotBeRemoved) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service"});
  fs::create_directories(program.string() + ".old/in use");
  const absl::Status status = New().Upgrade(Program("new.exe", "serves new"));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Content(program), "serves new");
  EXPECT_FALSE(fs::exists(program.string() + ".old1"));
  EXPECT_TRUE(absl::IsAborted(New().Upgrade(Program("new.exe", "mute"))));
  EXPECT_EQ(Content(program), "serves new");
}

// The old program serves again, however the new one fails.
TEST_F(InstallerTest, UpgradeToABrokenProgramIsRolledBack) {
  for (const char* broken : {"fails", "hangs", "mute"}) {
    const fs::path program = Program("csi-proxy.exe", "serves old");
    OldService("csi-proxy", program, {"-windows-service"});
    const absl::Status status = New().Upgrade(Program("new.exe", broken));
    EXPECT_TRUE(absl::IsAborted(status)) << broken << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the old program has been restored"));
    EXPECT_EQ(Content(program), "serves old") << broken;
    EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kRunning) << broken;
    EXPECT_EQ(services_.Pipes().size(), 2u) << broken;
    EXPECT_FALSE(services_.restart_suspended) << broken;
  }
}

TEST_F(InstallerTest, AServiceThatDoesNotStopIsEndedAndNotRestarted) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  const absl::Status status = New().Stop();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(services_.calls,
              ElementsAre("stop csi-proxy", "suspend csi-proxy", "end 3", "resume csi-proxy"));
  EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kStopped);
  EXPECT_FALSE(services_.restart_suspended);
}

TEST_F(InstallerTest, AServiceThatHangsInItsStartIsEndedThoughItTakesNoStop) {
  OldService("csi-proxy", Program("csi-proxy.exe", "hangs"), {});
  services_.services.at("csi-proxy").status.state = ServiceState::kStartPending;
  const absl::Status status = New().Stop();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(services_.calls, ElementsAre("suspend csi-proxy", "end 3", "resume csi-proxy"));
}

// A stop that keeps reporting progress is not cut short.
TEST_F(InstallerTest, AStopThatMakesProgressIsWaitedForBeyondPatience) {
  OldService("csi-proxy", Program("csi-proxy.exe", "slow"), {});
  const absl::Time start = absl::Now();
  ASSERT_TRUE(New().Stop().ok());
  EXPECT_GT(absl::Now() - start, absl::Milliseconds(200));
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy"));
}

TEST_F(InstallerTest, AnUninstallEndsAServiceThatDoesNotStop) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_TRUE(services_.services.empty());
}

TEST_F(InstallerTest, NoProgramButTheServicesOwnIsEnded) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  services_.running_program = "C:\\Windows\\other.exe";
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Stop()));
  EXPECT_FALSE(services_.restart_suspended);
  OldService("csi-proxy", Program("nssm.exe", "stuck"), {});
  services_.calls.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Stop()));
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy"));
}

TEST_F(InstallerTest, ARestartThatCannotBeSuspendedIsSaid) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  services_.can_suspend = false;
  (void)New().Stop();
  EXPECT_THAT(out_.str(), HasSubstr("it may be restarted meanwhile"));
  EXPECT_THAT(services_.calls, testing::Not(testing::Contains("resume csi-proxy")));
}

TEST_F(InstallerTest, UpgradeOfAStoppedServiceTriesItAndStopsItAgain) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service"});
  services_.services.at("csi-proxy").status = {};
  ASSERT_TRUE(New().Upgrade(Program("new.exe", "serves new")).ok());
  EXPECT_EQ(Content(program), "serves new");
  EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kStopped);
}

TEST_F(InstallerTest, UpgradeToItselfIsRefused) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service"});
  EXPECT_TRUE(absl::IsInvalidArgument(New().Upgrade(program)));
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(InstallerTest, UninstallStopsAndDeletesAndMayBeRepeated) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csiproxy", program, {});
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_THAT(services_.calls, ElementsAre("stop csiproxy", "delete csiproxy"));
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_TRUE(fs::exists(program));
}

TEST_F(InstallerTest, ReportNamesStateAndSettings) {
  OldService("csi-proxy", Program("csi-proxy.exe", "serves"), {"-v", "4"});
  ASSERT_TRUE(New().Report().ok());
  EXPECT_THAT(out_.str(), HasSubstr("service csi-proxy is running, process 3"));
  EXPECT_THAT(out_.str(), HasSubstr("-v 4"));
  EXPECT_THAT(out_.str(), HasSubstr("answering pipes:     2"));
  services_.services.clear();
  EXPECT_TRUE(absl::IsNotFound(New().Report()));
}

}  // namespace
}  // namespace csi_proxy::installer
