#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/sidecars/program/program_testing.h"
#include "server/service/product_version.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(ProgramTest, VersionAndHelp) {
  for (const std::string& program :
       {program_, Named("csi-node-driver-registrar"), Named("livenessprobe")}) {
    EXPECT_EQ(Run({program, "--version"}), 0);
    EXPECT_THAT(Output(), HasSubstr(absl::StrCat(program, " ", kVersion)));
    for (const std::string flag : {"-h", "--help"}) {
      EXPECT_EQ(Run({program, flag}), 0);
      EXPECT_THAT(Output(), HasSubstr("--kubelet-registration-path"));
    }
  }
}

TEST_F(ProgramTest, FormErrorsEndWith2AndUsage) {
  for (const std::string flag : {"--no-such-flag", "--v=much", "--health-port=1"}) {
    EXPECT_EQ(Run({program_, flag}), 2);
    EXPECT_THAT(Output(), AllOf(StartsWith(flag.substr(0, flag.find('='))),
                                HasSubstr("Accepted and ignored")));
  }
}

TEST_F(ProgramTest, RefusalsEndWith1AndALineOfTheLog) {
  EXPECT_EQ(Run({program_}), 1);
  EXPECT_THAT(Output(), AllOf(StartsWith("E"), HasSubstr("] --kubelet-registration-path")));
  EXPECT_EQ(Run({Named("node-driver-registrar")}), 1);
  EXPECT_THAT(Output(), HasSubstr("] --kubelet-registration-path"));
  EXPECT_EQ(Run({Named("livenessprobe"), "--health-port=1", "--http-endpoint=:2"}), 1);
  EXPECT_THAT(Output(), HasSubstr("--health-port"));
  // The library refuses these options.
  EXPECT_EQ(Run({program_, "--sidecars=livenessprobe", "--http-endpoint=here"}), 1);
  EXPECT_THAT(Output(), HasSubstr("http_endpoint"));
}

TEST_F(ProgramTest, RegistrationProbe) {
  const std::string name = Named("csi-node-driver-registrar");
  const auto probe = [&](const std::string& directory) {
    return Run({name, absl::StrCat("--kubelet-registration-path=", directory, "/csi.sock"),
                "--mode=kubelet-registration-probe"});
  };
  EXPECT_EQ(probe(directory_), 1);
  EXPECT_THAT(Output(), HasSubstr("there is no " + directory_ + "/registration"));
  std::ofstream(directory_ + "/registration").put('\n');
  EXPECT_EQ(probe(directory_), 0);
  EXPECT_THAT(Output(), HasSubstr("has registered the driver"));
  EXPECT_EQ(probe("/no/such/directory"), 0);
  EXPECT_THAT(Output(), HasSubstr("not known"));
}

}  // namespace
}  // namespace csi_proxy::sidecars
