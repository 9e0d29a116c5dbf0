// The service for Windows nodes must name the program that simulates.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "server/service/open_node.h"
#include "server/service/simulation.h"

namespace csi_proxy {
namespace {

void ExpectRefused(const absl::Status& status, absl::string_view flag) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), flag)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "csi-proxy-simulated.exe")) << status;
}

TEST(NoSimulationTest, TheProgramThatSimulatesIsNamed) {
  Options options;
  options.host = HostKind::kSimulated;
  ExpectRefused(OpenNode(options).status(), "--host=simulated: ");
  options.scenario = "azure-scsi";
  ExpectRefused(OpenNode(options).status(), "--host=simulated: ");
  ExpectRefused(ListScenarios().status(), "--list-scenarios: ");
}

}  // namespace
}  // namespace csi_proxy
