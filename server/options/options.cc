#include "server/options/options.h"

#include <boost/program_options.hpp>
#include <functional>
#include <initializer_list>
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
  // Stores a value that CheckGoValue() accepts. Returns false unless the value is what `needs`
  // describes. Null for a flag without effect.
  std::function<bool(const std::string& value)> store = nullptr;
  std::string needs = "";
  // Returns the stored value of a limit or switch: a number, seconds, 0 or 1. Null for other flags:
  // anyone may read the metrics, so they must not contain the texts of flags.
  std::function<double()> in_force = nullptr;
};

struct Flag {
  const char* name;
  Value value;
  const char* meaning = "";
};

// The flags of the service. Boost prints the help.
struct Flags {
  void Section(const char* title, std::initializer_list<Flag> flags) {
    auto& section = sections.emplace_back(title, 100);
    for (const auto& [name, value, meaning] : flags) {
      auto* const shown = po::value<std::string>()->value_name(value.name);
      if (!value.default_value.empty()) shown->default_value(value.default_value);
      if (value.kind == kBool) shown->zero_tokens();
      section.add_options()(name, shown, meaning);
      values[name] = value;
    }
  }

  std::vector<po::options_description> sections;
  std::map<std::string, Value, std::less<>> values;
};

// The functions below make the values of flags that set `*out`. A flag of List() adds one item each
// time that it is given; a flag of Items() adds the items of a text with commas.
template <typename T>
Value Text(T* out, const char* name, const std::string& by_default) {
  return {kText, name, by_default, [=](const std::string& value) { return *out = value, true; }};
}
Value Bool(bool* out) {
  return {kBool, "", "",
          [=](const std::string& value) { return *out = *ParseGoBool(value), true; }};
}
Value Switch(bool* out) {
  Value value = Bool(out);
  value.in_force = [=] { return *out ? 1.0 : 0.0; };
  return value;
}
Value Text(std::string* out, const char* name) { return Text(out, name, *out); }
Value List(std::vector<std::string>* out, const char* name) {
  return {kText, name, "", [=](const std::string& value) { return out->push_back(value), true; }};
}
Value Items(std::vector<std::string>* out, const char* name) {
  return {kText, name, "", [=](const std::string& value) {
            for (absl::string_view item : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
              out->emplace_back(absl::StripAsciiWhitespace(item));
            }
            return true;
          }};
}
Value Count(size_t* out, size_t most) {
  const auto store = [=](const std::string& value) {
    *out = *ParseGoUint(value);
    return *out >= 1 && *out <= most;
  };
  return {kUint, "N", absl::StrCat(*out), store, absl::StrCat("from 1 to ", most), [=] {
            return static_cast<double>(*out);
          }};
}
Value Time(absl::Duration* out, absl::Duration least) {
  const auto store = [=](const std::string& value) {
    *out = *ParseGoDuration(value);
    return *out >= least && *out <= absl::Hours(24 * 365);
  };
  return {kDuration,
          "TIME",
          absl::FormatDuration(*out),
          store,
          absl::StrCat("from ", absl::FormatDuration(least), " to a year"),
          [=] { return absl::ToDoubleSeconds(*out); }};
}
// Makes the value of a flag that accepts two words. `first` is the default.
template <typename T>
Value Choice(T* out, const char* name, const char* first, const char* other, T value_of_other) {
  const auto store = [=, by_default = *out](const std::string& value) {
    *out = value == other ? value_of_other : by_default;
    return value == first || value == other;
  };
  return {kText, name, first, store, absl::StrCat(first, " or ", other)};
}
// Makes the value of a size in megabytes. 0, or a size whose bytes exceed size_t, means no limit.
Value LogSize(size_t* out) {
  return {kUint, "MB", absl::StrCat(*out), [=](const std::string& value) {
            constexpr size_t kMost = std::numeric_limits<size_t>::max() >> 20;
            *out = *ParseGoUint(value);
            if (*out == 0 || *out > kMost) *out = kMost;
            return true;
          }};
}

// Flags that SetDirectories() turns into options.
struct Directories {
  std::vector<std::string> working;
  // Empty unless the flag is given.
  std::optional<std::string> kubelet, plugins, pods;
};
constexpr char kDefaultWorkingDir[] = R"(C:\var\lib\kubelet)";
Value Path(std::optional<std::string>* out) { return Text(out, "PATH", kDefaultWorkingDir); }

