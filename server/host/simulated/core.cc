#include "server/host/simulated/core.h"

#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "server/base/windows_path.h"
#include "server/host/simulated/services.h"

namespace csi_proxy::host::simulated {

absl::Status Core::PassGate(const CallContext& context, absl::string_view operation,
                            absl::string_view resource) {
  if (absl::Status status = context.Check(); !status.ok()) return status;
  std::optional<FaultRule> fault;
  {
    const std::lock_guard lock(mutex_);
    fault = TakeFault(state_, operation, resource);
  }
  if (!fault.has_value()) return absl::OkStatus();
  if (fault->latency > absl::ZeroDuration()) {
    if (absl::Status status = context.SleepFor(fault->latency); !status.ok()) return status;
  }
  if (fault->code == absl::StatusCode::kOk) return absl::OkStatus();
  return Failure(operation, fault->error, fault->code);
}

void Core::Settle() { SettleServices(state_, absl::Now()); }

std::optional<FaultRule> TakeFault(NodeState& state, absl::string_view operation,
                                   absl::string_view resource) {
  for (auto rule = state.faults.begin(); rule != state.faults.end(); ++rule) {
    if (!MatchesOperation(rule->operation, operation)) continue;
    if (!rule->resource.empty() && !EqualNames(rule->resource, resource)) continue;
    FaultRule taken = *rule;
    if (rule->times != 0 && --rule->times == 0) state.faults.erase(rule);
    return taken;
  }
  return std::nullopt;
}

bool MatchesOperation(absl::string_view pattern, absl::string_view operation) {
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(operation, pattern);
  return pattern == operation;
}

const std::vector<absl::string_view>& HostOperations() {
  static const auto* const kOperations = new std::vector<absl::string_view>{
      "disk.ListDiskLocations",
      "disk.ListDiskIdentities",
      "disk.Rescan",
      "disk.GetLayout",
      "disk.InitializeGpt",
      "disk.CreateBasicPartition",
      "disk.GetSize",
      "disk.IsOnline",
      "disk.SetOnline",
      "volume.ListVolumes",
      "volume.GetFileSystem",
      "volume.Format",
      "volume.GetSize",
      "volume.GetSupportedSize",
      "volume.Resize",
      "volume.GetStats",
      "volume.GetDiskNumber",
      "volume.Mount",
      "volume.Unmount",
      "volume.GetVolumeAtMountPoint",
      "volume.GetVolumeHolding",
      "volume.Flush",
      "filesystem.Exists",
      "filesystem.MakeDirectories",
      "filesystem.Remove",
      "filesystem.RemoveContents",
      "filesystem.CreateLink",
      "filesystem.CreateLinkToShare",
      "filesystem.ReadLink",
      "smb.GetMapping",
      "smb.IsHealthy",
      "smb.CreateMapping",
      "smb.RemoveMapping",
      "iscsi.ListPortals",
      "iscsi.AddPortal",
      "iscsi.RemovePortal",
      "iscsi.DiscoverTargets",
      "iscsi.IsConnected",
      "iscsi.Connect",
      "iscsi.Disconnect",
      "iscsi.GetTargetDisks",
      "iscsi.SetMutualChapSecret",
      "system.GetBiosSerialNumber",
      "system.GetService",
      "system.ListActiveDependents",
      "system.RequestStart",
      "system.RequestStop",
      "win32.Open",
      "win32.CreateDirectory",
      "win32.List",
      "win32.GetAttributes",
      "win32.Delete",
      "win32.ReadReparsePoint",
      "win32.WriteReparsePoint",
      "win32.Reach",
      "win32.ListVolumes",
      "win32.GetVolumeOfDrive",
      "win32.GetFileSystem",
      "win32.GetSpace",
      "win32.Flush",
      "win32.SetMountPoint",
      "win32.DeleteMountPoint",
      "win32.Control",
      "win32.GetService",
      "win32.ListActiveDependents",
      "win32.StartService",
      "win32.StopService",
      "win32.GetSmbiosTable",
  };
  return *kOperations;
}

}  // namespace csi_proxy::host::simulated
