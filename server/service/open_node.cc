#include "server/service/open_node.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/service/call_log.h"
#include "server/service/logging.h"

namespace csi_proxy {
namespace {

void Warn(absl::string_view line) { spdlog::warn("{}", std::string(line)); }

absl::StatusOr<OpenedMachine> ThisMachine() {
  absl::StatusOr<OpenedMachine> machine = OpenThisMachine(Warn);
  if (machine.ok()) return machine;
  return absl::Status(machine.status().code(),
                      absl::StrCat("--host=windows: ", machine.status().message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ManagedNode>> NewNode(const Options& options,
                                                     OpenedMachine machine) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const PathRoots> roots,
                        PathRoots::Parse("--working-dir", options.working_dirs));
  return std::make_unique<ManagedNode>(
      std::move(machine),
      NodeRules{.roots = std::move(roots),
                .allowed_services = options.allowed_services,
                .require_privacy = options.require_privacy,
                .bind_smb_credentials = options.bind_smb_credentials,
                .allow_local_shares = options.allow_local_shares,
                .keep_foreign_data = options.keep_foreign_data},
      std::make_unique<service::SpdlogAuditSink>(spdlog::get(service::kAuditLogger),
                                                 options.log.format),
      [](absl::string_view line) { spdlog::info("{}", std::string(line)); }, Warn);
}

absl::StatusOr<OpenedNode> OpenNode(const Options& options) {
  OpenedNode opened;
  ABSL_ASSIGN_OR_RETURN(OpenedMachine machine,
                        options.host == HostKind::kSimulated
                            ? OpenSimulation(options.scenario, Warn, &opened.services)
                            : ThisMachine());
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<ManagedNode> node, NewNode(options, std::move(machine)));
  opened.node = std::move(node);
  return opened;
}

}  // namespace csi_proxy
