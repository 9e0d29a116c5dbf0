// The service control manager's settings for csi-proxy, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::installer {

enum class StartType { kAutomatic, kAutomaticDelayed, kManual, kDisabled };

struct ServiceConfig {
  std::string display_name = "CSI Proxy";
  std::string description =
      "Does storage work (disks, volumes, file systems, SMB, iSCSI) for CSI driver pods, which may "
      "not do it themselves.";
  // The program and its arguments.
  std::vector<std::string> command;
  StartType start_type = StartType::kAutomatic;
  // As `LocalSystem` or `.\name`. No lesser account than the system has the rights that the service
  // needs.
  std::string account = "LocalSystem";
  // After an end that nobody asked for, wait so long and start again; the count of failures is
  // forgotten after `failure_reset`.
  absl::Duration restart_delay = absl::Seconds(10);
  absl::Duration failure_reset = absl::Hours(24);
  // All that the account's token keeps: restoring and backing up reach every pod's files, managing
  // volumes formats, mounts and shrinks them, and links are links. WMI's providers act with this
  // token: to look for disks anew the one of storage may enumerate devices, for which a caller must
  // have SeLoadDriverPrivilege
  // (https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_reenumerate_devnode).
  // No node has shown that a rescan fails without it (doubt 61 of server/host/doubts.md), so the
  // privilege is kept.
  std::vector<std::string> privileges = {
      "SeBackupPrivilege",     "SeChangeNotifyPrivilege", "SeCreateSymbolicLinkPrivilege",
      "SeLoadDriverPrivilege", "SeManageVolumePrivilege", "SeRestorePrivilege"};

  friend bool operator==(const ServiceConfig&, const ServiceConfig&) = default;
};

// A word as one argument of a command line, quoted where it must be, by the rules of
// CommandLineToArgvW
// (https://learn.microsoft.com/windows/win32/api/shellapi/nf-shellapi-commandlinetoargvw).
std::string QuoteArgument(absl::string_view word);

// The command line of words. The program, the first word, is always quoted: an unquoted path with a
// space lets every user who can write to C:\ run a program as the service.
std::string CommandLine(const std::vector<std::string>& words);

// The words of a command line, the reverse. INVALID_ARGUMENT for an empty one or an open quote.
absl::StatusOr<std::vector<std::string>> SplitCommandLine(absl::string_view line);

// Lists the differences of two configurations, a line each, as `start type: manual -> automatic`.
std::vector<std::string> Differences(const ServiceConfig& from, const ServiceConfig& to);

// `automatic`, `automatic-delayed`, `manual`, `disabled`.
const char* Name(StartType type);
absl::StatusOr<StartType> ParseStartType(absl::string_view name);

}  // namespace csi_proxy::installer
