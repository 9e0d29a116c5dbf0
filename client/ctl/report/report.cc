#include "client/ctl/report/report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/ctl/output.h"
#include "server/base/status_macros.h"

namespace csi_proxy::ctl {
namespace report {
namespace {

constexpr size_t kMostBytes = 60'000;

using Rows = std::vector<std::vector<std::string>>;

// Returns the parts, and the steps of the selftest as parts named `selftest/STEP`. Skips steps that
// already have a part: the script makes a part of each failed step.
std::vector<Part> Outcomes(const NodeReport& report) {
  std::vector<Part> outcomes(report.parts().begin(), report.parts().end());
  const size_t parts = outcomes.size();
  for (const selftest::StepReport& step : report.selftest().steps()) {
    const std::string name = absl::StrCat("selftest/", step.name());
    if (std::any_of(outcomes.begin(), outcomes.begin() + static_cast<ptrdiff_t>(parts),
                    [&](const Part& part) { return part.name() == name; })) {
      continue;
    }
    Part& part = outcomes.emplace_back();
    part.set_name(name);
    part.set_result(selftest::Result_Name(step.result()));
    part.set_detail(step.detail());
  }
  return outcomes;
}

// Returns Markdown without code marks, and with only the text of links.
std::string PlainText(absl::string_view markdown) {
  std::string text = absl::StrReplaceAll(absl::StripAsciiWhitespace(markdown), {{"`", ""}});
  for (size_t link = text.find("]("); link != std::string::npos; link = text.find("](")) {
    const size_t open = text.rfind('[', link), close = text.find(')', link);
    if (open == std::string::npos || close == std::string::npos) break;
    text = absl::StrCat(text.substr(0, open), text.substr(open + 1, link - open - 1),
                        text.substr(close + 1));
  }
  return text;
}

// Cuts text to `length` bytes, but not within a character or a mask.
std::string Cut(const std::string& text, size_t length) {
  if (text.size() <= length) return text;
  size_t end = length - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  const size_t mask = text.rfind('<', end);
  if (mask != std::string::npos && end - mask < 20 && text.find('>', mask) >= end) end = mask;
  return absl::StrCat(text.substr(0, end), "...");
}

std::string Cell(absl::string_view value, size_t length) {
  std::string text = absl::StrReplaceAll(value, {{"\n", " "}, {"\t", " "}});
  absl::RemoveExtraAsciiWhitespace(&text);
  return absl::StrReplaceAll(Cut(text, length), {{"&", "&amp;"},
                                                 {"<", "&lt;"},
                                                 {">", "&gt;"},
                                                 {"|", "\\|"},
                                                 {"`", "\\`"},
                                                 {"*", "\\*"},
                                                 {"_", "\\_"},
                                                 {"@", "&#64;"}});
}

std::string Table(const Rows& rows, size_t length) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&text, "|");
    for (const std::string& cell : row) absl::StrAppend(&text, " ", Cell(cell, length), " |");
    absl::StrAppend(&text, "\n");
    if (&row != &rows.front()) continue;
    absl::StrAppend(&text, "|");
    for (size_t i = 0; i < row.size(); ++i) absl::StrAppend(&text, "---|");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// Calls `change` for each string in the message and in nested messages.
void ForEachText(pb::Message* message, const std::function<void(std::string*)>& change) {
  const pb::Reflection& reflection = *message->GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const bool many = field->is_repeated();
    for (int i = 0; i < CountValues(*message, field); ++i) {
      if (field->type() == pb::FieldDescriptor::TYPE_MESSAGE) {
        ForEachText(many ? reflection.MutableRepeatedMessage(message, field, i)
                         : reflection.MutableMessage(message, field),
                    change);
      } else if (field->type() == pb::FieldDescriptor::TYPE_STRING) {
        std::string text = many ? reflection.GetRepeatedString(*message, field, i)
                                : reflection.GetString(*message, field);
        change(&text);
        if (many) reflection.SetRepeatedString(message, field, i, text);
        if (!many) reflection.SetString(message, field, text);
      }
    }
  }
}

// Returns the names and types of the properties in a fact `WMI CLASS`.
std::string TypesOf(absl::string_view properties) {
  std::vector<std::string> types;
  for (const absl::string_view line : absl::StrSplit(properties, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 2), absl::SkipEmpty());
    if (words.size() >= 2) types.push_back(absl::StrCat(words[0], " ", words[1]));
  }
  return absl::StrJoin(types, ", ");
}

