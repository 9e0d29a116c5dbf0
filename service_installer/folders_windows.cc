#include <aclapi.h>
#include <sddl.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/platform/token_windows.h"
#include "server/platform/win32.h"
#include "service_installer/folder_access.h"

namespace csi_proxy::service_installer {
namespace {

namespace fs = std::filesystem;
using win32::SidText;
using win32::UniqueLocal;
using win32::Utf16;
using win32::Utf8;

// An open file or folder; a link is opened itself, not its target. All queries and changes must use
// this handle, because the path may later name another object.
struct Opened {
  win32::UniqueHandle handle;
  BY_HANDLE_FILE_INFORMATION info;

  bool is_link() const { return (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0; }
  bool is_folder() const { return (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0; }
};

absl::StatusOr<Opened> Open(const fs::path& path, DWORD rights) {
  Opened opened;
  opened.handle.Reset(
      CreateFileW(path.c_str(), READ_CONTROL | FILE_READ_ATTRIBUTES | rights,
                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                  FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!opened.handle.valid() || !GetFileInformationByHandle(opened.handle.get(), &opened.info)) {
    return win32::LastError(path.string());
  }
  return opened;
}

class WindowsFolders final : public Folders {
 public:
  absl::StatusOr<ObjectAccess> Access(const fs::path& path) override {
    ABSL_ASSIGN_OR_RETURN(const Opened opened, Open(path, 0));
    PSID owner = nullptr;
    ACL* list = nullptr;
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    const DWORD error = GetSecurityInfo(opened.handle.get(), SE_FILE_OBJECT,
                                        OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                                        &owner, nullptr, &list, nullptr, &descriptor);
    if (error != ERROR_SUCCESS) return win32::ToStatus(error, path.string());
    const UniqueLocal owned(descriptor);
    ObjectAccess access;
    access.owner = SidText(owner);
    access.is_link = opened.is_link();
    // For a folder, Wine counts subfolders too.
    if (!opened.is_folder()) access.names = opened.info.nNumberOfLinks;
    if (list == nullptr) return access;
    access.entries.emplace();
    for (DWORD i = 0; i < list->AceCount; ++i) {
      void* entry = nullptr;
      if (!GetAce(list, i, &entry)) return win32::LastError(path.string());
      // Every type of entry that files have begins with header, rights and SID.
      const auto* const ace = static_cast<const ACCESS_ALLOWED_ACE*>(entry);
      const BYTE type = ace->Header.AceType;
      const bool denies = type == ACCESS_DENIED_ACE_TYPE || type == ACCESS_DENIED_CALLBACK_ACE_TYPE;
      const bool allows =
          type == ACCESS_ALLOWED_ACE_TYPE || type == ACCESS_ALLOWED_CALLBACK_ACE_TYPE;
      if (!allows && !denies) {
        return absl::FailedPreconditionError(absl::StrCat(
            path.string(), ": its access list has an entry of the unknown kind ", type));
      }
      access.entries->push_back({.allows = allows,
                                 .rights = ace->Mask,
                                 .sid = SidText(const_cast<DWORD*>(&ace->SidStart)),
                                 .inherit_only = (ace->Header.AceFlags & INHERIT_ONLY_ACE) != 0});
    }
    return access;
  }

  std::set<std::string> Self() override {
    const absl::StatusOr<std::string> own = win32::UserOfThisProcess();
    return own.ok() ? std::set<std::string>{*own} : std::set<std::string>();
  }

  absl::Status Protect(const fs::path& path, FolderUse use) override {
    if (path == path.root_path()) {
      return absl::FailedPreconditionError(absl::StrCat(
          path.string(), " is a whole drive, whose access list is never changed: choose a folder"));
    }
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
            Utf16(ProtectedSddl(use)).c_str(), SDDL_REVISION_1, &descriptor, nullptr)) {
      return win32::LastError("ConvertStringSecurityDescriptorToSecurityDescriptor");
    }
    const UniqueLocal owned(descriptor);
    return Protect(path, descriptor);
  }

  absl::StatusOr<std::vector<fs::path>> Names(const fs::path& folder) override {
    std::vector<fs::path> names;
    std::error_code error;
    for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
      names.push_back(i->path().filename());
    }
    if (error) {
      return win32::ToStatus(static_cast<DWORD>(error.value()), folder.string());
    }
    return names;
  }

