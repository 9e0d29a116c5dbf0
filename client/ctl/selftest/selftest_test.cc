#include "client/ctl/selftest/selftest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "client/ctl/command_line.h"
#include "client/ctl/pipes_testing.h"
#include "client/ctl/request.h"

namespace csi_proxy::ctl::selftest {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunTest : public testing::Test {
 protected:
  RunTest() {
    options_.set_disk(4);
    EXPECT_TRUE(Complete(&options_).ok());
  }

  const StepReport& Of(const std::string& name) {
    for (const StepReport& step : report_.steps()) {
      if (step.name() == name) return step;
    }
    ADD_FAILURE() << "no step " << name;
    return StepReport::default_instance();
  }

  void Run(const std::vector<Step>& steps) {
    report_ = selftest::Run(steps, options_, rpcs_, [](const std::string&) {});
  }
  // Runs the named steps without the steps that they need.
  void RunOnly(const std::set<std::string>& names) {
    std::vector<Step> steps;
    for (Step step : Steps()) {
      step.needs = "";
      if (names.contains(step.name)) steps.push_back(step);
    }
    Run(steps);
  }

  const Catalog catalog_;
  FakePipes pipes_;
  Rpcs rpcs_{catalog_, pipes_};
  Options options_;
  Report report_;
};

TEST(StepsTest, HelpNamesEveryFlag) {
  for (const std::string& flag : FieldFlags(*Options::descriptor())) {
    EXPECT_THAT(HelpText(), HasSubstr("\n  " + flag.substr(0, flag.find('=')))) << flag;
  }
}

TEST(CompleteTest, MissingOptionsGetTheirDefaults) {
  Options options;
  EXPECT_TRUE(absl::IsInvalidArgument(Complete(&options)));
  options.set_disk(0);
  ASSERT_TRUE(Complete(&options).ok());
  EXPECT_EQ(options.work_dir(), R"(C:\var\lib\kubelet\csi-proxy-selftest)");
  EXPECT_EQ(options.service(), "EventLog");
  options.set_work_dir(R"(D:\a\\)");
  ASSERT_TRUE(Complete(&options).ok());
  EXPECT_EQ(options.work_dir(), R"(D:\a)");
  for (const auto& set :
       {&Options::set_smb_share<const char*>, &Options::set_smb_username<const char*>,
        &Options::set_iscsi_iqn<const char*>}) {
    Options half = options;
    (half.*set)("x");
    EXPECT_TRUE(absl::IsInvalidArgument(Complete(&half))) << half.ShortDebugString();
  }
}

TEST_F(RunTest, StepsAreUndoneInReverseOrder) {
  pipes_.answers["filesystem.Rmdir"] = {absl::NotFoundError("gone already"), ""};
  pipes_.answers["volume.WriteVolumeCache"] = {absl::InternalError("stuck"), ""};
  Run({{"one", "", "", "", "", [](Attempt& attempt) {
          attempt.AddUndo({"scan", "disk.Rescan", {}});
          attempt.AddUndo({"directory", "filesystem.Rmdir", {{"path", "p"}}});
          attempt.AddUndo({"other", "filesystem.RmdirContents", {}});
          attempt.AddUndo({"cache", "volume.WriteVolumeCache", {}});
          attempt.RemoveUndo("other");
          attempt.Expect(false, "after which nothing is taken back or called");
          attempt.RemoveUndo("scan");
          attempt.Call("disk.ListDiskIDs");
          return std::string();
        }}});
  EXPECT_THAT(pipes_.sent, ElementsAre("v1 volume.WriteVolumeCache ",
                                       "v1 filesystem.Rmdir path: \"p\"", "v1 disk.Rescan "));
  EXPECT_EQ(Of(kCleanUp).result(), FAILED);
  EXPECT_EQ(Of(kCleanUp).detail(), "left behind: cache: volume.WriteVolumeCache: INTERNAL: stuck");
}

TEST_F(RunTest, CallsThatWouldChangeAnotherDiskAreNotSent) {
  Run({{"disk", "", "", "", "",
        [](Attempt& attempt) {
          attempt.Call("disk.GetDiskState", {{"disk-number", "5"}});
          attempt.Call("disk.SetDiskState", {{"disk-number", "4"}});
          attempt.Call("disk.SetDiskState", {{"disk_number", "5"}});
          return std::string();
        }},
       {"stage", "", "", "", "",
        [](Attempt& attempt) {
          attempt.Call("storage.StageVolume", {{"disk.number", "5"}});
          return std::string();
        }},
       {"volume", "", "", "", "", [](Attempt& attempt) {
          attempt.Call("volume.FormatVolume", {{"volume-id", "another"}});
          return std::string();
        }}});
  EXPECT_THAT(pipes_.sent, ElementsAre("v1 disk.GetDiskState disk_number: 5",
                                       "v1 disk.SetDiskState disk_number: 4"));
  for (const char* step : {"disk", "stage", "volume"}) EXPECT_EQ(Of(step).result(), FAILED) << step;
}

// The volume that ListVolumesOnDisk returns must report the same disk.
TEST_F(RunTest, AVolumeOfAnotherDiskIsNotFormatted) {
  pipes_.answers["volume.ListVolumesOnDisk"].json = R"({"volume_ids": ["v"]})";
  pipes_.answers["volume.GetDiskNumberFromVolumeID"].json = R"({"disk_number": 5})";
  RunOnly({"partition", "format"});
  EXPECT_EQ(Of("format").result(), FAILED);
  EXPECT_THAT(pipes_.sent, Not(Contains(HasSubstr("FormatVolume"))));
}

TEST_F(RunTest, AFormattedVolumeFailsTheRunUnlessDiskIsMineIsSet) {
  pipes_.answers["volume.IsVolumeFormatted"].json = R"({"formatted": true})";
  RunOnly({"unformatted"});
  EXPECT_EQ(Of("unformatted").result(), FAILED);
  options_.set_disk_is_mine(true);
  RunOnly({"unformatted"});
  EXPECT_EQ(Of("unformatted").result(), OK);
}

TEST_F(RunTest, AnAcceptedHostilePathFailsTheRunBeforeAnyChange) {
  RunOnly({"hostile-paths"});
  EXPECT_EQ(Of("hostile-paths").result(), FAILED);
  EXPECT_THAT(Of("hostile-paths").detail(), HasSubstr("wanted INVALID_ARGUMENT"));
  EXPECT_THAT(pipes_.sent, ElementsAre(HasSubstr("filesystem.PathExists")));
}

TEST_F(RunTest, ARefusalNeedsTheRightCodeAndText) {
  pipes_.answers["volume.GetVolumeIDFromTargetPath"] = {absl::NotFoundError("no volume there"), ""};
  RunOnly({"not-mounted"});
  EXPECT_THAT(Of("not-mounted").detail(), HasSubstr("\"because it does not exist\""));
  pipes_.answers["volume.GetVolumeIDFromTargetPath"] = {
      absl::InternalError("because it does not exist"), ""};
  RunOnly({"not-mounted"});
  EXPECT_EQ(Of("not-mounted").result(), FAILED);
  pipes_.answers["volume.GetVolumeIDFromTargetPath"] = {
      absl::NotFoundError("... because it does not exist"), ""};
  RunOnly({"not-mounted"});
  EXPECT_EQ(Of("not-mounted").result(), OK);
}

TEST_F(RunTest, AnExistingPipeMustAnswer) {
  pipes_.gone = {"volume v1alpha1"};
  RunOnly({"pipes"});
  EXPECT_EQ(Of("pipes").result(), OK);
  EXPECT_THAT(Of("pipes").detail(),
              Not(HasSubstr("volume v1 v2alpha1 v1beta3 v1beta2 v1beta1 v1alpha1")));
  pipes_.silent = {"smb v1beta2"};
  RunOnly({"pipes"});
  EXPECT_EQ(Of("pipes").result(), FAILED);
  EXPECT_THAT(Of("pipes").detail(), HasSubstr("smb v1beta2 (silence)"));
}

TEST_F(RunTest, APortalsAddressMayIncludeAPort) {
  struct Case {
    const char* text;
    const char* fields;
  };
  for (const Case& c :
       {Case{"10.0.0.5", "target_address: \"10.0.0.5\" }"},
        Case{"nas:860", "target_address: \"nas\" target_port: 860 }"},
        Case{"fe80::1", "target_address: \"fe80::1\" }"},
        Case{"[fe80::1]", "target_address: \"[fe80::1]\" }"},
        Case{"[fe80::1]:860", "target_address: \"[fe80::1]\" target_port: 860 }"}}) {
    pipes_.sent.clear();
    options_.set_iscsi_portal(c.text);
    RunOnly({"iscsi-portal"});
    EXPECT_THAT(pipes_.sent, Contains(HasSubstr(c.fields))) << c.text;
  }
}

TEST_F(RunTest, PortalsAndSessionsFromBeforeTheRunStay) {
  options_.set_iscsi_portal("nas");
  options_.set_iscsi_iqn("iqn.x");
  pipes_.answers["iscsi.DiscoverTargetPortal"].json = R"({"iqns": ["iqn.x"]})";
  pipes_.answers["iscsi.ListTargetPortals"].json = R"({"target_portals": [{}]})";
  pipes_.answers["iscsi.GetTargetDisks"].json = R"({"diskIDs": ["3"]})";
  std::vector<Step> steps;
  for (const Step& step : Steps()) {
    if (absl::StartsWith(step.name, "iscsi-")) steps.push_back(step);
  }
  Run(steps);
  EXPECT_TRUE(Passed(report_)) << ToText(report_);
  for (const char* rpc : {"ConnectTarget", "DisconnectTarget", "RemoveTargetPortal"}) {
    EXPECT_THAT(pipes_.sent, Not(Contains(HasSubstr(rpc))));
  }
}

TEST_F(RunTest, TheReportEscapesControlCharacters) {
  options_.set_note("a\x1b[31m");
  Run({{"one", "", "", "", "", [](Attempt&) { return std::string("b\nc"); }}});
  EXPECT_THAT(ToText(report_), HasSubstr("a\\x1b[31m"));
  EXPECT_THAT(ToText(report_), HasSubstr("b\\x0ac"));
}

}  // namespace
}  // namespace csi_proxy::ctl::selftest
