#include "server/simulator/core.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "csi_proxy/all_faulty.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/names/windows_path.h"
#include "server/simulator/services.h"
#include "server/simulator/storage.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulator {

absl::Status Core::Pass(const CallContext& context, absl::string_view operation,
                        absl::Span<const std::string> resources, FaultEffects* effects) {
  ABSL_RETURN_IF_ERROR(context.Check());
  std::optional<FaultRule> fault;
  {
    const MutexLock lock(mutex_);
    fault = TakeFault(state_, operation, resources);
  }
  if (!fault.has_value()) return absl::OkStatus();
  if (effects != nullptr) {
    effects->objects = fault->objects;
    if (fault->goes_on) effects->goes_on_at = SteadyTime::Now() + fault->latency;
  }
  while (fault->stuck) absl::SleepFor(absl::Hours(1));
  if (fault->latency > absl::ZeroDuration()) {
    // Without a SlotHolder, SleepFor() does not yield the call's slot. The delayed code itself
    // decides whether to yield the slot.
    ABSL_RETURN_IF_ERROR(context.With(nullptr).SleepFor(fault->latency));
  }
  if (fault->code == absl::StatusCode::kOk) return absl::OkStatus();
  return Failure(operation, fault->error, fault->code);
}

CallCounts Core::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

uint64_t Core::DeviceChanges() {
  const MutexLock lock(mutex_);
  return CountDevices(state_);
}

void Core::AwaitDeviceChange(uint64_t seen, absl::Duration limit) {
  // The maximum time between two checks, because the administrator may attach a device at any time.
  constexpr absl::Duration kLook = absl::Milliseconds(5);
  const SteadyTime until = SteadyTime::Now() + limit;
  for (absl::Duration left; DeviceChanges() == seen;) {
    if ((left = until - SteadyTime::Now()) <= absl::ZeroDuration()) return;
    // Sleeps instead of waiting on a condition variable, because a test's clock controls only
    // Abseil's ways to wait.
    absl::SleepFor(std::min({left, next_arrival() - SteadyTime::Now(), kLook}));
  }
}

SteadyTime Core::next_arrival() const {
  const MutexLock lock(mutex_);
  return NextArrival(state_);
}

void Core::Count(absl::string_view operation) {
  if (absl::StartsWith(operation, "win32.")) ++counts_.win32_calls;
  if (absl::StartsWith(operation, "wmi.")) ++counts_.wmi_calls;
}

void Core::AdvanceClock() {
  while (!later_.empty() && later_.begin()->first <= SteadyTime::Now()) {
    const auto work = later_.extract(later_.begin());
    work.mapped()(state_);
  }
  if (AnyServicePending(state_)) AdvanceServices(state_, SteadyTime::Now());
}

std::optional<FaultRule> TakeFault(NodeState& state, absl::string_view operation,
                                   absl::Span<const std::string> resources) {
  for (auto rule = state.faults.begin(); rule != state.faults.end(); ++rule) {
    if (!MatchesOperation(rule->operation, operation)) continue;
    if (!rule->resource.empty() &&
        std::ranges::none_of(resources, [&](const std::string& resource) {
          return EqualNames(rule->resource, resource);
        })) {
      continue;
    }
    FaultRule taken = *rule;
    if (rule->times != 0 && --rule->times == 0) state.faults.erase(rule);
    return taken;
  }
  return std::nullopt;
}

bool MatchesOperation(absl::string_view pattern, absl::string_view operation) {
  if (pattern == "*") {
    return !absl::StartsWith(operation, "win32.") && !absl::StartsWith(operation, "wmi.");
  }
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(operation, pattern);
  return pattern == operation;
}

namespace {

constexpr absl::string_view kWin32Calls[] = {
    "win32.Open",
    "win32.OpenBelow",
    "win32.CreateDirectory",
    "win32.List",
    "win32.GetAttributes",
    "win32.Delete",
    "win32.ReadReparsePoint",
    "win32.WriteReparsePoint",
    "win32.DeleteReparsePoint",
    "win32.ListUsers",
    "win32.Reach",
    "win32.ListVolumes",
    "win32.GetVolumeOfDrive",
    "win32.GetFileSystem",
    "win32.GetSpace",
    "win32.Flush",
    "win32.SetMountPoint",
    "win32.DeleteMountPoint",
    "win32.Control",
    "win32.Read",
    "win32.ListMountPoints",
    "win32.GetService",
    "win32.ListActiveDependents",
    "win32.StartService",
    "win32.StopService",
    "win32.GetNetworkNames",
    "win32.GetSmbiosTable",
};

std::vector<std::string> AllOperations() {
  std::vector<std::string> all;
  for (const absl::Span<const absl::string_view> part :
       std::initializer_list<absl::Span<const absl::string_view>>{
           disk::kFaultyMethods, filesystem::kFaultyMethods, iscsi::kFaultyMethods,
           smb::kFaultyMethods, storage::kFaultyMethods, system::kFaultyMethods,
           volume::kFaultyMethods, kWin32Calls}) {
    for (const absl::string_view operation : part) all.emplace_back(operation);
  }
  for (std::string& operation : wmi::SchemaOperations()) all.push_back(std::move(operation));
  return all;
}

}  // namespace

const std::vector<std::string>& Operations() {
  static const auto* const kOperations = new std::vector<std::string>(AllOperations());
  return *kOperations;
}

}  // namespace csi_proxy::machine::simulator
