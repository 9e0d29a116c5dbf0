#include "client/ctl/diagnose/diagnose.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/ctl/output.h"
#include "client/ctl/top/numbers.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/observability/product_version.h"

namespace csi_proxy::ctl {
namespace diagnose {
namespace {

// Sorts findings by kind. Returns an error if neither a call nor the metrics were answered, or if
// `rpcs` was asked for a field that the API does not have.
absl::Status CheckAndSort(const Rpcs& rpcs, Findings& findings) {
  const auto rank = [](const FindingWithRepair& one) {
    return std::find(std::begin(kKinds), std::end(kKinds), one.finding.kind());
  };
  std::stable_sort(findings.found.begin(), findings.found.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (!findings.answered) return findings.error;
  if (rpcs.missing_field().empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("there is no ", rpcs.missing_field()));
}

// Fills in the fields that both kinds of reports have.
template <typename Report>
void Begin(const Findings& findings, Report* report) {
  report->set_product_version(kVersion);
  report->set_time(UtcText(absl::Now()));
  *report->mutable_not_known() = findings.rest.not_known();
  report->set_complete(findings.complete());
}

Diagnosis DiagnosisOf(const Findings& findings) {
  Diagnosis diagnosis = findings.rest;
  Begin(findings, &diagnosis);
  for (const FindingWithRepair& found : findings.found) *diagnosis.add_findings() = found.finding;
  return diagnosis;
}

std::string NotKnown(const pb::RepeatedPtrField<std::string>& list) {
  std::string text;
  for (const std::string& line : list) {
    absl::StrAppend(&text, "not known: ", Printable(line), "\n");
  }
  return text;
}

std::string FallbacksText(const Diagnosis& diagnosis) {
  std::string text;
  for (const FallbackTaken& taken : diagnosis.fallbacks()) {
    absl::StrAppend(&text, "fallback ", Printable(taken.fallback()), ": taken ",
                    Counted(static_cast<int64_t>(taken.times()), "time"));
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

// Indexed by Result.
constexpr const char* kResultTexts[] = {"to be done",
                                        "done",
                                        "failed",
                                        "only shown",
                                        "refused",
                                        "works again, nothing was done",
                                        "changed since, nothing was done"};

// Looks again for a finding, repairs it if it is unchanged, and records the result in `act`.
void RepairOne(Rpcs& rpcs, const FindingWithRepair& found, Act* act) {
  const auto end = [act](Result result, const std::string& detail = "") {
    act->set_result(result);
    act->set_detail(detail);
  };
  const Findings again = LookAgain(rpcs, found.finding);
  const std::string& kind = found.finding.kind();
  bool is_same = false, is_ill = false;
  for (const FindingWithRepair& now : again.found) {
    is_same = is_same || now.finding.SerializeAsString() == found.finding.SerializeAsString();
    is_ill = is_ill || (now.finding.kind() == kind && now.finding.where() == found.finding.where());
  }
  // A second look that was cut short cannot show that the finding has ended, nor that no link uses
  // a mapping or a link's target.
  const bool needs_all = !is_ill || kind == kLeakedMappings || kind == kDanglingLinks;
  if (!again.error.ok() || (again.cut_short && needs_all)) {
    return end(FAILED, absl::StrCat("could not be checked again: ",
                                    again.error.ok() ? *again.rest.not_known().rbegin()
                                                     : again.error.message()));
  }
  if (!is_same) return end(is_ill ? CHANGED : WELL_AGAIN);
  const absl::StatusOr<Answer> answer =
      rpcs.Call(absl::StrCat("storage.", found.advice->repair), found.fields);
  if (!answer.ok()) return end(FAILED, StatusText(answer.status()));
  // UnstageShare counts links under the share's lock, so it also finds links made since the look.
  const bool is_kept = absl::string_view(found.advice->repair) == "UnstageShare" &&
                       (answer->Flag("incomplete") || !answer->Texts("other_links").empty());
  end(is_kept ? CHANGED : DONE, is_kept ? "the mapping stays: a link may use it now" : "");
}

// The timeout of diagnose's calls if --timeout is not given. The timeout is short, because a person
// waits, and a class of WMI may hang.
constexpr absl::Duration kLookTimeout = absl::Seconds(2);

// Returns the kinds to repair. INVALID_ARGUMENT lists the valid kinds.
absl::StatusOr<std::vector<std::string>> Kinds(const RepairOptions& options) {
  const std::vector<std::string> known(std::begin(kKinds), std::end(kKinds));
  if (options.what().empty()) {
    return Invalid("--what=KIND is missing; the kinds: ", absl::StrJoin(known, ", "));
  }
  std::vector<std::string> kinds =
      absl::StrSplit(absl::AsciiStrToLower(absl::StrJoin(options.what(), ",")), ',');
  for (const std::string& kind : kinds) {
    if (absl::c_linear_search(known, kind)) continue;
    return Invalid("--what: there is no such kind", DidYouMean(kind, known),
                   "\nThere are: ", absl::StrJoin(known, ", "));
  }
  return kinds;
}

}  // namespace

absl::StatusOr<Diagnosis> Diagnose(Rpcs& rpcs, const top::FetchMetrics& fetch,
                                   const std::function<void(const Diagnosis& part)>& show) {
  Diagnosis shown;
  Findings findings = LookAtNode(rpcs, &fetch, [&](const Findings& so_far) {
    Diagnosis all = DiagnosisOf(so_far), part = all;
    part.mutable_findings()->DeleteSubrange(0, shown.findings_size());
    part.mutable_notes()->DeleteSubrange(0, shown.notes_size());
    part.mutable_not_known()->DeleteSubrange(0, shown.not_known_size());
    shown = std::move(all);
    show(part);
  });
  ABSL_RETURN_IF_ERROR(CheckAndSort(rpcs, findings));
  return DiagnosisOf(findings);
}

int ExitCodeOf(const Diagnosis& diagnosis) {
  if (diagnosis.findings_size() > 0) return kFindings;
  return diagnosis.complete() ? kOk : kCallFailed;
}

std::string PartText(const Diagnosis& part) {
  std::vector<Row> rows = {{"KIND", "WHERE", "WHAT", "WHY"}};
  // Keyed by kind and repair, because findings of a kind often share a repair.
  std::map<std::pair<std::string, std::string>, bool> repairs;
  for (const Finding& finding : part.findings()) {
    rows.push_back({finding.kind(), finding.where(), What(finding), finding.why()});
    repairs[{finding.kind(), finding.repair()}] = finding.can_be_repaired();
  }
  std::string text = rows.size() == 1 ? "" : absl::StrCat(Align(rows), "\n");
  for (const auto& [repair, can] : repairs) {
    absl::StrAppend(&text, can ? "repair --what=" : "", repair.first, ": ",
                    Printable(repair.second), "\n");
  }
  for (const Finding& note : part.notes()) {
    absl::StrAppend(&text, "note: ", Printable(note.where()), " (", What(note),
                    "): ", Printable(note.why()), ". ", Printable(note.repair()), "\n");
  }
  return absl::StrCat(text, NotKnown(part.not_known()));
}

std::string ToText(const Diagnosis& diagnosis) {
  const int found = diagnosis.findings_size();
  std::string result = found == 0 ? "nothing found" : Counted(found, "finding");
  if (found == 0 && !diagnosis.complete()) result += ", but not everything was looked at";
  return absl::StrCat(FallbacksText(diagnosis), Printable(diagnosis.flags()),
                      diagnosis.flags().empty() ? "" : "\n", result,
                      "\nwhat is safe to do, and what never to do: server/troubleshooting.md\n");
}

std::string ToText(const Repairs& repairs) {
  if (repairs.acts().empty()) {
    return absl::StrCat(NotKnown(repairs.not_known()), "nothing to repair\n");
  }
  const auto row_of = [](const Act& act) {
    const Finding& finding = act.finding();
    const char* const colon = act.detail().empty() ? "" : ": ";
    return Row{finding.kind(), finding.where(), What(finding), finding.repair(),
               absl::StrCat(kResultTexts[act.result()], colon, act.detail())};
  };
  const Row head = {"KIND", "WHERE", "WHAT", "REPAIR", "RESULT"};
  return absl::StrCat(Align(RowsOf(head, repairs.acts(), row_of)), NotKnown(repairs.not_known()));
}

absl::StatusOr<Repairs> Repair(Rpcs& rpcs, const std::vector<std::string>& kinds,
                               const std::function<void(const Repairs& plan)>& show,
                               const Consent& consent,
                               const std::function<void(absl::Duration)>& wait) {
  Findings findings = LookAtNode(rpcs, nullptr, [](const Findings&) {});
  const SteadyTime looked = SteadyTime::Now();
  ABSL_RETURN_IF_ERROR(CheckAndSort(rpcs, findings));
  Repairs repairs;
  Begin(findings, &repairs);
  std::vector<FindingWithRepair> found;
  bool any = false;
  for (FindingWithRepair& one : findings.found) {
    if (!absl::c_linear_search(kinds, one.finding.kind())) continue;
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
    act->set_result(ONLY_SHOWN);
    if (!may) continue;
    const absl::Duration left = looked + kLinkFollows - SteadyTime::Now();
    if (act->finding().kind() == kLeakedMappings && left > absl::ZeroDuration()) wait(left);
    RepairOne(rpcs, found[i], act);
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

}  // namespace diagnose

namespace d = diagnose;

absl::StatusOr<int> Diagnose(const Catalog& catalog, const CommandLine& line,
                             const Streams& streams) {
  d::DiagnoseOptions options;
  ABSL_RETURN_IF_ERROR(ReadFlags(catalog, line, streams, &options));
  top::FetchMetrics fetch;
  if (!options.metrics().empty()) {
    ABSL_ASSIGN_OR_RETURN(fetch, top::MetricsFetcher(options.metrics(), line.call.timeout));
  }
  CallOptions call = line.call;
  if (!line.has_timeout) call.timeout = d::kLookTimeout;
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, call);
  Rpcs rpcs(catalog, *pipes);
  const absl::StatusOr<d::Diagnosis> diagnosis =
      d::Diagnose(rpcs, fetch, [&](const d::Diagnosis& part) {
        if (WantsTable(line, streams)) streams.out << d::PartText(part) << std::flush;
      });
  if (!diagnosis.ok()) return Complain(diagnosis.status(), streams.err);
  return PrintReport(*diagnosis, d::ToText(*diagnosis), d::ExitCodeOf(*diagnosis), line, streams);
}

absl::StatusOr<int> Repair(const Catalog& catalog, const CommandLine& line,
                           const Streams& streams) {
  d::RepairOptions options;
  ABSL_RETURN_IF_ERROR(ReadFlags(catalog, line, streams, &options));
  ABSL_ASSIGN_OR_RETURN(const auto kinds, d::Kinds(options));
  const bool asks = !options.yes() && streams.in_is_terminal;
  // Shown on standard error, so that standard output is one document for a program.
  const auto show = [&](const d::Repairs& plan) {
    if (asks) streams.err << d::ToText(plan);
  };
  const auto consent = [&] {
    if (!asks) return options.yes();
    streams.err << "Make these repairs? [y/N] " << std::flush;
    const absl::StatusOr<std::string> answer = streams.in.ReadLine();
    const std::string word =
        answer.ok() ? absl::AsciiStrToLower(absl::StripAsciiWhitespace(*answer)) : "";
    return word == "y" || word == "yes";
  };
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, line.call);
  Rpcs rpcs(catalog, *pipes);
  const absl::StatusOr<d::Repairs> repairs = d::Repair(rpcs, kinds, show, consent);
  if (!repairs.ok()) return Complain(repairs.status(), streams.err);
  return PrintReport(*repairs, d::ToText(*repairs), d::ExitCodeOf(*repairs), line, streams);
}

}  // namespace csi_proxy::ctl
