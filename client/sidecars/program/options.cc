#include "client/sidecars/program/options.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/sidecars/program/flags.h"
#include "client/sidecars/socket.h"
#include "server/base/status_macros.h"
#include "server/platform/own_file.h"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace csi_proxy::sidecars {
namespace {

constexpr auto kRegistrar = Component::kRegistrar;
constexpr auto kLivenessProbe = Component::kLivenessProbe;

// The default of csi-lib-utils. After this wait a lone registrar exits and is restarted.
constexpr absl::Duration kRegistrarConnectTimeout = absl::Seconds(30);

constexpr absl::string_view kLogGates[] = {"AllAlpha", "AllBeta", "ContextualLogging",
                                           "LoggingAlphaOptions", "LoggingBetaOptions"};
// The feature gates of external-provisioner and external-resizer (pkg/features). KEP-4958's
// single program accepts them by the same flag.
constexpr absl::string_view kControllersGates[] = {"AnnotateFsResize",
                                                   "CrossNamespaceVolumeDataSource",
                                                   "HonorPVReclaimPolicy",
                                                   "RecoverVolumeExpansionFailure",
                                                   "Topology",
                                                   "VolumeAttributesClass"};

constexpr absl::string_view kForControllers =
    " has no effect: it is for sidecars beside a driver's controller";

// Returns the error for flags that contradict each other or cannot work.
template <typename... Parts>
absl::Status Refuse(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}

absl::Status CheckFeatureGates(const Flags& flags, std::vector<std::string>* warnings) {
  for (absl::string_view gate :
       absl::StrSplit(flags.Text("feature-gates"), ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(gate, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(parts.first);
    if (!ParseGoBool(absl::StripAsciiWhitespace(parts.second)).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--feature-gates: \"", gate, "\" is not of the form NAME=true"));
    }
    if (flags.AllInOne() && absl::c_linear_search(kControllersGates, name)) {
      warnings->push_back(absl::StrCat("--feature-gates: ", name, kForControllers));
    } else if (!absl::c_linear_search(kLogGates, name)) {
      return Refuse("--feature-gates: there is no gate ", name, "; known are ",
                    absl::StrJoin(kLogGates, ", "));
    }
  }
  return absl::OkStatus();
}

absl::Status SetLog(const Flags& flags, observability::LogOptions* log) {
  const std::string format = flags.Text("logging-format");
  if (format == "json") log->format = observability::LogFormat::kJson;
  log->add_dir_header = flags.Bool("add_dir_header");
  log->skip_headers = flags.Bool("skip_headers");
  if (format == "json" || format == "text") return absl::OkStatus();
  return Refuse("--logging-format: \"", format, "\" is neither text nor json");
}

// Returns the address on `host` for --health-port; "" if the flag disables the port.
absl::StatusOr<std::string> PortAddress(const Flags& flags, Component component,
                                        absl::string_view host) {
  const std::string text = flags.Text("health-port", component);
  const std::optional<int64_t> port = ParseGoInt(text);
  if (!port.has_value() || *port > 65535 || (component == kLivenessProbe && *port < 1)) {
    return Refuse(flags.Spelling("health-port", component), ": \"", text,
                  "\" is not a port from 1 to 65535");
  }
  // For the registrar, 0 and negative values mean no port.
  return *port < 1 ? std::string() : absl::StrCat(host, ":", *port);
}

absl::Status Contradiction(const Flags& flags, absl::string_view name, Component component) {
  return Refuse(flags.Spelling(name, component), " and ",
                flags.Spelling("http-endpoint", component), ": only one of them can be given, for ",
                ComponentName(component));
}

absl::Status Positive(const Flags& flags, absl::string_view name, Component component,
                      absl::Duration* out) {
  *out = flags.Duration(name, component);
  if (*out > absl::ZeroDuration()) return absl::OkStatus();
  return Refuse(flags.Spelling(name, component), ": ", flags.Text(name, component),
                " is not a time above 0");
}

absl::Status SetRegistrar(const Flags& flags, RegistrarOptions* registrar) {
  registrar->plugin_registration_path = flags.Text("plugin-registration-path", kRegistrar);
  registrar->http_endpoint = flags.Text("http-endpoint", kRegistrar);
  ABSL_ASSIGN_OR_RETURN(std::string port_address, PortAddress(flags, kRegistrar, ""));
  if (!port_address.empty()) {
    if (!registrar->http_endpoint.empty()) return Contradiction(flags, "health-port", kRegistrar);
    registrar->http_endpoint = std::move(port_address);
  }
  ABSL_RETURN_IF_ERROR(Positive(flags, "timeout", kRegistrar, &registrar->timeout));
  registrar->registration_timeout = flags.Duration("registration-timeout", kRegistrar);
  if (registrar->registration_timeout < absl::ZeroDuration()) {
    return Refuse(flags.Spelling("registration-timeout", kRegistrar), ": ",
                  flags.Text("registration-timeout", kRegistrar), " is below 0");
  }
  registrar->health_requires_registration = flags.Bool("health-requires-registration", kRegistrar);
  return absl::OkStatus();
}

absl::StatusOr<LivenessProbeOptions> LivenessProbe(const Flags& flags) {
  LivenessProbeOptions probe;
  probe.http_endpoint = flags.Text("http-endpoint", kLivenessProbe);
  probe.metrics_address = flags.Text("metrics-address", kLivenessProbe);
  probe.metrics_path = flags.Text("metrics-path", kLivenessProbe);
  ABSL_ASSIGN_OR_RETURN(const std::string port_address,
                        PortAddress(flags, kLivenessProbe, "0.0.0.0"));
  // The default port does not contradict --http-endpoint, even if the port is given.
  const bool default_port = port_address == LivenessProbeOptions().http_endpoint;
  if (probe.http_endpoint.empty()) {
    probe.http_endpoint = port_address;
    // Without --http-endpoint, metrics are served at --metrics-address, or not at all.
    probe.serve_metrics = !probe.metrics_address.empty();
  } else if (!default_port) {
    return Contradiction(flags, "health-port", kLivenessProbe);
  } else if (!probe.metrics_address.empty()) {
    return Contradiction(flags, "metrics-address", kLivenessProbe);
  }
  const bool has_common =
      flags.IsGiven("timeout", kLivenessProbe) && !flags.IsGiven("probe-timeout", kLivenessProbe);
  const absl::string_view timeout = has_common ? "timeout" : "probe-timeout";
  ABSL_RETURN_IF_ERROR(Positive(flags, timeout, kLivenessProbe, &probe.probe_timeout));
  return probe;
}

// The longest path of a socket: sun_path, with a NUL, has 108 bytes on Linux and on Windows.
constexpr size_t kMaxSocketPath = 107;

absl::Status CheckSocketLength(const std::string& flag, absl::string_view path) {
  if (path.size() <= kMaxSocketPath) return absl::OkStatus();
  return Refuse(flag, ": the path of a socket has at most ", kMaxSocketPath, " bytes, not ",
                path.size(), ": ", path);
}

absl::StatusOr<std::string> CsiAddress(const Flags& flags) {
  std::string found;
  for (const Component component : kComponents) {
    if (!flags.Runs(component)) continue;
    absl::StatusOr<std::string> path = SocketPath(flags.Text("csi-address", component));
    if (!path.ok()) {
      return Refuse(flags.Spelling("csi-address", component), ": ", path.status().message());
    }
    ABSL_RETURN_IF_ERROR(CheckSocketLength(flags.Spelling("csi-address", component), *path));
    if (!found.empty() && *path != found) {
      return Refuse(
          "--node-driver-registrar-csi-address and --livenessprobe-csi-address: must name the same "
          "driver, but ",
          found, " is not ", *path);
    }
    found = *std::move(path);
  }
  return found;
}

// Refuses a path that the kubelet cannot open: relative, on a server, or too long.
absl::Status CheckKubeletPath(const std::string& path) {
  constexpr absl::string_view kFlag = "--kubelet-registration-path";
  if (path.empty()) {
    return Refuse(kFlag, ": required, the path at which the kubelet finds the driver's socket");
  }
  const auto is_separator = [&](size_t at) {
    return at < path.size() && (path[at] == '/' || path[at] == '\\');
  };
  if (is_separator(0) && is_separator(1)) {
    return Refuse(kFlag, ": \"", path, "\" names a server; begin with one separator or a drive");
  }
  const bool has_drive =
      path.size() > 1 && path[1] == ':' && absl::ascii_isalpha(static_cast<unsigned char>(path[0]));
  if (!is_separator(has_drive ? 2 : 0)) {
    return Refuse(
        kFlag, ": \"", path,
        "\" is relative: give an absolute path, because the kubelet has another directory");
  }
  return CheckSocketLength(std::string(kFlag), path);
}

std::vector<std::string> Warnings(const Flags& flags) {
  std::vector<std::string> warnings;
  for (const Component component : kComponents) {
    if (!flags.Runs(component)) continue;
    if (flags.Duration("connection-timeout", component) != absl::ZeroDuration()) {
      warnings.push_back(
          absl::StrCat(flags.Spelling("connection-timeout", component), " has no effect"));
    }
  }
  if (flags.Runs(kRegistrar)) {
    if (flags.Bool("enable-pprof", kRegistrar)) {
      warnings.push_back("--enable-pprof has no effect: this program is not written in Go");
    }
    const std::string mode = flags.Text("mode", kRegistrar);
    if (mode != "" && mode != "registration" && mode != "kubelet-registration-probe") {
      warnings.push_back(
          absl::StrCat("--mode: \"", mode, "\" is unknown; it is treated as ", "registration"));
    }
  }
  if (!flags.Bool("logtostderr")) {
    warnings.push_back("--logtostderr=false has no effect: the log goes to standard error only");
  }
  for (const std::string& flag : flags.controllers_flags()) {
    warnings.push_back(absl::StrCat(flag, kForControllers));
  }
  if (!flags.rest().empty()) warnings.push_back(IgnoredWords(flags.rest()));
  return warnings;
}

// Writable() returns false if this process may not write to the directory, for example because the
// volume is mounted read-only. On Windows it always returns true.
#ifdef _WIN32
constexpr char kSeparators[] = "/\\";
bool Writable(const std::filesystem::path&) { return true; }
#else
constexpr char kSeparators[] = "/";
bool Writable(const std::filesystem::path& directory) {
  return access(directory.c_str(), W_OK) == 0;
}
#endif

}  // namespace

