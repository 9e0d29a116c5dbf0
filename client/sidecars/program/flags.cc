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
using enum Owner;

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
    {kSelections[0], kProcess, kText, "node-driver-registrar,livenessprobe",
     "the sidecars to run, unless the program's name selects one"},
    {kSelections[1], kProcess, kText, "", "KEP-4958's name of --sidecars"},
    {"version", kProcess, kBool, "false", "print the version and exit"},
    {"feature-gates", kProcess, kText, "",
     "NAME=true,...: gates of the log and of controllers; they change nothing here"},
    {"logging-format", kProcess, kText, "text", "text, as klog writes it, or json"},

    {"csi-address", kEach, kText, "/run/csi/socket",
     "the driver's socket, as this process sees it: a path, or unix:// and a path"},
    {"timeout", kEach, kDuration, "1s", "longest time of a call to the driver"},
    {"http-endpoint", kEach, kText, "",
     "HOST:PORT, or :PORT, that serves /healthz and livenessprobe's metrics"},

    {"kubelet-registration-path", kRegistrarOnly, kText, "",
     "the driver's socket, as the kubelet sees it; required"},
    {"plugin-registration-path", kRegistrarOnly, kText, "/registration",
     "the kubelet's directory of plugins' sockets, as this process sees it"},
    {"health-port", kRegistrarOnly, kInt, "0",
     "a port of all addresses, instead of --http-endpoint; 0 for none"},
    {"mode", kRegistrarOnly, kText, "registration",
     "kubelet-registration-probe: only check whether the kubelet has registered the driver"},
    {"registration-timeout", kRegistrarOnly, kDuration, "30s",
     "time without a call by the kubelet after which the registration socket is made again; 0 for "
     "never"},
    {"health-requires-registration", kRegistrarOnly, kBool, "false",
     "the registrar's /healthz fails until the kubelet has registered the driver"},

    {"health-port", kProbeOnly, kText, "9808",
     "a port of all addresses, instead of --http-endpoint"},
    {"probe-timeout", kProbeOnly, kDuration, "3s",
     "longest time of a probe of the driver; --timeout if only that is given"},
    {"metrics-address", kProbeOnly, kText, "",
     "HOST:PORT, or :PORT, of metrics when --http-endpoint is not given"},
    {"metrics-path", kProbeOnly, kText, "/metrics", "the path of the metrics"},

    {"connection-timeout", kEach, kDuration, "0", ""},
    {"enable-pprof", kRegistrarOnly, kBool, "false", ""},
    {"automaxprocs", kProcess, kBool, "false", ""},
    // Flags without a text are ignored: the log goes to standard error with a fixed verbosity.
    {"v", kProcess, kLevel, "0", ""},
    {"add_dir_header", kProcess, kBool, "false",
     "the log's lines give the folder of the source file as well"},
    {"alsologtostderr", kProcess, kBool, "false", ""},
    {"log_backtrace_at", kProcess, kBacktrace, "", ""},
    {"log_dir", kProcess, kText, "", ""},
    {"log_file", kProcess, kText, "", ""},
    {"log_file_max_size", kProcess, kUint, "1800", ""},
    {"log-flush-frequency", kProcess, kDuration, "5s", ""},
    {"log-json-info-buffer-size", kProcess, kText, "0", ""},
    {"log-json-split-stream", kProcess, kBool, "false", ""},
    {"log-text-info-buffer-size", kProcess, kText, "0", ""},
    {"log-text-split-stream", kProcess, kBool, "false", ""},
    {"logtostderr", kProcess, kBool, "true", ""},
    {"one_output", kProcess, kBool, "false", ""},
    {"skip_headers", kProcess, kBool, "false",
     "the log's lines have neither severity, time nor source file"},
    {"skip_log_headers", kProcess, kBool, "false", ""},
    {"stderrthreshold", kProcess, kSeverity, "2", ""},
    {"vmodule", kProcess, kVmodule, "", ""},

    {"kube-api-burst", kController, kInt, "10", ""},
    {"kube-api-qps", kController, kFloat, "5", ""},
    {"kubeconfig", kController, kText, "", ""},
    {"leader-election", kController, kBool, "false", ""},
    {"leader-election-labels", kController, kText, "", ""},
    {"leader-election-lease-duration", kController, kDuration, "15s", ""},
    {"leader-election-namespace", kController, kText, "", ""},
    {"leader-election-renew-deadline", kController, kDuration, "10s", ""},
    {"leader-election-retry-period", kController, kDuration, "5s", ""},
    {"master", kController, kText, "", ""},
    {"resync", kController, kDuration, "10m", ""},
    {"retry-interval-max", kController, kDuration, "5m", ""},
    {"retry-interval-start", kController, kDuration, "1s", ""},
    {"worker-threads", kController, kInt, "10", ""},
};

