// The program as people run it, against a real service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/released.h"
#include "client/ctl/catalog.h"
#include "client/ctl/commands.h"
#include "client/ctl/end_to_end_testing.h"

namespace csi_proxy::integration {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(CtlTest, TablesAtATerminalShowTheShortColumns) {
  const Result disks = CtlAtTerminal("storage list-disks");
  EXPECT_EQ(disks.exit_code, 0) << disks.output;
  const std::vector<std::string> lines = absl::StrSplit(disks.output, "\r\n");
  EXPECT_EQ(lines[0],
            "DISK  BUS  SIZE    STYLE  USE      STATE                        SERIAL OR PAGE 83");
  EXPECT_EQ(lines[4],
            "3     -    5 GiB   RAW    -        offline (Policy), read-only  Google  pvc-1f2e3d4c");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100) << line;
  EXPECT_THAT(CtlAtTerminal("storage list-disks -o wide").output, HasSubstr("  5368709120 "));
  // Scripts get all columns, as in earlier releases.
  EXPECT_EQ(Ctl("storage list-disks -o table").output, Ctl("storage list-disks -o wide").output);
  EXPECT_THAT(Ctl("storage list-disks").output, HasSubstr("\"size_bytes\": \"5368709120\""));
  EXPECT_EQ(Ctl("storage list-disks -o name").output, "0\n1\n2\n3\n4\n");
  EXPECT_THAT(Ctl("storage list-disks -o yaml").output,
              HasSubstr("\n    size_bytes: '5368709120'\n"));
}

TEST_F(CtlTest, OnlyVerboseShowsTheLogOfGrpc) {
  setenv("GRPC_VERBOSITY", "DEBUG", 1);
  EXPECT_FALSE(absl::StrContains(Ctl("system get-service --name=MSiSCSI").output, "gRPC: "));
  EXPECT_TRUE(absl::StrContains(Ctl("system get-service --name=MSiSCSI -v").output, "gRPC: "));
  unsetenv("GRPC_VERBOSITY");
}

TEST_F(CtlTest, EveryExampleOfTheHelpRuns) {
  const std::string password = server_->directory() + "/password";
  std::ofstream(password) << "correct horse\n";
  const ctl::Catalog catalog;
  int done = 0;
  for (const ctl::Method& method : catalog.AllMethods()) {
    const std::string& name = method.descriptor->name();
    // Runs each method once, in its preferred version. Skips versions that have a successor.
    const bool is_preferred = catalog.Find(method.group, name, "")->version == method.version;
    if (!is_preferred || !catalog.Successor(method.group, method.version).empty()) continue;
    const std::string line = ctl::ExampleOf(catalog, method);
    absl::string_view example = line;
    ASSERT_TRUE(absl::ConsumePrefix(&example, "csi-proxyctl ")) << example;
    const Result result = Ctl(absl::StrCat(example, " <", password));
    if (result.exit_code == 0) ++done;
    EXPECT_LE(result.exit_code, 1) << example << "\n" << result.output;
    for (const char* wrong : {"INVALID_ARGUMENT", "PERMISSION_DENIED", "UNIMPLEMENTED"}) {
      EXPECT_THAT(result.output, Not(HasSubstr(wrong))) << example;
    }
  }
  EXPECT_GE(done, 35) << "others want a node that is prepared";
}

// Output into a pipe has a line for each change.
TEST_F(CtlTest, AWatchPrintsChangesUntilItIsInterrupted) {
  const std::string command = Command("disk get-disk-state --disk-number=1 --watch=0.1");
  FILE* const pipe =
      popen(absl::StrCat("echo $$; exec env --default-signal=INT ", command).c_str(), "r");
  const auto next = [pipe] {
    char line[1024];
    return fgets(line, sizeof(line), pipe) == nullptr ? std::string() : std::string(line);
  };
  int pid;
  ASSERT_TRUE(absl::SimpleAtoi(next(), &pid));
  EXPECT_EQ(next(), "{\"is_online\":true}\n");
  EXPECT_EQ(Ctl("disk set-disk-state --disk-number=1 --is-online=false").exit_code, 0);
  EXPECT_EQ(next(), "{\"is_online\":false}\n");
  ASSERT_TRUE(server_->InjectFault("operation: 'disk.*' code: 'INTERNAL' times: 3").ok());
  EXPECT_THAT(next(), HasSubstr("error: INTERNAL: "));
  EXPECT_EQ(next(), "the service answers again\n");
  server_->Stop(absl::Seconds(20));
  EXPECT_THAT(next(), HasSubstr("error: UNAVAILABLE: "));
  kill(pid, SIGINT);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

TEST_F(CtlTest, DoctorReportsEveryPipeWhileTheServiceRuns) {
  constexpr size_t kVersions = std::size(api::kReleasedVersions);
  const Result well = Ctl("doctor");
  EXPECT_EQ(well.exit_code, 0);
  EXPECT_THAT(well.output,
              HasSubstr(absl::StrCat("\n", kVersions, " of ", kVersions, " pipes answer\n")));
  EXPECT_THAT(well.output, HasSubstr("\nsmb         storage list-smb-mappings    OK "));
  server_->Stop(absl::Seconds(20));
  const Result ill = Ctl("doctor");
  EXPECT_EQ(ill.exit_code, 1);
  EXPECT_THAT(ill.output, HasSubstr(absl::StrCat("\n0 of ", kVersions, " pipes answer\n")));
}

TEST_F(CtlTest, TopShowsTheCallsOfEachClient) {
  ASSERT_EQ(Ctl("disk rescan").exit_code, 0);
  ASSERT_EQ(Ctl("disk rescan --api=v1beta1").exit_code, 0);
  ASSERT_EQ(Ctl("system get-service --name=nonesuch").exit_code, 1);
  const Result json = Ctl("top --metrics=" + metrics_);
  ASSERT_EQ(json.exit_code, 0) << json.output;
  EXPECT_THAT(json.output, HasSubstr("\"rpc\": \"v1.Disk/Rescan\",\n   \"calls\": 1,"));
  EXPECT_THAT(json.output, HasSubstr("\"client\": \"csi-proxyctl\",\n   \"group\": \"disk\",\n   "
                                     "\"version\": \"v1beta1\",\n   \"calls\": 1,"));
  const Result table = Ctl("top --once --output=table --metrics=" + metrics_);
  EXPECT_THAT(table.output, HasSubstr("csi-proxy at 127.0.0.1:"));
  EXPECT_THAT(table.output, HasSubstr("\nlimits and switches: the defaults\n"));
  EXPECT_THAT(table.output, HasSubstr("\nv1alpha1.System/GetService  1 "));
  EXPECT_THAT(table.output, HasSubstr("\ndisk        0        0\n"));
  const Result interval = Ctl("top --once --interval=100ms --output=table --metrics=" + metrics_);
  EXPECT_EQ(interval.exit_code, 0);
  EXPECT_THAT(interval.output, HasSubstr("\nno calls have ended\n"));
  server_->Stop(absl::Seconds(20));
  EXPECT_EQ(Ctl("top --metrics=" + metrics_).exit_code, 3);
  EXPECT_EQ(Ctl("--timeout=soon list").exit_code, 2);
}

}  // namespace
}  // namespace csi_proxy::integration
