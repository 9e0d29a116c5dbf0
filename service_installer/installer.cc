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

namespace csi_proxy::installer {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kServiceSpecificError = 1066;  // ERROR_SERVICE_SPECIFIC_ERROR
constexpr uint32_t kNeverStarted = 1077;          // ERROR_SERVICE_NEVER_STARTED
constexpr char kServiceFlag[] = "-windows-service";
// However much progress a stop reports, it has no more than this many times the patience.
constexpr int kMostPatience = 10;

absl::Status FileError(const char* what, const fs::path& path, const std::error_code& error) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path.string(), ": ", error.message()));
}

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? FileError("move", from, error) : absl::OkStatus();
}

fs::path WithSuffix(const fs::path& path, const char* suffix) {
  fs::path other = path;
  other += suffix;
  return other;
}

// Where the old program goes. One that an earlier upgrade has put aside may still be in use, by a
// process that Windows cannot end.
fs::path NameForPrevious(const fs::path& target) {
  fs::path name = WithSuffix(target, ".old");
  std::error_code error;
  for (int i = 1; i < 10 && !fs::remove(name, error) && fs::exists(name, error); ++i) {
    name = WithSuffix(target, absl::StrCat(".old", i).c_str());
  }
  return name;
}

// The last component of a Windows path, lower-cased.
std::string BaseName(absl::string_view path) {
  const size_t slash = path.find_last_of("\\/");
  return absl::AsciiStrToLower(slash == path.npos ? path : path.substr(slash + 1));
}

bool IsOurs(const ServiceConfig& config) {
  return absl::StartsWith(BaseName(config.command[0]), "csi-proxy");
}

bool IsServiceFlag(const std::string& flag) {
  return flag == kServiceFlag || flag == "--windows-service" || flag == "-windows-service=true" ||
         flag == "--windows-service=true";
}

}  // namespace

absl::StatusOr<Installer> Installer::Create(Environment environment, std::string name) {
  if (name.empty()) {
    name = kServiceNames[0];
    for (const char* known : kServiceNames) {
      const auto status = environment.services->Status(known);
      if (status.ok()) {
        name = known;
        break;
      }
      if (!absl::IsNotFound(status.status())) return status.status();
    }
  }
  return Installer(std::move(environment), std::move(name));
}

bool Installer::Step(const std::string& what) {
  *environment_.out << (environment_.dry_run ? "would " : "") << what << "\n";
  return !environment_.dry_run;
}

bool Installer::Exists() { return environment_.services->Status(name_).ok(); }

