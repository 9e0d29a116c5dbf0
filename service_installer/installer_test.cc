#include "service_installer/installer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service_installer/testing.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(InstallerTest, InstallCreatesCsiProxyWithTheServiceFlag) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {{"-v", "4"}}}).ok());
  EXPECT_THAT(CommandOf("csi-proxy"), ElementsAre(program.string(), "-windows-service", "-v", "4"));
}

TEST_F(InstallerTest, ARepeatedInstallChangesNothing) {
  const InstallRequest request{
      .config = {}, .program = Program("csi-proxy.exe", "serves"), .flags = {{"-v=2"}}};
  ASSERT_TRUE(New().Install(request).ok());
  services_.calls.clear();
  ASSERT_TRUE(New().Install(request).ok());
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_THAT(out_.str(), HasSubstr("service csi-proxy needs no change"));
}

TEST_F(InstallerTest, TheServiceFlagIsAddedOnceEvenIfAnotherFlagUnsetsIt) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csi-proxy", program, {"-windows-service=false"});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {}}).ok());
    EXPECT_THAT(CommandOf("csi-proxy"),
                ElementsAre(program.string(), "-windows-service", "-windows-service=false"));
  }
}

TEST_F(InstallerTest, InstallTakesOverTheServiceOfABootstrapAndKeepsItsFlags) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csiproxy", program,
             {"-windows-service", "-log_file=C:\\etc\\csi-proxy.log", "-logtostderr=false"});
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {}}).ok());
  EXPECT_THAT(services_.calls, ElementsAre("change csiproxy"));
  EXPECT_THAT(CommandOf("csiproxy"),
              ElementsAre(program.string(), "-windows-service", "-log_file=C:\\etc\\csi-proxy.log",
                          "-logtostderr=false"));
}

TEST_F(InstallerTest, InvalidServiceFlagsAreRefusedBeforeAnyChange) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  const fs::path fresh = Program("new.exe", "serves new");
  folders_.unsafe = {directory_};
  const auto install = [&](std::optional<std::vector<std::string>> flags) {
    return New().Install(
        {.config = {}, .program = program, .flags = std::move(flags), .repair_folders = true});
  };
  OldService("csi-proxy", program, {"-kubelet-path=relative"});
  const std::pair<absl::Status, const char*> refused[] = {
      {install({{"-bogus"}}), "would not start with its flags: --bogus: there is no such flag"},
      // PowerShell makes these from one word.
      {install({{"-log_file=C:", "\\x\\a.log"}}), "\"\\x\\a.log\". PowerShell splits"},
      {install(std::nullopt), "would not start with its flags: --kubelet-path"},
      {New().Upgrade(fresh, true), "would not start with its flags: --kubelet-path"}};
  for (const auto& [status, expected] : refused) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected));
  }
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_THAT(folders_.protected_folders, IsEmpty());
  // Go, too, ignores what follows a word that is not a flag.
  OldService("csi-proxy", program, {"-v=1", "start", "-v=2"});
  EXPECT_TRUE(install(std::nullopt).ok());
  EXPECT_TRUE(New().Upgrade(fresh).ok());
}

