#include "server/service/open_node.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/observability/call_log.h"
#include "server/observability/loggers.h"
#include "server/observability/logging.h"

namespace csi_proxy {
namespace {

// The time that the start of the service waits for a drive, only to warn of a missing one.
constexpr absl::Duration kDrivePatience = absl::Seconds(2);

}  // namespace

absl::StatusOr<OpenedNode> OpenNode(const Options& options) {
  const auto log = spdlog::default_logger();
  const LineFunction warn = observability::LinesTo(log, spdlog::level::warn);
  OpenedNode opened;
  const bool simulated = options.host == HostKind::kSimulated;
  absl::StatusOr<OpenedMachine> machine =
      simulated ? OpenSimulation(options.scenario, warn, &opened.services) : OpenThisMachine(warn);
  if (!machine.ok()) {
    const absl::Status& status = machine.status();
    if (simulated) return status;
    const bool lacks_windows = absl::IsUnimplemented(status);
    return absl::Status(status.code(),
                        absl::StrCat("--host=windows: ", status.message(),
                                     lacks_windows ? ": choose --host=simulated" : ""));
  }
  std::vector<WindowsPath> roots;
  for (const auto& [flag, path] : options.working_dirs) {
    roots.push_back(path);
    // Warns only of a missing drive, because the kubelet may make a missing directory later.
    const std::string name = path.ToString().substr(0, 2);
    host::Host& host = *machine->host;
    const absl::StatusOr<bool> drive =
        host.looks().Read<bool>(CallContext().WithTimeout(kDrivePatience), name,
                                [&host, root = path.Root()](const CallContext& context) {
                                  return host.filesystem().Exists(context, {root, nullptr});
                                });
    if (absl::IsDeadlineExceeded(drive.status())) {
      warn(absl::StrCat(flag, ": drive ", name, " does not answer, so calls for ", path.ToString(),
                        " may take long"));
    }
    if (!drive.ok() || *drive) continue;
    warn(absl::StrCat(flag, ": the node has no drive ", name, ", so calls for ", path.ToString(),
                      " are refused"));
  }
  opened.node = std::make_unique<ManagedNode>(
      *std::move(machine),
      NodeRules{.roots = std::make_shared<const PathRoots>(std::move(roots)),
                .plugins_dir = options.plugins_dir,
                .pods_dir = options.pods_dir,
                .allowed_services = options.allowed_services,
                .require_privacy = options.require_privacy,
                .bind_smb_credentials = options.bind_smb_credentials,
                .allow_local_shares = options.allow_local_shares,
                .local_shares_remedy =
                    ". If the node serves the share, start csi-proxy with -allow-local-shares",
                .keep_foreign_data = options.keep_foreign_data},
      std::make_unique<observability::SpdlogAuditSink>(spdlog::get(observability::kAuditLogger),
                                                       options.log.format),
      observability::LinesTo(log, spdlog::level::info), warn);
  return opened;
}

}  // namespace csi_proxy