absl::Status Installer::Install(const InstallRequest& request) {
  std::error_code error;
  if (!fs::is_regular_file(request.program, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--binary: ", request.program.string(), " is not a file"));
  }
  ServiceConfig wanted = request.config;
  const auto present = environment_.services->Config(name_, wanted);
  if (!present.ok() && !absl::IsNotFound(present.status())) return present.status();

  std::vector<std::string> flags;
  if (request.flags.has_value()) {
    flags = *request.flags;
  } else if (present.ok() && IsOurs(*present)) {
    flags.assign(present->command.begin() + 1, present->command.end());
  }
  if (std::none_of(flags.begin(), flags.end(), IsServiceFlag)) {
    flags.insert(flags.begin(), kServiceFlag);
  }
  wanted.command = {request.program.string()};
  wanted.command.insert(wanted.command.end(), flags.begin(), flags.end());
  if (present.ok() && !IsOurs(*present) && !request.replace_wrapper) {
    return absl::FailedPreconditionError(absl::StrCat(
        "service ", name_, " runs ", present->command[0],
        "; with --replace-wrapper it runs csi-proxy directly, with the flags given after --"));
  }
  if (absl::Status safe = MakeFoldersSafe(request, flags); !safe.ok()) return safe;
  if (absl::Status source = RegisterEventSource(); !source.ok()) return source;

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
  if (absl::Status changed = environment_.services->Change(name_, wanted); !changed.ok()) {
    return changed;
  }
  const auto status = environment_.services->Status(name_);
  if (status.ok() && status->state != ServiceState::kStopped) {
    *environment_.out << "service " << name_
                      << " runs with its old settings until it is restarted\n";
  }
  return absl::OkStatus();
}

absl::Status Installer::Upgrade(const fs::path& program) {
  std::error_code error;
  if (!fs::is_regular_file(program, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--binary: ", program.string(), " is not a file"));
  }
  const auto config = environment_.services->Config(name_, {});
  if (!config.ok()) return config.status();
  if (!IsOurs(*config)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "service ", name_, " runs ", config->command[0], ", not csi-proxy: run install first"));
  }
  const auto status = environment_.services->Status(name_);
  if (!status.ok()) return status.status();
  const bool ran = status->state != ServiceState::kStopped;
  const fs::path target = Utf8Path(config->command[0]);
  if (fs::equivalent(program, target, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--binary: ", program.string(), " is the service's own program"));
  }
  const fs::path incoming = WithSuffix(target, ".new");
  if (!Step(absl::StrCat("stop service ", name_, ", replace ", target.string(), " with ",
                         program.string(), ", start it, check that its pipes answer"))) {
    return absl::OkStatus();
  }
  const std::set<std::string> pipes = environment_.answering_pipes();
  // An old service in an unsafe place is better than no upgrade.
  if (absl::Status safe = CheckProgram(*environment_.folders, target); !safe.ok()) {
    *environment_.out << "warning: " << safe.message() << "\n";
  }

  // Copied before anything is stopped: a full disk or a missing file does no harm.
  fs::copy_file(program, incoming, fs::copy_options::overwrite_existing, error);
  if (error) return FileError("copy", program, error);
  if (absl::Status s = Stop(); !s.ok()) return s;
  const fs::path previous = NameForPrevious(target);
  absl::Status swapped = Move(target, previous);
  if (swapped.ok()) {
    swapped = Move(incoming, target);
    if (!swapped.ok()) (void)Move(previous, target);
  }
  absl::Status upgraded = swapped.ok() ? StartWith(pipes) : swapped;
  if (upgraded.ok()) {
    fs::remove(previous, error);
    if (!ran) return Stop();
    return absl::OkStatus();
  }

  *environment_.out << "the new program does not work: " << upgraded.message()
                    << "\nrestoring the old one\n";
  absl::Status restored = Stop();
  if (restored.ok() && swapped.ok()) {
    fs::remove(target, error);
    restored = Move(previous, target);
  }
  if (restored.ok() && ran) restored = StartWith(pipes);
  if (!restored.ok()) {
    return absl::InternalError(absl::StrCat(
        "upgrade: ", upgraded.message(), "; and the old program could not be restored: ",
        restored.message(), " (it is at ", previous.string(), ")"));
  }
  return absl::AbortedError(
      absl::StrCat("upgrade: ", upgraded.message(), "; the old program has been restored"));
}

absl::Status Installer::Uninstall() {
  if (!Exists()) {
    *environment_.out << "there is no service " << name_ << "\n";
    return absl::OkStatus();
  }
  if (absl::Status status = Stop(); !status.ok()) return status;
  if (!Step(absl::StrCat("delete service ", name_))) return absl::OkStatus();
  if (absl::Status status = environment_.services->Delete(name_); !status.ok()) return status;
  if (absl::Status status = environment_.services->RemoveEventSource(kEventSource); !status.ok()) {
    return status;
  }
  // It is marked for deletion and goes with its last open handle.
  const absl::Time give_up = absl::Now() + environment_.patience;
  while (Exists()) {
    if (absl::Now() >= give_up) {
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
  const auto status = environment_.services->Status(name_);
  if (!status.ok()) return status.status();
  if (status->state == ServiceState::kRunning) {
    *environment_.out << "service " << name_ << " is already running\n";
    return absl::OkStatus();
  }
  if (!Step(absl::StrCat("start service ", name_))) return absl::OkStatus();
  if (absl::Status s = environment_.services->Start(name_); !s.ok()) return s;
  return Await(ServiceState::kRunning);
}

absl::Status Installer::Stop() {
  const auto status = environment_.services->Status(name_);
  if (!status.ok()) return status.status();
  if (status->state == ServiceState::kStopped) return absl::OkStatus();
  if (!Step(absl::StrCat("stop service ", name_))) return absl::OkStatus();
  absl::Status stopped = AwaitStopped();
  if (!absl::IsDeadlineExceeded(stopped)) return stopped;
  *environment_.out << stopped.message() << "\n";
  return Terminate();
}

absl::Status Installer::AwaitStopped() {
  const absl::Time begin = absl::Now();
  absl::Time progress_at = begin;
  uint32_t checkpoint = 0;
  while (true) {
    const auto status = environment_.services->Status(name_);
    if (!status.ok()) return status.status();
    if (status->state == ServiceState::kStopped) return absl::OkStatus();
    if (status->state != ServiceState::kStopPending) {
      // A service that is starting refuses it, and may take it later.
      const absl::Status asked = environment_.services->Stop(name_);
      if (!asked.ok() && !absl::IsUnavailable(asked)) return asked;
    } else if (status->checkpoint > checkpoint) {
      checkpoint = status->checkpoint;
      progress_at = absl::Now();
    }
    const absl::Time now = absl::Now();
    if (now - progress_at >= environment_.patience ||
        now - begin >= kMostPatience * environment_.patience) {
      return absl::DeadlineExceededError(absl::StrCat("service ", name_, " is ",
                                                      Name(status->state), ", not stopped, after ",
                                                      absl::FormatDuration(now - begin)));
    }
    absl::SleepFor(environment_.interval);
  }
}

absl::Status Installer::Terminate() {
  ServiceManager& services = *environment_.services;
  const auto config = services.Config(name_, {});
  if (!config.ok()) return config.status();
  if (!IsOurs(*config)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "service ", name_, " does not stop, and runs ", config->command[0], ", not csi-proxy"));
  }
  const auto status = services.Status(name_);
  if (!status.ok()) return status.status();
  if (!Step(absl::StrCat("end process ", status->process_id, " of service ", name_))) {
    return absl::OkStatus();
  }
  // To the manager this is a failure: it would start the service again while its program is
  // replaced or the service removed.
  const absl::Status suspended = services.SuspendRestart(name_);
  if (!suspended.ok()) {
    *environment_.out << "it may be restarted meanwhile: " << suspended.message() << "\n";
  }
  absl::Status ended = services.Terminate(name_, status->process_id, config->command[0]);
  if (ended.ok()) ended = Await(ServiceState::kStopped);
  if (suspended.ok()) ended.Update(services.ResumeRestart(name_));
  return ended;
}

absl::Status Installer::Await(ServiceState state) {
  const absl::Time give_up = absl::Now() + environment_.patience;
  while (true) {
    const auto status = environment_.services->Status(name_);
    if (!status.ok()) return status.status();
    if (status->state == state) return absl::OkStatus();
    if (state == ServiceState::kRunning && status->state == ServiceState::kStopped) {
      return absl::FailedPreconditionError(
          absl::StrCat("service ", name_, " ended instead of running: ", ExplainExit(*status)));
    }
    if (absl::Now() >= give_up) {
      return absl::DeadlineExceededError(
          absl::StrCat("service ", name_, " is ", Name(status->state), ", not ", Name(state),
                       ", after ", absl::FormatDuration(environment_.patience)));
    }
    absl::SleepFor(environment_.interval);
  }
}

absl::Status Installer::StartWith(const std::set<std::string>& expected_pipes) {
  if (absl::Status status = Start(); !status.ok()) return status;
  const absl::Time give_up = absl::Now() + environment_.patience;
  while (true) {
    const std::set<std::string> answering = environment_.answering_pipes();
    if (!answering.empty() && std::includes(answering.begin(), answering.end(),
                                            expected_pipes.begin(), expected_pipes.end())) {
      *environment_.out << answering.size() << " pipes answer\n";
      return absl::OkStatus();
    }
    // A program that has ended will not answer any more.
    const auto status = environment_.services->Status(name_);
    if (!status.ok()) return status.status();
    if (status->state == ServiceState::kStopped) {
      return absl::FailedPreconditionError(
          absl::StrCat("service ", name_, " ended: ", ExplainExit(*status)));
    }
    if (absl::Now() >= give_up) {
      return absl::DeadlineExceededError(absl::StrCat(
          answering.size(), " pipes answer; before there were ", expected_pipes.size()));
    }
    absl::SleepFor(environment_.interval);
  }
}

absl::Status Installer::Report() {
  const auto status = environment_.services->Status(name_);
  if (!status.ok()) return status.status();
  const auto config = environment_.services->Config(name_, {});
  if (!config.ok()) return config.status();
  std::ostream& out = *environment_.out;
  out << "service " << name_ << " is " << Name(status->state);
  if (status->process_id != 0) out << ", process " << status->process_id;
  out << "\n";
  if (status->state == ServiceState::kStopped) out << "  " << ExplainExit(*status) << "\n";
  out << "  command:             " << CommandLine(config->command) << "\n"
      << "  account:             " << config->account << "\n"
      << "  start type:          " << Name(config->start_type) << "\n"
      << "  restart after:       " << absl::FormatDuration(config->restart_delay) << "\n"
      << "  answering pipes:     " << environment_.answering_pipes().size() << "\n";
  return absl::OkStatus();
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

}  // namespace csi_proxy::installer
