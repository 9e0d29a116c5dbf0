#include "client/sidecars/program/flags.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"

namespace csi_proxy::sidecars {
namespace {

using enum GoFlagKind;

// --controllers is the flag of KEP-4958.
constexpr absl::string_view kSelections[] = {"sidecars", "controllers"};

// The sidecars that KEP-4958 runs beside a driver's controller.
constexpr absl::string_view kControllers[] = {"attacher",
                                              "health-monitor",
                                              "provisioner",
                                              "resizer",
                                              "snapshot-controller",
                                              "snapshotter",
                                              "volume-health-monitor",
                                              "volume-data-source-validator"};

// The flags of node-driver-registrar 1.0 to 2.17, of livenessprobe 0.4 to 2.20 and of their log
// libraries (glog, klog, k8s.io/component-base/logs); the flags of KEP-4958's single program
// (https://www.kubernetes.dev/resources/keps/4958/, csi-lib-utils' standardflags); and our own:
// --sidecars, --registration-timeout and --health-requires-registration. livenessprobe itself has
// no --timeout.
constexpr FlagRow kTable[] = {
    {kSelections[0], Owner::kProcess, kText, "node-driver-registrar,livenessprobe",
     "the sidecars to run, unless the program's name selects one"},
    {kSelections[1], Owner::kProcess, kText, "", "KEP-4958's name of --sidecars"},
    {"version", Owner::kProcess, kBool, "false", "print the version and exit"},
    {"feature-gates", Owner::kProcess, kText, "",
     "NAME=true,...: gates of the log and of controllers; they change nothing here"},
    {"logging-format", Owner::kProcess, kText, "text", "text, as klog writes it, or json"},

    {"csi-address", Owner::kEach, kText, "/run/csi/socket",
     "the driver's socket, as this process sees it: a path, or unix:// and a path"},
    {"timeout", Owner::kEach, kDuration, "1s", "longest time of a call to the driver"},
    {"http-endpoint", Owner::kEach, kText, "",
     "HOST:PORT, or :PORT, that serves /healthz and livenessprobe's metrics"},

    {"kubelet-registration-path", Owner::kRegistrar, kText, "",
     "the driver's socket, as the kubelet sees it; required"},
    {"plugin-registration-path", Owner::kRegistrar, kText, "/registration",
     "the kubelet's directory of plugins' sockets, as this process sees it"},
    {"health-port", Owner::kRegistrar, kInt, "0",
     "a port of all addresses, instead of --http-endpoint; 0 for none"},
    {"mode", Owner::kRegistrar, kText, "registration",
     "kubelet-registration-probe: only check whether the kubelet has registered the driver"},
    {"registration-timeout", Owner::kRegistrar, kDuration, "30s",
     "time without a call by the kubelet after which the registration socket is made again; 0 for "
     "never"},
    {"health-requires-registration", Owner::kRegistrar, kBool, "false",
     "the registrar's /healthz fails until the kubelet has registered the driver"},

    {"health-port", Owner::kLivenessProbe, kText, "9808",
     "a port of all addresses, instead of --http-endpoint"},
    {"probe-timeout", Owner::kLivenessProbe, kDuration, "3s",
     "longest time of a probe of the driver; --timeout if only that is given"},
    {"metrics-address", Owner::kLivenessProbe, kText, "",
     "HOST:PORT, or :PORT, of metrics when --http-endpoint is not given"},
    {"metrics-path", Owner::kLivenessProbe, kText, "/metrics", "the path of the metrics"},

    {"connection-timeout", Owner::kEach, kDuration, "0", ""},
    {"enable-pprof", Owner::kRegistrar, kBool, "false", ""},
    {"automaxprocs", Owner::kProcess, kBool, "false", ""},
    // Accepted and ignored: the log goes to standard error with a fixed verbosity.
    {"v", Owner::kProcess, kLevel, "0", ""},
    {"add_dir_header", Owner::kProcess, kBool, "false",
     "the log's lines give the folder of the source file as well"},
    {"alsologtostderr", Owner::kProcess, kBool, "false", ""},
    {"log_backtrace_at", Owner::kProcess, kBacktrace, "", ""},
    {"log_dir", Owner::kProcess, kText, "", ""},
    {"log_file", Owner::kProcess, kText, "", ""},
    {"log_file_max_size", Owner::kProcess, kUint, "1800", ""},
    {"log-flush-frequency", Owner::kProcess, kDuration, "5s", ""},
    {"log-json-info-buffer-size", Owner::kProcess, kText, "0", ""},
    {"log-json-split-stream", Owner::kProcess, kBool, "false", ""},
    {"log-text-info-buffer-size", Owner::kProcess, kText, "0", ""},
    {"log-text-split-stream", Owner::kProcess, kBool, "false", ""},
    {"logtostderr", Owner::kProcess, kBool, "true", ""},
    {"one_output", Owner::kProcess, kBool, "false", ""},
    {"skip_headers", Owner::kProcess, kBool, "false",
     "the log's lines have neither severity, time nor source file"},
    {"skip_log_headers", Owner::kProcess, kBool, "false", ""},
    {"stderrthreshold", Owner::kProcess, kSeverity, "2", ""},
    {"vmodule", Owner::kProcess, kVmodule, "", ""},

    {"kube-api-burst", Owner::kController, kInt, "10", ""},
    {"kube-api-qps", Owner::kController, kFloat, "5", ""},
    {"kubeconfig", Owner::kController, kText, "", ""},
    {"leader-election", Owner::kController, kBool, "false", ""},
    {"leader-election-labels", Owner::kController, kText, "", ""},
    {"leader-election-lease-duration", Owner::kController, kDuration, "15s", ""},
    {"leader-election-namespace", Owner::kController, kText, "", ""},
    {"leader-election-renew-deadline", Owner::kController, kDuration, "10s", ""},
    {"leader-election-retry-period", Owner::kController, kDuration, "5s", ""},
    {"master", Owner::kController, kText, "", ""},
    {"resync", Owner::kController, kDuration, "10m", ""},
    {"retry-interval-max", Owner::kController, kDuration, "5m", ""},
    {"retry-interval-start", Owner::kController, kDuration, "1s", ""},
    {"worker-threads", Owner::kController, kInt, "10", ""},
};

std::optional<Component> OwnComponent(Owner owner) {
  if (owner == Owner::kRegistrar) return Component::kRegistrar;
  if (owner == Owner::kLivenessProbe) return Component::kLivenessProbe;
  return std::nullopt;
}

// Returns the row of a flag that belongs to the component or to the process, or null.
const FlagRow* FindRow(absl::string_view name, std::optional<Component> component) {
  for (const FlagRow& row : kTable) {
    const std::optional<Component> own = OwnComponent(row.owner);
    if (row.name == name && (!own.has_value() || !component.has_value() || own == component)) {
      return &row;
    }
  }
  return nullptr;
}

std::string Prefixed(absl::string_view name, Component component) {
  return absl::StrCat("--", ComponentName(component), "-", name);
}

bool Selects(absl::string_view flag) { return absl::c_linear_search(kSelections, flag); }

// Returns true if `name` is that of a controller in KEP-4958, of its repository or of its image:
// `attacher`, `external-attacher`, `csi-attacher`.
bool IsController(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "external-")) absl::ConsumePrefix(&name, "csi-");
  return absl::c_linear_search(kControllers, name);
}

