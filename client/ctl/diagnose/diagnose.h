// `diagnose`, which looks for faults on a node, and `repair`, which mends them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/ctl/commands.h"
#include "client/ctl/diagnose/look.h"

namespace csi_proxy::ctl::diagnose {

// Returns true if the user consents to what was shown.
using Consent = std::function<bool()>;

// Looks for faults. Passes to `show` what each look has found. Returns an error if the service
// answers neither a call nor `fetch`, or if the API lacks a field.
absl::StatusOr<Diagnosis> Diagnose(
    Rpcs& rpcs, const top::FetchMetrics& fetch,
    const std::function<void(const Diagnosis& part)>& show = [](const Diagnosis&) {});

// Returns kFindings if there are findings. Otherwise returns kOk, or kCallFailed if not everything
// was looked at.
int ExitCodeOf(const Diagnosis& diagnosis);

// Repair() removes a leaked mapping only if two looks, at least this far apart, find no link to it,
// because a call that maps a share makes the link a moment later.
inline constexpr absl::Duration kLinkFollows = absl::Seconds(5);

// Looks for faults of `kinds` and, if one can be repaired, passes the plan to `show`. With consent,
// looks again for each fault that can be repaired, and repairs it if it is unchanged. Calls `wait`
// to pause. Returns an error as Diagnose() does. REQUIRES: `kinds` are in kKinds.
absl::StatusOr<Repairs> Repair(Rpcs& rpcs, const std::vector<std::string>& kinds,
                               const std::function<void(const Repairs& plan)>& show,
                               const Consent& consent,
                               const std::function<void(absl::Duration)>& wait = absl::SleepFor);

// Returns kOk if no fault of the kinds is left, kCallFailed if a repair failed or not everything
// was looked at, otherwise kFindings.
int ExitCodeOf(const Repairs& repairs);

// Return reports as tables. The ToText() of a diagnosis is printed after the PartText() of its
// parts.
std::string PartText(const Diagnosis& part);
std::string ToText(const Diagnosis& diagnosis);
std::string ToText(const Repairs& repairs);

}  // namespace csi_proxy::ctl::diagnose
