// csi-proxy-service: installs, upgrades, removes, starts and stops the Windows service.
#include <google/protobuf/empty.pb.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/released.h"
#include "client/cpp/remote_channel.h"
#include "server/base/condition.h"
#include "server/base/status_macros.h"
#include "server/names/released_names.h"
#include "server/observability/product_version.h"
#include "server/platform/program.h"
#include "server/supervision/supervisor.h"
#include "service_installer/installer.h"

namespace csi_proxy::service_installer {
namespace {

namespace po = boost::program_options;

struct Arguments {
  std::string action, name, program, directory, start_type = "automatic";
  std::string restart_delay = "10s", failure_reset = "24h", patience = "60s";
  bool help = false, version = false;
  // The arguments that need no further check.
  InstallRequest request;
  Installer::Environment environment;
};

constexpr char kUsageText[] =
    "usage: csi-proxy-service install|upgrade|uninstall|start|stop|status [options] [-- FLAGS]\n\n"
    "FLAGS are those of csi-proxy. An existing service keeps its flags when none are given; a new "
    "one logs below\n%ProgramData%\\csi-proxy\\logs.\n"
    "-windows-service is always added.\n\n";

po::options_description Describe(Arguments* a) {
  const auto text = [](std::string* out, const char* name) {
    auto* const value = po::value(out)->value_name(name);
    return out->empty() ? value : value->default_value(*out);
  };
  po::options_description all("options", 100);
  all.add_options()("help", po::bool_switch(&a->help), "print this and exit")(
      "version", po::bool_switch(&a->version), "print the version and exit")(
      "name", text(&a->name, "NAME"),
      "the service; default: csi-proxy or csiproxy, whichever exists")(
      "binary", text(&a->program, "PATH"),
      "install this csi-proxy.exe where it is; for upgrade: the new program, default: the one "
      "beside this program")(
      "directory", text(&a->directory, "DIR"),
      "let only administrators change DIR, copy the programs from this program's folder into it "
      "and install them there; rolls back like upgrade; default: the folder of the present "
      "service, "
      "otherwise csi-proxy below %ProgramFiles%")(
      "start-type", text(&a->start_type, "TYPE"),
      "automatic, automatic-delayed, manual or disabled")(
      "account", text(&a->request.config.account, "ACCOUNT"),
      "the account that the service runs as")("restart-delay", text(&a->restart_delay, "TIME"),
                                              "time to wait before a restart after a failure")(
      "failure-reset", text(&a->failure_reset, "TIME"),
      "time without a failure after which the failure count is reset")(
      "timeout", text(&a->patience, "TIME"),
      "time to wait for a start; a stop without progress for this time ends the process")(
      "replace-wrapper", po::bool_switch(&a->request.replace_wrapper),
      "take over a service that runs csi-proxy through nssm or a similar wrapper")(
      "repair-folders", po::bool_switch(&a->request.repair_folders),
      "give the folders of program and log an access list that only lets administrators change "
      "them")("dry-run", po::bool_switch(&a->environment.dry_run),
              "print the changes without making them");
  return all;
}

absl::StatusOr<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> words(argv + 1, argv + argc);
  if (const auto end = std::ranges::find(words, "--"); end != words.end()) {
    arguments.request.flags.emplace(end + 1, words.end());
    words.erase(end, words.end());
  }
  if (!words.empty() && words[0][0] != '-') {
    arguments.action = words[0];
    words.erase(words.begin());
  }
  try {
    po::variables_map values;
    po::store(po::command_line_parser(words).options(Describe(&arguments)).positional({}).run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return arguments;
}

absl::Status ParseTime(const char* flag, const std::string& text, absl::Duration* out) {
  if (absl::ParseDuration(text, out) && *out >= absl::ZeroDuration() && *out <= absl::Hours(8760)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, ": \"", text, "\" is not a duration such as 10s or 5m"));
}

// Returns the folder that a variable of the environment names; empty if it is not set.
std::filesystem::path FolderOf(const wchar_t* variable) {
  const wchar_t* const value = _wgetenv(variable);
  return value != nullptr ? std::filesystem::path(value) : std::filesystem::path();
}

constexpr absl::Duration kPipeTimeout = absl::Seconds(3);

bool Answers(const api::ReleasedVersion& version) {
  ClientOptions options;
  options.mode = Mode::kRemote;
  options.connect_timeout = kPipeTimeout;
  const auto channel = client::RemoteChannel::Open(options, version.group, version.version);
  if (!channel.ok()) return false;
  // An empty request asks about the whole server, and only the status of the call matters.
  google::protobuf::Empty request, response;
  return (*channel)
      ->Call("/grpc.health.v1.Health/Check", client::MakeCallContext({.timeout = kPipeTimeout}, {}),
             request, &response)
      .ok();
}

// Asks the pipes of all released versions for their health, in parallel, and returns the names of
// those that answer.
std::set<std::string> AnsweringPipes() {
  Mutex mutex;
  std::set<std::string> answering;
  std::vector<std::thread> threads;
  for (const api::ReleasedVersion& version : api::kReleasedVersions) {
    threads.emplace_back([&] {
      if (!Answers(version)) return;
      const MutexLock lock(mutex);
      answering.insert(PipeName(version.group, version.version));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answering;
}

absl::Status Act(Arguments arguments) {
  InstallRequest& request = arguments.request;
  Installer::Environment& environment = arguments.environment;
  ServiceConfig& config = request.config;
  ABSL_RETURN_IF_ERROR(ParseTime("restart-delay", arguments.restart_delay, &config.restart_delay));
  ABSL_RETURN_IF_ERROR(ParseTime("failure-reset", arguments.failure_reset, &config.failure_reset));
  ABSL_RETURN_IF_ERROR(ParseTime("timeout", arguments.patience, &environment.patience));
  ABSL_ASSIGN_OR_RETURN(config.start_type, ParseStartType(arguments.start_type));
  if (request.flags.has_value() && arguments.action != "install") {
    return absl::InvalidArgumentError("FLAGS: only install takes them");
  }
  std::error_code error;
  environment.own_folder = ProgramFile().parent_path();
  environment.program_files = FolderOf(L"ProgramFiles");
  environment.program_data = FolderOf(L"ProgramData");
  if (!arguments.program.empty()) {
    request.program = std::filesystem::absolute(Utf8Path(arguments.program), error);
  } else if (arguments.action == "upgrade") {
    request.program = environment.own_folder / kProgramName;
  }
  if (!arguments.directory.empty()) {
    if (!arguments.program.empty() || arguments.action != "install") {
      return absl::InvalidArgumentError(
          "--directory: only install takes it, and not with --binary");
    }
    request.source = environment.own_folder;
    request.program =
        std::filesystem::absolute(Utf8Path(arguments.directory), error) / kProgramName;
  }

  Refused refused;
  ABSL_ASSIGN_OR_RETURN(auto services, OpenServiceManager(&refused));
  const std::unique_ptr<Folders> folders = ThisMachinesFolders();
  ABSL_ASSIGN_OR_RETURN(const auto locks, NewProcessLocks(""));
  environment.services = services.get();
  environment.folders = folders.get();
  environment.locks = locks.get();
  environment.answering_pipes = AnsweringPipes;
  environment.out = &std::cout;
  ABSL_ASSIGN_OR_RETURN(Installer installer, Installer::Create(environment, arguments.name));

  const std::map<std::string, std::function<absl::Status()>> actions = {
      {"install", [&] { return installer.Install(request); }},
      {"upgrade", [&] { return installer.Upgrade(request.program, request.repair_folders); }},
      {"uninstall", [&] { return installer.Uninstall(); }},
      {"start", [&] { return installer.Start(); }},
      {"stop", [&] { return installer.Stop(); }},
      {"status", [&] { return installer.Report(); }}};
  const auto action = actions.find(arguments.action);
  if (action == actions.end()) {
    return absl::InvalidArgumentError(
        arguments.action.empty()
            ? "give an action: install, upgrade, uninstall, start, stop or status"
            : absl::StrCat("there is no action \"", arguments.action, "\""));
  }
  absl::Status status = action->second();
  for (const std::string& setting : refused) {
    std::cerr << "warning: this system refused a setting: " << setting << "\n";
  }
  return status;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<Arguments> arguments = Parse(argc, argv);
  if (!arguments.ok()) {
    std::cerr << "csi-proxy-service: " << arguments.status().message() << "\nTry --help.\n";
    return kExitUsage;
  }
  if (arguments->help) {
    Arguments defaults;
    std::cout << kUsageText << Describe(&defaults);
    return kExitOk;
  }
  if (arguments->version) {
    std::cout << "csi-proxy-service " << kVersion << "\n";
    return kExitOk;
  }
  const absl::Status status = Act(*arguments);
  if (status.ok()) return kExitOk;
  std::cerr << "csi-proxy-service: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

}  // namespace
}  // namespace csi_proxy::service_installer

CSI_PROXY_MAIN(csi_proxy::service_installer::Main)
