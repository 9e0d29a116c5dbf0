// Prints findings and repairs as tables.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/diagnose/diagnose.h"
#include "client/ctl/output.h"

namespace csi_proxy::ctl::diagnose {
namespace {

using Row = std::vector<std::string>;

template <typename List>
std::string NotKnown(const List& list) {
  std::string text;
  for (const std::string& line : list) {
    absl::StrAppend(&text, "not known: ", Printable(line), "\n");
  }
  return text;
}

std::string FallbacksText(const Diagnosis& diagnosis) {
  std::string text;
  for (const FallbackTaken& taken : diagnosis.fallbacks()) {
    absl::StrAppend(&text, "fallback ", Printable(taken.fallback()), ": taken ", taken.times(),
                    taken.times() == 1 ? " time" : " times");
    if (taken.doubt() != 0) {
      absl::StrAppend(&text, ", see doubt ", taken.doubt(), " of server/host/doubts.md");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// Returns the text of a finding, with a disk's size in the form of SizeText().
std::string What(const Finding& finding) {
  const std::string what = Printable(finding.what());
  if (finding.size_bytes() <= 0) return what;
  return absl::StrReplaceAll(what, {{absl::StrCat(finding.size_bytes(), " bytes"),
                                     SizeText(static_cast<uint64_t>(finding.size_bytes()))}});
}

std::string ResultText(Result result) {
  switch (result) {
    case DONE:
      return "done";
    case FAILED:
      return "failed";
    case ONLY_SHOWN:
      return "only shown";
    case REFUSED:
      return "refused";
    case WELL_AGAIN:
      return "well again, nothing was done";
    case CHANGED:
      return "changed since, nothing was done";
    default:
      return "to be done";
  }
}

}  // namespace

std::string ToText(const Diagnosis& diagnosis) {
  std::vector<Row> rows = {{"KIND", "WHERE", "WHAT", "WHY"}};
  // Keyed by kind and repair, because findings of a kind often share a repair.
  std::map<std::pair<std::string, std::string>, bool> repairs;
  for (const Finding& finding : diagnosis.findings()) {
    rows.push_back(
        {finding.kind(), Printable(finding.where()), What(finding), Printable(finding.why())});
    repairs[{finding.kind(), finding.repair()}] = finding.can_be_repaired();
  }
  std::string text = absl::StrCat(NotKnown(diagnosis.not_known()), FallbacksText(diagnosis));
  if (rows.size() == 1) return absl::StrCat(text, "nothing found\n");
  text = absl::StrCat(Align(rows), "\n", text);
  for (const auto& [repair, can] : repairs) {
    absl::StrAppend(&text, can ? "repair --what=" : "", repair.first, ": ",
                    Printable(repair.second), "\n");
  }
  return absl::StrCat(text, diagnosis.findings_size(),
                      diagnosis.findings_size() == 1 ? " finding\n" : " findings\n");
}

std::string ToText(const Repairs& repairs) {
  if (repairs.acts().empty()) {
    return absl::StrCat(NotKnown(repairs.not_known()), "nothing to repair\n");
  }
  std::vector<Row> rows = {{"KIND", "WHERE", "WHAT", "REPAIR", "RESULT"}};
  for (const Act& act : repairs.acts()) {
    rows.push_back({act.finding().kind(), Printable(act.finding().where()), What(act.finding()),
                    Printable(act.finding().repair()),
                    absl::StrCat(ResultText(act.result()), act.detail().empty() ? "" : ": ",
                                 Printable(act.detail()))});
  }
  return absl::StrCat(Align(rows), NotKnown(repairs.not_known()));
}

}  // namespace csi_proxy::ctl::diagnose
