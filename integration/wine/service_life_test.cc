// Tests the shipped programs under the service control manager, from installation to removal.
#include <windows.h>

// The headers below need windows.h first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sddl.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "api/released.h"
#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "integration/support/child_process.h"
#include "integration/support/node_admin.h"
#include "integration/support/test_node.h"
#include "server/platform/win32.h"

namespace csi_proxy::integration {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr char kOpenToAll[] = "--pipe-sddl=D:P(A;;GA;;;WD)";

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the program as built, or that of the unpacked release in CSI_PROXY_TEST_PROGRAMS.
std::string Shipped(const fs::path& built) {
  const char* released = std::getenv("CSI_PROXY_TEST_PROGRAMS");
  return (released == nullptr ? built : released / built.filename()).string();
}

class ServiceLifeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::cout << "testing " << Shipped(CSI_PROXY_BINARY) << "\n";
    // Deletes the service of an interrupted run, because display names are unique. Windows deletes
    // the service once its program has ended.
    const fs::path base = NewTestDirectory();
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"sc.exe", "delete", "unstoppable"},
          {"taskkill.exe", "/f", "/im", "csi-proxy-unstoppable.exe"}}) {
      auto child = ChildProcess::Start(command, (base / "output").string());
      if (child.ok()) (*child)->Wait(absl::Seconds(60));
    }
    std::error_code ignored;
    fs::remove_all(base, ignored);
  }
  // The folder's name contains a letter that Windows-1252 does not have.
  ServiceLifeTest() : base_(NewTestDirectory()), directory_(base_ / u8"Bałtyk") {
    fs::create_directory(directory_);
    // The simulated program has the main of the shipped program; the latter's node would be Wine.
    fs::copy_file(CSI_PROXY_SIMULATED_BINARY, Program());
    Run({"uninstall"});
  }
  ~ServiceLifeTest() override {
    Run({"uninstall"});
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }

  static void SetAccess(const fs::path& folder, const wchar_t* sddl) {
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    ASSERT_TRUE(ConvertStringSecurityDescriptorToSecurityDescriptorW(sddl, SDDL_REVISION_1,
                                                                     &descriptor, nullptr));
    const win32::UniqueLocal owned(descriptor);
    ASSERT_TRUE(SetFileSecurityW(folder.c_str(), DACL_SECURITY_INFORMATION, descriptor));
  }

  fs::path Program() const { return directory_ / "csi-proxy.exe"; }
  // The C library opens the log, so the path has only letters of its code page.
  std::string LogPath() const { return (base_ / "csi-proxy.log").string(); }
  std::string Log() const { return ReadFile(base_ / "csi-proxy.log"); }

  // Runs a program to its end. Stores its output in `said_` and returns its exit code.
  int Execute(std::vector<std::string> command) {
    const std::string output = (base_ / "output").string();
    fs::remove(output);
    auto child = ChildProcess::Start(std::move(command), output);
    EXPECT_TRUE(child.ok()) << child.status();
    const int code = (*child)->Wait(absl::Seconds(60));
    said_ = ReadFile(output);
    return code;
  }
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Shipped(CSI_PROXY_SERVICE_BINARY));
    return Execute(std::move(arguments));
  }
  void InstallAndStart(const std::string& grace = "20s") {
    ASSERT_EQ(Run({"install", "--binary", Program().string(), "--", "--host=simulated", "-v=2",
                   "-logtostderr=false", "-log_file=" + LogPath(), kOpenToAll,
                   "--stop-grace-period=" + grace}),
              0)
        << said_;
    ASSERT_EQ(Run({"start"}), 0) << said_ << Log();
  }

  static absl::Status Call() {
    const filesystem::v1::Client client(Connect({.mode = Mode::kRemote}).value());
    filesystem::v1::PathExistsRequest request;
    request.set_path(R"(C:\var\lib\kubelet)");
    return client.PathExists(request).status();
  }

  const fs::path base_, directory_;
  std::string said_;
};

TEST_F(ServiceLifeTest, TheServiceCanBeInstalledStartedStoppedAndUninstalled) {
  InstallAndStart();
  // A service that runs must serve: the very first call succeeds.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Call().ok()) << i;
  ASSERT_EQ(Run({"status"}), 0);
  EXPECT_THAT(said_, HasSubstr("service csi-proxy is running"));
  EXPECT_THAT(said_,
              HasSubstr(absl::StrCat("answering pipes:     ", std::size(api::kReleasedVersions))));
  EXPECT_EQ(Run({"start"}), 0) << "again";
  EXPECT_THAT(said_, HasSubstr("is already running"));
  ASSERT_EQ(Run({"stop"}), 0) << said_;
  EXPECT_THAT(Log(), HasSubstr("stopping on service stop"));
  EXPECT_TRUE(absl::IsUnavailable(Call()));
  ASSERT_EQ(Run({"uninstall"}), 0) << said_;
  EXPECT_EQ(Run({"status"}), 1);
}

