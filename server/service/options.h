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
  // Textproto of the simulated node, or the name of a built-in one; empty for the default.
  std::string scenario;
  rpc::PipePlace place;
  // The pipes to open; empty for all. A version is `v1` or, for one group, `volume/v1`.
  std::vector<std::string> api_groups;
  std::vector<std::string> api_versions;
  // The directories calls may touch, at least one.
  std::vector<std::string> working_dirs;
  // The services that calls may start and stop; empty for all.
  std::vector<std::string> allowed_services;
  // If true, SMB mappings ask for encryption.
  bool require_privacy = true;
  // If true, a mapping is only for calls that give the credentials with which it was made.
  bool bind_smb_credentials = false;

  // One tenant may take this percentage of what others leave: of a pipe's connections, and of a
  // group's workers and queue; when it has several processes, each may take this percentage of
  // that.
  size_t client_share = 75;
  rpc::ListenerLimits listener;
  rpc::ServerLimits server;
  // For each API group. Twice as many may have left their workers.
  size_t max_workers = 16;
  size_t max_queued = 256;
  absl::Duration max_call_duration = absl::Minutes(10);
  absl::Duration stop_grace_period = absl::Seconds(20);

  observability::LogOptions log;
  // The address at which Prometheus finds metrics; empty for none.
  std::string metrics_bind_address;

  // The service control manager starts the process.
  bool windows_service = false;

  bool show_help = false;
  bool show_version = false;
  bool list_scenarios = false;
};

// Reads Go-style flags: one or two dashes, `-flag=value` or `-flag value`; a boolean is `-flag` or
// `-flag=false`. INVALID_ARGUMENT names the flag and the reason. Flags of klog that mean nothing
// here are taken and ignored, because node bootstraps pass them.
absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv);

// Tells whether -windows-service is among the flags, for when others cannot be read: a service must
// report even that to the service control manager.
bool AsksForService(int argc, const char* const* argv);

// The text that --help prints.
std::string OptionsHelp();

}  // namespace csi_proxy