absl::StatusOr<ProgramOptions> ParseProgramOptions(int argc, const char* const* argv) {
  ABSL_ASSIGN_OR_RETURN(const Flags flags, Flags::Read(argc, argv));
  ProgramOptions options;
  options.show_help = flags.help();
  if (options.show_help) return options;
  options.warnings = Warnings(flags);
  ABSL_RETURN_IF_ERROR(CheckFeatureGates(flags, &options.warnings));
  ABSL_RETURN_IF_ERROR(SetLog(flags, &options.log));
  options.name = std::string(
      flags.RunBoth() ? kBothName
                      : ComponentName(flags.Runs(kRegistrar) ? kRegistrar : kLivenessProbe));
  options.show_version = flags.Bool("version");
  if (options.show_version) return options;

  RegistrarOptions registrar;
  if (flags.Runs(kRegistrar)) {
    registrar.kubelet_registration_path = flags.Text("kubelet-registration-path", kRegistrar);
    ABSL_RETURN_IF_ERROR(CheckKubeletPath(registrar.kubelet_registration_path));
    registrar.marker_file = MarkerFile(registrar.kubelet_registration_path);
    options.probe_registration = flags.Text("mode", kRegistrar) == "kubelet-registration-probe";
  }
  if (!options.probe_registration) {
    ABSL_ASSIGN_OR_RETURN(options.sidecars.csi_address, CsiAddress(flags));
    if (flags.Runs(kRegistrar)) {
      ABSL_RETURN_IF_ERROR(SetRegistrar(flags, &registrar));
    }
    if (flags.Runs(kLivenessProbe)) {
      ABSL_ASSIGN_OR_RETURN(options.sidecars.livenessprobe, LivenessProbe(flags));
    } else {
      options.sidecars.connect_timeout = kRegistrarConnectTimeout;
    }
  }
  if (flags.Runs(kRegistrar)) options.sidecars.registrar = std::move(registrar);
  return options;
}

std::string MarkerFile(absl::string_view kubelet_registration_path) {
  const size_t separator = kubelet_registration_path.find_last_of(kSeparators);
  const size_t directory = separator == kubelet_registration_path.npos ? 0 : separator + 1;
  return absl::StrCat(kubelet_registration_path.substr(0, directory), "registration");
}

Marker LookForMarker(const std::string& marker_file) {
  const std::filesystem::path file(std::u8string(marker_file.begin(), marker_file.end()));
  std::error_code error;
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(file, error))) {
    return Marker::kThere;
  }
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  if (!CheckDirectoriesOf(marker_file).ok() || !Writable(parent)) return Marker::kNoPlace;
  return Marker::kMissing;
}

}  // namespace csi_proxy::sidecars
