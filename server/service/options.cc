#include "server/service/options.h"

#include <boost/program_options.hpp>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/released.h"
#include "server/base/go_flags.h"
#include "server/base/status_macros.h"

namespace csi_proxy {
namespace {

namespace po = boost::program_options;
using enum GoFlagKind;

// The value of a flag.
struct Value {
  GoFlagKind kind;
  const char* name = "X";
  std::string default_value = "";
  // Stores a value that CheckGoValue() accepts. Null for a flag without effect.
  std::function<void(const std::string& value)> store = nullptr;
  // Returns true if the stored value is what `needs` says. Null if every value is.
  std::function<bool()> is_good = nullptr;
  std::string needs = "";
  // Returns the stored value of a limit or switch: a number, seconds, 0 or 1. Null for other flags:
  // the metrics have no authentication, so no text of a flag may be among them.
  std::function<double()> in_force = nullptr;
};

// The flags of the service. Boost prints the help.
class Flags {
 public:
  void Section(const char* title) { sections_.emplace_back(title, 100); }
  // Adds a flag to the last section.
  Flags& operator()(const char* name, Value value, const char* meaning) {
    auto* const shown = po::value<std::string>()->value_name(value.name);
    if (!value.default_value.empty()) shown->default_value(value.default_value);
    if (value.kind == kBool) shown->zero_tokens();
    sections_.back().add_options()(name, shown, meaning);
    values_[name] = std::move(value);
    return *this;
  }

  // Reads a command line and stores the values.
  absl::StatusOr<GoCommandLine> Parse(const std::vector<std::string>& arguments) const {
    const auto find = [&](absl::string_view name) -> std::optional<GoFlagKind> {
      const auto found = values_.find(std::string(name));
      if (found == values_.end()) return std::nullopt;
      return found->second.kind;
    };
    ABSL_ASSIGN_OR_RETURN(GoCommandLine line, ReadGoFlags(arguments, find));
    for (const GoFlag& flag : line.flags) {
      const Value& known = values_.at(flag.name);
      ABSL_RETURN_IF_ERROR(CheckGoValue(flag, known.kind));
      if (known.store != nullptr) known.store(flag.value);
      if (known.is_good == nullptr || known.is_good()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag.name, ": \"", flag.value, "\" is not ", known.needs));
    }
    return line;
  }

  // Returns the limits and switches, with the values that `defaults` stores as defaults.
  std::vector<FlagInForce> InForce(const Flags& defaults) const {
    std::vector<FlagInForce> flags;
    for (const auto& [name, value] : values_) {
      if (value.in_force == nullptr) continue;
      const double by_default = defaults.values_.at(name).in_force();
      flags.push_back({name, value.in_force(),
                       value.kind != kBool ? absl::StrCat(by_default)
                       : by_default != 0   ? "true"
                                           : "false"});
    }
    return flags;
  }

  std::string Help() const {
    po::options_description all("csi-proxy [flags]");
    for (const po::options_description& section : sections_) all.add(section);
    std::ostringstream text;
    text << all;
    return text.str();
  }