TEST_F(InstallerTest, InstallReplacesAWrapperOnlyOnRequest) {
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

TEST_F(InstallerTest, AMissingProgramIsAnError) {
  const absl::Status status =
      New().Install({.config = {}, .program = directory_ / "gone.exe", .flags = {}});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(InstallerTest, DryRunPrintsTheStepsAndChangesNothing) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  ASSERT_TRUE(New("", true).Install({.config = {}, .program = program, .flags = {}}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("would create service csi-proxy"));
  OldService("csi-proxy", program, {});
  ASSERT_TRUE(New("", true).Upgrade(Program("new.exe", "serves new")).ok());
  ASSERT_TRUE(New("", true).Uninstall().ok());
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_EQ(Content(program), "serves");
}

TEST_F(InstallerTest, StartAndStopWaitForTheStateAndCanBeRepeated) {
  OldService("csi-proxy", Program("csi-proxy.exe", "serves"), {});
  EXPECT_TRUE(New().Start().ok());
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_TRUE(New().Stop().ok());
  EXPECT_TRUE(New().Stop().ok());
  EXPECT_TRUE(New().Start().ok());
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy", "start csi-proxy"));
}

TEST_F(InstallerTest, TheErrorSaysWhyAServiceEndedDuringItsStart) {
  OldService("csi-proxy", Program("csi-proxy.exe", "fails"), {});
  services_.services.at("csi-proxy").status = {};
  const absl::Status status = New().Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("exit code 2: a flag is wrong"));
}

TEST_F(InstallerTest, StartEndsAtItsTimeoutIfTheServiceNeverRuns) {
  OldService("csi-proxy", Program("csi-proxy.exe", "hangs"), {});
  services_.services.at("csi-proxy").status = {};
  EXPECT_TRUE(absl::IsDeadlineExceeded(New().Start()));
}

TEST_F(InstallerTest, InstallRegistersTheEventSourceAndUninstallRemovesIt) {
  const InstallRequest request{
      .config = {}, .program = Program("csi-proxy.exe", "serves"), .flags = {}};
  ASSERT_TRUE(New().Install(request).ok());
  EXPECT_THAT(services_.event_sources, ElementsAre("csi-proxy"));
  EXPECT_THAT(out_.str(), HasSubstr("register event source csi-proxy"));
  out_.str("");
  ASSERT_TRUE(New().Install(request).ok());
  EXPECT_THAT(out_.str(), Not(HasSubstr("event source")));
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_THAT(services_.event_sources, IsEmpty());
}

TEST_F(InstallerTest, InstallSaysThatARunningServiceNeedsARestart) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csi-proxy", program, {"-windows-service"});
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {{"-v=4"}}}).ok());
  EXPECT_THAT(out_.str(), HasSubstr("runs with its old settings until it is restarted"));
  ASSERT_TRUE(New().Stop().ok());
  out_.str("");
  ASSERT_TRUE(New().Install({.config = {}, .program = program, .flags = {{"-v=2"}}}).ok());
  EXPECT_THAT(out_.str(), Not(HasSubstr("restarted")));
}

TEST_F(InstallerTest, UpgradeReplacesTheProgram) {
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
TEST_F(InstallerTest, UpgradeSucceedsIfAnOldProgramCannotBeRemoved) {
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

TEST_F(InstallerTest, UpgradeRefusesAServiceWithoutAProgram) {
  OldService("csi-proxy", directory_ / "csi-proxy.exe", {"-windows-service"});
  const absl::Status status = New().Upgrade(Program("new.exe", "serves new"));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("run install"));
}

// The program may stop after the upgrade has given up.
TEST_F(InstallerTest, AfterAFailedStopTheOldProgramRunsAgain) {
  const fs::path program = Program("csi-proxy.exe", "stuck");
  OldService("csi-proxy", program, {"-windows-service"});
  services_.ends_unnoticed = true;
  const absl::Status status = New().Upgrade(Program("new.exe", "serves new"));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(Content(program), "stuck");
  EXPECT_FALSE(fs::exists(program.string() + ".new"));
  EXPECT_FALSE(fs::exists(MarkerOf(program)));
  EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kRunning);
}

// The old program serves again, whichever way the new program fails. A Go release does not answer
// the check of the pipes.
TEST_F(InstallerTest, UpgradeToABrokenProgramIsRolledBack) {
  for (const std::string old : {"serves old", "mute"}) {
    for (const char* broken : {"fails", "hangs", "mute"}) {
      SCOPED_TRACE(absl::StrCat(old, ", then ", broken));
      const fs::path program = Program("csi-proxy.exe", old);
      OldService("csi-proxy", program, {"-windows-service"});
      const absl::Status status = New().Upgrade(Program("new.exe", broken));
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("the old program has been restored"));
      EXPECT_EQ(Content(program), old);
      EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kRunning);
      EXPECT_EQ(services_.Pipes().size(), old == "mute" ? 0u : 2u);
      EXPECT_FALSE(services_.restart_suspended);
    }
  }
}

