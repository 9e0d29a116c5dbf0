#include "server/service/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"

namespace csi_proxy {
namespace {

namespace po = boost::program_options;

constexpr char kDefaultWorkingDir[] = R"(C:\var\lib\kubelet)";

// Flags of klog and of older releases that have no effect.
constexpr const char* kIgnoredWithValue[] = {"log_backtrace_at", "stderrthreshold", "vmodule"};
constexpr const char* kIgnoredBooleans[] = {"one_output"};

// Flags that are parsed as text and checked afterwards.
struct Raw {
  std::string host = "windows";
  std::string preface_timeout, idle_timeout, max_call_duration, stop_grace_period;
  std::vector<std::string> api_groups, api_versions, working_dirs;
  std::string kubelet_path;
  std::string log_format;
};

// Makes a boolean flag: `-flag` alone is true.
po::typed_value<bool>* Boolean(bool* value, bool default_value) {
  return po::value<bool>(value)->default_value(default_value)->implicit_value(true);
}

po::options_description Describe(Options* options, Raw* raw) {
  po::options_description all("csi-proxy [flags]");
  po::options_description service("Service", 100), node("Node", 100), limits("Limits", 100),
      log("Log", 100), ignored("Accepted and ignored", 100);
  service.add_options()("help", po::bool_switch(&options->show_help), "print this and exit")(
      "version", po::bool_switch(&options->show_version), "print the version and exit")(
      "api-groups", po::value(&raw->api_groups)->value_name("GROUP,..."),
      "API groups to serve; default all")(
      "api-versions", po::value(&raw->api_versions)->value_name("VERSION,..."),
      "API versions to serve, such as v1 (of every group) or volume/v1; default all")(
      "windows-service", Boolean(&options->windows_service, false),
      "run under Windows' service control manager")(
      "metrics-bind-address", po::value(&options->metrics_bind_address)->value_name("HOST:PORT"),
      "serve Prometheus metrics at /metrics of this address, without authentication; :PORT is "
      "all addresses")(
      "socket-dir",
      po::value(&options->place.socket_dir)->value_name("DIR")->default_value("/run/csi-proxy"),
      "directory of the Unix sockets (not on Windows)")(
      "pipe-sddl",
      po::value(&options->place.sddl)->value_name("SDDL")->default_value(options->place.sddl),
      "access list of the named pipes (on Windows); the service adds its own account as owner. "
      "Give others 0x12019b: with generic write they could serve the pipes, with generic all "
      "change the list");
  node.add_options()("host", po::value(&raw->host)->value_name("KIND")->default_value("windows"),
                     "the node to act on: windows, or simulated (a node in memory; on Windows only "
                     "csi-proxy-simulated.exe has one)")(
      "scenario", po::value(&options->scenario)->value_name("NAME|FILE"),
      "the simulated node: one of --list-scenarios, or a textproto; default a node of no cloud")(
      "list-scenarios", po::bool_switch(&options->list_scenarios),
      "print the names of the scenarios and exit")(
      "working-dir", po::value(&raw->working_dirs)->value_name("PATH"),
      "directory that calls may touch; may be repeated")(
      "kubelet-path",
      po::value(&raw->kubelet_path)->value_name("PATH")->default_value(kDefaultWorkingDir),
      "the kubelet's directory; calls may touch it as well")(
      "allowed-services", po::value(&options->allowed_services)->value_name("NAME"),
      "service that calls may start and stop; may be repeated; default every service")(
      "require-privacy", Boolean(&options->require_privacy, true),
      "ask for encryption on SMB mappings")(
      "smb-bind-credentials", Boolean(&options->bind_smb_credentials, false),
      "refuse a mapped share to calls that do not give the credentials it was mapped with")(
      "allow-local-shares", Boolean(&options->allow_local_shares, false),
      "let calls map shares that this node serves itself")(
      "keep-foreign-data", Boolean(&options->keep_foreign_data, false),
      "refuse to initialise or format a disk or volume with data that Windows does not recognise");
  limits.add_options()("preface-timeout",
                       po::value(&raw->preface_timeout)->value_name("TIME")->default_value("10s"),
                       "time that a connection may stay silent before HTTP/2 begins")(
      "idle-timeout", po::value(&raw->idle_timeout)->value_name("TIME")->default_value("1h"),
      "time that a connection may stay without calls")(
      "max-connections",
      po::value(&options->listener.max_connections)->value_name("N")->default_value(1024),
      "open connections per pipe")(
      "client-share", po::value(&options->client_share)->value_name("PERCENT")->default_value(75),
      "percentage of the free connections, workers and queue places that one tenant (the processes "
      "of a container) may take; 100 for all")(
      "max-workers", po::value(&options->max_workers)->value_name("N")->default_value(16),
      "calls of one API group that run at once; up to eight times as many more may wait for "
      "Windows, servers or locks")(
      "max-queued", po::value(&options->max_queued)->value_name("N")->default_value(384),
      "calls of one API group that may wait; more are refused")(
      "max-call-duration",
      po::value(&raw->max_call_duration)->value_name("TIME")->default_value("10m"),
      "longest time a call may take, whatever its own deadline")(
      "stop-grace-period",
      po::value(&raw->stop_grace_period)->value_name("TIME")->default_value("20s"),
      "time that a stop waits for calls under way");
  log.add_options()("v", po::value(&options->log.verbosity)->value_name("N")->default_value(0),
                    "verbosity: 0 start and failures, 2 every call, 4 details")(
      "log-format", po::value(&raw->log_format)->value_name("FORMAT")->default_value("text"),
      "text, as klog writes it, or json")("logtostderr", Boolean(&options->log.to_stderr, true),
                                          "log to standard error")(
      "alsologtostderr", Boolean(&options->log.also_to_stderr, false),
      "log to standard error as well as to the file")(
      "log_file", po::value(&options->log.file)->value_name("FILE"),
      "log to this file (with -logtostderr=false)")(
      "log_file_max_size",
      po::value(&options->log.file_max_megabytes)->value_name("MB")->default_value(20),
      "start a new log file beyond this size; five old ones are kept")(
      "skip_headers", Boolean(&options->log.skip_headers, false),
      "lines without severity, time and source file")("add_dir_header",
                                                      Boolean(&options->log.add_dir_header, false),
                                                      "lines with the folder of the source file")(
      "skip_log_headers", Boolean(&options->log.skip_file_headers, false),
      "log files without klog's first lines")(
      "log_dir", po::value(&options->log.directory)->value_name("DIR"),
      "directory of the log file when -log_file is not given");
  for (const char* name : kIgnoredWithValue) {
    ignored.add_options()(name, po::value<std::string>()->value_name("X"), "");
  }
  for (const char* name : kIgnoredBooleans) {
    ignored.add_options()(name, po::value<bool>()->implicit_value(true), "");
  }
  all.add(service).add(node).add(limits).add(log).add(ignored);
  return all;
}

absl::Status ParseDuration(absl::string_view flag, const std::string& text, absl::Duration minimum,
                           absl::Duration* out) {
  if (!absl::ParseDuration(text, out)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, ": \"", text, "\" is not a duration such as 500ms, 10s or 5m"));
  }
  if (*out < minimum || *out > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", text, " is not from ",
                                                   absl::FormatDuration(minimum), " to a year"));
  }
  return absl::OkStatus();
}

