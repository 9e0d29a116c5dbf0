// The installer's actions on the program files.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <ostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  std::error_code error, ignored;
  fs::rename(from, to, error);
  if (error && fs::exists(from, ignored) && fs::remove(to, ignored)) fs::rename(from, to, error);
  return error ? FileError("move", from, error) : absl::OkStatus();
}

absl::Status Remove(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  return error ? FileError("remove", path, error) : absl::OkStatus();
}

// The program that an upgrade replaces gets a name with one of these suffixes.
constexpr const char* kPreviousSuffixes[] = {".old",  ".old1", ".old2", ".old3", ".old4",
                                             ".old5", ".old6", ".old7", ".old8", ".old9"};

fs::path With(fs::path path, const std::string& suffix) { return path += suffix; }

// Returns a suffix that no file has. If `keep` is false, removes earlier programs until a suffix is
// free; Windows does not remove those that a process still uses.
absl::StatusOr<std::string> FreeSuffix(const fs::path& target, bool keep) {
  std::error_code error;
  for (const char* suffix : kPreviousSuffixes) {
    const fs::path earlier = With(target, suffix);
    if (!keep && fs::is_regular_file(earlier, error)) fs::remove(earlier, error);
    if (!fs::exists(earlier, error)) return suffix;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(target.string(),
                   " has an earlier program at each name from .old to .old9: "
                   "delete these files, then try again"));
}

// Copies a file to a path after removing what is there. Writing into an existing file would keep
// its owner, its access list and the handles of programs that have it open.
absl::Status Put(const fs::path& from, const fs::path& to) {
  ABSL_RETURN_IF_ERROR(Remove(to));
  std::error_code error;
  // Without overwrite_existing the copy fails if the name is taken, also by a link.
  fs::copy_file(from, to, error);
  return error ? FileError("copy", from, error) : absl::OkStatus();
}

}  // namespace

// The state before an upgrade. The default is for a marker that cannot be read: the program at its
// place counts as the last one that worked.
struct Installer::Before {
  // The last program that worked has this suffix as soon as another program may have its name.
  std::string suffix;
  bool ran = true;
  // The size in bytes of the program that the upgrade installs.
  std::string new_size;
  std::set<std::string> pipes;

  static Before Read(const fs::path& marker) {
    std::ifstream file(marker);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    if (lines.size() < 4 || lines.back() != kEnd ||
        std::ranges::find(kPreviousSuffixes, lines[0]) == std::end(kPreviousSuffixes)) {
      return {};
    }
    return {lines[0], lines[1] != kStopped, lines[2], {lines.begin() + 3, lines.end() - 1}};
  }
  std::string Text() const {
    return absl::StrCat(suffix, "\n", ran ? "ran" : kStopped, "\n", new_size, "\n",
                        absl::StrJoin(pipes, "\n"), pipes.empty() ? "" : "\n", kEnd, "\n");
  }

  static constexpr char kStopped[] = "stopped", kEnd[] = "end";
};

fs::path MarkerOf(const fs::path& program) { return With(program, ".upgrading"); }

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
  if (is_upgrade) return Replace(source / kProgramName, false);
  // A marker that is left belongs to an earlier program.
  fs::remove(MarkerOf(program), error);
  return Put(source / kProgramName, program);
}

absl::Status Installer::Upgrade(const fs::path& program, bool repair_folders) {
  ABSL_ASSIGN_OR_RETURN(const auto lock, Lock());
  ABSL_RETURN_IF_ERROR(EndInterruptedUpgrade());
  return Replace(program, repair_folders);
}

absl::Status Installer::EndInterruptedUpgrade() {
  const auto config = environment_.services->Config(name_, {});
  if (!config.ok() || !IsOurs(*config)) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const auto status, environment_.services->Status(name_));
  const fs::path target = Utf8Path(config->command[0]), marker = MarkerOf(target);
  std::error_code error;
  if (!fs::exists(marker, error)) return absl::OkStatus();
  // The installer writes a marker only into a safe folder.
  absl::Status ours = CheckFolder(*environment_.folders, target.parent_path());
  ours.Update(CheckFile(*environment_.folders, marker));
  if (!ours.ok()) {
    if (Step(absl::StrCat("ignore the marker: ", ours.message()))) fs::remove(marker, error);
    return absl::OkStatus();
  }
  if (!Step(absl::StrCat("undo the interrupted upgrade of ", target.string()))) {
    return absl::OkStatus();
  }
  interrupted_ = std::make_shared<Before>(Before::Read(marker));
  Before& before = *interrupted_;
  // A person may have started the service since.
  before.ran = before.ran || status.state != ServiceState::kStopped;
  // A program of another size is not the upgrade's, and counts as the last one that worked.
  const auto size = fs::file_size(target, error);
  if (!error && std::to_string(size) != before.new_size) before.suffix.clear();
  ABSL_RETURN_IF_ERROR(PutBack(target, before));
  // This does not keep another program from being installed. The marker stays until one works.
  if (const absl::Status runs = RunAgain(target, before); !runs.ok()) {
    *environment_.out << "the old program does not run again: " << runs.message() << "\n";
    // If it runs with fewer pipes, the next program need not have more.
    const std::set<std::string> pipes = environment_.answering_pipes();
    if (!pipes.empty() && Await(ServiceState::kRunning).ok()) before.pipes = pipes;
  }
  return absl::OkStatus();
}

