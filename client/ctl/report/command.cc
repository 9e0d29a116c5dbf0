// The command `report`.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/ctl/output.h"
#include "client/ctl/report/report.h"
#include "client/ctl/request.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace {

namespace fs = std::filesystem;
namespace r = report;

fs::path PathOf(const std::string& utf8) {
  return fs::path(std::u8string(utf8.begin(), utf8.end()));
}

// Reads a message in JSON from a file. INVALID_ARGUMENT names the file.
absl::Status ReadJson(Input& in, const fs::path& path, pb::Message* message) {
  const auto name = path.u8string();
  ABSL_ASSIGN_OR_RETURN(std::string text, in.Read({name.begin(), name.end()}));
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = pb::util::JsonStringToMessage(text, message, options);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path.filename().string(), ": ", std::string(status.message())));
}

absl::Status Write(const fs::path& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (file) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path.filename().string(), ": cannot be written"));
}

absl::StatusOr<r::NodeReport> Make(const r::ReportOptions& options, Input& in) {
  const fs::path from = PathOf(options.from()), to = PathOf(options.to());
  r::NodeReport report;
  ABSL_RETURN_IF_ERROR(ReadJson(in, from / "parts.json", &report));
  if (fs::exists(from / "selftest.json")) {
    ABSL_RETURN_IF_ERROR(ReadJson(in, from / "selftest.json", report.mutable_selftest()));
  }
  if (fs::exists(from / "diagnosis.json")) {
    ABSL_RETURN_IF_ERROR(ReadJson(in, from / "diagnosis.json", report.mutable_diagnosis()));
  }
  const auto list = (from / "doubts.md").u8string();
  ABSL_ASSIGN_OR_RETURN(const std::string doubts, in.Read({list.begin(), list.end()}));
  r::Judge(r::ReadDoubts(doubts), &report);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (entry.path().extension() != ".log") continue;
    const auto name = entry.path().u8string();
    ABSL_ASSIGN_OR_RETURN(const std::string log, in.Read({name.begin(), name.end()}));
    ABSL_RETURN_IF_ERROR(
        Write(to / entry.path().filename(), r::ProtectText(!options.no_redact(), report, log)));
  }
  r::Protect(!options.no_redact(), &report);
  report.set_schema(2);
  ABSL_ASSIGN_OR_RETURN(const std::string json, ToJson(report));
  ABSL_RETURN_IF_ERROR(Write(to / "report.json", json));
  ABSL_RETURN_IF_ERROR(Write(to / "REPORT.md", r::ToMarkdown(report)));
  return report;
}

}  // namespace

int Report(const Catalog& catalog, const CommandLine& line, const Streams& streams) {
  r::ReportOptions options;
  if (absl::Status s = ReadFlags(catalog, line, &options); !s.ok()) {
    return WrongUsage(s.message(), streams.err);
  }
  if (options.from().empty() || options.to().empty()) {
    return WrongUsage("report needs --from=FOLDER and --to=FOLDER", streams.err);
  }
  const absl::StatusOr<r::NodeReport> report = Make(options, streams.in);
  if (!report.ok()) return Complain(report.status(), streams.err);
  for (const r::DoubtReport& doubt : report->doubts()) {
    if (doubt.settled() == "otherwise than expected") {
      streams.out << "doubt " << doubt.number() << " is otherwise than expected: " << doubt.did()
                  << "\n";
    }
  }
  streams.out << report->summary() << "; paste " << options.to()
              << "/REPORT.md into an issue and attach report.json\n";
  return kOk;
}

std::vector<std::string> ReportFlags() { return FieldFlags(*r::ReportOptions::descriptor()); }

}  // namespace csi_proxy::ctl
