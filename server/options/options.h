// The command line of csi-proxy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/flag_in_force.h"
#include "server/names/windows_path.h"
#include "server/observability/logging.h"
#include "server/rpc/listener.h"

namespace csi_proxy {

enum class HostKind { kSimulated, kWindows };

struct Options {
  HostKind host = HostKind::kWindows;
  // The simulated node: a built-in name or a textproto file; empty for the default.
  std::string scenario;
  rpc::PipePlace place{.socket_dir = "/run/csi-proxy"};
  // The groups and versions to serve; all if empty. A version is `v1` or, for one group,
  // `volume/v1`.
  std::vector<std::string> api_groups;
  std::vector<std::string> api_versions;
  // The directories that calls may touch, each with the flag that gave it. ParseOptions() sets at
  // least one, except for --help.
  struct Directory {
    std::string flag;
    WindowsPath path;
  };
  std::vector<Directory> working_dirs;
  // The directories of drivers and of pods. Set only by flags of releases before v1.0.0.
  std::optional<WindowsPath> plugins_dir, pods_dir;
  // The Windows services that calls may start and stop; all if empty.
  std::vector<std::string> allowed_services;
  // Makes new SMB mappings require encryption.
  bool require_privacy = true;
  // Lets a call use a mapping only with the credentials of the call that made the mapping.
  bool bind_smb_credentials = false;
  // Lets calls map shares of this node.
  bool allow_local_shares = false;
  // If true, calls do not initialise or format a disk with data that Windows does not recognise.
  bool keep_foreign_data = false;

  // The limits of the listener. `client_share` also limits a tenant's part of the calls of each API
  // group (the percentage of tenant_part.h).
  rpc::ListenerLimits listener;
  absl::Duration idle_timeout = absl::Hours(1);  // replaces `listener.idle_timeout`
  // The limits of each API group. In addition, 8 * max_workers calls may wait after yielding their
  // slots.
  size_t max_workers = 16;
  size_t max_queued = 384;
  absl::Duration max_call_duration = absl::Minutes(10);
  absl::Duration stop_grace_period = absl::Seconds(20);

  observability::LogOptions log;
  // The address of the Prometheus metrics; empty to disable them.
  std::string metrics_bind_address;

  // True if only the service control manager may start the process.
  bool windows_service = false;

  // The words after the flags. They have no effect.
  std::vector<std::string> ignored_words;

  bool show_help = false;
  bool show_version = false;
  bool list_scenarios = false;
};

// Parses the arguments of the program as Go's flag package does (server/base/go_flags.h). Accepts
// every flag of the Go releases and of klog, because node bootstraps pass them. Returns
// INVALID_ARGUMENT, naming the flag and the reason, for an unknown flag or an invalid value.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

// Returns true if --api-groups and --api-versions select the pipe of this version.
bool Selects(const Options& options, const std::string& group, const std::string& version);

// Returns the limits and switches of the options, with their defaults, sorted by name.
std::vector<FlagInForce> FlagsInForce(const Options& options);

// Returns the text of --help.
std::string OptionsHelp();

}  // namespace csi_proxy
