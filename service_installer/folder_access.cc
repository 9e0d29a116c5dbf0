#include "service_installer/folder_access.h"

#include <algorithm>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/names/well_known_sids.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;

// Rights of winnt.h, and what they allow on a folder. For example, the right to write a file's data
// is, on a folder, the right to add a file.
struct Right {
  uint32_t bits;
  const char* allows;
};
constexpr Right kChanges[] = {
    {0x10000000 | 0x40000000 | 0x2, "add or change files"},  // GENERIC_ALL, _WRITE, WRITE_DATA
    {0x4, "add folders"},                                    // FILE_APPEND_DATA
    {0x100, "turn it into a link"},                          // FILE_WRITE_ATTRIBUTES
    {0x40, "delete what is in it"},                          // FILE_DELETE_CHILD
    {0x10000, "delete or rename it"},                        // DELETE
    {0x40000, "change its access list"},                     // WRITE_DAC
    {0x80000, "own it"},                                     // WRITE_OWNER
};
constexpr Right kReplacements[] = {
    {0x10000000 | 0x40, "rename what is in it"},
    {0x10000, "delete or rename it"},
    {0x40000, "change its access list"},
    {0x80000, "own it"},
};

// Returns true for SYSTEM, Administrators and TrustedInstaller, which owns Windows' own files.
bool IsAdministrative(const std::string& sid) {
  return sid == kSystemSid || sid == kAdministratorsSid ||
         sid == "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";
}

// Returns true for CREATOR OWNER and CREATOR GROUP, which add no account where only administrators
// can create entries, and for OWNER RIGHTS, because the owner is checked separately.
bool IsPlaceholder(const std::string& sid) {
  return sid == "S-1-3-0" || sid == "S-1-3-1" || sid == "S-1-3-4";
}

std::vector<Change> Dangers(const ObjectAccess& access, const std::set<std::string>& trusted,
                            std::span<const Right> rights, bool count_inherit_only) {
  const auto is_trusted = [&](const std::string& sid) {
    return IsAdministrative(sid) || trusted.contains(sid);
  };
  std::vector<Change> found;
  const auto add = [&found](const std::string& sid, const char* what) {
    const Change change = {sid, what};
    if (std::find(found.begin(), found.end(), change) == found.end()) found.push_back(change);
  };
  // An owner may change the access list, unless an entry for OWNER RIGHTS forbids it.
  if (!is_trusted(access.owner)) add(access.owner, "change its access list, as its owner");
  if (!access.entries.has_value()) add(kEveryoneSid, "do everything: it has no access list");
  for (const AccessEntry& entry : access.entries.value_or(std::vector<AccessEntry>())) {
    if (!entry.allows || is_trusted(entry.sid) || IsPlaceholder(entry.sid)) continue;
    if (entry.inherit_only && !count_inherit_only) continue;
    for (const Right& right : rights) {
      if ((entry.rights & right.bits) != 0) add(entry.sid, right.allows);
    }
  }
  return found;
}

}  // namespace

absl::Status CheckFile(Folders& folders, const fs::path& path, decltype(ChangesOf)& dangers) {
  const auto access = folders.Access(path);
  if (absl::IsNotFound(access.status())) return absl::OkStatus();
  if (!access.ok()) return access.status();
  if (access->is_link) {
    return absl::FailedPreconditionError(absl::StrCat(path.string(), " is a link"));
  }
  const std::vector<Change> changes = dangers(*access, folders.Self());
  if (changes.empty()) return absl::OkStatus();
  const auto say = [&](std::string* out, const Change& change) {
    absl::StrAppend(out, folders.NameOf(change.sid), " may ", change.what);
  };
  return absl::FailedPreconditionError(
      absl::StrCat(path.string(), " is not a safe place for a service that runs as SYSTEM: ",
                   absl::StrJoin(changes, "; ", say)));
}

fs::path Utf8Path(const std::string& text) { return std::u8string(text.begin(), text.end()); }

std::vector<Change> ChangesOf(const ObjectAccess& access, const std::set<std::string>& trusted) {
  return Dangers(access, trusted, kChanges, true);
}

std::vector<Change> ReplacementsOf(const ObjectAccess& access,
                                   const std::set<std::string>& trusted) {
  return Dangers(access, trusted, kReplacements, false);
}

const char* ProtectedSddl(FolderUse use) {
  // All users may run the programs, but only administrators may read the log, which names pods.
  return use == FolderUse::kPrograms
             ? "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
             : "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
}

absl::Status CheckFolder(Folders& folders, const fs::path& folder) {
  absl::Status status = CheckFile(folders, folder);
  return status.ok() ? CheckAbove(folders, folder) : status;
}

absl::Status CheckAbove(Folders& folders, const fs::path& folder) {
  absl::Status status;
  for (fs::path above = folder; status.ok() && above != above.parent_path();) {
    above = above.parent_path();
    status = CheckFile(folders, above, ReplacementsOf);
  }
  return status;
}

absl::Status CheckLogs(Folders& folders, const fs::path& log) {
  ABSL_ASSIGN_OR_RETURN(const auto names, folders.Names(log.parent_path()));
  // spdlog rotates `name.log` to `name.1.log`.
  const std::string prefix = absl::StrCat(log.stem().string(), ".");
  for (const fs::path& name : names) {
    if (!absl::StartsWithIgnoreCase(name.string(), prefix)) continue;
    const fs::path file = log.parent_path() / name;
    absl::Status safe = CheckFile(folders, file);
    const auto access = folders.Access(file);
    if (safe.ok() && access.ok() && access->names > 1) {
      safe = absl::FailedPreconditionError(
          absl::StrCat(file.string(), " has a second name (hard link) elsewhere on the disk"));
    }
    if (!safe.ok()) {
      return absl::Status(safe.code(), absl::StrCat(safe.message(), ": move it away"));
    }
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::service_installer