std::string WithoutControls(absl::string_view text) {
  std::string clean(text);
  std::erase_if(clean, [](char c) { return absl::ascii_iscntrl(c) && c != '\n' && c != '\t'; });
  return clean;
}

Redactor RedactorOf(const NodeReport& report) {
  Redactor redactor;
  for (const Secret& secret : report.secrets()) redactor.AddSecret(secret.kind(), secret.value());
  return redactor;
}

namespace fs = std::filesystem;
fs::path PathOf(const std::string& utf8) {
  return fs::path(std::u8string(utf8.begin(), utf8.end()));
}

absl::StatusOr<std::string> Read(Input& in, const fs::path& path) {
  const std::u8string name = path.u8string();
  return in.Read({name.begin(), name.end()});
}

// Reads a message in JSON from a file. INVALID_ARGUMENT names the file.
absl::Status ReadJson(Input& in, const fs::path& path, pb::Message* message) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, Read(in, path));
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = pb::util::JsonStringToMessage(text, message, options);
  if (status.ok()) return absl::OkStatus();
  return Invalid(path.filename().string(), ": ", std::string(status.message()));
}

absl::Status Write(const fs::path& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (file) return absl::OkStatus();
  return Invalid(path.filename().string(), ": cannot be written");
}

absl::StatusOr<NodeReport> Make(const ReportOptions& options, Input& in) {
  const fs::path from = PathOf(options.from()), to = PathOf(options.to());
  NodeReport report;
  ABSL_RETURN_IF_ERROR(ReadJson(in, from / "parts.json", &report));
  if (fs::exists(from / "selftest.json")) {
    ABSL_RETURN_IF_ERROR(ReadJson(in, from / "selftest.json", report.mutable_selftest()));
  }
  if (fs::exists(from / "diagnosis.json")) {
    ABSL_RETURN_IF_ERROR(ReadJson(in, from / "diagnosis.json", report.mutable_diagnosis()));
  }
  ABSL_ASSIGN_OR_RETURN(const std::string doubts, Read(in, from / "doubts.md"));
  Judge(ReadDoubts(doubts), &report);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (entry.path().extension() != ".log") continue;
    ABSL_ASSIGN_OR_RETURN(const std::string log, Read(in, entry.path()));
    ABSL_RETURN_IF_ERROR(
        Write(to / entry.path().filename(), ProtectText(!options.no_redact(), report, log)));
  }
  Protect(!options.no_redact(), &report);
  report.set_schema(2);
  ABSL_ASSIGN_OR_RETURN(const std::string json, ToJson(report));
  ABSL_RETURN_IF_ERROR(Write(to / "report.json", json));
  ABSL_RETURN_IF_ERROR(Write(to / "REPORT.md", ToMarkdown(report)));
  return report;
}

}  // namespace

std::vector<Doubt> ReadDoubts(absl::string_view markdown) {
  std::vector<Doubt> doubts;
  for (const absl::string_view line : absl::StrSplit(markdown, '\n')) {
    // The cells: number, claim, source, what rests on it, what shows it, where, what if false.
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    Doubt doubt;
    if (cells.size() != 9 || !absl::SimpleAtoi(cells[1], &doubt.number)) continue;
    doubt.claim = PlainText(cells[2]);
    const std::vector<std::string> words = absl::StrSplit(cells[5], '`');
    for (size_t i = 1; i < words.size(); i += 2) doubt.shown_by.push_back(words[i]);
    doubts.push_back(std::move(doubt));
  }
  return doubts;
}