TEST_F(InstallerTest, AServiceThatDoesNotStopIsKilledAndNotRestarted) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  const absl::Status status = New().Stop();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(services_.calls,
              ElementsAre("stop csi-proxy", "suspend csi-proxy", "end 3", "resume csi-proxy"));
  EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kStopped);
  EXPECT_FALSE(services_.restart_suspended);
}

TEST_F(InstallerTest, AServiceThatHangsDuringItsStartIsKilled) {
  OldService("csi-proxy", Program("csi-proxy.exe", "hangs"), {});
  services_.services.at("csi-proxy").status.state = ServiceState::kStartPending;
  const absl::Status status = New().Stop();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(services_.calls, ElementsAre("suspend csi-proxy", "end 3", "resume csi-proxy"));

  services_.calls.clear();
  services_.services.at("csi-proxy").status = {.state = ServiceState::kStartPending};
  EXPECT_THAT(std::string(New().Stop().message()), HasSubstr("is starting and has no process"));
  EXPECT_THAT(services_.calls, ElementsAre());
}

// A stop that keeps reporting progress is not cut short.
TEST_F(InstallerTest, StopWaitsLongerIfTheServiceReportsProgress) {
  OldService("csi-proxy", Program("csi-proxy.exe", "slow"), {});
  const absl::Time start = absl::Now();
  ASSERT_TRUE(New().Stop().ok());
  EXPECT_GT(absl::Now() - start, absl::Milliseconds(200));
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy"));
}

TEST_F(InstallerTest, UninstallKillsAServiceThatDoesNotStop) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_TRUE(services_.services.empty());
}

TEST_F(InstallerTest, OnlyTheServicesOwnProgramIsKilled) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  services_.running_program = "C:\\Windows\\other.exe";
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Stop()));
  EXPECT_FALSE(services_.restart_suspended);
  OldService("csi-proxy", Program("nssm.exe", "stuck"), {});
  services_.calls.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Stop()));
  EXPECT_THAT(services_.calls, ElementsAre("stop csi-proxy"));
}

TEST_F(InstallerTest, TheOutputWarnsIfTheRestartCannotBeSuspended) {
  OldService("csi-proxy", Program("csi-proxy.exe", "stuck"), {});
  services_.can_suspend = false;
  (void)New().Stop();
  EXPECT_THAT(out_.str(), HasSubstr("Windows may restart the service before this is done"));
  EXPECT_THAT(services_.calls, Not(testing::Contains("resume csi-proxy")));
}

TEST_F(InstallerTest, UpgradeLeavesAStoppedServiceStopped) {
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

// A repeated call does nothing if there is no service.
TEST_F(InstallerTest, UninstallDeletesTheServiceLast) {
  OldService("csiproxy", Program("csi-proxy.exe", "serves"), {});
  services_.event_sources = {kEventSource};
  services_.can_delete = false;
  EXPECT_FALSE(New().Uninstall().ok());
  EXPECT_THAT(services_.event_sources, IsEmpty());
}

TEST_F(InstallerTest, UninstallStopsAndDeletesTheServiceAndCanBeRepeated) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  OldService("csiproxy", program, {});
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_THAT(services_.calls, ElementsAre("stop csiproxy", "delete csiproxy"));
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_TRUE(fs::exists(program));
}

TEST_F(InstallerTest, ReportPrintsStateAndSettings) {
  OldService("csi-proxy", Program("csi-proxy.exe", "serves"), {"-v", "4"});
  ASSERT_TRUE(New().Report().ok());
  EXPECT_THAT(out_.str(), HasSubstr("service csi-proxy is running, process 3"));
  EXPECT_THAT(out_.str(), HasSubstr("-v 4"));
  EXPECT_THAT(out_.str(), HasSubstr("answering pipes:     2"));
  services_.services.clear();
  EXPECT_TRUE(absl::IsNotFound(New().Report()));
}

namespace fs = std::filesystem;

constexpr char kUser[] = "S-1-5-21-1-2-3-1001";

TEST_F(InstallerTest, AProgramThatOthersMayChangeIsRefusedUntilRepaired) {
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
              testing::UnorderedElementsAre(testing::Pair(directory_, FolderUse::kPrograms)));
  EXPECT_THAT(services_.calls, ElementsAre("create csi-proxy"));
}