std::optional<Component> OwnComponent(Owner owner) {
  if (owner == kRegistrarOnly) return Component::kRegistrar;
  if (owner == kProbeOnly) return Component::kLivenessProbe;
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

// Returns the error for a flag of the command line.
template <typename... Parts>
absl::Status Wrong(const GoFlag& flag, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag.name, ": ", parts...));
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

// The component that a flag configures, or nullopt if the flag is not one component's, and its row.
using Meaning = std::pair<std::optional<Component>, const FlagRow*>;

// Returns all meanings of a flag, by its name alone or after a component's name, as in
// `node-driver-registrar-mode`.
std::vector<Meaning> MeaningsOf(absl::string_view flag) {
  std::vector<Meaning> meanings;
  for (const FlagRow& row : kTable) {
    if (row.name == flag) meanings.emplace_back(OwnComponent(row.owner), &row);
  }
  for (const Component component : kComponents) {
    absl::string_view rest = flag;
    if (!absl::ConsumePrefix(&rest, absl::StrCat(ComponentName(component), "-"))) continue;
    const FlagRow* const row = Selects(rest) ? nullptr : FindRow(rest, component);
    if (row != nullptr) meanings.emplace_back(component, row);
  }
  return meanings;
}

std::optional<GoFlagKind> FindKind(absl::string_view name) {
  const std::vector<Meaning> meanings = MeaningsOf(name);
  if (!meanings.empty()) return meanings[0].second->kind;
  // kBool allows a controller's flag without a value, because Take() has a better message.
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

}  // namespace

absl::string_view ComponentName(Component component) {
  return component == Component::kRegistrar ? "node-driver-registrar" : "livenessprobe";
}

absl::Span<const FlagRow> FlagTable() { return kTable; }

absl::StatusOr<Flags> Flags::Read(int argc, const char* const* argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  Flags flags;
  ABSL_ASSIGN_OR_RETURN(flags.line_, ReadGoFlags(arguments, FindKind));
  ABSL_RETURN_IF_ERROR(flags.Choose(argc > 0 ? argv[0] : ""));
  for (const GoFlag& flag : flags.line_.flags) {
    ABSL_RETURN_IF_ERROR(flags.Take(flag));
  }
  return flags;
}

absl::Status Flags::Choose(absl::string_view program) {
  const std::string name = ProgramName(program);
  if (name == "csi-node-driver-registrar" || name == "node-driver-registrar") {
    named_ = Component::kRegistrar;
  } else if (name == "livenessprobe") {
    named_ = Component::kLivenessProbe;
  }
  for (const Component c : kComponents) {
    runs_[static_cast<size_t>(c)] = c == named_.value_or(c);
  }
  for (const GoFlag& flag : line_.flags) {
    if (!Selects(flag.name)) continue;
    if (named_.has_value()) {
      return Wrong(flag, "a program named ", name, " runs ", ComponentName(*named_), " alone");
    }
    const std::vector<absl::string_view> chosen =
        absl::StrSplit(flag.value, ',', absl::SkipWhitespace());
    runs_ = {};
    for (const absl::string_view spaced : chosen) {
      const absl::string_view item = absl::StripAsciiWhitespace(spaced);
      const auto* const component = std::ranges::find(kComponents, item, ComponentName);
      if (component == std::end(kComponents)) {
        if (IsController(item)) return NotForNodes(flag.name, item);
        return Wrong(flag, "\"", item, "\" is neither node-driver-registrar nor livenessprobe");
      }
      runs_[static_cast<size_t>(*component)] = true;
    }
    if (chosen.empty()) return Wrong(flag, "names nothing to run");
  }
  return absl::OkStatus();
}

