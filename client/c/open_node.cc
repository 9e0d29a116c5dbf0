#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/c/handles.h"
#include "client/c/options.pb.h"
#include "client/cpp/default_node.h"
#include "server/base/status_macros.h"
#ifndef CSI_PROXY_NO_SIMULATION
#include "client/testing/simulated_node.h"
#include "server/simulator/admin.h"
#endif

namespace csi_proxy::c {
namespace {

absl::StatusOr<embedded::Options> Parse(absl::string_view json) {
  embedded::Options options;
  if (json.empty()) return options;
  const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(json), &options);
  if (!parsed.ok()) {
    // The parser's text has the reason, the place, and a mark below the place.
    const std::string text = parsed.message().ToString();
    const std::vector<absl::string_view> lines =
        absl::StrSplit(text, absl::MaxSplits('\n', 2), absl::SkipWhitespace());
    return absl::InvalidArgumentError(absl::StrCat(
        "options: ",
        absl::StrJoin(lines.begin(), lines.begin() + std::min<size_t>(lines.size(), 2), " at ")));
  }
  // The parser accepts any number for an enum, because a later release may define it.
  if (!embedded::Options::Node_IsValid(options.node())) {
    return absl::InvalidArgumentError(absl::StrCat("node: there is no ", options.node()));
  }
  return options;
}

absl::StatusOr<NodeOptions> ToNodeOptions(const embedded::Options& in, LogFunction log) {
  NodeOptions out;
  if (in.working_dirs_size() > 0) {
    out.working_dirs.assign(in.working_dirs().begin(), in.working_dirs().end());
  }
  out.allowed_services.assign(in.allowed_services().begin(), in.allowed_services().end());
  out.require_privacy = !in.allow_plain_smb();
  out.bind_smb_credentials = in.bind_smb_credentials();
  if (in.has_max_calls()) out.max_calls = in.max_calls();
  if (in.has_max_queued()) out.max_queued = in.max_queued();
  if (in.has_max_call_seconds()) {
    // This form of the condition also refuses NaN.
    if (!(in.max_call_seconds() > 0)) {
      return absl::InvalidArgumentError("max_call_seconds: must be more than 0");
    }
    out.max_call_duration = absl::Seconds(in.max_call_seconds());
  }
  out.lock_directory = in.lock_directory();
  out.metrics_bind_address = in.metrics_bind_address();
  out.log = std::move(log);
  return out;
}

// Opens a simulated node as Node::Simulated() does. Returns UNIMPLEMENTED in csi_proxy.dll, because
// that library, for HostProcess pods, contains no simulator.
#ifdef CSI_PROXY_NO_SIMULATION
absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions, absl::string_view) {
  return absl::UnimplementedError(
      "node: this library has no simulated node: load csi_proxy_simulated.dll instead");
}
#else
absl::StatusOr<OpenedNode> OpenSimulation(NodeOptions options, absl::string_view scenario) {
  ABSL_ASSIGN_OR_RETURN(client::NodeAndMachine opened,
                        client::OpenSimulatedNode(std::move(options), scenario));
  return OpenedNode{
      std::move(opened.node),
      [machine = std::move(opened.machine)](absl::string_view method, const std::string& request) {
        return machine::simulator::CallAdmin(*machine, method, request);
      }};
}
#endif

}  // namespace

absl::StatusOr<OpenedNode> OpenNodeOf(absl::string_view json, LogFunction log) {
  ABSL_ASSIGN_OR_RETURN(const embedded::Options options, Parse(json));
  ABSL_ASSIGN_OR_RETURN(NodeOptions node, ToNodeOptions(options, std::move(log)));
  using embedded::Options;
  const bool has_scenario = !options.scenario().empty();
  if (options.node() == Options::WINDOWS && has_scenario) {
    return absl::InvalidArgumentError("scenario: is for simulated nodes");
  }
  // Only a simulated node has a scenario, so a scenario selects a simulated node.
  if (options.node() == Options::SIMULATED || has_scenario ||
      (options.node() == Options::PLATFORM && client::DefaultNodeIsSimulated())) {
    return OpenSimulation(std::move(node), options.scenario());
  }
  absl::StatusOr<std::shared_ptr<Node>> opened = Node::Windows(std::move(node));
  if (absl::IsUnimplemented(opened.status())) {
    return absl::UnimplementedError(
        R"(node: this machine is not a Windows node: "node": "SIMULATED" opens one in memory)");
  }
  if (!opened.ok()) return opened.status();
  return OpenedNode{*std::move(opened)};
}

}  // namespace csi_proxy::c
