// `diagnose`, which looks at a node, and `repair`, which mends what was found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/ctl/commands.h"
#include "client/ctl/diagnose/look.h"

namespace csi_proxy::ctl::diagnose {

// Tells whether a person consents to what they were shown.
using Consent = std::function<bool()>;

// Begins a report with what any report says of a look.
void Begin(const Findings& findings, Diagnosis* diagnosis);
void Begin(const Findings& findings, Repairs* repairs);
// An error when the service answered nothing at all, or nothing that can be read.
absl::Status Usable(const Rpcs& rpcs, const Findings& findings);

// Looks. An error when the service answers nothing at all.
absl::StatusOr<Diagnosis> Diagnose(Rpcs& rpcs, const FetchMetrics& fetch);

// kOk: all was looked at and nothing is wrong. kFindings, or kCallFailed when not all was looked
// at.
int ExitCodeOf(const Diagnosis& diagnosis);

// A call that maps a share makes the link a moment after the mapping. A mapping is taken for leaked
// only if no link led to it at two looks, at least this long apart.
inline constexpr absl::Duration kLinkFollows = absl::Seconds(5);

// Looks for the kinds, hands `show` what it would do, and does it once there is consent; each is
// looked at again right before. `wait` lets time pass. An error when the service answers nothing at
// all.
absl::StatusOr<Repairs> Repair(Rpcs& rpcs, const std::vector<std::string>& kinds,
                               const std::function<void(const Repairs& plan)>& show,
                               const Consent& consent,
                               const std::function<void(absl::Duration)>& wait = absl::SleepFor);

// kOk: nothing of the kinds is wrong any more. kCallFailed when a repair failed or not all was
// looked at, else kFindings when something is left as it was.
int ExitCodeOf(const Repairs& repairs);

// Tables.
std::string ToText(const Diagnosis& diagnosis);
std::string ToText(const Repairs& repairs);

}  // namespace csi_proxy::ctl::diagnose

namespace csi_proxy::ctl {

// Read the flags, look or repair, and print.
int Diagnose(const Catalog& catalog, const CommandLine& line, const Streams& streams);
int Repair(const Catalog& catalog, const CommandLine& line, const Streams& streams);

// Their flags, as FieldFlags() has those of methods.
std::vector<std::string> DiagnoseFlags();
std::vector<std::string> RepairFlags();

}  // namespace csi_proxy::ctl