 private:
  std::vector<po::options_description> sections_;
  std::map<std::string, Value> values_;
};

// Values, whose default is that of the variable. Lists have one item for each time that the flag is
// given; Items() may also be separated by commas.
Value Bool(bool* out) {
  return {kBool, "", "", [=](const std::string& value) { *out = *ParseGoBool(value); }};
}
Value Switch(bool* out) {
  Value value = Bool(out);
  value.in_force = [=] { return *out ? 1.0 : 0.0; };
  return value;
}
Value Text(std::string* out, const char* name) {
  return {kText, name, *out, [=](const std::string& value) { *out = value; }};
}
Value List(std::vector<std::string>* out, const char* name) {
  return {kText, name, "", [=](const std::string& value) { out->push_back(value); }};
}
Value Items(std::vector<std::string>* out, const char* name) {
  return {kText, name, "", [=](const std::string& value) {
            for (absl::string_view item : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
              out->emplace_back(absl::StripAsciiWhitespace(item));
            }
          }};
}
Value Count(size_t* out, size_t most) {
  return {kUint,
          "N",
          absl::StrCat(*out),
          [=](const std::string& value) { *out = *ParseGoUint(value); },
          [=] { return *out >= 1 && *out <= most; },
          absl::StrCat("from 1 to ", most),
          [=] { return static_cast<double>(*out); }};
}
Value Time(absl::Duration* out, absl::Duration least) {
  return {kDuration,
          "TIME",
          absl::FormatDuration(*out),
          [=](const std::string& value) { *out = *ParseGoDuration(value); },
          [=] { return *out >= least && *out <= absl::Hours(24 * 365); },
          absl::StrCat("from ", absl::FormatDuration(least), " to a year"),
          [=] { return absl::ToDoubleSeconds(*out); }};
}

// Flags that ParseOptions() turns into options.
struct Raw {
  std::string host = "windows", log_format = "text";
  std::vector<std::string> working_dirs;
  // nullopt unless the flag is given.
  std::optional<std::string> kubelet_path, plugins_dir, pods_dir;
};

Value Choice(std::string* out, const char* name, const char* other) {
  return {kText,
          name,
          *out,
          [=](const std::string& value) { *out = value; },
          [=, first = *out] { return *out == first || *out == other; },
          absl::StrCat(*out, " or ", other)};
}

constexpr char kDefaultWorkingDir[] = R"(C:\var\lib\kubelet)";
Value Path(std::optional<std::string>* out) {
  return {kText, "PATH", kDefaultWorkingDir, [=](const std::string& value) { *out = value; }};
}

// A size of 0 is no limit. The logger counts in bytes.
Value LogSize(size_t* out) {
  return {kUint, "MB", absl::StrCat(*out), [=](const std::string& value) {
            constexpr size_t kMost = std::numeric_limits<size_t>::max() >> 20;
            *out = *ParseGoUint(value);
            if (*out == 0 || *out > kMost) *out = kMost;
          }};
}

Flags Describe(Options* options, Raw* raw) {
  Flags flags;
  flags.Section("Service");
  flags("help", Bool(&options->show_help), "print this and exit")(
      "version", Bool(&options->show_version), "print the version and exit")(
      "api-groups", Items(&options->api_groups, "GROUP,..."), "API groups to serve; default all")(
      "api-versions", Items(&options->api_versions, "VERSION,..."),
      "API versions to serve, such as v1 (of every group) or volume/v1; default all")(
      "windows-service", Bool(&options->windows_service),
      "run under Windows' service control manager alone")(
      "metrics-bind-address", Text(&options->metrics_bind_address, "HOST:PORT"),
      "serve Prometheus metrics at /metrics of this address, without authentication; :PORT is "
      "all addresses")("socket-dir", Text(&options->place.socket_dir, "DIR"),
                       "directory of the Unix sockets (not on Windows)")(
      "pipe-sddl", Text(&options->place.sddl, "SDDL"),
      "access list of the named pipes (on Windows); the service adds its own account as owner. "
      "Give others 0x12019b: with generic write they could serve the pipes, with generic all "
      "change the list");
  flags.Section("Node");
  flags("host", Choice(&raw->host, "KIND", "simulated"),
        "the node to act on: windows, or simulated (a node in memory; on Windows only "
        "csi-proxy-simulated.exe has one)")(
      "scenario", Text(&options->scenario, "NAME|FILE"),
      "the simulated node: one of --list-scenarios, or a textproto; default a node of no cloud")(
      "list-scenarios", Bool(&options->list_scenarios),
      "print the names of the scenarios and exit")(
      "working-dir", List(&raw->working_dirs, "PATH"),
      "directory that calls may touch beside the kubelet's; may be repeated")(
      "kubelet-path", Path(&raw->kubelet_path), "the kubelet's directory, which calls may touch")(
      "kubelet-csi-plugins-path", Path(&raw->plugins_dir),
      "calls may touch it as well; with this flag or the next one, calls of filesystem v1alpha1 "
      "and v1beta1 for a driver's path must stay within this directory")(
      "kubelet-pod-path", Path(&raw->pods_dir), "the same for a pod's path")(
      "allowed-services", List(&options->allowed_services, "NAME"),
      "service that calls may start and stop; may be repeated; default every service")(
      "require-privacy", Switch(&options->require_privacy),
      "ask for encryption on SMB mappings; default true")(
      "smb-bind-credentials", Switch(&options->bind_smb_credentials),
      "refuse a mapped share to calls that do not give the credentials it was mapped with")(
      "allow-local-shares", Switch(&options->allow_local_shares),
      "let calls map shares that this node serves itself")(
      "keep-foreign-data", Switch(&options->keep_foreign_data),
      "refuse to initialise or format a disk or volume with data that Windows does not recognise");
  flags.Section("Limits");
  flags("preface-timeout", Time(&options->listener.preface_timeout, absl::Milliseconds(10)),
        "time that a connection may stay silent before HTTP/2 begins")(
      "idle-timeout", Time(&options->idle_timeout, absl::Seconds(1)),
      "time that a connection may stay without calls")(
      "max-connections", Count(&options->listener.max_connections, 1'000'000),
      "open connections per pipe")(
      "client-share", Count(&options->listener.client_share, 100),
      "percentage of the free connections, workers and queue places that one tenant (the processes "
      "of a container) may take; 100 for all")(
      "max-workers", Count(&options->max_workers, 1'000'000),
      "calls of one API group that run at once; up to eight times as many more may wait for "
      "Windows, servers or locks")("max-queued", Count(&options->max_queued, 1'000'000),
                                   "calls of one API group that may wait; more are refused")(
      "max-call-duration", Time(&options->max_call_duration, absl::Milliseconds(1)),
      "longest time a call may take, whatever its own deadline")(
      "stop-grace-period", Time(&options->stop_grace_period, absl::ZeroDuration()),
      "time that a stop waits for calls under way");
  flags.Section("Log");
  service::LogOptions* const log = &options->log;
  const auto set_verbosity = [=](const std::string& value) {
    (void)absl::SimpleAtoi(value, &log->verbosity);
  };
  flags("v", {kLevel, "N", "0", set_verbosity},
        "verbosity: 0 start and failures, 2 every call, 4 details")(
      "log-format", Choice(&raw->log_format, "FORMAT", "json"), "text, as klog writes it, or json")(
      "logtostderr", Bool(&log->to_stderr), "log to standard error; default true")(
      "alsologtostderr", Bool(&log->also_to_stderr),
      "log to standard error as well as to the file")("log_file", Text(&log->file, "FILE"),
                                                      "log to this file (with -logtostderr=false)")(
      "log_file_max_size", LogSize(&log->file_max_megabytes),
      "start a new log file beyond this size, and keep five old ones; 0 for one file of any size")(
      "skip_headers", Bool(&log->skip_headers), "lines without severity, time and source file")(
      "add_dir_header", Bool(&log->add_dir_header), "lines with the folder of the source file")(
      "skip_log_headers", Bool(&log->skip_file_headers), "log files without klog's first lines")(
      "log_dir", Text(&log->directory, "DIR"),
      "directory of the log file when -log_file is not given");
  flags.Section("Accepted and ignored");
  flags("alsologtostderrthreshold", {kSeverity}, "")("legacy_stderr_threshold_behavior", {kBool},
                                                     "")("log_backtrace_at", {kBacktrace}, "")(
      "one_output", {kBool}, "")("stderrthreshold", {kSeverity}, "")("vmodule", {kVmodule}, "");
  return flags;
}

// Sets the directories. The two flags of releases before v1.0.0 replace the default of
// -kubelet-path, which those releases did not have.
absl::Status SetDirectories(const Raw& raw, Options* options) {
  const auto add = [&](const char* flag, const std::string& text) -> absl::StatusOr<WindowsPath> {
    ABSL_ASSIGN_OR_RETURN(WindowsPath path, WindowsPath::Parse(flag, text));
    options->working_dirs.push_back({flag, path});
    return path;
  };
  for (const std::string& text : raw.working_dirs) {
    ABSL_RETURN_IF_ERROR(add("--working-dir", text).status());
  }
  if (raw.plugins_dir.has_value() || raw.pods_dir.has_value()) {
    ABSL_ASSIGN_OR_RETURN(options->plugins_dir, add("--kubelet-csi-plugins-path",
                                                    raw.plugins_dir.value_or(kDefaultWorkingDir)));
    ABSL_ASSIGN_OR_RETURN(options->pods_dir,
                          add("--kubelet-pod-path", raw.pods_dir.value_or(kDefaultWorkingDir)));
    if (!raw.kubelet_path.has_value()) return absl::OkStatus();
  }
  return add("--kubelet-path", raw.kubelet_path.value_or(kDefaultWorkingDir)).status();
}

// Returns INVALID_ARGUMENT if a group or version does not exist, or if no version is selected,
// because the pipe that a driver waits for would be missing.
absl::Status CheckVersions(const Options& options) {
  std::set<std::string> groups, versions;
  bool any = false;
  for (const auto& [group, version] : api::kReleasedVersions) {
    groups.insert(group);
    versions.insert({version, absl::StrCat(group, "/", version)});
    any = any || Selects(options, group, version);
  }
  std::string problem =
      any ? ""
          : "--api-groups and --api-versions: no group has one of these versions, so there is no "
            "pipe to open";
  const auto check = [&](const char* what, const auto& asked, const auto& known) {
    for (const std::string& name : asked) {
      if (known.contains(name)) continue;
      problem = absl::StrCat(what, " \"", name, "\"; there are ", absl::StrJoin(known, ", "));
    }
  };
  check("--api-groups: there is no group", options.api_groups, groups);
  check("--api-versions: there is no version", options.api_versions, versions);
  return problem.empty() ? absl::OkStatus() : absl::InvalidArgumentError(problem);
}

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  Raw raw;
  ABSL_ASSIGN_OR_RETURN(GoCommandLine line, Describe(&options, &raw).Parse(arguments));
  options.show_help = line.help;
  if (line.help) return options;
  options.ignored_words = std::move(line.rest);
  if (raw.host == "simulated") options.host = HostKind::kSimulated;
  if (raw.log_format == "json") options.log.format = service::LogFormat::kJson;
  if (!options.scenario.empty() && options.host != HostKind::kSimulated) {
    return absl::InvalidArgumentError("--scenario: needs --host=simulated");
  }
  ABSL_RETURN_IF_ERROR(CheckVersions(options));
  ABSL_RETURN_IF_ERROR(SetDirectories(raw, &options));
  return options;
}

bool Selects(const Options& options, const std::string& group, const std::string& version) {
  const auto asked = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || absl::c_linear_search(list, name);
  };
  return asked(options.api_groups, group) &&
         (asked(options.api_versions, version) ||
          asked(options.api_versions, absl::StrCat(group, "/", version)));
}

std::vector<FlagInForce> FlagsInForce(const Options& options) {
  Options current = options, defaults;
  Raw raw;
  return Describe(&current, &raw).InForce(Describe(&defaults, &raw));
}

std::string OptionsHelp() {
  Options options;
  Raw raw;
  return Describe(&options, &raw).Help();
}

}  // namespace csi_proxy