TEST_F(InstallerTest, InstallIsRefusedIfARepairCannotMakeTheFolderSafe) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  folders_.unsafe = {directory_};
  folders_.replaceable = {directory_.parent_path()};
  EXPECT_TRUE(absl::IsFailedPrecondition(
      New().Install({.config = {}, .program = program, .flags = {}, .repair_folders = true})));
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(InstallerTest, TheLogFolderIsCheckedRepairedOrCreated) {
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
  // A missing folder is created, even without `repair_folders`.
  folders_.protected_folders.clear();
  folders_.missing = {logs};
  request.repair_folders = false;
  EXPECT_TRUE(New().Install(request).ok());
  EXPECT_THAT(folders_.protected_folders,
              testing::UnorderedElementsAre(testing::Pair(logs, FolderUse::kLogs)));
}

TEST_F(InstallerTest, InstallChecksTheLogFolderThatTheFlagsName) {
  const std::string logs = (directory_ / "logs").string();
  folders_.unsafe = {logs};
  const fs::path program = Program("csi-proxy.exe", "serves");
  const auto install = [&](std::vector<std::string> flags) {
    return New().Install({.config = {}, .program = program, .flags = std::move(flags)});
  };
  EXPECT_TRUE(absl::IsFailedPrecondition(install({"--log_dir", logs})));
  EXPECT_TRUE(absl::IsFailedPrecondition(install({"-log_file=/x.log", "-log_file", logs + "/x"})));
  EXPECT_TRUE(install({"-log_dir=" + logs, "--log_file=/x.log"}).ok());
}

// Users who could run csi-proxyctl can still run it.
TEST_F(InstallerTest, ALogBesideTheProgramKeepsTheProgramsFolderReadable) {
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

TEST_F(InstallerTest, DryRunRepairsNoFolderAndRegistersNoEventSource) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  folders_.unsafe = {directory_};
  EXPECT_TRUE(New("", true)
                  .Install({.config = {}, .program = program, .flags = {}, .repair_folders = true})
                  .ok());
  EXPECT_THAT(folders_.protected_folders, IsEmpty());
  EXPECT_THAT(services_.event_sources, IsEmpty());
}

TEST_F(InstallerTest, UpgradeRunsNoProgramThatOthersMayReplace) {
  const fs::path program = Program("csi-proxy.exe", "serves old");
  const fs::path fresh = Program("new.exe", "serves new");
  OldService("csi-proxy", program, {"-windows-service"});
  folders_.unsafe = {directory_};
  const absl::Status refused = New().Upgrade(fresh);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("--repair-folders"));
  // The folder is safe by now, but the copy in it may belong to another account.
  folders_.unsafe = {};
  folders_.files[program.string() + ".new"] = {.owner = "S-1-5-32-545",
                                               .entries = std::vector<AccessEntry>()};
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Upgrade(fresh)));
  EXPECT_EQ(Content(program), "serves old");
  EXPECT_THAT(services_.calls, IsEmpty());
  folders_.files.clear();
  folders_.unsafe = {directory_};
  EXPECT_TRUE(New().Upgrade(fresh, true).ok());
  EXPECT_TRUE(folders_.protected_folders.contains(directory_));
  EXPECT_EQ(Content(program), "serves new");
}

// Files that users may have planted while they could add files to the folder.
class PlantedTest : public InstallerTest {
 protected:
  PlantedTest()
      : request_{.config = {},
                 .program = Program("csi-proxy.exe", "serves"),
                 .flags = {{"-log_file=" + (logs_ / "x.log").string()}},
                 .repair_folders = true} {
    folders_.unsafe = {logs_};
  }

  // Plants a file, tries to install, and returns the installer's error.
  std::string Refusal(const std::string& name, ObjectAccess access) {
    folders_.files = {{logs_ / name, std::move(access)}};
    const absl::Status status = New().Install(request_);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(services_.calls, IsEmpty());
    EXPECT_THAT(std::string(status.message()), HasSubstr((logs_ / name).string()));
    EXPECT_THAT(std::string(status.message()), HasSubstr(": move it away"));
    return std::string(status.message());
  }