// Joins `-flag=a,b` and `-flag=a -flag=b` to one list.
std::vector<std::string> SplitLists(const std::vector<std::string>& values) {
  std::vector<std::string> items;
  for (const std::string& value : values) {
    for (absl::string_view item : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
      items.emplace_back(absl::StripAsciiWhitespace(item));
    }
  }
  return items;
}

absl::Status AtLeastOne(absl::string_view flag, size_t value) {
  if (value >= 1 && value <= 1'000'000) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": ", value, " is not from 1 to 1000000"));
}

absl::Status CompleteOptions(const Raw& raw, bool working_dir_given, bool kubelet_path_given,
                             Options* options) {
  if (raw.host == "simulated") {
    options->host = HostKind::kSimulated;
  } else if (raw.host == "windows") {
    options->host = HostKind::kWindows;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--host: \"", raw.host, "\" is neither windows nor simulated"));
  }
  if (raw.log_format == "json") {
    options->log.format = service::LogFormat::kJson;
  } else if (raw.log_format != "text") {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-format: \"", raw.log_format, "\" is neither text nor json"));
  }
  if (!options->scenario.empty() && options->host != HostKind::kSimulated) {
    return absl::InvalidArgumentError("--scenario: needs --host=simulated");
  }
  options->api_groups = SplitLists(raw.api_groups);
  options->api_versions = SplitLists(raw.api_versions);
  options->working_dirs = raw.working_dirs;
  // -working-dir replaces the default of -kubelet-path, but not a given one.
  if (kubelet_path_given || !working_dir_given) options->working_dirs.push_back(raw.kubelet_path);

  const std::pair<const char*, size_t> counts[] = {
      {"max-connections", options->listener.max_connections},
      {"max-workers", options->max_workers},
      {"max-queued", options->max_queued},
      {"log_file_max_size", options->log.file_max_megabytes},
  };
  for (const auto& [flag, value] : counts) {
    ABSL_RETURN_IF_ERROR(AtLeastOne(flag, value));
  }
  if (options->client_share < 1 || options->client_share > 100) {
    return absl::InvalidArgumentError(
        absl::StrCat("--client-share: ", options->client_share, " is not from 1 to 100"));
  }
  options->listener.client_share = options->client_share;
  struct {
    const char* flag;
    const std::string& text;
    absl::Duration minimum;
    absl::Duration* out;
  } const durations[] = {
      {"preface-timeout", raw.preface_timeout, absl::Milliseconds(10),
       &options->listener.preface_timeout},
      {"idle-timeout", raw.idle_timeout, absl::Seconds(1), &options->server.idle_timeout},
      {"max-call-duration", raw.max_call_duration, absl::Milliseconds(1),
       &options->max_call_duration},
      {"stop-grace-period", raw.stop_grace_period, absl::ZeroDuration(),
       &options->stop_grace_period},
  };
  for (const auto& d : durations) {
    ABSL_RETURN_IF_ERROR(ParseDuration(d.flag, d.text, d.minimum, d.out));
  }
  return absl::OkStatus();
}

