// The command line of csi-proxy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/rpc/listener.h"
#include "server/rpc/pipe_server.h"
#include "server/service/logging.h"

namespace csi_proxy {

enum class HostKind { kSimulated, kWindows };

struct Options {
  HostKind host = HostKind::kWindows;
  // The simulated node: a built-in name or a textproto file; empty for the default.
  std::string scenario;
  rpc::PipePlace place;
  // The pipes to open; all if empty. A version is `v1` or, for one group, `volume/v1`.
  std::vector<std::string> api_groups;
  std::vector<std::string> api_versions;
  // The directories that calls may touch. At least one.
  std::vector<std::string> working_dirs;
  // The services that calls may start and stop; all if empty.
  std::vector<std::string> allowed_services;
  // Makes SMB mappings ask for encryption.
  bool require_privacy = true;
  // Lets a call use a mapping only with the credentials with which it was made.
  bool bind_smb_credentials = false;
  // Lets calls map shares that this node serves.
  bool allow_local_shares = false;
  // If true, no call initialises or formats what holds data that Windows does not recognise.
  bool keep_foreign_data = false;

  // In percent, the part that a tenant may take of a pipe's connections, and of a group's workers
  // and queue places, that other tenants leave free.
  size_t client_share = 75;
  rpc::ListenerLimits listener;
  rpc::ServerLimits server;
  // For each API group. Eight times as many calls may have left their workers to wait.
  size_t max_workers = 16;
  size_t max_queued = 384;
  absl::Duration max_call_duration = absl::Minutes(10);
  absl::Duration stop_grace_period = absl::Seconds(20);

  service::LogOptions log;
  // The address of the Prometheus metrics; empty for none.
  std::string metrics_bind_address;

  // True if the service control manager starts the process.
  bool windows_service = false;

  bool show_help = false;
  bool show_version = false;
  bool list_scenarios = false;
};

// Parses Go-style flags: one or two dashes, `-flag=value` or `-flag value`; a boolean is `-flag` or
// `-flag=false`. Accepts and ignores flags of klog without effect here, because node bootstraps
// pass them. Returns INVALID_ARGUMENT, naming the flag and the reason.
absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv);

// Returns true if the flags contain -windows-service. For arguments that ParseOptions() refuses,
// which a service must report to the service control manager.
bool AsksForService(int argc, const char* const* argv);

// Returns the text of --help.
std::string OptionsHelp();

}  // namespace csi_proxy
