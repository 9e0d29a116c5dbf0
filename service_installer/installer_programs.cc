// The installer's actions on the program files.
#include <ostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "service_installer/installer.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;

absl::Status FileError(const char* what, const fs::path& path, const std::error_code& error) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", what, " ", path.string(), ": ", error.message()));
}

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? FileError("move", from, error) : absl::OkStatus();
}

// The number of names for previous programs.
constexpr int kPreviousNames = 10;

// Returns the name of a previous program: `target` with the suffix `.old`, `.old1`, ... `.old9`.
fs::path PreviousName(const fs::path& target, int i) {
  fs::path name = target;
  return name += i == 0 ? ".old" : absl::StrCat(".old", i);
}

// Returns the path to which the present program can be moved: the first PreviousName() from which
// an earlier program can be removed. Windows does not remove a program that a process still uses.
fs::path NameForPrevious(const fs::path& target) {
  fs::path name = PreviousName(target, 0);
  std::error_code error;
  for (int i = 1; i < kPreviousNames && !fs::remove(name, error) && fs::exists(name, error); ++i) {
    name = PreviousName(target, i);
  }
  return name;
}

// Returns the newest program at a PreviousName(), or an empty path.
fs::path FindPrevious(const fs::path& target) {
  fs::path newest;
  std::error_code error;
  for (int i = 0; i < kPreviousNames; ++i) {
    const fs::path name = PreviousName(target, i);
    if (!fs::is_regular_file(name, error)) continue;
    if (newest.empty() || fs::last_write_time(name, error) > fs::last_write_time(newest, error)) {
      newest = name;
    }
  }
  return newest;
}

// Copies a file to a path after removing what is there. Writing into an existing file would keep
// its owner, its access list and the handles of programs that have it open.
absl::Status Put(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);
  if (error) return FileError("remove", to, error);
  // Without overwrite_existing the copy fails if the name is taken, also by a link.
  fs::copy_file(from, to, error);
  return error ? FileError("copy", from, error) : absl::OkStatus();
}

}  // namespace

absl::Status Installer::PutPrograms(const fs::path& source, const fs::path& program,
                                    bool is_upgrade) {
  const fs::path folder = program.parent_path();
  const fs::path service = folder / kInstallerName;
  if (!Step(absl::StrCat("put ", kInstallerName, " and ", kProgramName, " of ", source.string(),
                         " into ", folder.string()))) {
    return absl::OkStatus();
  }
  std::error_code error;
  // If a person is using the old client, it stays.
  if (fs::is_regular_file(source / kClientName, error)) {
    const absl::Status put = Put(source / kClientName, folder / kClientName);
    if (!put.ok()) *environment_.out << put.message() << "\n";
  }
  ABSL_RETURN_IF_ERROR(Put(source / kInstallerName, service));
  if (is_upgrade) return Upgrade(source / kProgramName);
  return Put(source / kProgramName, program);
}

absl::Status Installer::Upgrade(const fs::path& program, bool repair_folders) {
  ABSL_RETURN_IF_ERROR(RefuseVariables(program.string()));
  std::error_code error;
  if (!fs::is_regular_file(program, error)) {
    return absl::InvalidArgumentError(absl::StrCat(program.string(), " is not a file"));
  }
  ABSL_ASSIGN_OR_RETURN(const auto config, environment_.services->Config(name_, {}));
  if (!IsOurs(config)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "service ", name_, " runs ", config.command[0], ", not csi-proxy: run install first"));
  }
  ABSL_RETURN_IF_ERROR(ReadFlags(config).status());
  ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
  const bool ran = status.state != ServiceState::kStopped;
  const fs::path target = Utf8Path(config.command[0]);
  if (fs::equivalent(program, target, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.string(), " is the service's own program: name another"));
  }
  // In an unsafe folder, the new program could be replaced before SYSTEM runs it.
  ABSL_RETURN_IF_ERROR(MakeFolderSafe(target.parent_path(), FolderUse::kPrograms, repair_folders));
  const fs::path incoming = fs::path(target) += ".new";
  if (!Step(absl::StrCat("stop service ", name_, ", replace ", target.string(), " with ",
                         program.string(), ", start it, check that its pipes answer"))) {
    return absl::OkStatus();
  }
  // An upgrade that was killed between its two moves has left the program at another name.
  if (!fs::exists(target, error)) {
    const fs::path previous = FindPrevious(target);
    if (previous.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("there is no program ", target.string(), ": run install"));
    }
    ABSL_RETURN_IF_ERROR(Move(previous, target));
  }
  const std::set<std::string> pipes = environment_.answering_pipes();

  // Copies the program before it stops the service, so that a full disk or a missing file does no
  // harm.
  ABSL_RETURN_IF_ERROR(Put(program, incoming));
  ABSL_RETURN_IF_ERROR(CheckFile(*environment_.folders, incoming));
  if (const absl::Status stopped = Stop(); !stopped.ok()) {
    fs::remove(incoming, error);
    // The service may end after this, as asked, and would not run again.
    absl::Status again = ran ? Start() : absl::OkStatus();
    if (!again.ok() && Await(ServiceState::kStopped).ok()) again = Start();
    if (again.ok()) return stopped;
    return absl::Status(stopped.code(), absl::StrCat(stopped.message(),
                                                     "; and the old program does not run again: ",
                                                     again.message()));
  }
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
  if (restored.ok() && !fs::exists(target, error)) {
    restored = absl::NotFoundError(absl::StrCat(target.string(), " is missing"));
  }
  // The pipes of a Go release do not answer the check, so such a release is only started.
  if (restored.ok() && ran) restored = pipes.empty() ? Start() : StartWith(pipes);
  if (!restored.ok()) {
    return absl::InternalError(absl::StrCat(
        "upgrade: ", upgraded.message(), "; and the old program could not be restored: ",
        restored.message(), " (it is at ", previous.string(), ")"));
  }
  return absl::AbortedError(
      absl::StrCat("upgrade: ", upgraded.message(), "; the old program has been restored"));
}

}  // namespace csi_proxy::service_installer