TEST_F(ServiceLifeTest, TheShippedProgramRefusesToSimulateANode) {
  fs::copy_file(Shipped(CSI_PROXY_BINARY), Program(), fs::copy_options::overwrite_existing);
  EXPECT_EQ(Execute({Program().string(), "--host=simulated"}), 2);
  EXPECT_THAT(said_, HasSubstr("--host=simulated: this program has no simulated node: run "
                               "csi-proxy-simulated.exe instead"));
  EXPECT_EQ(Execute({Program().string(), "--list-scenarios"}), 2);
  EXPECT_THAT(said_, HasSubstr("csi-proxy-simulated.exe"));
  ASSERT_EQ(Run({"install", "--binary", Program().string(), "--", "-logtostderr=false",
                 "-log_file=" + LogPath(), kOpenToAll}),
            0)
      << said_;
  ASSERT_EQ(Run({"start"}), 0) << said_ << Log();
  EXPECT_TRUE(Call().ok()) << Log();
  ASSERT_EQ(Run({"stop"}), 0) << said_;
  EXPECT_THAT(Log(), HasSubstr("pipes for the Windows node"));
}

TEST_F(ServiceLifeTest, RunningCallsFinishIfTheServiceStops) {
  InstallAndStart();
  const disk::v1::Client client(Connect({.mode = Mode::kRemote}).value());
  std::atomic<bool> stop = false;
  std::atomic<int> succeeded = 0, refused = 0, lost = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        // The service answers the calls that it has begun and refuses later ones; it cuts none off.
        const auto status = client.Rescan({}, {.timeout = absl::Seconds(2)}).status();
        if (status.ok()) {
          ++succeeded;
        } else if (absl::IsUnavailable(status)) {
          ++refused;
          absl::SleepFor(absl::Milliseconds(20));
        } else {
          ADD_FAILURE() << status;
          ++lost;
        }
      }
    });
  }
  absl::SleepFor(absl::Milliseconds(500));
  ASSERT_EQ(Run({"stop"}), 0) << said_;
  const int before = succeeded;
  EXPECT_GT(before, 0);
  // Calls of the same client succeed again once the service is back.
  ASSERT_EQ(Run({"start"}), 0) << said_;
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (succeeded < before + 100 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(10));
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GE(succeeded, before + 100);
  EXPECT_EQ(lost, 0);
}

TEST_F(ServiceLifeTest, AnUpgradedServiceServesOrIsRolledBack) {
  InstallAndStart();
  const fs::path next = directory_ / "next.exe";
  // Windows ignores the appended bytes.
  fs::copy_file(CSI_PROXY_SIMULATED_BINARY, next);
  std::ofstream(next, std::ios::app | std::ios::binary) << "next";
  ASSERT_EQ(Run({"upgrade", "--binary", next.string()}), 0) << said_;
  EXPECT_EQ(fs::file_size(Program()), fs::file_size(next));
  EXPECT_TRUE(Call().ok());

  const fs::path broken = directory_ / "broken.exe";
  std::ofstream(broken, std::ios::binary) << "this is not a program";
  EXPECT_EQ(Run({"upgrade", "--timeout=10s", "--binary", broken.string()}), 1);
  EXPECT_THAT(said_, HasSubstr("the old program has been restored"));
  EXPECT_EQ(fs::file_size(Program()), fs::file_size(next));
  EXPECT_TRUE(Call().ok());

  // A program that runs but is not csi-proxy.
  fs::copy_file(Shipped(CSI_PROXY_SERVICE_BINARY), broken, fs::copy_options::overwrite_existing);
  EXPECT_EQ(Run({"upgrade", "--timeout=10s", "--binary", broken.string()}), 1);
  EXPECT_THAT(said_, HasSubstr("the old program has been restored"));
  EXPECT_TRUE(Call().ok());
}