// Returns the controller that a flag such as `attacher-timeout` belongs to, or "".
absl::string_view ControllerOf(absl::string_view flag) {
  for (const absl::string_view controller : kControllers) {
    absl::string_view rest = flag;
    if (absl::ConsumePrefix(&rest, controller) && absl::StartsWith(rest, "-")) return controller;
  }
  return "";
}

// Splits `node-driver-registrar-mode` into component and flag. Returns nullopt for other forms.
std::optional<std::pair<Component, const FlagRow*>> SplitPrefix(absl::string_view name) {
  for (const Component component : kComponents) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, ComponentName(component)) || !absl::ConsumePrefix(&rest, "-") ||
        Selects(rest)) {
      continue;
    }
    if (const FlagRow* row = FindRow(rest, component); row != nullptr) {
      return std::pair(component, row);
    }
  }
  return std::nullopt;
}

std::optional<GoFlagKind> FindKind(absl::string_view name) {
  if (const FlagRow* row = FindRow(name, std::nullopt); row != nullptr) return row->kind;
  if (const auto split = SplitPrefix(name); split.has_value()) return split->second->kind;
  // kBool accepts a controller's flag without a value; Take() refuses it with a better message.
  if (!ControllerOf(name).empty()) return kBool;
  return std::nullopt;
}

