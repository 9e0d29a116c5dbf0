#include "service_installer/service_config.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace csi_proxy::service_installer {
namespace {

// Indexed by StartType.
constexpr const char* kStartTypes[] = {"automatic", "automatic-delayed", "manual", "disabled"};

std::string Quoted(absl::string_view word) {
  std::string out = "\"";
  size_t backslashes = 0;
  for (const char c : word) {
    if (c == '\\') {
      ++backslashes;
      continue;
    }
    // A backslash is special only before a quote.
    out.append(c == '"' ? 2 * backslashes + 1 : backslashes, '\\');
    backslashes = 0;
    out.push_back(c);
  }
  out.append(2 * backslashes, '\\');
  out.push_back('"');
  return out;
}

}  // namespace

std::string QuoteArgument(absl::string_view word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n\v\"") == word.npos;
  return plain ? std::string(word) : Quoted(word);
}

std::string CommandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (line.empty()) {
      line = Quoted(word);
    } else {
      absl::StrAppend(&line, " ", QuoteArgument(word));
    }
  }
  return line;
}

absl::StatusOr<std::vector<std::string>> SplitCommandLine(absl::string_view line) {
  std::vector<std::string> words;
  size_t i = 0;
  while (true) {
    while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
    if (i == line.size()) break;
    std::string word;
    bool quoted = false;
    // In the program's name a backslash is never special, not even before the closing quote.
    const bool program = words.empty();
    while (i < line.size() && (quoted || (line[i] != ' ' && line[i] != '\t'))) {
      size_t backslashes = 0;
      while (!program && i < line.size() && line[i] == '\\') ++backslashes, ++i;
      if (i < line.size() && line[i] == '"') {
        word.append(backslashes / 2, '\\');
        if (backslashes % 2 == 1) {
          word.push_back('"');
        } else if (quoted && !program && i + 1 < line.size() && line[i + 1] == '"') {
          // Two quotes within quotes stand for one.
          word.push_back('"');
          ++i;
        } else {
          quoted = !quoted;
        }
        ++i;
        continue;
      }
      word.append(backslashes, '\\');
      if (backslashes > 0) continue;
      word.push_back(line[i++]);
    }
    if (quoted) {
      return absl::InvalidArgumentError(
          absl::StrCat("command line: a quotation mark is not closed: ", line));
    }
    words.push_back(std::move(word));
  }
  if (words.empty()) return absl::InvalidArgumentError("command line: it is empty");
  return words;
}

std::vector<std::string> Differences(const ServiceConfig& from, const ServiceConfig& to) {
  std::vector<std::string> lines;
  const auto compare = [&lines](const char* what, const std::string& a, const std::string& b) {
    if (a != b) lines.push_back(absl::StrCat(what, ": ", a, " -> ", b));
  };
  compare("command", CommandLine(from.command), CommandLine(to.command));
  compare("display name", from.display_name, to.display_name);
  compare("description", from.description, to.description);
  compare("start type", Name(from.start_type), Name(to.start_type));
  // Windows reports `LocalSystem` in its own capitalisation.
  compare("account", absl::AsciiStrToLower(from.account), absl::AsciiStrToLower(to.account));
  compare("restart delay", absl::FormatDuration(from.restart_delay),
          absl::FormatDuration(to.restart_delay));
  compare("failure reset", absl::FormatDuration(from.failure_reset),
          absl::FormatDuration(to.failure_reset));
  compare("privileges", absl::StrJoin(from.privileges, ","), absl::StrJoin(to.privileges, ","));
  return lines;
}

const char* Name(StartType type) { return kStartTypes[static_cast<size_t>(type)]; }

absl::StatusOr<StartType> ParseStartType(absl::string_view name) {
  const auto* const found = std::ranges::find(kStartTypes, name);
  if (found != std::end(kStartTypes)) return static_cast<StartType>(found - kStartTypes);
  return absl::InvalidArgumentError(absl::StrCat("--start-type: \"", name, "\" is not one of ",
                                                 absl::StrJoin(kStartTypes, ", ")));
}

}  // namespace csi_proxy::service_installer