// Turns `-flag` into `--flag`, because Go's flag package accepts both.
std::vector<std::string> WithTwoDashes(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    const bool one_dash = argument.size() > 1 && argument[0] == '-' && argument[1] != '-' &&
                          absl::ascii_isalpha(static_cast<unsigned char>(argument[1]));
    arguments.push_back(absl::StrCat(one_dash ? "-" : "", argument));
  }
  return arguments;
}

}  // namespace

absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv) {
  Options options;
  Raw raw;
  const po::options_description description = Describe(&options, &raw);
  namespace style = po::command_line_style;
  try {
    po::variables_map values;
    po::store(po::command_line_parser(WithTwoDashes(argc, argv))
                  .options(description)
                  .positional({})
                  .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                  .run(),
              values);
    po::notify(values);
    ABSL_RETURN_IF_ERROR(CompleteOptions(raw, values.contains("working-dir"),
                                         !values["kubelet-path"].defaulted(), &options));
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return options;
}

bool AsksForService(int argc, const char* const* argv) {
  for (const std::string& argument : WithTwoDashes(argc, argv)) {
    if (argument == "--windows-service" || argument == "--windows-service=true") return true;
  }
  return false;
}

std::string OptionsHelp() {
  Options options;
  Raw raw;
  std::ostringstream text;
  text << Describe(&options, &raw);
  return text.str();
}

}  // namespace csi_proxy
