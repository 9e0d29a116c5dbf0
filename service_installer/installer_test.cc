#include "service_installer/installer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace csi_proxy::installer {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Content(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A service manager in memory. What a program does when it is started is the first word in its
// file: `serves`, `fails` (ends with an exit code), `hangs` (never gets to run, and takes no stop
// meanwhile), `mute` (runs, and no pipe answers), `stuck` (serves, and its stop does not end) or
// `slow` (its stop takes long, and reports progress). A process that is ended comes back, as the
// failure actions have it.
class FakeManager final : public ServiceManager {
 public:
  struct Service {
    ServiceConfig config;
    ServiceStatus status;
  };

  absl::StatusOr<ServiceStatus> Status(const std::string& name) override {
    const auto found = services.find(name);
    if (found == services.end()) return absl::NotFoundError(name);
    ServiceStatus& status = found->second.status;
    if (status.state == ServiceState::kStopPending && Runs(name, "slow")) {
      if (++status.checkpoint > 50) status = {};
    }
    return status;
  }
  absl::StatusOr<ServiceConfig> Config(const std::string& name, const ServiceConfig&) override {
    const auto found = services.find(name);
    if (found == services.end()) return absl::NotFoundError(name);
    return found->second.config;
  }
  absl::Status Create(const std::string& name, const ServiceConfig& config) override {
    calls.push_back("create " + name);
    services[name] = {.config = config, .status = {.exit_code = 1077}};
    return absl::OkStatus();
  }
  absl::Status Change(const std::string& name, const ServiceConfig& config) override {
    calls.push_back("change " + name);
    services.at(name).config = config;
    return absl::OkStatus();
  }
  absl::Status Delete(const std::string& name) override {
    calls.push_back("delete " + name);
    services.erase(name);
    return absl::OkStatus();
  }
  absl::Status Start(const std::string& name) override {
    calls.push_back("start " + name);
    Service& service = services.at(name);
    running_program = service.config.command[0];
    const std::string program = Content(running_program);
    if (absl::StartsWith(program, "fails")) {
      service.status = {.exit_code = 1066, .service_exit_code = 2};
    } else if (absl::StartsWith(program, "hangs")) {
      service.status = {.state = ServiceState::kStartPending, .process_id = 7};
    } else {
      service.status = {.state = ServiceState::kRunning, .process_id = 7};
    }
    return absl::OkStatus();
  }
  absl::Status Stop(const std::string& name) override {
    ServiceStatus& status = services.at(name).status;
    if (status.state == ServiceState::kStartPending) {
      return absl::UnavailableError("the service cannot accept control messages at this time");
    }
    calls.push_back("stop " + name);
    if (Runs(name, "stuck") || Runs(name, "slow")) {
      status.state = ServiceState::kStopPending;
    } else {
      status = {};
    }
    return absl::OkStatus();
  }
  absl::Status Terminate(const std::string& name, uint32_t process_id,
                         const std::string& program) override {
    calls.push_back(absl::StrCat("end ", process_id));
    Service& service = services.at(name);
    if (service.status.process_id != process_id || running_program != program) {
      return absl::FailedPreconditionError("another program");
    }
    service.status = {.exit_code = 1067};
    return restart_suspended ? absl::OkStatus() : Start(name);
  }
  absl::Status SuspendRestart(const std::string& name) override {
    calls.push_back("suspend " + name);
    if (!can_suspend) return absl::UnimplementedError("the failure actions cannot be read");
    restart_suspended = true;
    return absl::OkStatus();
  }
  absl::Status ResumeRestart(const std::string& name) override {
    calls.push_back("resume " + name);
    restart_suspended = false;
    return absl::OkStatus();
  }

  // Whether the program that the service runs is of this kind.
  bool Runs(const std::string& name, const char* kind) const {
    return absl::StartsWith(Content(services.at(name).config.command[0]), kind);
  }

  std::set<std::string> Pipes() const {
    for (const auto& [name, service] : services) {
      if (service.status.state == ServiceState::kRunning &&
          absl::StartsWith(Content(service.config.command[0]), "serves")) {
        return {"csi-proxy-disk-v1", "csi-proxy-volume-v1"};
      }
    }
    return {};
  }

  std::map<std::string, Service> services;
  std::vector<std::string> calls;
  bool can_suspend = true;
  bool restart_suspended = false;
  // What the service's process runs.
  std::string running_program;
};

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
