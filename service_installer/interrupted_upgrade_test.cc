// Tests what a later run does after an installer was killed, and while another installer works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service_installer/installer.h"
#include "service_installer/testing.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kUser[] = "S-1-5-21-1-2-3-1001";

// Where the upgrade is killed, in the order of its steps.
enum Kill { kBeforeStop, kBeforeMoves, kBetweenMoves, kBeforeStart, kWhileWaiting };

class InterruptedTest : public InstallerTest {
 protected:
  InterruptedTest() { fs::create_directories(directory_ / "programs"); }
  ~InterruptedTest() override { fs::remove_all(Kept()); }

  // Upgrades `v1` to a program that does not answer, and leaves the node as if the installer had
  // been killed.
  void Interrupt(Kill kill, bool ran = true) {
    fs::remove_all(target_.parent_path());
    fs::create_directories(target_.parent_path());
    fs::remove_all(Kept());
    Program("programs/csi-proxy.exe", "serves v1");
    OldService("csi-proxy", target_, {"-windows-service"});
    if (!ran) services_.services.at("csi-proxy").status = {};
    services_.before_call = [&](const std::string& call) {
      if (absl::StartsWith(call, kill == kBeforeStop ? "stop" : "start") && kill < kWhileWaiting) {
        Keep();
      }
    };
    before_asking_ = [&] {
      if (Content(target_) == "mute v2") Keep();
    };
    EXPECT_TRUE(absl::IsAborted(New().Upgrade(Program("v2.exe", "mute v2"))));
    services_.before_call = nullptr;
    before_asking_ = nullptr;
    Return();
    if (kill == kBeforeMoves || kill == kBetweenMoves) fs::rename(target_, File(".new"));
    if (kill == kBeforeMoves) fs::rename(File(".old"), target_);
    services_.calls.clear();
    out_.str("");
  }

  // Keeps the first state of the node, and returns to it.
  void Keep() {
    if (fs::exists(Kept())) return;
    fs::copy(target_.parent_path(), Kept());
    services_kept_ = services_.services;
    program_kept_ = services_.running_program;
  }
  void Return() {
    fs::remove_all(target_.parent_path());
    fs::copy(Kept(), target_.parent_path());
    services_.services = services_kept_;
    services_.running_program = program_kept_;
  }

  absl::Status Install(const std::string& content) {
    fs::create_directories(directory_ / "unpacked");
    Program("unpacked/csi-proxy.exe", content);
    Program("unpacked/csi-proxy-service.exe", "installs");
    return New().Install(
        {.config = {}, .program = target_, .source = directory_ / "unpacked", .flags = {}});
  }
  absl::Status Upgrade(const std::string& content, bool repair_folders = false) {
    return New().Upgrade(Program("new.exe", content), repair_folders);
  }

  // Expects a finished upgrade or rollback: only the program is left.
  void ExpectDone(const std::string& content, bool runs = true) {
    EXPECT_EQ(Content(target_), content);
    EXPECT_EQ(services_.services.at("csi-proxy").status.state,
              runs ? ServiceState::kRunning : ServiceState::kStopped);
    EXPECT_EQ(services_.running_program, target_.string());
    EXPECT_FALSE(fs::exists(File(".old")));
    EXPECT_FALSE(fs::exists(MarkerOf(target_)));
  }

  fs::path File(const char* suffix) const { return target_.string() + suffix; }
  fs::path Kept() const { return directory_.string() + "-kept"; }
  static ObjectAccess OfAUser() { return {.owner = kUser, .entries = std::vector<AccessEntry>()}; }

  const fs::path target_ = directory_ / "programs" / "csi-proxy.exe";
  std::map<std::string, FakeManager::Service> services_kept_;
  std::string program_kept_;
};

