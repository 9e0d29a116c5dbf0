// The rule, on plain data, that finds the accounts besides administrators that can change the
// content of a folder, and with it the actions of a service that runs as SYSTEM.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace csi_proxy::installer {

// One entry of an access list.
struct AccessEntry {
  bool allows = true;
  uint32_t rights = 0;
  // As `S-1-5-32-545`.
  std::string sid;
  // Applies to entries made within, not to the object itself.
  bool inherit_only = false;
};

// The content of a file's or folder's security descriptor.
struct ObjectAccess {
  std::string owner;
  // Nothing: there is no list, and everyone may do everything.
  std::optional<std::vector<AccessEntry>> entries;
  // A symbolic link or a junction: its target can be exchanged.
  bool is_link = false;
  // The number of a file's names.
  uint32_t names = 1;
};

struct Change {
  // The account, by SID.
  std::string sid;
  // As `add or change files`.
  std::string what;

  friend bool operator==(const Change&, const Change&) = default;
};

// Lists the accounts that could change the object or the content of a folder. `trusted` are the
// SIDs of users who may, besides SYSTEM, Administrators and TrustedInstaller. Entries that deny are
// not counted on.
std::vector<Change> ChangesOf(const ObjectAccess& access, const std::set<std::string>& trusted);

// Lists the accounts that could put another folder in the place of this one, or of one below it.
std::vector<Change> ReplacementsOf(const ObjectAccess& access,
                                   const std::set<std::string>& trusted);

// The path that UTF-8 text names; std::filesystem would take it for the system's code page.
std::filesystem::path Utf8Path(const std::string& text);

// The content of a folder decides its readers.
enum class FolderUse { kPrograms, kLogs };

// The folders of this machine. A thin interface, for the same reason as ServiceManager's.
class Folders {
 public:
  virtual ~Folders() = default;

  // NOT_FOUND when there is none.
  virtual absl::StatusOr<ObjectAccess> Access(const std::filesystem::path& path) = 0;

  // The SIDs of the installer's user, an administrator.
  virtual std::set<std::string> Self() = 0;

  // Makes the folder, and those above it that are missing, so that only administrators can change
  // it; gives the same access list to one that is there. FAILED_PRECONDITION for a link.
  virtual absl::Status Protect(const std::filesystem::path& folder, FolderUse use) = 0;

  // The names of the files and folders in a folder.
  virtual absl::StatusOr<std::vector<std::filesystem::path>> Names(
      const std::filesystem::path& folder) = 0;

  // As `BUILTIN\Users`, or the SID itself.
  virtual std::string NameOf(const std::string& sid) = 0;
};

// The access list that Protect() gives, as SDDL: nothing is inherited.
const char* ProtectedSddl(FolderUse use);

// FAILED_PRECONDITION, naming account and right, when somebody else can change the folder, or
// `program` in it, or exchange one of the folders above it. A folder that is missing, up to the
// first that is there, is no danger yet.
absl::Status CheckFolder(Folders& folders, const std::filesystem::path& folder);
absl::Status CheckProgram(Folders& folders, const std::filesystem::path& program);
// The parts of these checks about the folders above `folder`, and about a file.
absl::Status CheckAbove(Folders& folders, const std::filesystem::path& folder);
absl::Status CheckFile(Folders& folders, const std::filesystem::path& file);

// FAILED_PRECONDITION when SYSTEM would write to something that somebody else has put into the
// log's folder: a link, a file with a second name elsewhere, or one that others may change. An
// access list that the folder is given later does not reach the owner of such a file. `log` is the
// log file; those that it is renamed to are looked at as well.
absl::Status CheckLogs(Folders& folders, const std::filesystem::path& log);

// The log file that these flags of csi-proxy ask for; nothing when there is none.
std::optional<std::filesystem::path> LogFile(const std::vector<std::string>& flags);

std::unique_ptr<Folders> ThisMachinesFolders();

}  // namespace csi_proxy::installer
