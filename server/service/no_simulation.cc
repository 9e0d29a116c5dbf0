#include "absl/strings/str_cat.h"
#include "server/service/open_node.h"

namespace csi_proxy {
namespace {

absl::Status HoldsNone(absl::string_view flag) {
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": this program has no simulated node: run csi-proxy-simulated.exe instead"));
}

}  // namespace

absl::StatusOr<OpenedMachine> OpenSimulation(const std::string&, LineFunction,
                                             std::vector<ExtraService>*) {
  return HoldsNone("--host=simulated");
}

absl::StatusOr<std::string> ListScenarios() { return HoldsNone("--list-scenarios"); }

}  // namespace csi_proxy