// The program that never worked is not restored, and the service runs if it ran before. The upgrade
// may have started it.
TEST_F(InterruptedTest, TheNextRunBeginsWithTheLastProgramThatWorked) {
  for (const bool ran : {true, false}) {
    for (int i = ran ? kBeforeStop : kBeforeMoves; i <= kWhileWaiting; ++i) {
      SCOPED_TRACE(absl::StrCat("killed at ", i, ran ? "" : ", of a stopped service"));
      const auto kill = static_cast<Kill>(i);
      const bool runs = ran || kill == kWhileWaiting;
      Interrupt(kill, ran);
      EXPECT_TRUE(absl::IsAborted(Upgrade("fails v3")));
      ExpectDone("serves v1", runs);
      Interrupt(kill, ran);
      EXPECT_TRUE(Upgrade("serves v3").ok());
      ExpectDone("serves v3", runs);
      Interrupt(kill, ran);
      EXPECT_TRUE(absl::IsAborted(Install("fails v3")));
      ExpectDone("serves v1", runs);
      Interrupt(kill, ran);
      EXPECT_TRUE(Install("serves v3").ok());
      ExpectDone("serves v3", runs);
      // Without another program.
      Interrupt(kill, ran);
      EXPECT_TRUE(New().Install({.config = {}, .program = target_, .flags = {}}).ok());
      ExpectDone("serves v1", runs);
    }
  }
}

TEST_F(InterruptedTest, TheRunAfterAnInterruptionMayBeInterruptedToo) {
  Interrupt(kWhileWaiting);
  fs::remove_all(Kept());
  before_asking_ = [this] { Keep(); };
  EXPECT_TRUE(Upgrade("serves v3").ok());
  before_asking_ = nullptr;
  Return();
  EXPECT_EQ(Content(target_), "serves v1");
  EXPECT_TRUE(absl::IsAborted(Upgrade("fails v4")));
  ExpectDone("serves v1");
}

TEST_F(InterruptedTest, AProgramThatWorkedIsNotReplacedByAnEarlierOne) {
  Interrupt(kWhileWaiting);
  std::ofstream(target_) << "serves v2";
  EXPECT_TRUE(absl::IsAborted(Upgrade("fails v3")));
  EXPECT_EQ(Content(target_), "serves v2");
  EXPECT_FALSE(fs::exists(MarkerOf(target_)));
  fs::remove(File(".old"));
  EXPECT_TRUE(absl::IsAborted(Upgrade("fails v3")));
  ExpectDone("serves v2");
}

TEST_F(InterruptedTest, AServiceThatWasStartedSinceRunsOn) {
  for (const char* old : {"serves v1", "serves one v1", "fails v1"}) {
    SCOPED_TRACE(old);
    Interrupt(kBeforeMoves, false);
    ASSERT_TRUE(New().Start().ok());
    std::ofstream(target_) << old;
    EXPECT_TRUE(Upgrade("serves v3").ok());
    ExpectDone("serves v3");
  }
}

// The marker knows the pipes, even if the old program does not answer any more. The new program
// need not serve more pipes than an old one that runs.
TEST_F(InterruptedTest, TheNewProgramServesThePipesFromBeforeTheInterruption) {
  Interrupt(kWhileWaiting);
  std::ofstream(File(".old")) << "mute v1";
  EXPECT_TRUE(absl::IsInternal(Upgrade("serves one v3")));
  EXPECT_THAT(out_.str(), HasSubstr("the old program does not run again: 0 pipes answer, not all"));
  EXPECT_EQ(Content(target_), "mute v1");
  EXPECT_TRUE(Upgrade("serves v4").ok());
  ExpectDone("serves v4");

  Interrupt(kWhileWaiting);
  std::ofstream(File(".old")) << "serves one v1";
  EXPECT_TRUE(absl::IsAborted(Upgrade("fails v3")));
  ExpectDone("serves one v1");
  Interrupt(kWhileWaiting);
  std::ofstream(File(".old")) << "serves one v1";
  EXPECT_TRUE(Upgrade("serves one v3").ok());
  EXPECT_THAT(out_.str(), HasSubstr("the old program does not run again: 1 pipes answer, not all"));
  ExpectDone("serves one v3");
}