absl::Status Flags::Take(const GoFlag& flag) {
  std::vector<Meaning> meanings = MeaningsOf(flag.name);
  std::optional<Component> absent;
  std::erase_if(meanings, [&](const Meaning& meaning) {
    if (!meaning.first.has_value() || Runs(*meaning.first)) return false;
    absent = meaning.first;
    return true;
  });
  if (meanings.size() > 1) {
    return Wrong(flag, "both sidecars have this flag; give ",
                 Prefixed(flag.name, Component::kRegistrar), " or ",
                 Prefixed(flag.name, Component::kLivenessProbe));
  }
  if (meanings.empty() && absent.has_value()) {
    return Wrong(flag, "belongs to ", ComponentName(*absent), ", which does not run here");
  }
  const bool controllers = meanings.empty() || meanings[0].second->owner == kController;
  if (controllers && named_.has_value()) {
    return Wrong(flag, ComponentName(*named_), " has no such flag");
  }
  if (meanings.empty()) return NotForNodes(flag.name, ControllerOf(flag.name));
  if (controllers) controllers_flags_.push_back(absl::StrCat("--", flag.name));
  auto [component, row] = meanings[0];
  // A flag of the process has one value, so a component's prefix has no effect.
  if (controllers || row->owner == kProcess) component.reset();
  ABSL_RETURN_IF_ERROR(CheckGoValue(flag, row->kind));
  values_[{std::string(row->name), component}] = flag;
  return absl::OkStatus();
}

const GoFlag* Flags::Find(absl::string_view name, std::optional<Component> component) const {
  auto found = values_.find(std::pair(std::string(name), component));
  if (found == values_.end()) found = values_.find(std::pair(std::string(name), std::nullopt));
  return found == values_.end() ? nullptr : &found->second;
}

std::string Flags::Text(absl::string_view name, std::optional<Component> component) const {
  const GoFlag* const given = Find(name, component);
  return given != nullptr ? given->value : std::string(FindRow(name, component)->default_value);
}

std::string Flags::Spelling(absl::string_view name, Component component) const {
  if (const GoFlag* given = Find(name, component); given != nullptr) {
    return absl::StrCat("--", given->name);
  }
  const bool ambiguous = std::ranges::count(kTable, name, &FlagRow::name) > 1;
  return RunBoth() && ambiguous ? Prefixed(name, component) : absl::StrCat("--", name);
}

std::string FlagsHelp() {
  std::string text =
      "csi-node-sidecars [flags]\n"
      "Does what node-driver-registrar and livenessprobe do for a CSI driver on a node. Under the\n"
      "name of one of them it is that one alone.\n";
  const std::pair<Owner, absl::string_view> sections[] = {
      {kProcess, "Of the program"},
      {kEach, "Of both; for one of them, --node-driver-registrar-FLAG or --livenessprobe-FLAG"},
      {kRegistrarOnly,
       "Of node-driver-registrar; --node-driver-registrar-FLAG if livenessprobe has it as well"},
      {kProbeOnly,
       "Of livenessprobe; --livenessprobe-FLAG if node-driver-registrar has it as well"},
  };
  const auto add = [&text](absl::string_view title, auto belongs) {
    absl::StrAppend(&text, "\n", title, ":\n");
    for (const FlagRow& row : kTable) {
      if (!belongs(row)) continue;
      const bool ignored = row.meaning.empty();
      constexpr absl::string_view kKinds[] = {"", " N", " N", " X", " TIME", " TEXT"};
      absl::StrAppend(&text, "  --", row.name,
                      ignored ? "" : kKinds[static_cast<size_t>(row.kind)]);
      if (!row.default_value.empty()) absl::StrAppend(&text, " (default ", row.default_value, ")");
      absl::StrAppend(&text, ignored ? "" : "\n        ", row.meaning, "\n");
    }
  };
  for (const auto& [owner, title] : sections) {
    add(title, [&](const FlagRow& row) { return row.owner == owner && !row.meaning.empty(); });
  }
  add("Accepted and ignored",
      [](const FlagRow& row) { return row.owner != kController && row.meaning.empty(); });
  add("For controllers, without effect on a node",
      [](const FlagRow& row) { return row.owner == kController; });
  return text;
}

}  // namespace csi_proxy::sidecars
