// csi-proxy-service: installs, upgrades, removes, starts and stops the Windows service.
#include <google/protobuf/empty.pb.h>

#include <boost/program_options.hpp>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/released.h"
#include "client/cpp/remote_channel.h"
#include "server/base/condition.h"
#include "server/base/program.h"
#include "server/base/released_names.h"
#include "server/base/status_macros.h"
#include "server/base/win32.h"
#include "server/service/product_version.h"
#include "service_installer/installer.h"

namespace csi_proxy::service_installer {
namespace {

namespace po = boost::program_options;

enum ExitCode { kOk = 0, kFailed = 1, kUsage = 2 };

struct Arguments {
  std::string action, name, program, directory, start_type = "automatic", account = "LocalSystem";
  std::string restart_delay = "10s", failure_reset = "24h", patience = "60s";
  bool dry_run = false, replace_wrapper = false, repair_folders = false, help = false,
       version = false;
  std::optional<std::vector<std::string>> flags;  // The arguments after `--`.
};

constexpr char kUsageText[] =
    "usage: csi-proxy-service install|upgrade|uninstall|start|stop|status [options] [-- FLAGS]\n\n"
    "FLAGS are those of csi-proxy. An existing service keeps its flags when none are given.\n"
    "-windows-service is always added.\n\n";

po::options_description Describe(Arguments* a) {
  po::options_description all("options", 100);
  all.add_options()("help", po::bool_switch(&a->help), "print this and exit")(
      "version", po::bool_switch(&a->version), "print the version and exit")(
      "name", po::value(&a->name)->value_name("NAME"),
      "the service; default: csi-proxy or csiproxy, whichever exists")(
      "binary", po::value(&a->program)->value_name("PATH"),
      "csi-proxy.exe; default: the one beside this program")(
      "directory", po::value(&a->directory)->value_name("DIR"),
      "let only administrators change DIR, copy both programs from this program's folder into it "
      "and install them there; rolls back like upgrade")(
      "start-type", po::value(&a->start_type)->value_name("TYPE")->default_value(a->start_type),
      "automatic, automatic-delayed, manual or disabled")(
      "account", po::value(&a->account)->value_name("ACCOUNT")->default_value(a->account),
      "the account that the service runs as")(
      "restart-delay",
      po::value(&a->restart_delay)->value_name("TIME")->default_value(a->restart_delay),
      "time to wait before a restart after a failure")(
      "failure-reset",
      po::value(&a->failure_reset)->value_name("TIME")->default_value(a->failure_reset),
      "time without a failure after which the failure count is reset")(
      "timeout", po::value(&a->patience)->value_name("TIME")->default_value(a->patience),
      "time to wait for a start; a stop without progress for this time ends the process")(
      "replace-wrapper", po::bool_switch(&a->replace_wrapper),
      "take over a service that runs csi-proxy through nssm or a similar wrapper")(
      "repair-folders", po::bool_switch(&a->repair_folders),
      "give the folders of program and log an access list that only lets administrators change "
      "them")("dry-run", po::bool_switch(&a->dry_run), "print the changes without making them");
  return all;
}

absl::StatusOr<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> words(argv + 1, argv + argc);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--") continue;
    arguments.flags.emplace(words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
    words.resize(i);
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

absl::Status Act(const Arguments& arguments) {
  InstallRequest request;
  Installer::Environment environment;
  const struct {
    const char* flag;
    const std::string& text;
    absl::Duration* out;
  } times[] = {
      {"restart-delay", arguments.restart_delay, &request.config.restart_delay},
      {"failure-reset", arguments.failure_reset, &request.config.failure_reset},
      {"timeout", arguments.patience, &environment.patience},
  };
  for (const auto& time : times) {
    ABSL_RETURN_IF_ERROR(ParseTime(time.flag, time.text, time.out));
  }
  ABSL_ASSIGN_OR_RETURN(const StartType start_type, ParseStartType(arguments.start_type));
  request.config.start_type = start_type;
  request.config.account = arguments.account;
  request.flags = arguments.flags;
  if (arguments.flags.has_value() && arguments.action != "install") {
    return absl::InvalidArgumentError("FLAGS: only install takes them");
  }
  request.replace_wrapper = arguments.replace_wrapper;
  std::error_code error;
  request.repair_folders = arguments.repair_folders;
  request.program = std::filesystem::absolute(
      arguments.program.empty() ? ProgramFile().parent_path() / "csi-proxy.exe"
                                : std::filesystem::path(win32::Utf16(arguments.program)),
      error);
  if (!arguments.directory.empty()) {
    if (!arguments.program.empty() || arguments.action != "install") {
      return absl::InvalidArgumentError(
          "--directory: only install takes it, and not with --binary");
    }
    request.source = ProgramFile().parent_path();
    request.program =
        std::filesystem::absolute(std::filesystem::path(win32::Utf16(arguments.directory)), error) /
        kProgramName;
  }

  Refused refused;
  ABSL_ASSIGN_OR_RETURN(auto services, OpenServiceManager(&refused));
  const std::unique_ptr<Folders> folders = ThisMachinesFolders();
  environment.services = services.get();
  environment.folders = folders.get();
  environment.answering_pipes = AnsweringPipes;
  environment.out = &std::cout;
  environment.dry_run = arguments.dry_run;
  ABSL_ASSIGN_OR_RETURN(Installer installer, Installer::Create(environment, arguments.name));

  absl::Status status;
  if (arguments.action == "install") {
    status = installer.Install(request);
  } else if (arguments.action == "upgrade") {
    status = installer.Upgrade(request.program, request.repair_folders);
  } else if (arguments.action == "uninstall") {
    status = installer.Uninstall();
  } else if (arguments.action == "start") {
    status = installer.Start();
  } else if (arguments.action == "stop") {
    status = installer.Stop();
  } else if (arguments.action == "status") {
    status = installer.Report();
  } else {
    return absl::InvalidArgumentError(
        arguments.action.empty()
            ? "give an action: install, upgrade, uninstall, start, stop or status"
            : absl::StrCat("there is no action \"", arguments.action, "\""));
  }
  for (const std::string& setting : refused) {
    std::cerr << "warning: this system refused a setting: " << setting << "\n";
  }
  return status;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<Arguments> arguments = Parse(argc, argv);
  if (!arguments.ok()) {
    std::cerr << "csi-proxy-service: " << arguments.status().message() << "\nTry --help.\n";
    return kUsage;
  }
  if (arguments->help) {
    Arguments defaults;
    std::cout << kUsageText << Describe(&defaults);
    return kOk;
  }
  if (arguments->version) {
    std::cout << "csi-proxy-service " << kVersion << "\n";
    return kOk;
  }
  const absl::Status status = Act(*arguments);
  if (status.ok()) return kOk;
  std::cerr << "csi-proxy-service: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? kUsage : kFailed;
}

}  // namespace
}  // namespace csi_proxy::service_installer

CSI_PROXY_MAIN(csi_proxy::service_installer::Main)