// A power failure may have cut the marker off. Then the program is still the old one, and the file
// that a damaged marker does not name stays.
TEST_F(InterruptedTest, AnUnreadableMarkerOnlySaysThatAnUpgradeWasInterrupted) {
  for (const char* marker : {"", ".old\nstopped\nend\n", ".old\nstopped\n7\ncsi-proxy-disk-v1\n",
                             ".new\nstopped\n7\nend\n"}) {
    SCOPED_TRACE(marker);
    Interrupt(kBeforeMoves);
    std::ofstream(MarkerOf(target_)) << marker;
    EXPECT_TRUE(absl::IsAborted(Upgrade("fails v3")));
    ExpectDone("serves v1");
  }
  Interrupt(kWhileWaiting);
  std::ofstream(MarkerOf(target_)) << "";
  EXPECT_FALSE(Upgrade("fails v3").ok());
  EXPECT_EQ(Content(File(".old")), "serves v1");
  EXPECT_TRUE(Upgrade("serves v3").ok());
  ExpectDone("serves v3");

  Interrupt(kBetweenMoves);
  std::ofstream(MarkerOf(target_)) << "";
  EXPECT_THAT(Upgrade("serves v3").message(), HasSubstr("there is no program"));
  EXPECT_TRUE(Install("serves v3").ok());
  EXPECT_EQ(Content(target_), "serves v3");
  EXPECT_FALSE(fs::exists(MarkerOf(target_)));
}

TEST_F(InterruptedTest, ANewServiceDoesNotGetAnEarlierMarker) {
  Interrupt(kWhileWaiting);
  services_.services.clear();
  EXPECT_TRUE(Install("serves v3").ok());
  EXPECT_FALSE(fs::exists(MarkerOf(target_)));
}

TEST_F(InterruptedTest, TheMarkerSaysWhatALaterRunNeeds) {
  Interrupt(kBeforeStop);
  EXPECT_EQ(Content(MarkerOf(target_)),
            ".old\nran\n7\ncsi-proxy-disk-v1\ncsi-proxy-volume-v1\nend\n");
  Interrupt(kBeforeMoves, false);
  EXPECT_EQ(Content(MarkerOf(target_)), ".old\nstopped\n7\nend\n");
}

TEST_F(InterruptedTest, DryRunOnlyPrints) {
  Interrupt(kWhileWaiting);
  EXPECT_TRUE(New("", true).Upgrade(Program("new.exe", "serves v3")).ok());
  EXPECT_THAT(out_.str(), HasSubstr("would undo the interrupted upgrade of " + target_.string()));
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_EQ(Content(target_), "mute v2");
}

// Another account may have made the files.
TEST_F(InterruptedTest, TheInstallerRefusesToPutBackAnUnsafeProgram) {
  Interrupt(kWhileWaiting);
  folders_.files = {{File(".old"), OfAUser()}};
  for (const absl::Status& status : {Upgrade("serves v3"), Install("serves v3")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(File(".old").string() + " is not a safe place"));
  }
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_EQ(Content(File(".old")), "serves v1");
  // A program that an unsafe marker names is not put back.
  folders_.files = {{MarkerOf(target_), OfAUser()}};
  EXPECT_TRUE(absl::IsAborted(Upgrade("fails v3")));
  EXPECT_EQ(Content(target_), "mute v2");
}

