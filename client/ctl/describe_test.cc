#include <iterator>
#include <sstream>

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
  int Describe(const std::vector<std::string>& words, const std::string& api = "") {
    out_.str("");
    err_.str("");
    CommandLine line;
    line.words = words;
    line.api = api;
    std::istringstream in;
    Input input(in);
    return ctl::Describe(catalog_, line, {input, out_, err_});
  }

  const Catalog catalog_;
  std::ostringstream out_, err_;
};

TEST_F(DescribeTest, AMethodWithItsFieldsAndHowToCallIt) {
  ASSERT_EQ(Describe({"describe", "volume", "resize-volume"}), kOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("volume v1 ResizeVolume\n  Grows the partition"));
  EXPECT_THAT(out_.str(), HasSubstr("size_bytes (int64)  "));
  EXPECT_THAT(out_.str(), HasSubstr("returns nothing"));
  EXPECT_THAT(out_.str(), HasSubstr("csi-proxyctl volume resize-volume --api=v1 "
                                    "--volume-id=STRING --size-bytes=INT64"));
}

TEST_F(DescribeTest, FieldsOfFieldsEnumsAndMaps) {
  ASSERT_EQ(Describe({"describe", "iscsi", "ConnectTarget"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("    target_portal (TargetPortal)"));
  EXPECT_THAT(out_.str(), HasSubstr("\n      target_address (string)"));
  EXPECT_THAT(out_.str(), HasSubstr("NONE|ONE_WAY_CHAP|MUTUAL_CHAP)"));
  ASSERT_EQ(Describe({"describe", "disk", "ListDiskIDs"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("diskIDs (map from uint32 to DiskIDs)"));
  EXPECT_THAT(out_.str(), HasSubstr("\n      page83 (string)"));
}

TEST_F(DescribeTest, AGroupInTheVersionAskedFor) {
  ASSERT_EQ(Describe({"describe", "Filesystem"}, "v1beta1"), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("filesystem v1beta1 LinkPath"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("CreateSymlink")));
  ASSERT_EQ(Describe({"describe", "filesystem"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("filesystem v1 CreateSymlink"));
  ASSERT_EQ(Describe({"describe", "sim"}), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("csi-proxyctl sim grow-disk --disk-number=UINT32"));
}

TEST_F(DescribeTest, WhatIsNotThereIsWrongUsage) {
  EXPECT_EQ(Describe({"describe", "volumes"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean volume?"));
  EXPECT_EQ(Describe({"describe", "volume"}, "v9"), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("v1beta3"));
  EXPECT_EQ(Describe({"describe", "volume", "mount"}), kUsage);
  EXPECT_EQ(Describe({"describe", "volume", "MountVolume", "x"}), kUsage);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(DescribeTest, TheListHasALineForEachVersion) {
  ASSERT_EQ(List(catalog_, out_), kOk);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), std::size(api::kReleasedVersions) + 1) << "with that of sim";
  EXPECT_THAT(out_.str(), HasSubstr("system v1alpha1: GetBIOSSerialNumber StartService "
                                    "StopService GetService\n"));
  EXPECT_EQ(lines.back().find("sim: AttachDisk "), 0);
}

}  // namespace
}  // namespace csi_proxy::ctl