TEST_F(ServiceLifeTest, InstallRefusesAFolderThatOthersMayWriteToUntilRepaired) {
  SetAccess(directory_, L"D:(A;;FA;;;WD)");
  EXPECT_EQ(Run({"install", "--binary", Program().string()}), 1);
  EXPECT_THAT(said_, HasSubstr("is not a safe place for a service that runs as SYSTEM: Everyone "
                               "may add or change files"));
  ASSERT_EQ(Run({"install", "--repair-folders", "--binary", Program().string()}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("let only administrators change"));
  ASSERT_EQ(Run({"install", "--binary", Program().string()}), 0) << said_;
}

// A user can create such a hard link while the folder lets users add files.
TEST_F(ServiceLifeTest, InstallRefusesALogWithAHardLinkEvenAfterARepair) {
  std::ofstream(base_ / "precious") << "precious";
  ASSERT_TRUE(
      CreateHardLinkW((directory_ / "x.1.log").c_str(), (base_ / "precious").c_str(), nullptr));
  const std::vector<std::string> install = {
      "install",  "--repair-folders",
      "--binary", Program().string(),
      "--",       "-log_file=" + (directory_ / "x.log").string()};
  EXPECT_EQ(Run(install), 1);
  EXPECT_THAT(
      said_,
      HasSubstr("x.1.log has a second name (hard link) elsewhere on the disk: move it away"));
  fs::remove(base_ / "precious");
  EXPECT_EQ(Run(install), 0) << said_;
}

TEST_F(ServiceLifeTest, InstallPutsNoProgramsIntoAFolderThatOthersMayChange) {
  const fs::path installer = directory_ / "csi-proxy-service.exe", place = base_ / "place";
  fs::copy_file(Shipped(CSI_PROXY_SERVICE_BINARY), installer);
  fs::create_directories(place);
  SetAccess(place, L"D:(A;;FA;;;WD)");
  EXPECT_EQ(Execute({installer.string(), "install", "--directory", place.string()}), 1);
  EXPECT_TRUE(fs::is_empty(place));
  ASSERT_EQ(
      Execute({installer.string(), "install", "--repair-folders", "--directory", place.string()}),
      0)
      << said_;
  EXPECT_TRUE(fs::exists(place / "csi-proxy.exe") && fs::exists(place / "csi-proxy-service.exe"));
  EXPECT_EQ(Execute({installer.string(), "install", "--directory", directory_.string()}), 2);
}

TEST_F(ServiceLifeTest, InstallRegistersTheEventSourceAndUninstallRemovesIt) {
  const std::vector<std::string> query = {
      "reg.exe", "query",
      R"(HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\csi-proxy)"};
  ASSERT_EQ(Run({"install", "--binary", Program().string()}), 0) << said_;
  EXPECT_EQ(Execute(query), 0) << said_;
  EXPECT_THAT(said_, HasSubstr(R"(%SystemRoot%\System32\EventCreate.exe)"));
  EXPECT_THAT(said_, HasSubstr("0x7"));
  ASSERT_EQ(Run({"uninstall"}), 0) << said_;
  EXPECT_NE(Execute(query), 0) << said_;
}

// Started by its bare name from PATH, the installer must search its own folder, not the current
// directory.
TEST_F(ServiceLifeTest, TheInstallerSearchesForTheProgramInItsOwnFolder) {
  fs::copy_file(Shipped(CSI_PROXY_SERVICE_BINARY), directory_ / "csi-proxy-service.exe");
  const std::wstring path = directory_.wstring();
  wchar_t before[32768] = L"";
  GetEnvironmentVariableW(L"PATH", before, std::size(before));
  SetEnvironmentVariableW(L"PATH", (path + L";" + before).c_str());
  EXPECT_EQ(Execute({"csi-proxy-service.exe", "install", "--dry-run"}), 0) << said_;
  SetEnvironmentVariableW(L"PATH", before);
  EXPECT_THAT(said_, HasSubstr(" and csi-proxy.exe of " + directory_.string() + " into "));
}

class InstalledNode final : public TestNode {
 public:
  ClientOptions client_options() const override { return {.mode = Mode::kRemote}; }
  absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                     google::protobuf::Message* response) override {
    return CallAdminService(client_options(), method, request, response);
  }
};

