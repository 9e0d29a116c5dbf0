#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/ctl/diagnose/diagnose.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl::diagnose {
namespace {

bool Same(const Finding& a, const Finding& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// Repairs one finding, unless the mount works again or another disk has its number by now.
void RepairOne(Rpcs& rpcs, const FindingWithRepair& found, Act* act) {
  const Findings again = LookAgain(rpcs, found.finding);
  // If the second look was cut short, a missing finding proves nothing.
  const bool cannot_tell = found.finding.kind() == kLeakedMappings && again.cut_short;
  if (!again.error.ok() || cannot_tell) {
    act->set_result(FAILED);
    act->set_detail(absl::StrCat(
        "could not be looked at again: ",
        again.error.ok() ? again.not_known.back() : std::string(again.error.message())));
    return;
  }
  const auto still =
      std::find_if(again.found.begin(), again.found.end(),
                   [&](const FindingWithRepair& now) { return Same(now.finding, found.finding); });
  if (still == again.found.end()) {
    const bool is_ill =
        std::any_of(again.found.begin(), again.found.end(), [&](const FindingWithRepair& now) {
          return now.finding.kind() == found.finding.kind() &&
                 now.finding.where() == found.finding.where();
        });
    act->set_result(is_ill ? CHANGED : WELL_AGAIN);
    return;
  }
  const absl::StatusOr<Answer> answer = rpcs.Call(found.group, found.method, found.fields);
  if (!answer.ok()) {
    act->set_result(FAILED);
    act->set_detail(absl::StrCat(absl::StatusCodeToString(answer.status().code()), ": ",
                                 std::string(answer.status().message())));
    return;
  }
  // UnstageShare counts links under the share's lock, so it also finds links made since the look.
  const bool is_kept = found.method == "UnstageShare" &&
                       (answer->Flag("incomplete") || !answer->Texts("other_links").empty());
  act->set_result(is_kept ? CHANGED : DONE);
  if (is_kept) act->set_detail("the mapping stays: links may lead to it by now");
}

}  // namespace

absl::StatusOr<Repairs> Repair(Rpcs& rpcs, const std::vector<std::string>& kinds,
                               const std::function<void(const Repairs& plan)>& show,
                               const Consent& consent,
                               const std::function<void(absl::Duration)>& wait) {
  Findings findings = LookAtNode(rpcs);
  const absl::Time looked = absl::Now();
  ABSL_RETURN_IF_ERROR(CheckFindings(rpcs, findings));
  Repairs repairs;
  Begin(findings, &repairs);
  std::vector<FindingWithRepair> found;
  bool any = false;
  for (FindingWithRepair& one : findings.found) {
    if (std::find(kinds.begin(), kinds.end(), one.finding.kind()) == kinds.end()) continue;
    Act* const act = repairs.add_acts();
    *act->mutable_finding() = one.finding;
    act->set_result(one.finding.can_be_repaired() ? UNKNOWN : REFUSED);
    any = any || one.finding.can_be_repaired();
    found.push_back(std::move(one));
  }
  if (!any) return repairs;
  show(repairs);
  const bool may = consent();
  for (size_t i = 0; i < found.size(); ++i) {
    Act* const act = repairs.mutable_acts(static_cast<int>(i));
    if (act->result() == REFUSED) continue;
    if (may) {
      if (found[i].finding.kind() == kLeakedMappings) {
        const absl::Duration left = looked + kLinkFollows - absl::Now();
        if (left > absl::ZeroDuration()) wait(left);
      }
      RepairOne(rpcs, found[i], act);
    } else {
      act->set_result(ONLY_SHOWN);
    }
  }
  return repairs;
}

int ExitCodeOf(const Repairs& repairs) {
  int code = repairs.complete() ? kOk : kCallFailed;
  for (const Act& act : repairs.acts()) {
    if (act.result() == FAILED) return kCallFailed;
    if (act.result() != DONE && act.result() != WELL_AGAIN && code == kOk) code = kFindings;
  }
  return code;
}

}  // namespace csi_proxy::ctl::diagnose
