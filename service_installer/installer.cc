#include "service_installer/installer.h"

#include <algorithm>
#include <ostream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/go_flags.h"
#include "server/base/status_macros.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kServiceSpecificError = 1066;  // ERROR_SERVICE_SPECIFIC_ERROR
constexpr uint32_t kNeverStarted = 1077;          // ERROR_SERVICE_NEVER_STARTED
constexpr char kServiceFlag[] = "-windows-service";
// A stop that keeps reporting progress gets at most this many times `patience`.
constexpr int kMostPatience = 10;

const char* Name(ServiceState state) {
  constexpr const char* kNames[] = {"stopped", "starting", "stopping", "running",
                                    "in another state"};
  return kNames[static_cast<size_t>(state)];
}

}  // namespace

absl::StatusOr<Installer> Installer::Create(Environment environment, std::string name) {
  if (name.empty()) {
    name = kServiceNames[0];
    for (const char* known : kServiceNames) {
      const auto status = environment.services->Status(known);
      if (absl::IsNotFound(status.status())) continue;
      if (!status.ok()) return status.status();
      name = known;
      break;
    }
  }
  return Installer(std::move(environment), std::move(name));
}

bool Installer::Step(const std::string& what) {
  *environment_.out << (environment_.dry_run ? "would " : "") << what << "\n";
  return !environment_.dry_run;
}

absl::StatusOr<std::unique_ptr<ProcessLocks::Held>> Installer::Lock() {
  // This deadline has passed, so that the call does not wait.
  auto held = environment_.locks->Acquire(CallContext(SteadyTime::Now()), "csi-proxy-service");
  if (!absl::IsDeadlineExceeded(held.status())) return held;
  return absl::FailedPreconditionError(
      "another installer is at work on this node: wait until it has ended, then try again");
}

absl::StatusOr<InstallRequest> Installer::WithDefaults(
    InstallRequest request, const absl::StatusOr<ServiceConfig>& present) {
  if (!request.program.empty()) return request;
  if (environment_.program_files.empty() || environment_.program_data.empty()) {
    return absl::FailedPreconditionError(
        "the variables ProgramFiles and ProgramData are not set: give --directory, and flags after "
        "--");
  }
  request.program = present.ok() && IsOurs(*present) ? Utf8Path(present->command[0])
                                                     : DefaultFolder() / kProgramName;
  std::error_code error;
  if (!fs::equivalent(environment_.own_folder, request.program.parent_path(), error)) {
    request.source = environment_.own_folder;
  }
  if (!present.ok() && !request.flags.has_value()) {
    const fs::path log = environment_.program_data / "csi-proxy" / "logs" / "csi-proxy.log";
    request.flags = {{"-logtostderr=false", "-log_file=" + log.string()}};
  }
  return request;
}

