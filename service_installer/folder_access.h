// Finds the accounts, apart from administrators, that can change the content of a folder and
// thereby what a service does as SYSTEM. Works on plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace csi_proxy::service_installer {

// One entry of an access list.
struct AccessEntry {
  bool allows = true;
  uint32_t rights = 0;
  // In the form `S-1-5-32-545`.
  std::string sid;
  // True if the entry applies to objects created in the folder, but not to the folder.
  bool inherit_only = false;
};

// The security descriptor of a file or folder.
struct ObjectAccess {
  std::string owner;
  // nullopt: there is no access list, so everyone may do everything.
  std::optional<std::vector<AccessEntry>> entries;
  // True for any reparse point, such as a link or junction, whose target can be exchanged.
  bool is_link = false;
  // The number of hard links of a file.
  uint32_t names = 1;
};

struct Change {
  // The account's SID.
  std::string sid;
  // In the form `add or change files`.
  std::string what;

  friend bool operator==(const Change&, const Change&) = default;
};

// Returns the accounts that can change the object or the content of a folder, except SYSTEM,
// Administrators, TrustedInstaller and the SIDs in `trusted`. Ignores entries that deny.
std::vector<Change> ChangesOf(const ObjectAccess& access, const std::set<std::string>& trusted);

// Returns the accounts that can replace this folder, or a folder in it, with another.
std::vector<Change> ReplacementsOf(const ObjectAccess& access,
                                   const std::set<std::string>& trusted);

// Returns a path from UTF-8; std::filesystem would read the text in the system's code page.
std::filesystem::path Utf8Path(const std::string& text);

// The use of a folder that Protect() makes, which decides which accounts may read the folder.
enum class FolderUse { kPrograms, kLogs };

// The folders of this machine. A thin interface, so that tests can record the calls.
class Folders {
 public:
  virtual ~Folders() = default;

  // Returns the access list of an object. NOT_FOUND if it does not exist.
  virtual absl::StatusOr<ObjectAccess> Access(const std::filesystem::path& path) = 0;

  // Returns the SIDs of the installer's user, who must be an administrator.
  virtual std::set<std::string> Self() = 0;

  // Creates the folder and its missing parents so that only administrators can change them. Gives
  // an existing folder the same access list. FAILED_PRECONDITION for a link, a file or a drive.
  virtual absl::Status Protect(const std::filesystem::path& folder, FolderUse use) = 0;

  // Returns the names of the files and folders in a folder.
  virtual absl::StatusOr<std::vector<std::filesystem::path>> Names(
      const std::filesystem::path& folder) = 0;

  // Replaces the content of a file, and waits until the disk has it.
  virtual absl::Status Write(const std::filesystem::path& path, const std::string& content) = 0;

  // Returns an account's name in the form `BUILTIN\Users`, or the SID if it has none.
  virtual std::string NameOf(const std::string& sid) = 0;
};

// Returns the access list that Protect() sets, as SDDL. It inherits nothing.
const char* ProtectedSddl(FolderUse use);

// Returns FAILED_PRECONDITION if `folder` or a folder above is a link, or if an account other than
// administrators can change `folder` or replace a folder above. The error names account and right.
// Skips missing folders.
absl::Status CheckFolder(Folders& folders, const std::filesystem::path& folder);
// The two halves of CheckFolder(), with the same errors: CheckAbove() checks only the folders above
// `folder`, CheckFile() only `file`, which may also be a folder. `dangers` is ChangesOf or
// ReplacementsOf.
absl::Status CheckAbove(Folders& folders, const std::filesystem::path& folder);
absl::Status CheckFile(Folders& folders, const std::filesystem::path& file,
                       decltype(ChangesOf)& dangers = ChangesOf);

// Returns FAILED_PRECONDITION if SYSTEM would write to an object that another account has put into
// the log's folder: a link, a file with a second hard link, or a file that another account can
// change. Protecting the folder later does not take such a file from its owner. Checks `log` and
// the files to which it is rotated. NOT_FOUND if the folder is missing.
absl::Status CheckLogs(Folders& folders, const std::filesystem::path& log);

std::unique_ptr<Folders> ThisMachinesFolders();

}  // namespace csi_proxy::service_installer