TEST_F(InterruptedTest, AnUnsafeMarkerIsIgnored) {
  folders_.files = {{MarkerOf(target_), OfAUser()}};
  Interrupt(kWhileWaiting);
  EXPECT_TRUE(New("", true).Upgrade(Program("new.exe", "serves v3")).ok());
  EXPECT_THAT(out_.str(), HasSubstr("would ignore the marker: " + MarkerOf(target_).string()));
  EXPECT_TRUE(fs::exists(MarkerOf(target_)));
  EXPECT_TRUE(Upgrade("serves v3").ok());
  EXPECT_THAT(out_.str(), Not(HasSubstr("undo")));
  ExpectDone("serves v3");
  Interrupt(kWhileWaiting);
  EXPECT_TRUE(Install("serves v3").ok());
  ExpectDone("serves v3");

  folders_.files = {};
  Interrupt(kWhileWaiting);
  folders_.unsafe = {target_.parent_path()};
  const absl::Status refused = Install("serves v3");
  EXPECT_THAT(refused.message(), HasSubstr("--repair-folders"));
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_TRUE(Upgrade("serves v3", true).ok());
  EXPECT_THAT(out_.str(), Not(HasSubstr("undo")));
  ExpectDone("serves v3");
}

TEST_F(InterruptedTest, AFolderThatTheRequestDoesNotUseIsLeftAlone) {
  const fs::path other = directory_ / "other" / "csi-proxy.exe";
  fs::create_directories(other.parent_path());
  Program("other/csi-proxy.exe", "serves v3");
  for (const bool safe : {true, false}) {
    Interrupt(kWhileWaiting);
    if (!safe) folders_.unsafe = {target_.parent_path()};
    EXPECT_TRUE(
        New().Install({.config = {}, .program = other, .flags = {}, .repair_folders = true}).ok());
    EXPECT_THAT(services_.calls, testing::ElementsAre("change csi-proxy"));
    EXPECT_FALSE(folders_.protected_folders.contains(target_.parent_path()));
    EXPECT_EQ(Content(target_), "mute v2");
    EXPECT_TRUE(fs::exists(MarkerOf(target_)));
  }
}

// The service runs on with the program at its place, whichever step fails.
TEST_F(InterruptedTest, TheServiceRunsOnIfTheUpgradeCannotBeUndone) {
  Interrupt(kWhileWaiting);
  std::ofstream(target_) << "stuck 2";
  services_.ends_unnoticed = true;
  EXPECT_FALSE(Upgrade("serves v3").ok());
  EXPECT_EQ(Content(target_), "stuck 2");
  EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kRunning);
  services_.ends_unnoticed = false;

  Interrupt(kWhileWaiting);
  services_.before_call = [this](const std::string&) { fs::remove(File(".old")); };
  EXPECT_THAT(Upgrade("serves v3").message(), HasSubstr("cannot move"));
  EXPECT_EQ(Content(target_), "mute v2");
  EXPECT_EQ(services_.services.at("csi-proxy").status.state, ServiceState::kRunning);
}

TEST_F(InterruptedTest, UpgradeIsRefusedIfARollbackWouldStartAnUnsafeProgram) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  folders_.files = {{target_, OfAUser()}};
  const absl::Status refused = Upgrade("fails v2");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("delete this file, and run install"));
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_FALSE(fs::exists(MarkerOf(target_)));
}

// A virus scanner may have taken the files.
TEST_F(InterruptedTest, TheErrorSaysThatNoProgramIsLeft) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  services_.services.at("csi-proxy").status = {};
  before_asking_ = [this] {
    if (Content(target_) != "mute v2") return;
    fs::remove(target_);
    fs::remove(File(".old"));
  };
  const absl::Status status = Upgrade("mute v2");
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("csi-proxy.exe is missing"));
}

// The service that is installed later does not get the earlier service's program.
TEST_F(InterruptedTest, UninstallEndsTheUpgrade) {
  Interrupt(kWhileWaiting);
  ASSERT_TRUE(New().Uninstall().ok());
  ASSERT_TRUE(Install("serves v3").ok());
  ASSERT_TRUE(New().Start().ok());
  EXPECT_TRUE(absl::IsAborted(Upgrade("fails v4")));
  EXPECT_EQ(Content(target_), "serves v3");
}

TEST_F(InterruptedTest, UninstallRemovesTheMarkerFirst) {
  Interrupt(kWhileWaiting);
  services_.can_delete = false;
  EXPECT_FALSE(New().Uninstall().ok());
  EXPECT_FALSE(fs::exists(MarkerOf(target_)));
}

