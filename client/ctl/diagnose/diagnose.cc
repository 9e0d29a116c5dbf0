#include "client/ctl/diagnose/diagnose.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/ctl/output.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/service/product_version.h"

namespace csi_proxy::ctl::diagnose {
namespace {

template <typename Report>
void BeginAny(const Findings& findings, Report* report) {
  report->set_product_version(kVersion);
  report->set_time(UtcText(absl::Now()));
  for (const std::string& remark : findings.not_known) report->add_not_known(remark);
  report->set_complete(findings.complete());
}

// Returns the number of the fallback's doubt, or 0 if there is no such fallback.
uint32_t DoubtOf(const std::string& fallback) {
  const auto* const found =
      std::find_if(kFallbacks.begin(), kFallbacks.end(),
                   [&](const FallbackFacts& f) { return f.name == fallback; });
  return found == kFallbacks.end() ? 0 : static_cast<uint32_t>(found->doubt);
}

}  // namespace

void Begin(const Findings& findings, Diagnosis* diagnosis) { BeginAny(findings, diagnosis); }
void Begin(const Findings& findings, Repairs* repairs) { BeginAny(findings, repairs); }

absl::Status CheckFindings(const Rpcs& rpcs, const Findings& findings) {
  if (!findings.answered) return findings.error;
  if (rpcs.missing_field().empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("there is no ", rpcs.missing_field()));
}

absl::StatusOr<Diagnosis> Diagnose(Rpcs& rpcs, const FetchMetrics& fetch) {
  Findings findings = LookAtNode(rpcs);
  ABSL_RETURN_IF_ERROR(CheckFindings(rpcs, findings));
  LookAtMetrics(rpcs.catalog(), fetch, &findings);
  Diagnosis diagnosis;
  Begin(findings, &diagnosis);
  for (const FindingWithRepair& found : findings.found) *diagnosis.add_findings() = found.finding;
  for (const auto& [name, times] : findings.fallbacks) {
    FallbackTaken& taken = *diagnosis.add_fallbacks();
    taken.set_fallback(name);
    taken.set_times(times);
    taken.set_doubt(DoubtOf(name));
  }
  return diagnosis;
}

int ExitCodeOf(const Diagnosis& diagnosis) {
  if (diagnosis.findings_size() > 0) return kFindings;
  return diagnosis.complete() ? kOk : kCallFailed;
}

}  // namespace csi_proxy::ctl::diagnose
