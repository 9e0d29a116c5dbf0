#include "client/ctl/selftest/selftest.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/cpp/remote_channel.h"
#include "client/ctl/output.h"
#include "client/ctl/request.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/observability/product_version.h"

namespace csi_proxy::ctl {
namespace selftest {
namespace {

std::string Text(const std::string& rpc, const absl::Status& status) {
  return absl::StrCat(rpc, ": ", StatusText(status));
}

constexpr char kWorkDir[] = R"(C:\var\lib\kubelet\csi-proxy-selftest)";
constexpr char kService[] = "EventLog";

std::vector<std::string> Words(const char* text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

bool IsGiven(const Options& options, absl::string_view flag) {
  const pb::FieldDescriptor* const field = FindField(*options.GetDescriptor(), flag);
  return field != nullptr && options.GetReflection()->HasField(options, field);
}

// Runs one step and reports its result.
void Take(const Step& step, const std::set<std::string>& passed, const Options& options, Rpcs& rpcs,
          State& state, StepReport* report) {
  const auto end = [report](Result result, std::string detail) {
    report->set_result(result);
    report->set_detail(std::move(detail));
  };
  if (!step.only_with.empty() && !IsGiven(options, step.only_with)) {
    return end(NOT_ASKED, absl::StrCat("not asked for: --", step.only_with));
  }
  for (const std::string& need : Words(step.needs)) {
    if (!passed.contains(need)) return end(SKIPPED, absl::StrCat("needs ", need));
  }
  Attempt attempt(options, rpcs, state);
  const SteadyTime start = SteadyTime::Now();
  const std::string found = step.run(attempt);
  report->set_milliseconds(Milliseconds(SteadyTime::Now() - start));
  // Once a field is missing, it is missing for all later steps too. The clean-up reads no field.
  const std::string& missing = rpcs.missing_field();
  attempt.Expect(missing.empty() || step.name == kCleanUp, "the API has no field ", missing);
  if (attempt.ok()) return end(OK, found);
  end(FAILED, std::string(attempt.status().message()));
}

void AddLatencies(const Rpcs::Times& times, Report* report) {
  for (const auto& [rpc, taken] : times) {
    std::vector<absl::Duration> sorted = taken;
    std::sort(sorted.begin(), sorted.end());
    Latency* const latency = report->add_latencies();
    latency->set_rpc(rpc.first);
    latency->set_version(rpc.second);
    latency->set_calls(static_cast<uint32_t>(sorted.size()));
    latency->set_fastest_ms(Milliseconds(sorted.front()));
    latency->set_median_ms(Milliseconds(sorted[(sorted.size() - 1) / 2]));
    latency->set_slowest_ms(Milliseconds(sorted.back()));
  }
}

const char* Shown(Result result) {
  return result == OK ? "ok" : result == FAILED ? "FAILED" : "skipped";
}

std::string Number(double milliseconds) { return absl::StrFormat("%.1f", milliseconds); }

constexpr char kPasswordVariable[] = "CSI_PROXY_SMB_PASSWORD";

absl::StatusOr<Options> ReadOptions(const Catalog& catalog, const CommandLine& line,
                                    const Streams& streams) {
  Options options;
  ABSL_RETURN_IF_ERROR(ReadFlags(catalog, line, streams, &options));
  ABSL_RETURN_IF_ERROR(Complete(&options));
  if (options.smb_share().empty() || !options.smb_password().empty()) return options;
  if (const char* const password = std::getenv(kPasswordVariable)) {
    options.set_smb_password(password);
    return options;
  }
  ABSL_ASSIGN_OR_RETURN(const std::string password, streams.in.ReadSecret("-"));
  options.set_smb_password(password);
  return options;
}

}  // namespace

absl::Status Attempt::MayTouch(absl::string_view rpc, const Fields& fields) const {
  const absl::string_view method = rpc.substr(rpc.find('.') + 1);
  // Calls that only read may name any disk.
  for (const char* question : {"Get", "List", "Is"}) {
    if (absl::StartsWith(method, question)) return absl::OkStatus();
  }
  for (const auto& [name, value] : fields) {
    const std::string field = Plain(name);
    const bool own = field == "disknumber" || field == "disk.number" ? value == disk()
                     : field == "volumeid" ? !value.empty() && value == state_.volume
                                           : true;
    if (own) continue;
    return absl::InternalError(absl::StrCat(method, " with --", name, "=", value,
                                            " would touch another disk than ", disk()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> Attempt::Try(const std::string& rpc, const Fields& fields) {
  if (ok()) status_ = MayTouch(rpc, fields);
  if (!ok()) return status_;
  return rpcs_.Call(rpc, fields);
}

Answer Attempt::Call(const std::string& rpc, const Fields& fields) {
  const absl::StatusOr<Answer> answer = Try(rpc, fields);
  if (answer.ok()) return *answer;
  if (ok()) status_ = absl::Status(answer.status().code(), Text(rpc, answer.status()));
  return Answer();
}

void Attempt::ExpectRefused(absl::StatusCode code, const std::string& rpc, const Fields& fields,
                            absl::string_view text) {
  const absl::Status status = Try(rpc, fields).status();
  if (!ok() || (status.code() == code && absl::StrContains(status.message(), text))) return;
  const auto format = [](std::string* out, const auto& field) {
    absl::StrAppend(out, field.first, "=", field.second.substr(0, 80));
  };
  Expect(false, Text(rpc, status), "; wanted ", absl::StatusCodeToString(code),
         text.empty() ? "" : absl::StrCat(" with \"", text, "\""), " (",
         absl::StrJoin(fields, ", ", format), ")");
}

void Attempt::AddUndo(Undo undo) {
  if (!ok()) return;
  RemoveUndo(undo.what);
  state_.undos.push_back(std::move(undo));
}

void Attempt::RemoveUndo(absl::string_view what) {
  if (!ok()) return;
  std::erase_if(state_.undos, [&](const Undo& undo) { return undo.what == what; });
}

Answer Attempt::Finish(absl::string_view what) {
  const auto found = std::ranges::find(state_.undos, what, &Undo::what);
  Expect(found != state_.undos.end(), "nothing was done that needs ", what);
  if (!ok()) return Answer();
  const Answer answer = Call(found->rpc, found->fields);
  RemoveUndo(what);
  return answer;
}

std::string Attempt::CleanUp() {
  std::vector<std::string> complaints;
  for (; !state_.undos.empty(); state_.undos.pop_back()) {
    const Undo& undo = state_.undos.back();
    const absl::Status status = rpcs_.Call(undo.rpc, undo.fields).status();
    if (status.ok() || absl::IsNotFound(status)) continue;
    complaints.push_back(absl::StrCat(undo.what, ": ", Text(undo.rpc, status)));
  }
  Expect(complaints.empty(), "left behind: ", absl::StrJoin(complaints, "; "));
  return "";
}

absl::Status Complete(Options* options) {
  if (!options->has_disk()) {
    return Invalid("--disk=NUMBER: missing; name the disk to work on, whose data may be lost");
  }
  if (options->work_dir().empty()) options->set_work_dir(kWorkDir);
  while (absl::EndsWith(options->work_dir(), "\\")) options->mutable_work_dir()->pop_back();
  if (options->service().empty()) options->set_service(kService);
  if (options->smb_share().empty() != options->smb_username().empty()) {
    return Invalid("--smb-share and --smb-username: give both or neither");
  }
  if (!options->iscsi_iqn().empty() && options->iscsi_portal().empty()) {
    return Invalid("--iscsi-iqn: needs --iscsi-portal");
  }
  return absl::OkStatus();
}

Report Run(std::vector<Step> steps, const Options& options, Rpcs& rpcs,
           const std::function<void(const std::string&)>& progress) {
  Report report;
  report.set_product_version(kVersion);
  report.set_started(UtcText(absl::Now()));
  report.set_note(options.note());
  report.set_disk(options.disk());
  report.set_work_dir(options.work_dir());
  State state;
  std::set<std::string> passed;
  steps.push_back({kCleanUp, "everything the steps made is undone", "", "", "", &Attempt::CleanUp});
  for (const Step& step : steps) {
    progress(step.name);
    StepReport* const told = report.add_steps();
    told->set_name(step.name);
    told->set_shows(step.shows);
    for (const std::string& rpc : Words(step.rpcs)) told->add_rpcs(rpc);
    Take(step, passed, options, rpcs, state, told);
    if (told->result() == OK) passed.insert(step.name);
  }
  const auto count = [&](Result result) {
    return static_cast<uint32_t>(std::ranges::count(report.steps(), result, &StepReport::result));
  };
  report.set_passed(count(OK));
  report.set_failed(count(FAILED));
  report.set_skipped(count(SKIPPED));
  report.set_not_asked(count(NOT_ASKED));
  AddLatencies(rpcs.times(), &report);
  return report;
}

bool Passed(const Report& report) { return report.failed() == 0 && report.skipped() == 0; }

std::string ToText(const Report& report) {
  const auto steps =
      RowsOf({"STEP", "RESULT", "MS", "DETAIL"}, report.steps(), [](const StepReport& step) {
        return Row{step.name(), Shown(step.result()), Number(step.milliseconds()), step.detail()};
      });
  const auto rpcs = RowsOf({"RPC", "VERSION", "CALLS", "FASTEST MS", "MEDIAN MS", "SLOWEST MS"},
                           report.latencies(), [](const Latency& l) {
                             return Row{l.rpc(),
                                        l.version(),
                                        absl::StrCat(l.calls()),
                                        Number(l.fastest_ms()),
                                        Number(l.median_ms()),
                                        Number(l.slowest_ms())};
                           });
  return absl::StrCat("csi-proxyctl ", report.product_version(), ", ", report.started(), ", disk ",
                      report.disk(), ", ", Printable(report.work_dir()),
                      report.note().empty() ? "" : absl::StrCat(", ", Printable(report.note())),
                      "\n\n", Align(steps), "\n", Align(rpcs), "\n", report.passed(), " passed, ",
                      report.failed(), " failed, ", report.skipped(), " skipped, ",
                      report.not_asked(), " not asked for\n");
}

}  // namespace selftest

absl::StatusOr<int> Selftest(const Catalog& catalog, const CommandLine& line,
                             const Streams& streams) {
  ABSL_ASSIGN_OR_RETURN(const selftest::Options options,
                        selftest::ReadOptions(catalog, line, streams));
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, line.call);
  const auto exists = [&](const auto& pipe) { return pipes->Exists(pipe.first, pipe.second); };
  if (absl::c_none_of(catalog.Pipes(), exists)) {
    return Complain(client::NotReached("there are no pipes: start csi-proxy"), streams.err);
  }
  Rpcs rpcs(catalog, *pipes);
  const selftest::Report report =
      selftest::Run(selftest::Steps(), options, rpcs, [&](const std::string& step) {
        if (line.verbose) streams.err << "step " << step << "\n" << std::flush;
      });
  return PrintReport(report, selftest::ToText(report), selftest::Passed(report) ? kOk : kCallFailed,
                     line, streams);
}

}  // namespace csi_proxy::ctl
