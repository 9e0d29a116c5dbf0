#include "client/cpp/own_node.h"

#include <spdlog/logger.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/node/opened_machine.h"
#include "server/observability/call_log.h"
#include "server/observability/loggers.h"

namespace csi_proxy::client {
OwnNode::OwnNode(OpenedMachine machine, const NodeOptions& options, NodeRules rules,
                 std::shared_ptr<spdlog::logger> logger,
                 std::unique_ptr<observability::Metrics> metrics)
    : node_(
          std::move(machine), std::move(rules),
          std::make_unique<observability::SpdlogAuditSink>(logger, observability::LogFormat::kText),
          observability::LinesTo(logger, spdlog::level::info),
          observability::LinesTo(logger, spdlog::level::warn)),
      calls_(node_, logger, std::move(metrics),
             {.max_calls = options.max_calls,
              .max_queued = options.max_queued,
              .max_call_duration = options.max_call_duration}) {}

absl::StatusOr<std::shared_ptr<Node>> OwnNode::Create(NodeOptions options,
                                                      const OpenFunction& open) {
  if (options.max_calls == 0) {
    return absl::InvalidArgumentError("max_calls: must be at least 1");
  }
  if (options.max_call_duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("max_call_duration: must be more than 0");
  }
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const PathRoots> roots,
                        PathRoots::Parse("working_dirs", options.working_dirs));
  // The other rules keep their defaults. They permit formatting foreign data, as the Go release
  // does.
  NodeRules rules = {.roots = std::move(roots),
                     .allowed_services = options.allowed_services,
                     .require_privacy = options.require_privacy,
                     .bind_smb_credentials = options.bind_smb_credentials};
  if (options.log == nullptr) options.log = LogToStderr;
  std::shared_ptr<spdlog::logger> logger = observability::NewFunctionLogger(options.log);
  ABSL_ASSIGN_OR_RETURN(auto metrics,
                        observability::Metrics::Serve(
                            "metrics_bind_address", options.metrics_bind_address,
                            observability::LinesTo(logger, spdlog::level::warn), "embedded"));
  ABSL_ASSIGN_OR_RETURN(OpenedMachine machine,
                        open(observability::LinesTo(logger, spdlog::level::warn)));
  return std::shared_ptr<Node>(new OwnNode(std::move(machine), options, std::move(rules),
                                           std::move(logger), std::move(metrics)));
}

const rpc::CallDeps* OwnNode::CallsOf(Node& node, absl::string_view group) {
  OwnNode* const own = node.own();
  return own != nullptr ? own->calls_.Find(group) : nullptr;
}

}  // namespace csi_proxy::client

namespace csi_proxy {

absl::StatusOr<std::shared_ptr<Node>> Node::Windows(NodeOptions options) {
  auto opened = client::OwnNode::Create(std::move(options), &OpenThisMachine);
  if (!absl::IsUnimplemented(opened.status())) return opened;
  return absl::UnimplementedError(
      absl::StrCat(opened.status().message(), ": Node::Simulated() opens one in memory"));
}

}  // namespace csi_proxy