// A call that waits in the kernel, e.g. for a dead disk, cannot be cancelled. The service ends its
// process without the call, and the manager reports a normal stop.
TEST_F(ServiceLifeTest, AStopDoesNotWaitForACallThatNeverReturns) {
  InstallAndStart("500ms");
  const absl::Status injected =
      InstalledNode().InjectFault("operation: 'filesystem.PathExists' times: 1 stuck: true");
  ASSERT_TRUE(injected.ok()) << injected;
  absl::Status answer;
  std::thread caller([&] { answer = Call(); });
  const absl::Time taken_by = absl::Now() + absl::Minutes(1);
  while (InstalledNode().Dump().fault_size() > 0 && absl::Now() < taken_by) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  const absl::Time start = absl::Now();
  EXPECT_EQ(Run({"stop"}), 0) << said_;
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_THAT(said_, Not(HasSubstr("end process"))) << "it ended by itself";
  caller.join();
  EXPECT_FALSE(answer.ok());
  EXPECT_THAT(Log(), HasSubstr("the calls still under way are abandoned"));
  EXPECT_EQ(Run({"status"}), 0);
  EXPECT_THAT(said_, HasSubstr("it was stopped normally"));
  ASSERT_EQ(Run({"start"}), 0) << said_ << Log();
  EXPECT_TRUE(Call().ok());
}

// Wine 8's manager does not notice the end of a process that it did not ask to end, so the
// installer waits here in vain for the state. Tests with a manager in memory cover that wait.
TEST_F(ServiceLifeTest, UninstallKillsAProgramThatDoesNotStop) {
  const std::vector<std::string> named = {"--name=unstoppable", "--timeout=2s"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), named.begin(), named.end());
    return Run(std::move(arguments));
  };
  const absl::Cleanup removed = [this] { Execute({"sc.exe", "delete", "unstoppable"}); };
  fs::copy_file(UNSTOPPABLE_SERVICE_BINARY, directory_ / "csi-proxy-unstoppable.exe");
  ASSERT_EQ(run({"install", "--binary", (directory_ / "csi-proxy-unstoppable.exe").string()}), 0)
      << said_;
  ASSERT_EQ(run({"start"}), 0) << said_;
  ASSERT_EQ(run({"status"}), 0) << said_;
  const size_t at = said_.find("process ");
  ASSERT_NE(at, said_.npos) << said_;
  const auto pid = static_cast<DWORD>(std::strtoul(said_.c_str() + at + 8, nullptr, 10));
  const win32::UniqueHandle process(OpenProcess(SYNCHRONIZE, FALSE, pid));
  ASSERT_TRUE(process.valid());
  EXPECT_EQ(WaitForSingleObject(process.get(), 0), DWORD{WAIT_TIMEOUT});
  run({"stop"});
  EXPECT_THAT(said_, HasSubstr(absl::StrCat("end process ", pid)));
  EXPECT_EQ(WaitForSingleObject(process.get(), 5'000), DWORD{WAIT_OBJECT_0});
}

TEST_F(ServiceLifeTest, TheErrorSaysWhyAServiceCannotStart) {
  EXPECT_EQ(Run({"install", "--binary", Program().string(), "--", "--no-such-flag"}), 2);
  EXPECT_THAT(said_, HasSubstr("--no-such-flag"));
  ASSERT_EQ(Execute({"sc.exe", "create", "csiproxy",
                     absl::StrCat("binPath=", Program().string(), " --no-such-flag")}),
            0)
      << said_;
  EXPECT_EQ(Run({"start"}), 1);
  EXPECT_THAT(said_, HasSubstr("exit code 2: a flag is wrong"));
  EXPECT_EQ(Run({"uninstall"}), 0) << said_;
}

// Installs the service as the README of the Go service says, under the other name that bootstraps
// use.
TEST_F(ServiceLifeTest, InstallTakesOverAServiceThatWasCreatedByHand) {
  const std::string log = LogPath();
  ASSERT_EQ(
      Execute({"sc.exe", "create", "csiproxy",
               absl::StrCat("binPath=", Program().string(),
                            " -windows-service --host=simulated -logtostderr=false -log_file=", log,
                            " ", kOpenToAll)}),
      0)
      << said_;
  ASSERT_EQ(Execute({"sc.exe", "start", "csiproxy"}), 0) << said_;
  const absl::Time give_up = absl::Now() + absl::Seconds(20);
  while (!Call().ok() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_TRUE(Call().ok());
  // The installer finds the service without --name and keeps its flags.
  ASSERT_EQ(Run({"install", "--binary", Program().string()}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("change service csiproxy"));
  ASSERT_EQ(Run({"stop"}), 0) << said_;
  ASSERT_EQ(Run({"start"}), 0) << said_;
  EXPECT_TRUE(Call().ok());
  ASSERT_EQ(Run({"status"}), 0);
  EXPECT_THAT(said_, HasSubstr(log));
  ASSERT_EQ(Run({"uninstall"}), 0) << said_;
}

}  // namespace
}  // namespace csi_proxy::integration