absl::Status NotForNodes(absl::string_view flag, absl::string_view name) {
  return absl::FailedPreconditionError(absl::StrCat(
      "--", flag, ": ", name, " runs beside a driver's controller; this program is for nodes and ",
      "has only node-driver-registrar and livenessprobe"));
}

// Returns the last part of the program's path; on Windows in lower case and without `.exe`.
std::string ProgramName(absl::string_view path) {
#ifdef _WIN32
  std::string name(path.substr(path.find_last_of("/\\:") + 1));
  absl::AsciiStrToLower(&name);
  return std::string(absl::StripSuffix(name, ".exe"));
#else
  return std::string(path.substr(path.rfind('/') + 1));
#endif
}

std::string DefaultText(const FlagRow& row) {
  return row.default_value.empty() ? "" : absl::StrCat(" (default ", row.default_value, ")");
}

}  // namespace

absl::string_view ComponentName(Component component) {
  return component == Component::kRegistrar ? "node-driver-registrar" : "livenessprobe";
}

absl::Span<const FlagRow> FlagTable() { return kTable; }

absl::StatusOr<Flags> Flags::Read(int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  ABSL_ASSIGN_OR_RETURN(GoCommandLine line, ReadGoFlags(arguments, FindKind));
  Flags flags;
  flags.help_ = line.help;
  flags.rest_ = std::move(line.rest);
  ABSL_RETURN_IF_ERROR(flags.Choose(argc > 0 ? argv[0] : "", line));
  for (const GoFlag& flag : line.flags) {
    ABSL_RETURN_IF_ERROR(flags.Take(flag));
  }
  return flags;
}

absl::Status Flags::Choose(absl::string_view program, const GoCommandLine& line) {
  const std::string name = ProgramName(program);
  if (name == "csi-node-driver-registrar" || name == "node-driver-registrar") {
    named_ = Component::kRegistrar;
  } else if (name == "livenessprobe") {
    named_ = Component::kLivenessProbe;
  }
  if (named_.has_value()) {
    for (const Component c : kComponents) runs_[static_cast<size_t>(c)] = c == *named_;
  }
  for (const GoFlag& flag : line.flags) {
    if (!Selects(flag.name)) continue;
    if (named_.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag.name, ": a program named ", name,
                                                     " runs ", ComponentName(*named_), " alone"));
    }
    const std::vector<absl::string_view> chosen =
        absl::StrSplit(flag.value, ',', absl::SkipWhitespace());
    runs_ = {};
    for (const absl::string_view spaced : chosen) {
      const absl::string_view item = absl::StripAsciiWhitespace(spaced);
      const auto* const component =
          std::find_if(std::begin(kComponents), std::end(kComponents),
                       [&](Component c) { return ComponentName(c) == item; });
      if (component == std::end(kComponents)) {
        if (IsController(item)) return NotForNodes(flag.name, item);
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag.name, ": \"", item,
                         "\" is neither node-driver-registrar nor livenessprobe"));
      }
      runs_[static_cast<size_t>(*component)] = true;
    }
    if (chosen.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--", flag.name, ": names nothing to run"));
    }
  }
  return absl::OkStatus();
}

