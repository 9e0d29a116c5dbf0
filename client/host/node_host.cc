#include "client/host/node_host.h"

#include <spdlog/logger.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/resource_locks.h"
#include "server/base/windows_path.h"
#include "server/groups/node_services.h"
#include "server/observability/call_log.h"
#include "server/observability/loggers.h"
#include "server/observability/metrics.h"
#include "server/observability/spdlog_audit_sink.h"
#include "server/shim/call_limiter.h"

namespace csi_proxy::client {
namespace {

constexpr const char* kGroups[] = {"disk", "filesystem", "iscsi", "smb", "system", "volume"};
constexpr size_t kGroupCount = std::size(kGroups);

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
  if (log == nullptr) return observability::NewStderrLogger();
  return observability::NewFunctionLogger(
      [log](spdlog::level::level_enum level, absl::string_view line) {
        log(SeverityOf(level), line);
      });
}

absl::Status CheckLimits(const NodeOptions& options) {
  if (options.max_calls == 0) {
    return absl::InvalidArgumentError("max_calls: must be at least 1");
  }
  if (options.max_call_duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("max_call_duration: must be more than nothing");
  }
  return absl::OkStatus();
}

class NodeHost final : public Node {
 public:
  NodeHost(NodeParts parts, const NodeOptions& options, std::shared_ptr<const PathRoots> roots,
           std::shared_ptr<spdlog::logger> logger, std::unique_ptr<observability::Metrics> metrics)
      : call_log_(logger),
        audit_(std::move(logger), observability::LogFormat::kText),
        metrics_(std::move(metrics)),
        node_(std::move(parts.node)),
        administer_(std::move(parts.administer)),
        locks_(std::move(parts.processes)),
        services_({.host = node_.get(),
                   .locks = &locks_,
                   .roots = std::move(roots),
                   .allowed_services = options.allowed_services,
                   .require_privacy = options.require_privacy},
                  &audit_) {
    std::vector<shim::CallObserver*> observers = {&call_log_};
    if (metrics_ != nullptr) observers.push_back(metrics_.get());
    for (std::unique_ptr<shim::CallLimiter>& calls : calls_) {
      calls = std::make_unique<shim::CallLimiter>(
          shim::Executor::Limits{.max_threads = options.max_calls,
                                 .max_queued = options.max_queued},
          observers, options.max_call_duration);
    }
    if (metrics_ != nullptr) {
      metrics_->SetGauges({.connections = nullptr, .queued = [this] { return Queued(); }});
    }
  }

  ~NodeHost() override {
    if (metrics_ != nullptr) metrics_->SetGauges({});
  }

  disk::Service& disk() override { return *services_.disk.service; }
  filesystem::Service& filesystem() override { return *services_.filesystem.service; }
  iscsi::Service& iscsi() override { return *services_.iscsi.service; }
  smb::Service& smb() override { return *services_.smb.service; }
  system::Service& system() override { return *services_.system.service; }
  volume::Service& volume() override { return *services_.volume.service; }

  absl::StatusOr<std::string> Administer(absl::string_view method,
                                         const std::string& request) override {
    if (administer_ == nullptr) {
      return absl::FailedPreconditionError("a real node has no administrator to play");
    }
    return administer_(method, request);
  }

  shim::CallLimiter* calls(absl::string_view group) override {
    for (size_t i = 0; i < kGroupCount; ++i) {
      if (group == kGroups[i]) return calls_[i].get();
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<std::string, size_t>> Queued() const {
    std::vector<std::pair<std::string, size_t>> queued;
    for (size_t i = 0; i < kGroupCount; ++i) queued.emplace_back(kGroups[i], calls_[i]->queued());
    return queued;
  }

  // Destroyed from the last to the first: services before what their calls use.
  observability::CallLog call_log_;
  observability::SpdlogAuditSink audit_;
  const std::unique_ptr<observability::Metrics> metrics_;
  const std::unique_ptr<host::Host> node_;
  const AdministerFunction administer_;
  ResourceLocks locks_;
  const groups::NodeServices services_;
  std::unique_ptr<shim::CallLimiter> calls_[kGroupCount];
};

}  // namespace

absl::StatusOr<std::shared_ptr<Node>> NewNodeHost(
    NodeOptions options, const std::function<absl::StatusOr<NodeParts>(const LogFunction&)>& open) {
  if (absl::Status status = CheckLimits(options); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<const PathRoots>> roots =
      PathRoots::Parse("working_dirs", options.working_dirs);
  if (!roots.ok()) return roots.status();
  std::shared_ptr<spdlog::logger> logger = NewLogger(options.log);
  std::unique_ptr<observability::Metrics> metrics;
  if (!options.metrics_bind_address.empty()) {
    auto served = observability::Metrics::Serve(options.metrics_bind_address);
    if (!served.ok()) return served.status();
    metrics = *std::move(served);
  }
  absl::StatusOr<NodeParts> parts = open([logger](Severity severity, absl::string_view line) {
    logger->log(LevelOf(severity), "{}", std::string(line));
  });
  if (!parts.ok()) return parts.status();
  return std::make_shared<NodeHost>(*std::move(parts), options, *std::move(roots),
                                    std::move(logger), std::move(metrics));
}

}  // namespace csi_proxy::client
