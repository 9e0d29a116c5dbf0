#include "service_installer/installer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service_installer/testing.h"

namespace csi_proxy::installer {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InstallerTest : public testing::Test {
 protected:
  InstallerTest()
      : directory_(fs::path(testing::TempDir()) /
                   absl::StrCat("installer-",
                                testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~InstallerTest() override { fs::remove_all(directory_); }

  fs::path Program(const std::string& name, const std::string& content) {
    std::ofstream(directory_ / name) << content;
    return directory_ / name;
  }

  Installer New(const std::string& name = "", bool dry_run = false) {
    auto installer = Installer::Create({.services = &services_,
                                        .folders = &folders_,
                                        .answering_pipes = [this] { return services_.Pipes(); },
                                        .out = &out_,
                                        .dry_run = dry_run,
                                        .patience = absl::Milliseconds(100),
                                        .interval = absl::Milliseconds(5)},
                                       name);
    EXPECT_TRUE(installer.ok()) << installer.status();
    return *std::move(installer);
  }

  // As a bootstrap of the Go service made it, running.
  void OldService(const std::string& name, const fs::path& program,
                  std::vector<std::string> flags) {
    FakeManager::Service service;
    service.config.command = {program.string()};
    service.config.command.insert(service.config.command.end(), flags.begin(), flags.end());
    service.config.display_name = name;
    service.config.description = "";
    service.status = {.state = ServiceState::kRunning, .process_id = 3};
    services_.services[name] = service;
    services_.running_program = program.string();
  }

  const std::vector<std::string>& CommandOf(const std::string& name) {
    return services_.services.at(name).config.command;
  }

  const fs::path directory_;
  FakeManager services_;
  FakeFolders folders_;
  std::ostringstream out_;
};

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

TEST_F(InstallerTest, AProgramThatOthersMayChangeIsRefusedUntilItsFolderIsRepaired) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  folders_.unsafe = {directory_};
  const absl::Status refused = New().Install({.config = {}, .program = program, .flags = {}});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("BUILTIN\\Users may add or change files"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--repair-folders"));
  EXPECT_THAT(services_.calls, IsEmpty());
  const absl::Status repaired =
      New().Install({.config = {}, .program = program, .flags = {}, .repair_folders = true});
  EXPECT_TRUE(repaired.ok()) << repaired;
  EXPECT_THAT(folders_.protected_folders,
              testing::UnorderedElementsAre(testing::Pair(directory_, FolderUse::kPrograms),
                                            testing::Pair(program, FolderUse::kPrograms)));
  EXPECT_THAT(services_.calls, ElementsAre("create csi-proxy"));
}

// What a repair cannot reach is refused as before.
TEST_F(InstallerTest, ARepairThatDoesNotHelpIsARefusal) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  folders_.unsafe = {directory_};
  folders_.replaceable = {directory_.parent_path()};
  EXPECT_TRUE(absl::IsFailedPrecondition(
      New().Install({.config = {}, .program = program, .flags = {}, .repair_folders = true})));
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(InstallerTest, TheFolderOfTheLogIsCheckedRepairedAndMade) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  const fs::path logs = directory_ / "logs";
  InstallRequest request{
      .config = {}, .program = program, .flags = {{"-log_file=" + (logs / "x.log").string()}}};
  folders_.unsafe = {logs};
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Install(request)));
  EXPECT_THAT(services_.calls, IsEmpty());
  request.repair_folders = true;
  EXPECT_TRUE(New().Install(request).ok());
  EXPECT_THAT(folders_.protected_folders,
              testing::UnorderedElementsAre(testing::Pair(logs, FolderUse::kLogs)));
  // One that is missing is made, repairs or not.
  folders_.protected_folders.clear();
  folders_.missing = {logs};
  request.repair_folders = false;
  EXPECT_TRUE(New().Install(request).ok());
  EXPECT_THAT(folders_.protected_folders,
              testing::UnorderedElementsAre(testing::Pair(logs, FolderUse::kLogs)));
}

// Those who may run csi-proxyctl still may.
TEST_F(InstallerTest, ALogBesideTheProgramDoesNotCloseTheProgramsFolder) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  folders_.unsafe = {directory_};
  ASSERT_TRUE(New()
                  .Install({.config = {},
                            .program = program,
                            .flags = {{"-log_file=" + (directory_ / "x.log").string()}},
                            .repair_folders = true})
                  .ok());
  EXPECT_EQ(folders_.protected_folders.at(directory_), FolderUse::kPrograms);
}

TEST_F(InstallerTest, DryRunRepairsAndRegistersNothing) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  folders_.unsafe = {directory_};
  EXPECT_TRUE(New("", true)
                  .Install({.config = {}, .program = program, .flags = {}, .repair_folders = true})
                  .ok());
  EXPECT_THAT(folders_.protected_folders, IsEmpty());
  EXPECT_THAT(services_.event_sources, IsEmpty());
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

TEST_F(InstallerTest, AnUpgradeInAnUnsafeFolderWarns) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service"});
  folders_.unsafe = {directory_};
  ASSERT_TRUE(New().Upgrade(Program("new.exe", "serves new")).ok());
  EXPECT_THAT(out_.str(), HasSubstr("warning: "));
  EXPECT_EQ(Content(program), "serves new");
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

// As when the program that an earlier upgrade put aside is still in use.
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

// Whatever is wrong with the new program, the old one serves in the end.
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

// As long as calls under way finish, a stop is not cut short.
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
