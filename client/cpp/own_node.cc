#include "client/cpp/own_node.h"

#include <spdlog/logger.h>

#include <utility>

#include "server/base/status_macros.h"
#include "server/node/opened_machine.h"
#include "server/service/call_log.h"
#include "server/service/loggers.h"

namespace csi_proxy::client {
namespace {

Severity SeverityOf(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return Severity::kError;
  return level == spdlog::level::warn ? Severity::kWarning : Severity::kInfo;
}

spdlog::level::level_enum LevelOf(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return spdlog::level::err;
    case Severity::kWarning:
      return spdlog::level::warn;
    default:
      return spdlog::level::info;
  }
}

std::shared_ptr<spdlog::logger> NewLogger(const LogFunction& log) {
  if (log == nullptr) return service::NewStderrLogger();
  return service::NewFunctionLogger([log](spdlog::level::level_enum level, absl::string_view line) {
    log(SeverityOf(level), line);
  });
}

absl::Status CheckLimits(const NodeOptions& options) {
  if (options.max_calls == 0) {
    return absl::InvalidArgumentError("max_calls: must be at least 1");
  }
  if (options.max_call_duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("max_call_duration: must be more than 0");
  }
  return absl::OkStatus();
}

}  // namespace

OwnNode::OwnNode(OpenedMachine machine, const NodeOptions& options, NodeRules rules,
                 std::shared_ptr<spdlog::logger> logger, std::unique_ptr<service::Metrics> metrics)
    : call_log_(logger),
      metrics_(std::move(metrics)),
      node_(std::move(machine), std::move(rules),
            std::make_unique<service::SpdlogAuditSink>(logger, service::LogFormat::kText),
            [logger](absl::string_view line) { logger->info("{}", std::string(line)); }),
      unknown_fields_(node_.audit()) {
  std::vector<rpc::CallObserver*> observers = {&call_log_, &unknown_fields_};
  if (metrics_ != nullptr) observers.push_back(metrics_.get());
  for (std::unique_ptr<rpc::CallLimiter>& calls : calls_) {
    calls = std::make_unique<rpc::CallLimiter>(
        rpc::Executor::Limits{.max_threads = options.max_calls,
                              .max_queued = options.max_queued,
                              .max_blocked = 8 * options.max_calls},
        observers, options.max_call_duration);
  }
  if (metrics_ != nullptr) {
    metrics_->SetGauges({.connections = nullptr,
                         .queued = [this] { return Queued(); },
                         .formats = [this] { return node_.formats(); },
                         .shares = [this] { return node_.share_counts(); }});
  }
}

OwnNode::~OwnNode() {
  if (metrics_ != nullptr) metrics_->SetGauges({});
}

absl::StatusOr<std::shared_ptr<Node>> OwnNode::Create(NodeOptions options,
                                                      const OpenFunction& open) {
  ABSL_RETURN_IF_ERROR(CheckLimits(options));
  ABSL_ASSIGN_OR_RETURN(NodeRules rules,
                        NodeRules::Parse("working_dirs", options.working_dirs,
                                         options.allowed_services, options.require_privacy));
  rules.bind_smb_credentials = options.bind_smb_credentials;
  std::shared_ptr<spdlog::logger> logger = NewLogger(options.log);
  ABSL_ASSIGN_OR_RETURN(
      auto metrics,
      service::Metrics::Serve("metrics_bind_address", options.metrics_bind_address, "embedded"));
  ABSL_ASSIGN_OR_RETURN(OpenedMachine machine,
                        open([logger](Severity severity, absl::string_view line) {
                          logger->log(LevelOf(severity), "{}", std::string(line));
                        }));
  return std::shared_ptr<Node>(new OwnNode(std::move(machine), options, std::move(rules),
                                           std::move(logger), std::move(metrics)));
}

rpc::CallLimiter* OwnNode::CallsOf(Node& node, absl::string_view group) {
  OwnNode* const own = node.own();
  for (size_t i = 0; own != nullptr && i < kGroupCount; ++i) {
    if (group == kGroups[i]) return own->calls_[i].get();
  }
  return nullptr;
}

std::vector<std::pair<std::string, size_t>> OwnNode::Queued() const {
  std::vector<std::pair<std::string, size_t>> queued;
  for (size_t i = 0; i < kGroupCount; ++i) queued.emplace_back(kGroups[i], calls_[i]->queued());
  return queued;
}

}  // namespace csi_proxy::client

namespace csi_proxy {

absl::StatusOr<std::shared_ptr<Node>> Node::Windows(NodeOptions options) {
  return client::OwnNode::Create(std::move(options), [](const LogFunction& log) {
    return OpenThisMachine([log](absl::string_view line) { log(Severity::kWarning, line); });
  });
}

}  // namespace csi_proxy
