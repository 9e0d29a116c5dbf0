#include "server/service/open_node.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/service/call_log.h"
#include "server/service/loggers.h"
#include "server/service/logging.h"

namespace csi_proxy {
namespace {

void Warn(const LogText& line) {
  service::Log(*spdlog::default_logger(), spdlog::level::warn, line);
}

absl::StatusOr<OpenedMachine> ThisMachine() {
  absl::StatusOr<OpenedMachine> machine = OpenThisMachine(Warn);
  if (machine.ok()) return machine;
  return absl::Status(machine.status().code(),
                      absl::StrCat("--host=windows: ", machine.status().message()));
}

// Warns of working directories on drives that the node lacks, because calls for them are refused.
// Does not warn of a missing directory, because the kubelet may make it later.
void WarnOfMissingDrives(host::Host& host, const Options& options) {
  for (const auto& [flag, directory] : options.working_dirs) {
    const auto exists = host.filesystem().Exists(CallContext(), {directory.Root(), nullptr});
    if (!exists.ok() || *exists) continue;
    Warn(absl::StrCat(flag, ": the node has no drive ", directory.ToString().substr(0, 2),
                      ", so calls for ", directory.ToString(), " are refused"));
  }
}

}  // namespace

absl::StatusOr<OpenedNode> OpenNode(const Options& options) {
  OpenedNode opened;
  ABSL_ASSIGN_OR_RETURN(OpenedMachine machine,
                        options.host == HostKind::kSimulated
                            ? OpenSimulation(options.scenario, Warn, &opened.services)
                            : ThisMachine());
  WarnOfMissingDrives(*machine.host, options);
  std::vector<WindowsPath> roots;
  for (const Options::Directory& directory : options.working_dirs) roots.push_back(directory.path);
  opened.node = std::make_unique<ManagedNode>(
      std::move(machine),
      NodeRules{.roots = std::make_shared<const PathRoots>(std::move(roots)),
                .plugins_dir = options.plugins_dir,
                .pods_dir = options.pods_dir,
                .allowed_services = options.allowed_services,
                .require_privacy = options.require_privacy,
                .bind_smb_credentials = options.bind_smb_credentials,
                .allow_local_shares = options.allow_local_shares,
                .keep_foreign_data = options.keep_foreign_data},
      std::make_unique<service::SpdlogAuditSink>(spdlog::get(service::kAuditLogger),
                                                 options.log.format),
      service::LinesTo(spdlog::default_logger(), spdlog::level::info), Warn);
  return opened;
}

}  // namespace csi_proxy
