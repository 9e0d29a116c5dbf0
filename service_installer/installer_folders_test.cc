// Folders that other accounts may change, and files that they have put there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service_installer/installer.h"
#include "service_installer/testing.h"

namespace csi_proxy::installer {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kUser[] = "S-1-5-21-1-2-3-1001";

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
              testing::UnorderedElementsAre(testing::Pair(directory_, FolderUse::kPrograms)));
  EXPECT_THAT(services_.calls, ElementsAre("create csi-proxy"));
}

// A folder that a repair cannot make safe is refused.
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
  // A missing folder is created, even without `repair_folders`.
  folders_.protected_folders.clear();
  folders_.missing = {logs};
  request.repair_folders = false;
  EXPECT_TRUE(New().Install(request).ok());
  EXPECT_THAT(folders_.protected_folders,
              testing::UnorderedElementsAre(testing::Pair(logs, FolderUse::kLogs)));
}

// Users who could run csi-proxyctl can still run it.
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

TEST_F(InstallerTest, AnUpgradeRunsNothingThatOthersMayExchange) {
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

TEST_F(PlantedTest, ALogOfAUsersOwnIsRefusedThoughTheFolderIsRepaired) {
  ObjectAccess access = Safe();
  access.owner = kUser;
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("may change its access list, as its owner"));
  // spdlog rotates the log to this name, and case does not matter.
  EXPECT_THAT(Refusal("X.1.log", access), HasSubstr(kUser));
  access = Safe();
  access.entries->push_back({.rights = 0x2, .sid = "S-1-5-32-545"});
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("BUILTIN\\Users may add or change files"));
}

TEST_F(PlantedTest, ALogThatIsALinkIsRefused) {
  ObjectAccess access = Safe();
  access.is_link = true;
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("is a link"));
  access = Safe();
  access.names = 2;
  EXPECT_THAT(Refusal("x.log", access), HasSubstr("has another name"));
}

TEST_F(PlantedTest, OtherFilesAndTheServicesOwnAreNobodysConcern) {
  ObjectAccess access = Safe();
  folders_.files = {{logs_ / "x.log", access}};
  access.owner = kUser;
  folders_.files[logs_ / "xy.log"] = access;
  EXPECT_TRUE(New().Install(request_).ok());
}

// The program may no longer be the one that an administrator has put there.
TEST_F(PlantedTest, AProgramThatOthersCouldChangeIsNotMadeSafeByARepair) {
  ObjectAccess access = Safe();
  access.owner = kUser;
  folders_.files = {{request_.program, access}};
  const absl::Status status = New().Install(request_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--directory"));
  EXPECT_THAT(folders_.protected_folders, IsEmpty());
  EXPECT_THAT(services_.calls, IsEmpty());
}

TEST_F(PlantedTest, NothingIsRepairedBelowAFolderThatOthersMayExchange) {
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
TEST_F(PutProgramsTest, NothingIsPutIntoAFolderBeforeItIsKnownToBeSafe) {
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

TEST_F(PutProgramsTest, AFolderThatIsMissingIsMadeForAdministrators) {
  folders_.missing = {request_.program.parent_path()};
  ASSERT_TRUE(New().Install(request_).ok());
  EXPECT_THAT(folders_.protected_folders,
              ElementsAre(testing::Pair(request_.program.parent_path(), FolderUse::kPrograms)));
}

// Writing into the file would keep its owner, access list and hard links.
TEST_F(PutProgramsTest, NothingIsWrittenIntoAFileThatIsThere) {
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

TEST_F(PutProgramsTest, AServiceThatRunsTheProgramIsUpgradedWithRollback) {
  const fs::path program = Program("programs/csi-proxy.exe", "serves old");
  OldService("csi-proxy", program, {"-windows-service", "-v=2"});
  ASSERT_TRUE(New().Install(request_).ok());
  EXPECT_EQ(Content(program), "serves new");
  EXPECT_THAT(services_.calls, testing::IsSupersetOf({"stop csi-proxy", "start csi-proxy"}));
  Program("unpacked/csi-proxy.exe", "fails");
  EXPECT_TRUE(absl::IsAborted(New().Install(request_)));
  EXPECT_EQ(Content(program), "serves new");
}

TEST_F(PutProgramsTest, DryRunPutsNothing) {
  ASSERT_TRUE(New("", true).Install(request_).ok());
  EXPECT_TRUE(IsEmptyFolder());
  EXPECT_THAT(out_.str(), HasSubstr("would put csi-proxy-service.exe and csi-proxy.exe into"));
}

TEST_F(PutProgramsTest, AFolderIsNotInstalledIntoItself) {
  request_.program = *request_.source / "csi-proxy.exe";
  EXPECT_TRUE(absl::IsInvalidArgument(New().Install(request_)));
  EXPECT_EQ(Content(request_.program), "serves new");
}

}  // namespace
}  // namespace csi_proxy::installer
