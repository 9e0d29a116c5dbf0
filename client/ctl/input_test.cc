#include "client/ctl/input.h"

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "client/cpp/testing_posix.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

class InputTest : public testing::Test {
 protected:
  // Returns the path of a file with that content.
  std::string File(const std::string& content) {
    const std::string path = directory_.path() + "/file";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  TemporaryDirectory directory_;
  std::istringstream standard_input_{"typed\nmore\n"};
  Input input_{standard_input_};
};

TEST_F(InputTest, FilesAreReadWhole) {
  EXPECT_EQ(input_.Read(File(std::string("a\n\0b\n", 5))).value(), std::string("a\n\0b\n", 5));
  EXPECT_EQ(input_.Read(File("")).value(), "");
}

TEST_F(InputTest, SecretsLoseTheirLastLineBreakAlone) {
  EXPECT_EQ(input_.ReadSecret(File("a b \n")).value(), "a b ");
  EXPECT_EQ(input_.ReadSecret(File("a\r\n")).value(), "a");
  EXPECT_EQ(input_.ReadSecret(File("a\n\n")).value(), "a\n");
  EXPECT_EQ(input_.ReadSecret(File("a\r")).value(), "a\r");
  EXPECT_EQ(input_.ReadSecret(File("a")).value(), "a");
  EXPECT_EQ(input_.ReadSecret(File("\xEF\xBB\xBFpw\r\n")).value(), "pw");
  EXPECT_TRUE(absl::StrContains(input_.ReadSecret(File("\xFF\xFEp")).status().message(),
                                "is UTF-16: save it as UTF-8"));
  EXPECT_EQ(input_.ReadSecret("-").value(), "typed\nmore");
}

TEST_F(InputTest, StandardInputIsReadOnce) {
  EXPECT_EQ(input_.Read("-").value(), "typed\nmore\n");
  EXPECT_TRUE(absl::IsInvalidArgument(input_.Read("-").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(input_.ReadSecret("-").status()));
}

// A file that cannot be read must not make a secret empty.
TEST_F(InputTest, WhatCannotBeReadIsAnErrorThatNamesIt) {
  for (const std::string& path : {directory_.path() + "/none", directory_.path(), std::string()}) {
    for (const auto& result : {input_.Read(path), input_.ReadSecret(path)}) {
      EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << path;
      EXPECT_TRUE(absl::StrContains(result.status().message(), "\"" + path + "\""))
          << result.status();
    }
  }
}

}  // namespace
}  // namespace csi_proxy::ctl