  static ObjectAccess Safe() {
    return {.owner = "S-1-5-18", .entries = std::vector<AccessEntry>()};
  }

  const fs::path logs_ = directory_ / "logs";
  InstallRequest request_;
};

TEST_F(PlantedTest, ALogOwnedByAUserIsRefusedEvenAfterARepair) {
  ObjectAccess access = Safe();
  access.owner = kUser;
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("may change its access list, as its owner"));
  // spdlog rotates the log to this name, and case does not matter.
  EXPECT_THAT(Refusal("X.1.log", access), HasSubstr(kUser));
  access = Safe();
  access.entries->push_back({.rights = 0x2, .sid = "S-1-5-32-545"});
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("BUILTIN\\Users may add or change files"));
}

TEST_F(PlantedTest, ALogThatIsALinkOrHasASecondNameIsRefused) {
  ObjectAccess access = Safe();
  access.is_link = true;
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("is a link"));
  access = Safe();
  access.names = 2;
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("has a second name (hard link)"));
}

TEST_F(PlantedTest, OtherFilesAndTheServicesOwnLogAreAccepted) {
  ObjectAccess access = Safe();
  folders_.files = {{logs_ / "x.log", access}};
  access.owner = kUser;
  folders_.files[logs_ / "xy.log"] = access;
  EXPECT_TRUE(New().Install(request_).ok());
}

// The program may no longer be the one that an administrator has put there.
TEST_F(PlantedTest, ARepairDoesNotMakeAProgramSafeThatOthersCouldChange) {
  ObjectAccess access = Safe();
  access.owner = kUser;
  folders_.files = {{request_.program, access}};
  const absl::Status status = New().Install(request_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--directory"));
  EXPECT_THAT(folders_.protected_folders, IsEmpty());
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(PlantedTest, NoFolderIsRepairedInsideAReplaceableFolder) {
  folders_.unsafe = {directory_};
  folders_.replaceable = {directory_.parent_path()};
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Install(request_)));
  EXPECT_THAT(folders_.protected_folders, IsEmpty());
}

// The installer copies programs from its own folder into another.
class PutProgramsTest : public InstallerTest {
 protected:
  PutProgramsTest()
      : request_{.config = {},
                 .program = directory_ / "programs/csi-proxy.exe",
                 .source = directory_ / "unpacked",
                 .flags = {{"-v=2"}}} {
    fs::create_directories(*request_.source);
    fs::create_directories(request_.program.parent_path());
    Program("unpacked/csi-proxy.exe", "serves new");
    Program("unpacked/csi-proxy-service.exe", "installs");
  }

  bool IsEmptyFolder() const { return fs::is_empty(request_.program.parent_path()); }

  InstallRequest request_;
};

// A program in a folder that others may change is not run, and no program is copied there.
TEST_F(PutProgramsTest, NoProgramIsCopiedIntoAnUnsafeFolder) {
  folders_.unsafe = {request_.program.parent_path()};
  EXPECT_TRUE(absl::IsFailedPrecondition(New().Install(request_)));
  EXPECT_TRUE(IsEmptyFolder());
  EXPECT_THAT(services_.calls, IsEmpty());
  request_.repair_folders = true;
  ASSERT_TRUE(New().Install(request_).ok());
  EXPECT_THAT(folders_.protected_folders,
              ElementsAre(testing::Pair(request_.program.parent_path(), FolderUse::kPrograms)));
  EXPECT_EQ(Content(request_.program), "serves new");
  EXPECT_EQ(Content(directory_ / "programs/csi-proxy-service.exe"), "installs");
  EXPECT_THAT(CommandOf("csi-proxy"),
              ElementsAre(request_.program.string(), "-windows-service", "-v=2"));
}

// `install` without arguments uses these folders.
class InstallAloneTest : public InstallerTest {
 protected:
  InstallAloneTest() {
    fs::create_directories(directory_ / "release");
    fs::create_directories(folder_);
    Program("release/csi-proxy.exe", "serves new");
    Program("release/csi-proxy-service.exe", "installs");
    Program("release/csi-proxyctl.exe", "asks");
  }