absl::Status Installer::Install(const InstallRequest& given) {
  ABSL_ASSIGN_OR_RETURN(const auto lock, Lock());
  std::error_code error;
  ServiceConfig wanted = given.config;
  const auto present = environment_.services->Config(name_, wanted);
  if (!present.ok() && !absl::IsNotFound(present.status())) return present.status();
  ABSL_ASSIGN_OR_RETURN(const InstallRequest request, WithDefaults(given, present));
  ABSL_RETURN_IF_ERROR(RefuseVariables(request.program.string()));
  for (const std::string& flag : request.flags.value_or(std::vector<std::string>())) {
    ABSL_RETURN_IF_ERROR(RefuseVariables(flag));
  }
  if (present.ok() && fs::equivalent(Utf8Path(present->command[0]).parent_path(),
                                     request.program.parent_path(), error)) {
    ABSL_RETURN_IF_ERROR(EndInterruptedUpgrade());
  }
  const fs::path program =
      request.source.has_value() ? *request.source / kProgramName : request.program;
  if (!fs::is_regular_file(program, error)) {
    return absl::InvalidArgumentError(absl::StrCat(program.string(), " is not a file"));
  }
  if (request.source.has_value() &&
      fs::equivalent(*request.source, request.program.parent_path(), error)) {
    return absl::InvalidArgumentError(absl::StrCat("--directory: the programs are already in ",
                                                   request.source->string(), ": omit --directory"));
  }
  const bool is_ours = present.ok() && IsOurs(*present);
  wanted.command = {request.program.string()};
  if (request.flags.has_value()) {
    wanted.command.insert(wanted.command.end(), request.flags->begin(), request.flags->end());
  } else if (is_ours) {
    wanted.command.insert(wanted.command.end(), present->command.begin() + 1,
                          present->command.end());
  }
  ABSL_ASSIGN_OR_RETURN(const Options options, ReadFlags(wanted));
  if (request.flags.has_value() && !options.ignored_words.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("FLAGS: ", IgnoredWords(options.ignored_words),
                     ". PowerShell splits -flag=value at a dot: quote it, \"-flag=value\""));
  }
  // The flag may be the first word already, before a flag that unsets it.
  if (!options.windows_service &&
      (wanted.command.size() == 1 || wanted.command[1] != kServiceFlag)) {
    wanted.command.insert(wanted.command.begin() + 1, kServiceFlag);
  }
  const bool is_upgrade = request.source.has_value() && is_ours &&
                          fs::equivalent(Utf8Path(present->command[0]), request.program, error);
  // An upgrade first starts the new program with the present flags, so they must be valid.
  if (is_upgrade) {
    ABSL_RETURN_IF_ERROR(ReadFlags(*present).status());
  }
  if (present.ok() && !is_ours && !request.replace_wrapper) {
    return absl::FailedPreconditionError(
        absl::StrCat("service ", name_, " runs ", present->command[0],
                     ", not csi-proxy.exe; with --replace-wrapper it runs csi-proxy directly, with "
                     "the flags given after --"));
  }
  ABSL_RETURN_IF_ERROR(MakeFoldersSafe(request, options));
  if (request.source.has_value()) {
    ABSL_RETURN_IF_ERROR(PutPrograms(*request.source, request.program, is_upgrade));
  }
  ABSL_RETURN_IF_ERROR(RegisterEventSource());
  if (fs::equivalent(request.program.parent_path(), DefaultFolder(), error)) {
    ABSL_RETURN_IF_ERROR(SetOnPath(DefaultFolder(), true));
  }

  if (!present.ok()) {
    if (!Step(absl::StrCat("create service ", name_, ": ", CommandLine(wanted.command)))) {
      return absl::OkStatus();
    }
    return environment_.services->Create(name_, wanted);
  }
  const std::vector<std::string> differences = Differences(*present, wanted);
  if (differences.empty()) {
    *environment_.out << "service " << name_ << " needs no change\n";
    return absl::OkStatus();
  }
  if (!Step(absl::StrCat("change service ", name_, ":\n  ", absl::StrJoin(differences, "\n  ")))) {
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(environment_.services->Change(name_, wanted));
  const auto status = environment_.services->Status(name_);
  if (status.ok() && status->state != ServiceState::kStopped) {
    *environment_.out << "service " << name_
                      << " runs with its old settings until it is restarted\n";
  }
  return absl::OkStatus();
}

absl::Status Installer::Uninstall() {
  ABSL_ASSIGN_OR_RETURN(const auto lock, Lock());
  if (!Exists()) {
    *environment_.out << "there is no service " << name_ << "\n";
    return absl::OkStatus();
  }
  const auto config = environment_.services->Config(name_, {});
  ABSL_RETURN_IF_ERROR(Stop());
  if (!Step(absl::StrCat("delete service ", name_))) return absl::OkStatus();
  // A later service must not get the program of an earlier one.
  std::error_code error;
  if (config.ok()) fs::remove(MarkerOf(Utf8Path(config->command[0])), error);
  // The service goes last, because without it a repeated call would do nothing.
  ABSL_RETURN_IF_ERROR(environment_.services->RemoveEventSource(kEventSource));
  ABSL_RETURN_IF_ERROR(SetOnPath(DefaultFolder(), false));
  ABSL_RETURN_IF_ERROR(environment_.services->Delete(name_));
  // A service marked for deletion exists until its last handle is closed.
  const SteadyTime give_up = SteadyTime::Now() + environment_.patience;
  while (Exists()) {
    if (SteadyTime::Now() >= give_up) {
      return absl::DeadlineExceededError(
          absl::StrCat("service ", name_,
                       " is marked for deletion; it disappears once every program that has it "
                       "open, such as services.msc, is closed"));
    }
    absl::SleepFor(environment_.interval);
  }
  return absl::OkStatus();
}

