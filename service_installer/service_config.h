// The settings of the csi-proxy service in the service control manager, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::service_installer {

enum class StartType { kAutomatic, kAutomaticDelayed, kManual, kDisabled };

struct ServiceConfig {
  std::string display_name = "CSI Proxy";
  std::string description =
      "Does storage work (disks, volumes, file systems, SMB, iSCSI) for CSI driver pods, which may "
      "not do it themselves.";
  // The program and its arguments.
  std::vector<std::string> command;
  StartType start_type = StartType::kAutomatic;
  // In the form `LocalSystem` or `.\name`. Only LocalSystem has the rights that the service needs.
  std::string account = "LocalSystem";
  // After an unexpected end, Windows restarts the service after `restart_delay`. The count of
  // failures is reset after `failure_reset`.
  absl::Duration restart_delay = absl::Seconds(10);
  absl::Duration failure_reset = absl::Hours(24);
  // The only privileges that the service's token keeps. Backup and Restore reach the files of every
  // pod; ManageVolume formats, mounts and resizes volumes; CreateSymbolicLink makes links.
  // LoadDriver is for a rescan: WMI's storage provider acts with this token and may enumerate
  // devices, which requires it
  // (https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_reenumerate_devnode). No
  // node has shown that a rescan fails without it (doubt 61 of server/host/doubts.md).
  std::vector<std::string> privileges = {
      "SeBackupPrivilege",     "SeChangeNotifyPrivilege", "SeCreateSymbolicLinkPrivilege",
      "SeLoadDriverPrivilege", "SeManageVolumePrivilege", "SeRestorePrivilege"};

  friend bool operator==(const ServiceConfig&, const ServiceConfig&) = default;
};

// Returns a word as one argument of a command line, quoted if necessary by the rules of
// CommandLineToArgvW
// (https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw).
std::string QuoteArgument(absl::string_view word);

// Returns the command line for `words`. Always quotes the program, because an unquoted path with a
// space lets every user who can write to C:\ run a program as the service.
std::string CommandLine(const std::vector<std::string>& words);

// Splits a command line into words. INVALID_ARGUMENT if it is empty or a quote is not closed.
absl::StatusOr<std::vector<std::string>> SplitCommandLine(absl::string_view line);

// Returns a line per difference of two configurations: `start type: manual -> automatic`.
std::vector<std::string> Differences(const ServiceConfig& from, const ServiceConfig& to);

// Returns `automatic`, `automatic-delayed`, `manual` or `disabled`.
const char* Name(StartType type);
absl::StatusOr<StartType> ParseStartType(absl::string_view name);

}  // namespace csi_proxy::service_installer