  absl::Status Install(std::optional<std::vector<std::string>> flags = std::nullopt) {
    return New().Install({.config = {}, .program = {}, .flags = std::move(flags)});
  }

  const fs::path folder_ = directory_ / "files" / "csi-proxy";
};

TEST_F(InstallAloneTest, ANewServiceIsBelowProgramFilesAndLogsBelowProgramData) {
  const std::string log = (directory_ / "data" / "csi-proxy" / "logs" / "csi-proxy.log").string();
  ASSERT_TRUE(Install().ok());
  EXPECT_THAT(CommandOf("csi-proxy"),
              ElementsAre((folder_ / "csi-proxy.exe").string(), "-windows-service",
                          "-logtostderr=false", "-log_file=" + log));
  EXPECT_EQ(Content(folder_ / "csi-proxy.exe"), "serves new");
  EXPECT_EQ(Content(folder_ / "csi-proxy-service.exe"), "installs");
  EXPECT_EQ(Content(folder_ / "csi-proxyctl.exe"), "asks");
  services_.services.clear();
  ASSERT_TRUE(Install({{"-v=2"}}).ok());
  EXPECT_THAT(CommandOf("csi-proxy"),
              ElementsAre((folder_ / "csi-proxy.exe").string(), "-windows-service", "-v=2"));
}

TEST_F(InstallAloneTest, AnExistingServiceKeepsItsFolderAndFlags) {
  fs::create_directories(directory_ / "k");
  const fs::path program = Program("k/csi-proxy.exe", "serves old");
  OldService("csiproxy", program, {"-windows-service", "-v=3"});
  ASSERT_TRUE(Install().ok());
  EXPECT_EQ(Content(program), "serves new");
  EXPECT_THAT(CommandOf("csiproxy"), ElementsAre(program.string(), "-windows-service", "-v=3"));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_THAT(services_.path, Not(HasSubstr("csi-proxy")));
}

// The installer may be the copy that was installed beside the program.
TEST_F(InstallAloneTest, AProgramBesideTheInstallerIsNotCopied) {
  const fs::path program = directory_ / "release/csi-proxy.exe";
  OldService("csi-proxy", program, {"-windows-service", "-v=3"});
  ASSERT_TRUE(Install({{"-v=4"}}).ok());
  EXPECT_THAT(services_.calls, ElementsAre("change csi-proxy"));
  EXPECT_THAT(CommandOf("csi-proxy"), ElementsAre(program.string(), "-windows-service", "-v=4"));
}

TEST_F(InstallAloneTest, AWrapperIsReplacedByTheProgramBelowProgramFiles) {
  OldService("csi-proxy", R"(C:\k\nssm.exe)", {});
  ASSERT_TRUE(
      New().Install({.config = {}, .program = {}, .flags = {}, .replace_wrapper = true}).ok());
  EXPECT_THAT(CommandOf("csi-proxy"),
              ElementsAre((folder_ / "csi-proxy.exe").string(), "-windows-service"));
}

TEST_F(InstallAloneTest, TheFolderIsOnThePathWhileTheServiceExists) {
  const std::string before = services_.path;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Install().ok());
    EXPECT_EQ(services_.path, absl::StrCat(before, ";", folder_.string()));
  }
  ASSERT_TRUE(New().Uninstall().ok());
  EXPECT_EQ(services_.path, before);
  // An entry in another spelling counts as well.
  services_.path = absl::StrCat("\"", absl::AsciiStrToUpper(folder_.string()), "\\\";", before);
  const std::string spelt = services_.path;
  ASSERT_TRUE(Install().ok());
  EXPECT_EQ(services_.path, spelt);
  services_.path = "";
  ASSERT_TRUE(Install().ok());
  EXPECT_EQ(services_.path, folder_.string());
}