Flags Describe(Options& o, Directories& directories) {
  observability::LogOptions& log = o.log;
  const auto set_verbosity = [&log](const std::string& value) {
    return absl::SimpleAtoi(value, &log.verbosity);
  };
  constexpr size_t kMany = 1'000'000;
  Flags flags;
  flags.Section(
      "Service",
      {{"help", {kBool, ""}, "print this and exit"},
       {"version", Bool(&o.show_version), "print the version and exit"},
       {"api-groups", Items(&o.api_groups, "GROUP,..."), "API groups to serve; default all"},
       {"api-versions", Items(&o.api_versions, "VERSION,..."),
        "API versions to serve, such as v1 (of every group) or volume/v1; default all"},
       {"windows-service", Bool(&o.windows_service),
        "run under Windows' service control manager alone"},
       {"metrics-bind-address", Text(&o.metrics_bind_address, "HOST:PORT"),
        "serve Prometheus metrics at /metrics of this address, without authentication; :PORT is "
        "all addresses"},
       {"socket-dir", Text(&o.place.socket_dir, "DIR"),
        "directory of the Unix sockets (not on Windows)"},
       {"pipe-sddl", Text(&o.place.sddl, "SDDL"),
        "access list of the named pipes (on Windows); the service adds its own account as owner. "
        "Give others 0x12019b: with generic write they could serve the pipes, with generic all "
        "change the list"}});
  flags.Section(
      "Node",
      {{"host", Choice(&o.host, "KIND", "windows", "simulated", HostKind::kSimulated),
        "the node to act on: windows, or simulated (a node in memory; on Windows only "
        "csi-proxy-simulated.exe has one)"},
       {"scenario", Text(&o.scenario, "NAME|FILE"),
        "the simulated node: one of --list-scenarios, or a textproto; default a node of no cloud"},
       {"list-scenarios", Bool(&o.list_scenarios), "print the names of the scenarios and exit"},
       {"working-dir", List(&directories.working, "PATH"),
        "directory that calls may touch beside the kubelet's; may be repeated"},
       {"kubelet-path", Path(&directories.kubelet),
        "the kubelet's directory, which calls may touch"},
       {"kubelet-csi-plugins-path", Path(&directories.plugins),
        "calls may touch it as well; with this flag or the next one, calls of filesystem v1alpha1 "
        "and v1beta1 for a driver's path must stay within this directory"},
       {"kubelet-pod-path", Path(&directories.pods), "the same for a pod's path"},
       {"allowed-services", List(&o.allowed_services, "NAME"),
        "service that calls may start and stop; may be repeated; default every service"},
       {"require-privacy", Switch(&o.require_privacy),
        "ask for encryption on SMB mappings; default true"},
       {"smb-bind-credentials", Switch(&o.bind_smb_credentials),
        "refuse a mapped share to calls that do not give the credentials it was mapped with"},
       {"allow-local-shares", Switch(&o.allow_local_shares),
        "let calls map shares that this node serves itself"},
       {"keep-foreign-data", Switch(&o.keep_foreign_data),
        "refuse to initialise or format a disk or volume with data that Windows does not "
        "recognise"}});
  flags.Section(
      "Limits",
      {{"preface-timeout", Time(&o.listener.preface_timeout, absl::Milliseconds(10)),
        "time that a connection may stay silent before HTTP/2 begins"},
       {"idle-timeout", Time(&o.idle_timeout, absl::Seconds(1)),
        "time that a connection may stay without calls"},
       {"max-connections", Count(&o.listener.max_connections, kMany), "open connections per pipe"},
       {"client-share", Count(&o.listener.client_share, 100),
        "limit of one tenant (the processes of a container), in percent of the connections, "
        "workers and queue places that other tenants do not use; 100 for all"},
       {"max-workers", Count(&o.max_workers, kMany),
        "calls of one API group that run at once; up to eight times as many more may wait for "
        "Windows, servers or locks"},
       {"max-queued", Count(&o.max_queued, kMany),
        "calls of one API group that may wait; more are refused"},
       {"max-call-duration", Time(&o.max_call_duration, absl::Milliseconds(1)),
        "longest time a call may take, whatever its own deadline"},
       {"stop-grace-period", Time(&o.stop_grace_period, absl::ZeroDuration()),
        "time that a stop waits for calls under way"}});
  flags.Section(
      "Log",
      {{"v",
        {kLevel, "N", "0", set_verbosity},
        "verbosity: 0 start and failures, 2 every call, 4 details"},
       {"log-format",
        Choice(&log.format, "FORMAT", "text", "json", observability::LogFormat::kJson),
        "text, as klog writes it, or json"},
       {"logtostderr", Bool(&log.to_stderr), "log to standard error; default true"},
       {"alsologtostderr", Bool(&log.also_to_stderr),
        "log to standard error as well as to the file"},
       {"log_file", Text(&log.file, "FILE"), "log to this file (with -logtostderr=false)"},
       {"log_file_max_size", LogSize(&log.file_max_megabytes),
        "start a new log file beyond this size, and keep five old ones; 0 for one file of any "
        "size"},
       {"skip_headers", Bool(&log.skip_headers), "lines without severity, time and source file"},
       {"add_dir_header", Bool(&log.add_dir_header), "lines with the folder of the source file"},
       {"skip_log_headers", Bool(&log.skip_file_headers), "log files without klog's first lines"},
       {"log_dir", Text(&log.directory, "DIR"),
        "directory of the log file when -log_file is not given"}});
  flags.Section("Accepted and ignored", {{"alsologtostderrthreshold", {kSeverity}},
                                         {"legacy_stderr_threshold_behavior", {kBool}},
                                         {"log_backtrace_at", {kBacktrace}},
                                         {"one_output", {kBool}},
                                         {"stderrthreshold", {kSeverity}},
                                         {"vmodule", {kVmodule}}});
  return flags;
}

