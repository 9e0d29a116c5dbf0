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
  ABSL_ASSIGN_OR_RETURN(NodeRules rules,
                        NodeRules::Parse("--working-dir", options.working_dirs,
                                         options.allowed_services, options.require_privacy));
  rules.bind_smb_credentials = options.bind_smb_credentials;
  rules.allow_local_shares = options.allow_local_shares;
  rules.keep_foreign_data = options.keep_foreign_data;
  return std::make_unique<ManagedNode>(
      std::move(machine), std::move(rules),
      std::make_unique<service::SpdlogAuditSink>(spdlog::get(service::kAuditLogger),
                                                 options.log.format),
      [](absl::string_view line) { spdlog::info("{}", std::string(line)); });
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
