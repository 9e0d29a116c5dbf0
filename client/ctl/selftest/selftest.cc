#include "client/ctl/selftest/selftest.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <set>

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

std::string Text(const std::string& group, const std::string& method, const absl::Status& status) {
  return absl::StrCat(group, ".", method, ": ", StatusText(status));
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
void Take(const Step& step, const std::set<std::string>& passed, Attempt attempt,
          StepReport* report) {
  if (!step.only_with.empty() && !IsGiven(attempt.options(), step.only_with)) {
    report->set_result(NOT_ASKED);
    report->set_detail(absl::StrCat("not asked for: --", step.only_with));
    return;
  }
  for (const std::string& need : Words(step.needs)) {
    if (passed.contains(need)) continue;
    report->set_result(SKIPPED);
    report->set_detail(absl::StrCat("needs ", need));
    return;
  }
  const SteadyTime start = SteadyTime::Now();
  const std::string found = step.run(attempt);
  report->set_milliseconds(Milliseconds(SteadyTime::Now() - start));
  // Once a field is missing, it is missing for all later steps too; the clean-up needs none.
  const std::string& missing = attempt.rpcs().missing_field();
  attempt.Expect(missing.empty() || step.name == kCleanUp,
                 absl::StrCat("the API has no field ", missing));
  report->set_result(attempt.ok() ? OK : FAILED);
  report->set_detail(attempt.ok() ? found : std::string(attempt.status().message()));
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

// The group under which Catalog marks the password as a secret.
constexpr char kGroup[] = "selftest";
constexpr char kPasswordVariable[] = "CSI_PROXY_SMB_PASSWORD";

absl::StatusOr<Options> ReadOptions(const Catalog& catalog, const CommandLine& line, Input& in) {
  Options options;
  const auto read_secret = [&in](const std::string& path) { return in.ReadSecret(path); };
  ABSL_RETURN_IF_ERROR(SetFields(catalog, kGroup, line.fields, read_secret, &options));
  ABSL_RETURN_IF_ERROR(Complete(&options));
  if (options.smb_share().empty() || !options.smb_password().empty()) return options;
  if (const char* const password = std::getenv(kPasswordVariable)) {
    options.set_smb_password(password);
    return options;
  }
  ABSL_ASSIGN_OR_RETURN(std::string password, in.ReadSecret("-"));
  options.set_smb_password(password);
  return options;
}

bool AnyPipe(const Catalog& catalog, Pipes& pipes) {
  const std::vector<Method>& methods = catalog.AllMethods();
  return std::any_of(methods.begin(), methods.end(), [&](const Method& method) {
    return !method.version.empty() && pipes.Exists(method.group, method.version);
  });
}

}  // namespace

absl::Status Attempt::MayTouch(const std::string& method, const Fields& fields) const {
  // Calls that only read may name any disk.
  for (const char* question : {"Get", "List", "Is"}) {
    if (absl::StartsWith(method, question)) return absl::OkStatus();
  }
  for (const auto& [name, value] : fields) {
    const bool own = Plain(name) == "disknumber" ? value == disk()
                     : Plain(name) == "volumeid" ? !value.empty() && value == state_.volume
                                                 : true;
    if (own) continue;
    return absl::InternalError(absl::StrCat(method, " with --", name, "=", value,
                                            " would touch another disk than ", disk()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> Attempt::Try(const std::string& group, const std::string& method,
                                    const Fields& fields) {
  if (!ok()) return status_;
  status_ = MayTouch(method, fields);
  if (!ok()) return status_;
  return rpcs_.Call(group, method, fields);
}

Answer Attempt::Call(const std::string& group, const std::string& method, const Fields& fields) {
  const absl::StatusOr<Answer> answer = Try(group, method, fields);
  if (answer.ok()) return *answer;
  if (ok()) status_ = absl::Status(answer.status().code(), Text(group, method, answer.status()));
  return Answer();
}

void Attempt::ExpectRefused(absl::StatusCode code, const std::string& group,
                            const std::string& method, const Fields& fields,
                            absl::string_view text) {
  const absl::Status status = Try(group, method, fields).status();
  if (!ok() || (status.code() == code && absl::StrContains(status.message(), text))) return;
  std::vector<std::string> given;
  for (const auto& [name, value] : fields) {
    given.push_back(absl::StrCat(name, "=", value.substr(0, 80)));
  }
  status_ = absl::InternalError(
      absl::StrCat(Text(group, method, status), "; wanted ", absl::StatusCodeToString(code),
                   text.empty() ? "" : absl::StrCat(" with \"", text, "\""), " (",
                   absl::StrJoin(given, ", "), ")"));
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
  const auto found = std::find_if(state_.undos.begin(), state_.undos.end(),
                                  [&](const Undo& undo) { return undo.what == what; });
  Expect(found != state_.undos.end(), "nothing was done that needs ", what);
  if (!ok()) return Answer();
  const Answer answer = Call(found->group, found->method, found->fields);
  RemoveUndo(what);
  return answer;
}

std::string CleanUp(Attempt& attempt) {
  std::vector<std::string> complaints;
  std::vector<Undo>& undos = attempt.state().undos;
  for (; !undos.empty(); undos.pop_back()) {
    const Undo& undo = undos.back();
    const absl::Status status = attempt.rpcs().Call(undo.group, undo.method, undo.fields).status();
    if (status.ok() || absl::IsNotFound(status)) continue;
    complaints.push_back(absl::StrCat(undo.what, ": ", Text(undo.group, undo.method, status)));
  }
  attempt.Expect(complaints.empty(), "left behind: ", absl::StrJoin(complaints, "; "));
  return "";
}

absl::Status Complete(Options* options) {
  if (!options->has_disk()) {
    return absl::InvalidArgumentError(
        "--disk=NUMBER: missing; name the disk to work on, whose data may be lost");
  }
  if (options->work_dir().empty()) options->set_work_dir(kWorkDir);
  while (absl::EndsWith(options->work_dir(), "\\")) options->mutable_work_dir()->pop_back();
  if (options->service().empty()) options->set_service(kService);
  if (options->smb_share().empty() != options->smb_username().empty()) {
    return absl::InvalidArgumentError("--smb-share and --smb-username: give both or neither");
  }
  if (!options->iscsi_iqn().empty() && options->iscsi_portal().empty()) {
    return absl::InvalidArgumentError("--iscsi-iqn: needs --iscsi-portal");
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
  steps.push_back({kCleanUp, "everything the steps made is undone", "", "", "", &CleanUp});
  for (const Step& step : steps) {
    progress(step.name);
    StepReport* const told = report.add_steps();
    told->set_name(step.name);
    told->set_shows(step.shows);
    for (const std::string& rpc : Words(step.rpcs)) told->add_rpcs(rpc);
    Take(step, passed, Attempt(options, rpcs, state), told);
    if (told->result() == OK) passed.insert(step.name);
  }
  const auto count = [&](Result result) {
    return static_cast<uint32_t>(
        std::count_if(report.steps().begin(), report.steps().end(),
                      [&](const StepReport& step) { return step.result() == result; }));
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
  std::vector<std::vector<std::string>> steps = {{"STEP", "RESULT", "MS", "DETAIL"}};
  for (const StepReport& step : report.steps()) {
    steps.push_back(
        {step.name(), Shown(step.result()), Number(step.milliseconds()), step.detail()});
  }
  std::vector<std::vector<std::string>> rpcs = {
      {"RPC", "VERSION", "CALLS", "FASTEST MS", "MEDIAN MS", "SLOWEST MS"}};
  for (const Latency& latency : report.latencies()) {
    rpcs.push_back({latency.rpc(), latency.version(), absl::StrCat(latency.calls()),
                    Number(latency.fastest_ms()), Number(latency.median_ms()),
                    Number(latency.slowest_ms())});
  }
  return absl::StrCat("csi-proxyctl ", report.product_version(), ", ", report.started(), ", disk ",
                      report.disk(), ", ", Printable(report.work_dir()),
                      report.note().empty() ? "" : absl::StrCat(", ", Printable(report.note())),
                      "\n\n", Align(steps), "\n", Align(rpcs), "\n", report.passed(), " passed, ",
                      report.failed(), " failed, ", report.skipped(), " skipped, ",
                      report.not_asked(), " not asked for\n");
}

}  // namespace selftest

int Selftest(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  const absl::StatusOr<selftest::Options> options =
      selftest::ReadOptions(catalog, line, streams.in);
  if (!options.ok()) return WrongUsage(options.status().message(), streams.err);
  const std::unique_ptr<Pipes> pipes = NewRemotePipes(line.client, line.call);
  if (!selftest::AnyPipe(catalog, *pipes)) {
    return Complain(client::NotReached("there are no pipes: start csi-proxy"), streams.err);
  }
  Rpcs rpcs(catalog, *pipes);
  const selftest::Report report =
      selftest::Run(selftest::Steps(), *options, rpcs, [&](const std::string& step) {
        if (line.verbose) streams.err << "step " << step << "\n" << std::flush;
      });
  return PrintReport(report, selftest::ToText(report), selftest::Passed(report) ? kOk : kCallFailed,
                     line, streams);
}

}  // namespace csi_proxy::ctl