// Checks a program that a rollback starts.
absl::Status Installer::CheckProgram(const fs::path& file) {
  const absl::Status safe = CheckFile(*environment_.folders, file);
  if (safe.ok()) return safe;
  return absl::Status(safe.code(), absl::StrCat(safe.message(),
                                                ". Stop the service, delete this file, and run "
                                                "install"));
}

// Starts the service after a failed stop: it may still end, as asked, and would not run again.
absl::Status Installer::StartAfterFailedStop() {
  absl::Status started = Start();
  if (!started.ok() && Await(ServiceState::kStopped).ok()) started = Start();
  return started;
}

// Stops the service, and gives the last program that worked its place back.
absl::Status Installer::PutBack(const fs::path& target, const Before& before) {
  const fs::path previous = With(target, before.suffix);
  std::error_code error;
  const bool moved = !before.suffix.empty() && fs::exists(previous, error);
  ABSL_RETURN_IF_ERROR(CheckProgram(moved ? previous : target));
  absl::Status done = Stop();
  if (done.ok() && moved) done = Move(previous, target);
  if (!done.ok() && before.ran && CheckProgram(target).ok()) (void)StartAfterFailedStop();
  return done;
}

// Starts the service if it ran before the upgrade, and then removes the marker.
absl::Status Installer::RunAgain(const fs::path& target, const Before& before) {
  // The pipes of a Go release do not answer the check, so such a release is only started.
  if (before.ran) {
    ABSL_RETURN_IF_ERROR(before.pipes.empty() ? Start() : StartWith(before.pipes));
  }
  return Remove(MarkerOf(target));
}

absl::Status Installer::Replace(const fs::path& program, bool repair_folders) {
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
  const fs::path target = Utf8Path(config.command[0]);
  if (fs::equivalent(program, target, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.string(), " is the service's own program: name another"));
  }
  // In an unsafe folder, the new program could be replaced before SYSTEM runs it.
  ABSL_RETURN_IF_ERROR(MakeFolderSafe(target.parent_path(), FolderUse::kPrograms, repair_folders));
  const fs::path incoming = With(target, ".new");
  if (!Step(absl::StrCat("stop service ", name_, ", replace ", target.string(), " with ",
                         program.string(), ", start it, check that its pipes answer"))) {
    return absl::OkStatus();
  }
  if (!fs::exists(target, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no program ", target.string(), ": run install"));
  }
  const fs::path marker = MarkerOf(target);
  Before before;
  if (interrupted_ != nullptr && fs::exists(marker, error)) {
    before = *interrupted_;
  } else {
    before.ran = status.state != ServiceState::kStopped;
    before.pipes = environment_.answering_pipes();
  }
  ABSL_ASSIGN_OR_RETURN(before.suffix, FreeSuffix(target, interrupted_ != nullptr));

  // Copies the program before it stops the service, so that a full disk or a missing file does no
  // harm.
  ABSL_RETURN_IF_ERROR(Put(program, incoming));
  ABSL_RETURN_IF_ERROR(CheckFile(*environment_.folders, incoming));
  ABSL_RETURN_IF_ERROR(CheckProgram(target));
  before.new_size = std::to_string(fs::file_size(incoming, error));
  if (absl::Status written = environment_.folders->Write(marker, before.Text()); !written.ok()) {
    fs::remove(marker, error);
    fs::remove(incoming, error);
    return written;
  }
  if (const absl::Status stopped = Stop(); !stopped.ok()) {
    fs::remove(incoming, error);
    absl::Status again = before.ran ? StartAfterFailedStop() : absl::OkStatus();
    if (again.ok()) again = Remove(marker);
    if (again.ok()) return stopped;
    return absl::Status(stopped.code(), absl::StrCat(stopped.message(),
                                                     "; and the old program does not run again: ",
                                                     again.message()));
  }
  absl::Status upgraded = Move(target, With(target, before.suffix));
  if (upgraded.ok()) upgraded = Move(incoming, target);
  if (upgraded.ok()) upgraded = StartWith(before.pipes);
  if (upgraded.ok()) {
    for (const char* suffix : kPreviousSuffixes) fs::remove(With(target, suffix), error);
    if (!before.ran) {
      ABSL_RETURN_IF_ERROR(Stop());
    }
    return Remove(marker);
  }

  *environment_.out << "the new program does not work: " << upgraded.message()
                    << "\nrestoring the old one\n";
  absl::Status restored = PutBack(target, before);
  if (restored.ok() && !fs::exists(target, error)) {
    restored = absl::NotFoundError(absl::StrCat(target.string(), " is missing"));
  }
  if (restored.ok()) restored = RunAgain(target, before);
  if (!restored.ok()) {
    return absl::InternalError(absl::StrCat(
        "upgrade: ", upgraded.message(), "; and the old program could not be restored: ",
        restored.message(), " (it is at ", With(target, before.suffix).string(), ")"));
  }
  return absl::AbortedError(
      absl::StrCat("upgrade: ", upgraded.message(), "; the old program has been restored"));
}

}  // namespace csi_proxy::service_installer