void Judge(const std::vector<Doubt>& doubts, NodeReport* report) {
  const std::vector<Part> outcomes = Outcomes(*report);
  for (const Doubt& doubt : doubts) {
    int passed = 0, failed = 0, open = 0;
    std::vector<std::string> did;
    for (const std::string& name : doubt.shown_by) {
      const auto found = std::find_if(outcomes.begin(), outcomes.end(),
                                      [&](const Part& part) { return part.name() == name; });
      const std::string result = found == outcomes.end() ? "did not run" : found->result();
      const std::string detail = found == outcomes.end() ? "" : found->detail();
      ++(result == "OK" ? passed : result == "FAILED" ? failed : open);
      did.push_back(absl::StrCat(name, ": ", result, detail.empty() ? "" : " ", detail));
    }
    for (const diagnose::FallbackTaken& taken : report->diagnosis().fallbacks()) {
      if (taken.doubt() != doubt.number) continue;
      ++failed;
      did.push_back(
          absl::StrCat("fallback ", taken.fallback(), ": taken ", taken.times(), " times"));
    }
    DoubtReport& judged = *report->add_doubts();
    judged.set_number(doubt.number);
    judged.set_expected(doubt.claim);
    std::string line = did.empty() ? "no part shows it" : absl::StrJoin(did, "; ");
    absl::RemoveExtraAsciiWhitespace(&line);
    judged.set_did(line);
    judged.set_settled(failed > 0                ? "otherwise than expected"
                       : passed > 0 && open == 0 ? "yes"
                       : passed > 0              ? "in part"
                                                 : "no");
  }
  std::map<std::string, int> count;
  for (const Part& part : report->parts()) ++count[part.result()];
  report->set_summary(absl::StrCat(
      count["OK"], " passed, ", count["FAILED"], " failed, ", count["ERROR"],
      " did not come to their end, ", count["SKIPPED"], " skipped",
      count["NOT REACHED"] == 0 ? "" : absl::StrCat(", ", count["NOT REACHED"], " not reached")));
}

void Protect(bool redact, NodeReport* report) {
  Redactor redactor = RedactorOf(*report);
  report->clear_secrets();
  ForEachText(report, [&](std::string* text) {
    *text = WithoutControls(*text);
    if (redact) *text = redactor.Apply(*text);
  });
}

std::string ProtectText(bool redact, const NodeReport& report, absl::string_view text) {
  const std::string clean = WithoutControls(text);
  return redact ? RedactorOf(report).Apply(clean) : clean;
}

std::string ToMarkdown(const NodeReport& report) {
  Rows doubts = {{"", "expected", "this node", "settled"}};
  for (const DoubtReport& doubt : report.doubts()) {
    doubts.push_back(
        {absl::StrCat(doubt.number()), doubt.expected(), doubt.did(), doubt.settled()});
  }
  Rows parts = {{"part", "result", "detail"}};
  for (const Part& part : Outcomes(report)) {
    parts.push_back({part.name(), part.result(), part.detail()});
  }
  Rows classes = {{"class", "properties and types"}};
  for (const Fact& fact : report.facts()) {
    absl::string_view name = fact.name();
    if (absl::ConsumePrefix(&name, "WMI ")) {
      classes.push_back({std::string(name), TypesOf(fact.value())});
    }
  }
  const std::string ended =
      report.ended_in().empty()
          ? ""
          : absl::StrCat(": the service's process ended during the part ",
                         absl::StrJoin(report.ended_in(), ", and again during the part "));
  std::string text;
  for (size_t length = 600; text.empty() || (text.size() > kMostBytes && length > 10);
       length = length * 3 / 4) {
    text = absl::StrCat(
        "# CSI Proxy on a node", ended, "\n\n", report.about(), ". Programs: ", report.version(),
        ". Server that answered: ", report.server(), ". Account: ", report.account(), ".\n\n",
        report.summary(), "\n\n## Doubts\n\n", Table(doubts, length), "\n## Parts\n\n",
        Table(parts, length), "\n## WMI\n\n", Table(classes, 2 * length),
        "\nThe values of the properties and the other facts are in report.json.\n");
  }
  return text;
}

}  // namespace report

absl::StatusOr<int> Report(const Catalog& catalog, const CommandLine& line,
                           const Streams& streams) {
  report::ReportOptions options;
  ABSL_RETURN_IF_ERROR(ReadFlags(catalog, line, streams, &options));
  if (options.from().empty() || options.to().empty()) {
    return Invalid("report needs --from=FOLDER and --to=FOLDER");
  }
  const absl::StatusOr<report::NodeReport> node = report::Make(options, streams.in);
  if (!node.ok()) return Complain(node.status(), streams.err);
  for (const report::DoubtReport& doubt : node->doubts()) {
    if (doubt.settled() == "otherwise than expected") {
      streams.out << "doubt " << doubt.number() << " is otherwise than expected: " << doubt.did()
                  << "\n";
    }
  }
  streams.out << node->summary() << "; paste " << options.to()
              << "/REPORT.md into an issue and attach report.json\n";
  return kOk;
}

}  // namespace csi_proxy::ctl
