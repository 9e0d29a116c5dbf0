// The installer's part about what surrounds the service: folders and the event log.
#include <ostream>

#include "absl/strings/str_cat.h"
#include "service_installer/installer.h"

namespace csi_proxy::installer {
namespace {

namespace fs = std::filesystem;

absl::Status WithAdvice(const absl::Status& unsafe) {
  if (!absl::IsFailedPrecondition(unsafe)) return unsafe;
  return absl::FailedPreconditionError(absl::StrCat(
      unsafe.message(),
      ". Choose a folder below %ProgramFiles%, and for logs %ProgramData%\\csi-proxy\\logs, or "
      "give "
      "--repair-folders: the folder then gets an access list of its own, which only lets "
      "administrators change it"));
}

}  // namespace

absl::Status Installer::MakeFoldersSafe(const InstallRequest& request,
                                        const std::vector<std::string>& flags) {
  Folders& folders = *environment_.folders;
  const fs::path& program = request.program;
  absl::Status safe = CheckProgram(folders, program);
  if (!safe.ok() && request.repair_folders) {
    if (!Step(absl::StrCat("let only administrators change ", program.parent_path().string()))) {
      return absl::OkStatus();
    }
    safe = folders.Protect(program.parent_path(), FolderUse::kPrograms);
    if (safe.ok()) safe = folders.Protect(program, FolderUse::kPrograms);
    // A folder above may still be anybody's.
    if (safe.ok()) safe = CheckProgram(folders, program);
  }
  if (!safe.ok()) return WithAdvice(safe);

  const std::optional<fs::path> logs = LogFolder(flags);
  // A relative one is relative to where the service manager starts services, System32.
  if (!logs.has_value() || !logs->has_root_path()) return absl::OkStatus();
  if (absl::IsNotFound(folders.Access(*logs).status())) {
    if (!Step(absl::StrCat("make folder ", logs->string(), ", for administrators only"))) {
      return absl::OkStatus();
    }
    safe = folders.Protect(*logs, FolderUse::kLogs);
    if (safe.ok()) safe = CheckFolder(folders, *logs);
    return WithAdvice(safe);
  }
  safe = CheckFolder(folders, *logs);
  // The program's folder has been seen to, and it is not to be closed to those who may run it.
  if (safe.ok() || !request.repair_folders || *logs == program.parent_path()) {
    return WithAdvice(safe);
  }
  if (!Step(absl::StrCat("let only administrators use ", logs->string()))) return absl::OkStatus();
  safe = folders.Protect(*logs, FolderUse::kLogs);
  if (safe.ok()) safe = CheckFolder(folders, *logs);
  return WithAdvice(safe);
}

absl::Status Installer::RegisterEventSource() {
  const auto present = environment_.services->HasEventSource(kEventSource);
  if (!present.ok()) return present.status();
  if (*present || !Step(absl::StrCat("register event source ", kEventSource))) {
    return absl::OkStatus();
  }
  return environment_.services->RegisterEventSource(kEventSource);
}

}  // namespace csi_proxy::installer