absl::Status Installer::Start() {
  ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
  // An installer that was killed in Terminate() has left the service without failure actions.
  if (!environment_.dry_run) {
    const absl::Status resumed = environment_.services->ResumeRestart(name_);
    if (!resumed.ok()) *environment_.out << "the failure actions: " << resumed.message() << "\n";
  }
  if (status.state == ServiceState::kRunning) {
    *environment_.out << "service " << name_ << " is already running\n";
    return absl::OkStatus();
  }
  if (!Step(absl::StrCat("start service ", name_))) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(environment_.services->Start(name_));
  return Await(ServiceState::kRunning);
}

absl::Status Installer::Stop() {
  ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
  if (status.state == ServiceState::kStopped) return absl::OkStatus();
  if (!Step(absl::StrCat("stop service ", name_))) return absl::OkStatus();
  absl::Status stopped = AwaitStopped();
  if (!absl::IsDeadlineExceeded(stopped)) return stopped;
  *environment_.out << stopped.message() << "\n";
  return Terminate();
}

absl::Status Installer::AwaitStopped() {
  const SteadyTime begin = SteadyTime::Now();
  SteadyTime progress_at = begin;
  uint32_t checkpoint = 0;
  while (true) {
    ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
    if (status.state == ServiceState::kStopped) return absl::OkStatus();
    if (status.state != ServiceState::kStopPending) {
      // A service that is starting refuses to stop, and is asked again.
      const absl::Status asked = environment_.services->Stop(name_);
      if (!asked.ok() && !absl::IsUnavailable(asked)) return asked;
    } else if (status.checkpoint > checkpoint) {
      checkpoint = status.checkpoint;
      progress_at = SteadyTime::Now();
    }
    const SteadyTime now = SteadyTime::Now();
    if (now - progress_at >= environment_.patience ||
        now - begin >= kMostPatience * environment_.patience) {
      return absl::DeadlineExceededError(absl::StrCat("service ", name_, " is ", Name(status.state),
                                                      ", not stopped, after ",
                                                      absl::FormatDuration(now - begin)));
    }
    absl::SleepFor(environment_.interval);
  }
}

absl::Status Installer::Terminate() {
  ServiceManager& services = *environment_.services;
  ABSL_ASSIGN_OR_RETURN(const auto config, services.Config(name_, {}));
  if (!IsOurs(config)) {
    return absl::FailedPreconditionError(
        absl::StrCat("service ", name_, " does not stop and is not ended, because it runs ",
                     config.command[0], ", not csi-proxy"));
  }
  ABSL_ASSIGN_OR_RETURN(const auto status, services.Status(name_));
  // Windows may not know the process of a service that starts or stops
  // (https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryservicestatusex).
  if (status.process_id == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("service ", name_, " is ", Name(status.state),
                     " and has no process that could be ended; restart the node, then try again"));
  }
  if (!Step(absl::StrCat("end process ", status.process_id, " of service ", name_))) {
    return absl::OkStatus();
  }
  // The manager would treat the end of the process as a failure, and restart the service while its
  // program is being replaced or the service removed.
  const absl::Status suspended = services.SuspendRestart(name_);
  if (!suspended.ok()) {
    *environment_.out << "Windows may restart the service before this is done: "
                      << suspended.message() << "\n";
  }
  absl::Status ended = services.Terminate(name_, status.process_id, config.command[0]);
  if (ended.ok()) ended = Await(ServiceState::kStopped);
  if (suspended.ok()) ended.Update(services.ResumeRestart(name_));
  return ended;
}

absl::Status Installer::Await(ServiceState state) {
  const SteadyTime give_up = SteadyTime::Now() + environment_.patience;
  while (true) {
    ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
    if (status.state == state) return absl::OkStatus();
    if (state == ServiceState::kRunning && status.state == ServiceState::kStopped) {
      return absl::FailedPreconditionError(
          absl::StrCat("service ", name_, " ended instead of running: ", ExplainExit(status)));
    }
    if (SteadyTime::Now() >= give_up) {
      return absl::DeadlineExceededError(absl::StrCat("service ", name_, " is ", Name(status.state),
                                                      ", not ", Name(state), ", after ",
                                                      absl::FormatDuration(environment_.patience)));
    }
    absl::SleepFor(environment_.interval);
  }
}