  absl::Status Write(const fs::path& path, const std::string& content) override {
    const win32::UniqueHandle file(CreateFileW(path.c_str(), GENERIC_WRITE, 0, nullptr,
                                               CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr));
    DWORD written = 0;
    if (file.valid() &&
        WriteFile(file.get(), content.data(), static_cast<DWORD>(content.size()), &written,
                  nullptr) &&
        FlushFileBuffers(file.get())) {
      return absl::OkStatus();
    }
    return win32::LastError(path.string());
  }

  std::string NameOf(const std::string& sid) override {
    PSID binary = nullptr;
    if (!ConvertStringSidToSidW(Utf16(sid).c_str(), &binary)) return sid;
    const UniqueLocal owned(binary);
    wchar_t name[256], domain[256];
    DWORD name_size = std::size(name), domain_size = std::size(domain);
    SID_NAME_USE use;
    if (!LookupAccountSidW(nullptr, binary, name, &name_size, domain, &domain_size, &use)) {
      return sid;
    }
    return domain_size == 0 ? Utf8(name) : absl::StrCat(Utf8(domain), "\\", Utf8(name));
  }

 private:
  static absl::Status Protect(const fs::path& path, PSECURITY_DESCRIPTOR descriptor) {
    SECURITY_ATTRIBUTES attributes{.nLength = sizeof(SECURITY_ATTRIBUTES),
                                   .lpSecurityDescriptor = descriptor,
                                   .bInheritHandle = FALSE};
    if (CreateDirectoryW(path.c_str(), &attributes)) return absl::OkStatus();
    const DWORD error = GetLastError();
    if (error == ERROR_PATH_NOT_FOUND && path != path.parent_path()) {
      ABSL_RETURN_IF_ERROR(Protect(path.parent_path(), descriptor));
      if (CreateDirectoryW(path.c_str(), &attributes)) return absl::OkStatus();
      return win32::LastError(path.string());
    }
    if (error != ERROR_ALREADY_EXISTS) return win32::ToStatus(error, path.string());

    // These privileges are needed if the present access list excludes administrators.
    win32::EnablePrivilege(SE_TAKE_OWNERSHIP_NAME);
    win32::EnablePrivilege(SE_RESTORE_NAME);
    PSID owner = nullptr;
    ACL* list = nullptr;
    BOOL present = FALSE, defaulted = FALSE;
    if (!GetSecurityDescriptorOwner(descriptor, &owner, &defaulted) ||
        !GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted)) {
      return win32::LastError(path.string());
    }
    ABSL_ASSIGN_OR_RETURN(const Opened opened, Open(path, WRITE_DAC | WRITE_OWNER));
    if (opened.is_link() || !opened.is_folder()) {
      return absl::FailedPreconditionError(absl::StrCat(path.string(), " is not a folder"));
    }
    // Objects in the folder without a protected list inherit this one, beside their own entries
    // (learn.microsoft.com/windows/win32/secauthz/automatic-propagation-of-inheritable-aces).
    const DWORD set = SetSecurityInfo(opened.handle.get(), SE_FILE_OBJECT,
                                      OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION |
                                          PROTECTED_DACL_SECURITY_INFORMATION,
                                      owner, nullptr, list, nullptr);
    return set == ERROR_SUCCESS ? absl::OkStatus() : win32::ToStatus(set, path.string());
  }
};

}  // namespace

std::unique_ptr<Folders> ThisMachinesFolders() { return std::make_unique<WindowsFolders>(); }

}  // namespace csi_proxy::service_installer