absl::Status Flags::Take(const GoFlag& flag) {
  std::vector<std::pair<std::optional<Component>, const FlagRow*>> meanings;
  std::optional<Component> absent;
  const auto consider = [&](std::optional<Component> component, const FlagRow* row) {
    if (component.has_value() && !Runs(*component)) {
      absent = component;
    } else {
      // A flag of the process has one value, so a component's prefix before it changes nothing.
      const bool processes = row->owner == Owner::kProcess || row->owner == Owner::kController;
      meanings.emplace_back(processes ? std::nullopt : component, row);
    }
  };
  for (const FlagRow& row : kTable) {
    if (row.name == flag.name) consider(OwnComponent(row.owner), &row);
  }
  if (const auto split = SplitPrefix(flag.name); split.has_value()) {
    consider(split->first, split->second);
  }
  if (meanings.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, ": both sidecars have this flag; give ",
                     Prefixed(flag.name, Component::kRegistrar), " or ",
                     Prefixed(flag.name, Component::kLivenessProbe)));
  }
  const auto unknown = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag.name, ": ", ComponentName(*named_), " has no such flag"));
  };
  if (meanings.empty() && !absent.has_value()) {
    return named_.has_value() ? unknown() : NotForNodes(flag.name, ControllerOf(flag.name));
  }
  if (meanings.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag.name, ": belongs to ", ComponentName(*absent), ", which does not run here"));
  }
  const auto& [component, row] = meanings[0];
  if (row->owner == Owner::kController) {
    if (named_.has_value()) return unknown();
    controllers_flags_.push_back(absl::StrCat("--", flag.name));
  }
  ABSL_RETURN_IF_ERROR(CheckGoValue(flag, row->kind));
  values_[{std::string(row->name), component}] = flag;
  return absl::OkStatus();
}

bool Flags::Runs(Component component) const { return runs_[static_cast<size_t>(component)]; }

bool Flags::RunBoth() const { return runs_[0] && runs_[1]; }

const GoFlag* Flags::Find(absl::string_view name, std::optional<Component> component) const {
  const auto found = values_.find(std::pair(std::string(name), component));
  return found == values_.end() ? nullptr : &found->second;
}

const GoFlag* Flags::FindFor(absl::string_view name, Component component) const {
  const GoFlag* const own = Find(name, component);
  return own != nullptr ? own : Find(name, std::nullopt);
}

absl::string_view Flags::Text(absl::string_view name) const {
  const GoFlag* const given = Find(name, std::nullopt);
  return given != nullptr ? given->value : FindRow(name, std::nullopt)->default_value;
}

absl::string_view Flags::Text(absl::string_view name, Component component) const {
  const GoFlag* const given = FindFor(name, component);
  return given != nullptr ? given->value : FindRow(name, component)->default_value;
}

std::string Flags::Spelling(absl::string_view name, Component component) const {
  if (const GoFlag* given = FindFor(name, component); given != nullptr) {
    return absl::StrCat("--", given->name);
  }
  const auto same_name = [&](const FlagRow& row) { return row.name == name; };
  const bool ambiguous = std::count_if(std::begin(kTable), std::end(kTable), same_name) > 1;
  return RunBoth() && ambiguous ? Prefixed(name, component) : absl::StrCat("--", name);
}

std::string FlagsHelp() {
  std::string text =
      "csi-node-sidecars [flags]\n"
      "Does what node-driver-registrar and livenessprobe do for a CSI driver on a node. Under the\n"
      "name of one of them it is that one alone.\n";
  const std::pair<Owner, absl::string_view> sections[] = {
      {Owner::kProcess, "Of the program"},
      {Owner::kEach,
       "Of both; for one of them, --node-driver-registrar-FLAG or --livenessprobe-FLAG"},
      {Owner::kRegistrar,
       "Of node-driver-registrar; --node-driver-registrar-FLAG if livenessprobe has it as well"},
      {Owner::kLivenessProbe,
       "Of livenessprobe; --livenessprobe-FLAG if node-driver-registrar has it as well"},
  };
  for (const auto& [owner, title] : sections) {
    absl::StrAppend(&text, "\n", title, ":\n");
    for (const FlagRow& row : kTable) {
      if (row.owner != owner || row.meaning.empty()) continue;
      constexpr absl::string_view kKinds[] = {"", " N", " N", " X", " TIME", " TEXT"};
      absl::StrAppend(&text, "  --", row.name, kKinds[static_cast<size_t>(row.kind)]);
      absl::StrAppend(&text, DefaultText(row), "\n        ", row.meaning, "\n");
    }
  }
  for (const bool controllers : {false, true}) {
    absl::StrAppend(&text, controllers ? "\nFor controllers, without effect on a node:\n"
                                       : "\nAccepted and ignored:\n");
    for (const FlagRow& row : kTable) {
      if (row.meaning.empty() && (row.owner == Owner::kController) == controllers) {
        absl::StrAppend(&text, "  --", row.name, DefaultText(row), "\n");
      }
    }
  }
  return text;
}

}  // namespace csi_proxy::sidecars