TEST_F(InstallerTest, AVariableThatTheShellHasNotExpandedIsRefused) {
  const fs::path program = Program("csi-proxy.exe", "serves");
  const auto install = [&](const fs::path& at, std::vector<std::string> flags) {
    return New().Install({.config = {}, .program = at, .flags = std::move(flags)});
  };
  const std::pair<absl::Status, const char*> refused[] = {
      {install(R"(C:\me\%ProgramFiles%\csi-proxy\csi-proxy.exe)", {}),
       "the variable ProgramFiles,"},
      {install(R"(C:\me\%ProgramFiles(x86)%\csi-proxy.exe)", {}), "variable ProgramFiles(x86),"},
      {install(R"(C:\me\$ENV:ProgramFiles\csi-proxy.exe)", {}), "the variable ProgramFiles,"},
      {install(program, {R"(-log_file=${env:ProgramData}\x.log)"}), "the variable ProgramData,"},
      {install(program, {R"(-log_file=%ProgramData%\x.log)"}), "the variable ProgramData,"},
      {New().Upgrade(R"(C:\me\%TEMP%\csi-proxy.exe)"), "the variable TEMP,"}};
  for (const auto& [status, expected] : refused) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected));
  }
  EXPECT_THAT(services_.calls, IsEmpty());
  for (const char* path : {"-log_file=/100%/a.log", "-log_file=/a%20b%20/$HOME/50%.log", "-v=2"}) {
    EXPECT_TRUE(RefuseVariables(path).ok()) << path;
  }
}

TEST_F(PutProgramsTest, AMissingFolderIsCreatedAndOnlyAdministratorsMayChangeIt) {
  folders_.missing = {request_.program.parent_path()};
  ASSERT_TRUE(New().Install(request_).ok());
  EXPECT_THAT(folders_.protected_folders,
              ElementsAre(testing::Pair(request_.program.parent_path(), FolderUse::kPrograms)));
}

// Writing into the file would keep its owner, access list and hard links.
TEST_F(PutProgramsTest, AnExistingFileIsReplacedAndNotWrittenInto) {
  const fs::path victim = Program("victim", "precious");
  fs::create_hard_link(victim, request_.program);
  // libstdc++ cannot create symbolic links on Windows, where only the hard link is tested.
  std::error_code unsupported;
  fs::create_symlink(victim, directory_ / "programs/csi-proxy-service.exe", unsupported);
  ASSERT_TRUE(New().Install(request_).ok());
  EXPECT_EQ(Content(victim), "precious");
  EXPECT_EQ(Content(request_.program), "serves new");
  EXPECT_FALSE(fs::is_symlink(directory_ / "programs/csi-proxy-service.exe"));
  fs::create_hard_link(victim, request_.program.string() + ".new");
  ASSERT_TRUE(New().Upgrade(Program("newer.exe", "serves newer")).ok());
  EXPECT_EQ(Content(victim), "precious");
}

TEST_F(PutProgramsTest, InstallUpgradesAnExistingServiceWithRollback) {
  const fs::path program = Program("programs/csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service", "-v=2"});
  ASSERT_TRUE(New().Install(request_).ok());
  EXPECT_EQ(Content(program), "serves new");
  EXPECT_THAT(services_.calls, testing::IsSupersetOf({"stop csi-proxy", "start csi-proxy"}));
  Program("unpacked/csi-proxy.exe", "fails");
  EXPECT_TRUE(absl::IsAborted(New().Install(request_)));
  EXPECT_EQ(Content(program), "serves new");
  // The new program starts with the present flags before it gets others.
  OldService("csi-proxy", program, {"-bogus"});
  Program("unpacked/csi-proxy-service.exe", "newer");
  services_.calls.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(New().Install(request_)));
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_NE(Content(directory_ / "programs/csi-proxy-service.exe"), "newer");
}

TEST_F(PutProgramsTest, DryRunCopiesNoProgram) {
  ASSERT_TRUE(New("", true).Install(request_).ok());
  EXPECT_TRUE(IsEmptyFolder());
  EXPECT_THAT(out_.str(), HasSubstr("would put csi-proxy-service.exe and csi-proxy.exe of"));
}

TEST_F(PutProgramsTest, InstallingAFolderIntoItselfIsRefused) {
  request_.program = *request_.source / "csi-proxy.exe";
  EXPECT_TRUE(absl::IsInvalidArgument(New().Install(request_)));
  EXPECT_EQ(Content(request_.program), "serves new");
}

}  // namespace
}  // namespace csi_proxy::service_installer
