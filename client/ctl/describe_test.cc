#include <iterator>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "api/released.h"
#include "client/ctl/commands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;

class DescribeTest : public testing::Test {
 protected:
  int Run(RunCommand* command, const std::vector<std::string>& words, const std::string& api = "") {
    out_.str("");
    err_.str("");
    CommandLine line;
    line.words = words;
    line.api = api;
    std::istringstream in;
    Input input(in);
    return command(catalog_, line, {input, out_, err_}).value_or(kUsage);
  }
  int Describe(const std::vector<std::string>& words, const std::string& api = "") {
    return Run(&ctl::Describe, words, api);
  }
  int Help(const std::vector<std::string>& words, const std::string& api = "") {
    return Run(&ctl::Help, words, api);
  }

  const Catalog catalog_;
  std::ostringstream out_, err_;
};

TEST_F(DescribeTest, DescribeShowsAMethodsFieldsAndItsCommandLine) {
  ASSERT_EQ(Describe({"describe", "volume", "resize-volume"}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("volume v1 ResizeVolume\n  Grows the partition"));
  EXPECT_THAT(out_.str(), HasSubstr("size_bytes (int64)  "));
  EXPECT_THAT(out_.str(), HasSubstr("returns nothing"));
  EXPECT_THAT(out_.str(), HasSubstr("csi-proxyctl volume resize-volume --api=v1 "
                                    "--volume-id=STRING --size-bytes=INT64"));
}

TEST_F(DescribeTest, DescribeShowsNestedFieldsEnumsAndMaps) {
  ASSERT_EQ(Describe({"describe", "iscsi", "ConnectTarget"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("    target_portal (TargetPortal)"));
  EXPECT_THAT(out_.str(), HasSubstr("\n      target_address (string)"));
  EXPECT_THAT(out_.str(), HasSubstr("NONE|ONE_WAY_CHAP|MUTUAL_CHAP)"));
  ASSERT_EQ(Describe({"describe", "disk", "ListDiskIDs"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("diskIDs (map from uint32 to DiskIDs)"));
  EXPECT_THAT(out_.str(), HasSubstr("\n      page83 (string)"));
}

TEST_F(DescribeTest, DescribeShowsAGroupInTheRequestedVersion) {
  ASSERT_EQ(Describe({"describe", "Filesystem"}, "v1beta1"), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("filesystem v1beta1 LinkPath"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("CreateSymlink")));
  ASSERT_EQ(Describe({"describe", "filesystem"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("filesystem v1 CreateSymlink"));
  ASSERT_EQ(Describe({"describe", "sim"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("csi-proxyctl sim grow-disk --disk-number=UINT32"));
}

TEST_F(DescribeTest, HelpOnAMethodShowsEffectFieldsErrorsAndAnExample) {
  ASSERT_EQ(Help({"help", "storage", "set-disk-read-only"}), kOk) << err_.str();
  EXPECT_EQ(out_.str(), R"(storage set-disk-read-only - /v1alpha1.Storage/SetDiskReadOnly

Sets or clears a disk's read-only flag. Succeeds if the flag has the wanted value already. Before it
sets the flag it writes pending data to the disk. A file system that was mounted while the flag was
set refuses writes until it is mounted again. FAILED_PRECONDITION when the flag is to be set on a
disk that is offline or that Windows lives on (see StageVolume).

Fields of the request:
  --disk-number=UINT32        The number of the disk.
  --read-only=BOOL            The new value of the flag.

Example:
  csi-proxyctl storage set-disk-read-only --disk-number=1 --read-only

Fields of the response: none

Errors:
  FAILED_PRECONDITION when the flag is to be set on a disk that is offline or that Windows lives
    on (see StageVolume)
  as of every call, INVALID_ARGUMENT when a field is wrong, UNAVAILABLE when no service answers,
    DEADLINE_EXCEEDED after --timeout, and RESOURCE_EXHAUSTED when the service is busy

Versions that have it, for --api: v1alpha1
Flags of every call: csi-proxyctl --help
)");
}

TEST_F(DescribeTest, HelpShowsNestedFieldsEnumsSecretsAndLists) {
  ASSERT_EQ(Help({"iscsi", "ConnectTarget"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("  --target-portal.target-port=UINT32\n" +
                                    std::string(30, ' ') + "The TCP port; 0 means 3260.\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\n    ONE_WAY_CHAP              The target checks "));
  EXPECT_THAT(out_.str(), HasSubstr(" --chap-secret-file=PATH reads"));
  ASSERT_EQ(Help({"storage", "ListMounts"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\n    state (MountState)        Whether the mount works.\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\n      DANGLING                Its target is not there: "));
  ASSERT_EQ(Help({"sim", "SetOtherOpens"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\n  --json, other_open (list of OtherOpen)"));
}

// Errors come from the comments of the version, or else the hub, and of fields and the group.
TEST_F(DescribeTest, HelpListsTheErrorsThatTheCommentsName) {
  ASSERT_EQ(Help({"storage", "StageVolume"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\n  NOT_FOUND when there is no such disk\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\n  ALREADY_EXISTS when another volume is mounted there\n"));
  ASSERT_EQ(Help({"storage", "ListMounts"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\n  --path: NOT_FOUND when nothing is there\n"));
  ASSERT_EQ(Help({"smb", "RemoveSmbGlobalMapping"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\n  NOT_FOUND when there is none\n"));
  ASSERT_EQ(Help({"filesystem", "Mkdir"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("is PERMISSION_DENIED\n"));
}

TEST_F(DescribeTest, HelpOnAGroupHasALineForEachMethod) {
  ASSERT_EQ(Help({"help", "Volume"}), kOk);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n');
  EXPECT_EQ(lines[0], "volume v1 - Volumes: formatting, mounting, growing, measuring.");
  EXPECT_THAT(lines,
              testing::Contains("  mount-volume                            Mounts a volume at "
                                "an existing empty directory"));
  EXPECT_THAT(out_.str(), HasSubstr("  get-closest-volume-id-from-target-path "));
  EXPECT_THAT(out_.str(), Not(HasSubstr("dismount-volume"))) << "unmount-volume follows it";
  EXPECT_THAT(out_.str(), HasSubstr("(v2alpha1)\n"));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100) << line;
  ASSERT_EQ(Help({"volume"}, "v1beta1"), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\n  dismount-volume "));
  ASSERT_EQ(Help({"sim"}), kOk);
  EXPECT_THAT(out_.str(), testing::StartsWith("sim - Changes a simulated node"));
}

TEST_F(DescribeTest, EveryExampleParsesAsARequestOfItsMethod) {
  for (const Method& method : catalog_.AllMethods()) {
    const std::string example = ExampleOf(catalog_, method);
    std::vector<std::string> words = absl::StrSplit(example, ' ');
    for (std::string& word : words) absl::StrReplaceAll({{"'", ""}}, &word);
    words.erase(words.begin());
    const absl::StatusOr<CommandLine> line = ParseCommandLine(words);
    ASSERT_TRUE(line.ok()) << example;
    ASSERT_EQ(line->words.size(), 2) << example;
    const auto found = catalog_.Find(line->words[0], line->words[1], line->api);
    ASSERT_TRUE(found.ok()) << example;
    EXPECT_EQ(found->descriptor, method.descriptor) << example;
    const auto request = catalog_.New(method.descriptor->input_type());
    const auto secret = [](const std::string&) -> absl::StatusOr<std::string> { return "secret"; };
    EXPECT_TRUE(SetFields(catalog_, method.group, line->fields, secret, request.get()).ok())
        << example;
    // The example of a request with fields sets at least one of them.
    const bool has_flags = !FieldFlags(*method.descriptor->input_type()).empty();
    const bool all_optional = method.descriptor->name() == "SetBehaviour" ||
                              method.descriptor->name() == "DumpState" ||
                              method.descriptor->name() == "ListDisks";
    EXPECT_EQ(line->fields.empty(), !has_flags || all_optional) << example;
  }
}

TEST_F(DescribeTest, TheListHasALineForEachVersion) {
  ASSERT_EQ(Run(&List, {"list"}), kOk);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), std::size(api::kReleasedVersions) + 1) << "with that of sim";
  EXPECT_THAT(out_.str(), HasSubstr("system v1alpha1: GetBIOSSerialNumber StartService "
                                    "StopService GetService\n"));
  EXPECT_EQ(lines.back().find("sim: AttachDisk "), 0);
}

}  // namespace
}  // namespace csi_proxy::ctl