absl::Status Installer::StartWith(const std::set<std::string>& expected_pipes) {
  ABSL_RETURN_IF_ERROR(Start());
  const SteadyTime give_up = SteadyTime::Now() + environment_.patience;
  while (true) {
    const std::set<std::string> answering = environment_.answering_pipes();
    if (!answering.empty() && std::includes(answering.begin(), answering.end(),
                                            expected_pipes.begin(), expected_pipes.end())) {
      *environment_.out << answering.size() << " pipes answer\n";
      return absl::OkStatus();
    }
    // Does not wait longer for a program that has ended, because it will not answer.
    ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
    if (status.state == ServiceState::kStopped) {
      return absl::FailedPreconditionError(
          absl::StrCat("service ", name_, " ended: ", ExplainExit(status)));
    }
    if (SteadyTime::Now() >= give_up) {
      return absl::DeadlineExceededError(absl::StrCat(
          answering.size(), " pipes answer, not all of the previous ", expected_pipes.size()));
    }
    absl::SleepFor(environment_.interval);
  }
}

absl::Status Installer::Report() {
  ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
  ABSL_ASSIGN_OR_RETURN(const auto config, environment_.services->Config(name_, {}));
  std::ostream& out = *environment_.out;
  out << "service " << name_ << " is " << Name(status.state);
  if (status.process_id != 0) out << ", process " << status.process_id;
  out << "\n";
  if (status.state == ServiceState::kStopped) out << "  " << ExplainExit(status) << "\n";
  out << "  command:             " << CommandLine(config.command) << "\n"
      << "  account:             " << config.account << "\n"
      << "  start type:          " << Name(config.start_type) << "\n"
      << "  restart after:       " << absl::FormatDuration(config.restart_delay) << "\n"
      << "  answering pipes:     " << environment_.answering_pipes().size() << "\n";
  return absl::OkStatus();
}

absl::Status RefuseVariables(absl::string_view text) {
  const auto is_name = [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("_()", c); };
  std::string name;
  for (size_t at = 0; at < text.size() && name.empty(); ++at) {
    absl::string_view rest = text.substr(at);
    const bool is_cmd = rest[0] == '%';
    if (is_cmd) rest.remove_prefix(1);
    if (!is_cmd && !absl::StartsWithIgnoreCase(rest, "$env:") &&
        !absl::StartsWithIgnoreCase(rest, "${env:")) {
      continue;
    }
    if (!is_cmd) rest.remove_prefix(rest.find(':') + 1);
    size_t end = 0;
    while (end < rest.size() && is_name(rest[end])) ++end;
    // A path may contain a single `%`, or digits between two.
    if (end == 0 ||
        (is_cmd && (end == rest.size() || rest[end] != '%' || absl::ascii_isdigit(rest[0])))) {
      continue;
    }
    name = std::string(rest.substr(0, end));
  }
  if (name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" contains the variable ", name,
                   ", which the shell has not expanded: PowerShell expands $env:", name,
                   ", outside of single quotation marks, and cmd expands %", name, "%"));
}

bool IsOurs(const ServiceConfig& config) {
  // Takes the last component of the Windows path.
  absl::string_view name = config.command[0];
  name.remove_prefix(name.find_last_of("\\/") + 1);
  return absl::StartsWithIgnoreCase(name, "csi-proxy");
}

absl::StatusOr<Options> ReadFlags(const ServiceConfig& config) {
  absl::StatusOr<Options> options =
      ParseOptions({config.command.begin() + 1, config.command.end()});
  if (options.ok()) return options;
  return absl::InvalidArgumentError(
      absl::StrCat("the service would not start with its flags: ", options.status().message()));
}

std::string ExplainExit(const ServiceStatus& status) {
  if (status.exit_code == 0) return "it was stopped normally";
  if (status.exit_code == kNeverStarted) return "it has not been started since the system booted";
  if (status.exit_code != kServiceSpecificError) {
    return absl::StrCat("it ended with Windows error ", status.exit_code);
  }
  return absl::StrCat(
      "it ended with exit code ", status.service_exit_code,
      status.service_exit_code == 2
          ? ": a flag is wrong; its log and the event log (source csi-proxy) name it"
          : ": it could not start or serve; its log and the event log (source csi-proxy) say why");
}

}  // namespace csi_proxy::service_installer