TEST_F(InterruptedTest, UninstallTakesAnyCommandLine) {
  Interrupt(kWhileWaiting);
  services_.bad_command = true;
  const absl::Status status = New().Uninstall();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(services_.services, IsEmpty());
}

TEST_F(InterruptedTest, AMarkerThatCannotBeWrittenIsRemoved) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  folders_.disk_full = true;
  EXPECT_TRUE(absl::IsResourceExhausted(Upgrade("serves v2")));
  EXPECT_THAT(services_.calls, IsEmpty());
  EXPECT_FALSE(fs::exists(File(".new")));
  ExpectDone("serves v1");
}

TEST_F(InterruptedTest, EarlierProgramsThatAreLeftAreRemoved) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  for (const char* suffix :
       {".old", ".old1", ".old2", ".old3", ".old4", ".old5", ".old6", ".old7", ".old8", ".old9"}) {
    std::ofstream(File(suffix)) << "serves v0";
  }
  EXPECT_TRUE(Upgrade("serves v2").ok());
  ExpectDone("serves v2");
}

TEST_F(InterruptedTest, UpgradeIsRefusedIfNoNameIsLeftForTheOldProgram) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  for (const char* suffix :
       {".old", ".old1", ".old2", ".old3", ".old4", ".old5", ".old6", ".old7", ".old8", ".old9"}) {
    fs::create_directories(File(suffix));
  }
  EXPECT_THAT(Upgrade("serves v2").message(), HasSubstr("delete these files"));
  EXPECT_THAT(services_.calls, IsEmpty());
  fs::remove(File(".old9"));
  EXPECT_TRUE(Upgrade("serves v2").ok());
  ExpectDone("serves v2");
}

TEST_F(InterruptedTest, OnlyOneInstallerWorksAtATime) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  const auto others = [this] {
    return std::vector<absl::Status>{Install("serves v3"), Upgrade("serves v3"), New().Uninstall()};
  };
  locks_.taken = true;
  std::vector<absl::Status> refused = others();
  locks_.taken = false;
  EXPECT_THAT(services_.calls, IsEmpty());
  bool works = false;
  services_.before_call = [&](const std::string&) {
    if (std::exchange(works, true)) return;
    for (const absl::Status& status : others()) refused.push_back(status);
    works = false;
  };
  EXPECT_TRUE(New().Upgrade(Program("v2.exe", "serves v2")).ok());
  EXPECT_TRUE(Install("serves v2a").ok());
  EXPECT_TRUE(New().Uninstall().ok());
  services_.before_call = nullptr;
  EXPECT_EQ(refused.size(), 18u);
  for (const absl::Status& status : refused) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("another installer is at work"));
  }
  EXPECT_TRUE(Install("serves v3").ok());
}

// An installer that was killed while it ended the service's process has left them removed.
TEST_F(InterruptedTest, StartAndUpgradeRestoreTheFailureActions) {
  Program("programs/csi-proxy.exe", "serves v1");
  OldService("csi-proxy", target_, {"-windows-service"});
  services_.restart_suspended = true;
  ASSERT_TRUE(New("", true).Start().ok());
  EXPECT_TRUE(services_.restart_suspended);
  ASSERT_TRUE(New().Start().ok());
  EXPECT_FALSE(services_.restart_suspended);
  EXPECT_THAT(services_.calls, Not(Contains("start csi-proxy"))) << "the service runs already";
  for (const char* next : {"serves v2", "fails v3"}) {
    services_.restart_suspended = true;
    EXPECT_EQ(Upgrade(next).ok(), absl::StartsWith(next, "serves"));
    EXPECT_FALSE(services_.restart_suspended);
  }
  services_.can_resume = false;
  EXPECT_TRUE(New().Start().ok()) << "without the right to change the service";
  EXPECT_THAT(out_.str(), HasSubstr("the failure actions: csi-proxy"));
}

}  // namespace
}  // namespace csi_proxy::service_installer
