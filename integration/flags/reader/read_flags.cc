// Reads command lines as the service or a sidecar does, for main.go. Each line of the input is a
// program's name and its arguments, separated by 0x1f. The answer is `help`, `refused` and the
// reason, or `taken` and the values, as NAME=VALUE.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/sidecars/program/flags.h"
#include "server/options/options.h"

namespace csi_proxy {
namespace {

constexpr char kSeparator[] = "\x1f";

std::string Refused(const absl::Status& status) {
  return absl::StrCat("refused", kSeparator, status.message());
}

std::string Taken(const std::vector<std::pair<std::string, std::string>>& values) {
  return absl::StrCat("taken", kSeparator,
                      absl::StrJoin(values, kSeparator, absl::PairFormatter("=")));
}

std::string OfService(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseOptions(arguments);
  if (!options.ok()) return Refused(options.status());
  if (options->show_help) return "help";
  std::vector<std::pair<std::string, std::string>> values;
  const auto add = [&](const char* name, const auto& value) {
    values.emplace_back(name, absl::StrCat(value));
  };
  const auto add_bool = [&](const char* name, bool value) { add(name, value ? "true" : "false"); };
  add_bool("windows-service", options->windows_service);
  add_bool("require-privacy", options->require_privacy);
  add_bool("logtostderr", options->log.to_stderr);
  add_bool("alsologtostderr", options->log.also_to_stderr);
  add("metrics-bind-address", options->metrics_bind_address);
  add("log_dir", options->log.directory);
  add("log_file", options->log.file);
  add("log_file_max_size", options->log.file_max_megabytes);
  add("v", options->log.verbosity);
  const auto directory = [](const auto& path) { return path.has_value() ? path->ToString() : ""; };
  add("PLUGIN", directory(options->plugins_dir));
  add("POD", directory(options->pods_dir));
  for (const auto& [flag, path] : options->working_dirs) add("DIRECTORY", path.ToString());
  for (const std::string& word : options->ignored_words) add("REST", word);
  return Taken(values);
}

std::string OfSidecar(sidecars::Component component, const std::string& program,
                      const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {program.c_str()};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const auto flags = sidecars::Flags::Read(static_cast<int>(argv.size()), argv.data());
  if (!flags.ok()) return Refused(flags.status());
  if (flags->help()) return "help";
  const auto other = component == sidecars::Component::kRegistrar ? sidecars::Owner::kProbeOnly
                                                                  : sidecars::Owner::kRegistrarOnly;
  std::vector<std::pair<std::string, std::string>> values;
  for (const sidecars::FlagRow& row : sidecars::FlagTable()) {
    if (row.owner == other) continue;
    values.emplace_back(row.name, flags->Text(row.name, component));
  }
  for (const std::string& word : flags->rest()) values.emplace_back("REST", word);
  return Taken(values);
}

int Main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> words = absl::StrSplit(line, kSeparator);
    const std::string program = words[0];
    words.erase(words.begin());
    std::cout << (program == "csi-proxy" ? OfService(words)
                  : program == "livenessprobe"
                      ? OfSidecar(sidecars::Component::kLivenessProbe, program, words)
                      : OfSidecar(sidecars::Component::kRegistrar, program, words))
              << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace csi_proxy

int main() { return csi_proxy::Main(); }