// Sets the directories. The two flags of releases before v1.0.0 replace the default of
// -kubelet-path, because those releases did not have that flag.
absl::Status SetDirectories(const Directories& directories, Options* options) {
  const auto add = [&](const char* flag, const std::string& text) -> absl::StatusOr<WindowsPath> {
    ABSL_ASSIGN_OR_RETURN(WindowsPath path, WindowsPath::Parse(flag, text));
    options->working_dirs.push_back({flag, path});
    return path;
  };
  for (const std::string& text : directories.working) {
    ABSL_RETURN_IF_ERROR(add("--working-dir", text).status());
  }
  if (directories.plugins.has_value() || directories.pods.has_value()) {
    ABSL_ASSIGN_OR_RETURN(
        options->plugins_dir,
        add("--kubelet-csi-plugins-path", directories.plugins.value_or(kDefaultWorkingDir)));
    ABSL_ASSIGN_OR_RETURN(options->pods_dir,
                          add("--kubelet-pod-path", directories.pods.value_or(kDefaultWorkingDir)));
    if (!directories.kubelet.has_value()) return absl::OkStatus();
  }
  return add("--kubelet-path", directories.kubelet.value_or(kDefaultWorkingDir)).status();
}

// Returns INVALID_ARGUMENT if a group or version does not exist, or if no version is selected,
// because then a driver would wait for a pipe that does not exist.
absl::Status CheckVersions(const Options& options) {
  std::set<std::string> groups, versions;
  bool any = false;
  for (const auto& [group, version] : api::kReleasedVersions) {
    groups.insert(group);
    versions.insert({version, absl::StrCat(group, "/", version)});
    any = any || Selects(options, group, version);
  }
  std::string problem = any ? ""
                            : "--api-groups and --api-versions: no group has one of these "
                              "versions, so there is no pipe to open";
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
  Directories directories;
  const Flags flags = Describe(options, directories);
  const auto find = [&](absl::string_view name) -> std::optional<GoFlagKind> {
    const auto found = flags.values.find(std::string_view(name.data(), name.size()));
    if (found == flags.values.end()) return std::nullopt;
    return found->second.kind;
  };
  ABSL_ASSIGN_OR_RETURN(GoCommandLine line, ReadGoFlags(arguments, find));
  for (const GoFlag& flag : line.flags) {
    const Value& known = flags.values.at(flag.name);
    ABSL_RETURN_IF_ERROR(CheckGoValue(flag, known.kind));
    if (known.store != nullptr && !known.store(flag.value)) return BadGoValue(flag, known.needs);
  }
  options.show_help = line.help;
  if (line.help) return options;
  options.ignored_words = std::move(line.rest);
  if (!options.scenario.empty() && options.host != HostKind::kSimulated) {
    return absl::InvalidArgumentError("--scenario: needs --host=simulated");
  }
  ABSL_RETURN_IF_ERROR(CheckVersions(options));
  ABSL_RETURN_IF_ERROR(SetDirectories(directories, &options));
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
  Directories unused;
  const Flags default_flags = Describe(defaults, unused);
  std::vector<FlagInForce> flags;
  for (const auto& [name, value] : Describe(current, unused).values) {
    if (value.in_force == nullptr) continue;
    const double by_default = default_flags.values.at(name).in_force();
    flags.push_back({name, value.in_force(),
                     value.kind != kBool ? absl::StrCat(by_default)
                     : by_default != 0   ? "true"
                                         : "false"});
  }
  return flags;
}

std::string OptionsHelp() {
  Options options;
  Directories unused;
  po::options_description all("csi-proxy [flags]");
  for (const auto& section : Describe(options, unused).sections) all.add(section);
  std::ostringstream text;
  text << all;
  return text.str();
}

}  // namespace csi_proxy
