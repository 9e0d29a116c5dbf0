// The installer's actions on folders and the event log.
#include <algorithm>
#include <ostream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "service_installer/installer.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;

absl::Status WithAdvice(const absl::Status& unsafe) {
  if (!absl::IsFailedPrecondition(unsafe)) return unsafe;
  return absl::FailedPreconditionError(absl::StrCat(
      unsafe.message(),
      ". Choose a folder below %ProgramFiles%, and for logs %ProgramData%\\csi-proxy\\logs, or "
      "give --repair-folders: the folder then gets an access list that lets only administrators "
      "change it"));
}

// Returns a folder of a PATH without quotation marks and without separators at its end.
absl::string_view Bare(absl::string_view folder) {
  folder = absl::StripAsciiWhitespace(folder);
  if (absl::ConsumePrefix(&folder, "\"")) absl::ConsumeSuffix(&folder, "\"");
  while (absl::ConsumeSuffix(&folder, "\\")) {
  }
  return folder;
}

}  // namespace

absl::Status Installer::MakeFolderSafe(const fs::path& folder, FolderUse use, bool repair) {
  Folders& folders = *environment_.folders;
  const bool missing = absl::IsNotFound(folders.Access(folder).status());
  absl::Status safe = CheckFolder(folders, folder);
  if (!missing && (safe.ok() || !repair)) return WithAdvice(safe);
  // The folders above are checked first: an account that can change them could replace the folder
  // before it gets its access list.
  if (absl::Status above = CheckAbove(folders, folder); !above.ok()) return WithAdvice(above);
  const std::string may = use == FolderUse::kPrograms ? "change " : "use ";
  if (!Step(absl::StrCat(missing ? "make, and " : "", "let only administrators ", may,
                         folder.string()))) {
    return absl::OkStatus();
  }
  safe = folders.Protect(folder, use);
  return WithAdvice(safe.ok() ? CheckFolder(folders, folder) : safe);
}

absl::Status Installer::MakeFoldersSafe(const InstallRequest& request, const Options& options) {
  Folders& folders = *environment_.folders;
  const fs::path folder = request.program.parent_path();
  if (!request.source.has_value()) {
    // A protected folder does not help if the program may already have been changed.
    if (absl::Status own = CheckFile(folders, request.program); !own.ok()) {
      return absl::Status(
          own.code(),
          absl::StrCat(
              own.message(),
              ". It may have been changed already: install from another folder, with --directory"));
    }
  }
  absl::Status safe = MakeFolderSafe(folder, FolderUse::kPrograms, request.repair_folders);
  if (!safe.ok()) return safe;

  const fs::path log = Utf8Path(options.log.FileName());
  // A relative path is below System32, where the service manager starts services, and is safe.
  if (!log.has_root_path()) return absl::OkStatus();
  // The program's folder is safe already, and its users must keep their right to run the program.
  if (log.parent_path() != folder) {
    safe = MakeFolderSafe(log.parent_path(), FolderUse::kLogs, request.repair_folders);
    if (!safe.ok()) return safe;
  }
  const absl::Status logs = CheckLogs(folders, log);
  // A folder that a dry run would create contains no logs.
  return environment_.dry_run && absl::IsNotFound(logs) ? absl::OkStatus() : logs;
}

absl::Status Installer::SetOnPath(const fs::path& folder, bool on) {
  const std::string name = folder.string();
  ABSL_ASSIGN_OR_RETURN(std::string path, environment_.services->MachinePath());
  std::vector<std::string> folders = absl::StrSplit(path, ';');
  const auto is_there = [&](const std::string& other) {
    return absl::EqualsIgnoreCase(Bare(other), name);
  };
  if (std::any_of(folders.begin(), folders.end(), is_there) == on) return absl::OkStatus();
  if (!Step(absl::StrCat(on ? "put " : "take ", name, on ? " on" : " off",
                         " the machine's PATH, as new windows see"))) {
    return absl::OkStatus();
  }
  std::erase_if(folders, is_there);
  if (on && path.empty()) folders.clear();
  if (on) folders.push_back(name);
  return environment_.services->SetMachinePath(absl::StrJoin(folders, ";"));
}

absl::Status Installer::RegisterEventSource() {
  ABSL_ASSIGN_OR_RETURN(const auto present, environment_.services->HasEventSource(kEventSource));
  if (present || !Step(absl::StrCat("register event source ", kEventSource))) {
    return absl::OkStatus();
  }
  return environment_.services->RegisterEventSource(kEventSource);
}

}  // namespace csi_proxy::service_installer
