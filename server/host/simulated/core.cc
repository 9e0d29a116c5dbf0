#include "server/host/simulated/core.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/windows_path.h"

namespace csi_proxy::host::simulated {
namespace {

bool Matches(const FaultRule& rule, absl::string_view operation, absl::string_view resource) {
  absl::string_view pattern = rule.operation;
  const bool operation_matches = absl::ConsumeSuffix(&pattern, "*")
                                     ? absl::StartsWith(operation, pattern)
                                     : operation == pattern;
  return operation_matches && (rule.resource.empty() || EqualNames(rule.resource, resource));
}

}  // namespace

absl::Status Core::Begin(const CallContext& context, absl::string_view operation,
                         absl::string_view resource) {
  if (absl::Status status = context.Check(); !status.ok()) return status;
  std::optional<FaultRule> fault;
  {
    absl::MutexLock lock(&mutex);
    const auto rule = std::find_if(
        state.faults.begin(), state.faults.end(),
        [&](const FaultRule& candidate) { return Matches(candidate, operation, resource); });
    if (rule == state.faults.end()) return absl::OkStatus();
    fault = *rule;
    if (rule->times > 0 && --rule->times == 0) state.faults.erase(rule);
  }
  if (fault->latency > absl::ZeroDuration()) {
    if (absl::Status status = context.SleepFor(fault->latency); !status.ok()) return status;
  }
  if (fault->code == absl::StatusCode::kOk) return absl::OkStatus();
  return Failure(operation, fault->error, fault->code);
}

}  // namespace csi_proxy::host::simulated
