// NtCreateFile, and the calls on its handles.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "integration/wine/double/hooks_windows.h"
#include "integration/wine/double/open_file_windows.h"
#include "integration/wine/double/simulated_node.h"
#include "integration/wine/double/win32_answers_windows.h"
#include "server/machine/access.h"
#include "server/machine/windows/names.h"
#include "server/names/volume_id.h"

namespace csi_proxy::node_double {
namespace {

using machine::Access;
using machine::File;

// FileDispositionInfoEx, which mingw-w64 declares only for later versions of Windows.
constexpr auto kFileDispositionInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);

// From ntstatus.h.
constexpr NTSTATUS kInvalidHandle = static_cast<NTSTATUS>(0xC0000008);
constexpr NTSTATUS kInvalidParameter = static_cast<NTSTATUS>(0xC000000D);

// The NT statuses that RtlNtStatusToDosError() maps to these Win32 errors.
constexpr struct {
  DWORD error;
  uint32_t status;
} kStatuses[] = {
    {ERROR_FILE_NOT_FOUND, 0xC0000034},      {ERROR_PATH_NOT_FOUND, 0xC000003A},
    {ERROR_ACCESS_DENIED, 0xC0000022},       {ERROR_SHARING_VIOLATION, 0xC0000043},
    {ERROR_ALREADY_EXISTS, 0xC0000035},      {ERROR_INVALID_NAME, 0xC0000033},
    {ERROR_DELETE_PENDING, 0xC0000056},      {ERROR_NOT_READY, 0xC00000A3},
    {ERROR_UNRECOGNIZED_VOLUME, 0xC000014F}, {ERROR_DISK_FULL, 0xC000007F},
    {ERROR_WRITE_PROTECT, 0xC00000A2},       {ERROR_DIRECTORY, 0xC0000103},
};

NTSTATUS ToNtStatus(const absl::Status& status) {
  const DWORD error = Win32CodeOf(status).value_or(ERROR_GEN_FAILURE);
  const auto* const known = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                         [&](const auto& row) { return row.error == error; });
  // File systems return the statuses above. Other Win32 errors are wrapped, as NT does.
  return static_cast<NTSTATUS>(known != std::end(kStatuses) ? known->status : 0xC0010000 | error);
}

// Returns `C:\` or `\\?\Volume{guid}\` for a root's name in the object manager; nullopt for any
// other name.
std::optional<std::string> RootOf(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, R"(\??\)")) return std::nullopt;
  if (name.size() == 3 && absl::ascii_isalpha(name[0]) && absl::EndsWith(name, ":\\")) {
    return std::string(name);
  }
  const std::string volume = absl::StrCat(R"(\\?\)", name);
  if (absl::EndsWith(volume, "\\") && VolumeId::Parse(volume).ok()) return volume;
  return std::nullopt;
}

// Maps rights and sharing to the access of the simulated Win32.
Access AccessOf(ACCESS_MASK rights, ULONG share) {
  if ((rights & DELETE) != 0) return Access::kDelete;
  if ((rights & FILE_WRITE_ATTRIBUTES) != 0) return Access::kWriteAttributes;
  return (share & FILE_SHARE_DELETE) != 0 ? Access::kPeek : Access::kRead;
}

// Returns true if an open has the form that the product uses: synchronous, of the entry itself,
// without following links, and shared except for deletion (kPeek shares deletion too). The double
// refuses other forms, because it does not imitate them.
bool IsKnown(const OBJECT_ATTRIBUTES& object, ACCESS_MASK access, ULONG share, ULONG options) {
  constexpr ACCESS_MASK kNeeded = SYNCHRONIZE | FILE_LIST_DIRECTORY;
  constexpr ACCESS_MASK kRights = kNeeded | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES | DELETE;
  constexpr ULONG kItself = FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT;
  constexpr ULONG kOptions =
      kItself | FILE_DIRECTORY_FILE | FILE_OPEN_FOR_BACKUP_INTENT | FILE_COMPLETE_IF_OPLOCKED;
  const bool follows =
      object.RootDirectory != nullptr && (object.Attributes & OBJ_DONT_REPARSE) == 0;
  return !follows && (access & kNeeded) == kNeeded && (access & ~kRights) == 0 &&
         share == machine::ShareOf(AccessOf(access, share)) && (options & kItself) == kItself &&
         (options & ~kOptions) == 0;
}

absl::StatusOr<std::unique_ptr<File>> OpenEntry(OpenFile& parent, std::u16string_view name,
                                                Access access, ULONG disposition, ULONG options) {
  const std::string entry = machine::EntryNameFromUtf16(name);
  const bool wants_directory = (options & FILE_DIRECTORY_FILE) != 0;
  if (disposition == FILE_CREATE && wants_directory) return parent.file().CreateDirectory(entry);
  if (disposition != FILE_OPEN) return Win32Status(ERROR_INVALID_PARAMETER, "disposition");
  const std::vector<std::string> names = absl::StrSplit(entry, '\\');
  absl::StatusOr<std::unique_ptr<File>> file = parent.file().OpenBelow(names, access);
  if (!file.ok() || !wants_directory) return file;
  const auto attributes = (*file)->GetAttributes();
  if (!attributes.ok()) return attributes.status();
  if (!attributes->is_directory) return Win32Status(ERROR_DIRECTORY, "no directory");
  return file;
}

// Returns the buffer as an Info; sets the last error and returns null if the buffer is too small.
template <typename Info>
Info* Room(LPVOID buffer, DWORD size) {
  if (size >= sizeof(Info)) return static_cast<Info*>(buffer);
  Refuse(ERROR_BAD_LENGTH);
  return nullptr;
}

}  // namespace

namespace hooks {

NTSTATUS NTAPI NtCreateFile(PHANDLE handle, ACCESS_MASK access, POBJECT_ATTRIBUTES object,
                            PIO_STATUS_BLOCK io, PLARGE_INTEGER size, ULONG attributes, ULONG share,
                            ULONG disposition, ULONG options, PVOID extended, ULONG extended_size) {
  const UNICODE_STRING& text = *object->ObjectName;
  const std::u16string_view name(reinterpret_cast<const char16_t*>(text.Buffer),
                                 text.Length / sizeof(char16_t));
  std::optional<std::string> root;
  if (object->RootDirectory == nullptr) {
    root = RootOf(machine::EntryNameFromUtf16(name));
  }
  if (!IsFake(object->RootDirectory) && !root.has_value()) {
    return ::NtCreateFile(handle, access, object, io, size, attributes, share, disposition, options,
                          extended, extended_size);
  }
  if (!IsKnown(*object, access, share, options)) return kInvalidParameter;
  absl::StatusOr<std::unique_ptr<File>> file = absl::UnknownError("");
  if (root.has_value()) {
    // A root is a directory that can be neither created nor deleted.
    if (disposition != FILE_OPEN || AccessOf(access, share) != Access::kRead)
      return kInvalidParameter;
    file = TheNode().os->OpenRoot(*root);
  } else {
    const auto parent = FindFakeOf<OpenFile>(object->RootDirectory);
    if (parent == nullptr) return kInvalidHandle;
    file = OpenEntry(*parent, name, AccessOf(access, share), disposition, options);
  }
  if (!file.ok()) return ToNtStatus(file.status());
  *handle = NewFake(std::make_shared<OpenFile>(*std::move(file), access, root.has_value()));
  io->Status = 0;
  io->Information = disposition == FILE_CREATE ? FILE_CREATED : FILE_OPENED;
  return 0;
}

BOOL WINAPI GetFileInformationByHandle(HANDLE handle, LPBY_HANDLE_FILE_INFORMATION information) {
  if (!IsFake(handle)) return ::GetFileInformationByHandle(handle, information);
  const auto file = FindFakeOf<OpenFile>(handle);
  if (file == nullptr) return Refuse(ERROR_INVALID_HANDLE);
  const auto attributes = file->GetAttributes();
  if (!Answer(attributes)) return FALSE;
  *information = {};
  information->dwFileAttributes = attributes->FileAttributes;
  return TRUE;
}

DWORD WINAPI GetFileType(HANDLE handle) {
  return IsFake(handle) ? FILE_TYPE_DISK : ::GetFileType(handle);
}

BOOL WINAPI GetFileInformationByHandleEx(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS kind,
                                         LPVOID information, DWORD size) {
  if (!IsFake(handle)) return ::GetFileInformationByHandleEx(handle, kind, information, size);
  const auto file = FindFakeOf<OpenFile>(handle);
  if (file == nullptr) return Refuse(ERROR_INVALID_HANDLE);
  switch (kind) {
    case FileBasicInfo:
    case FileAttributeTagInfo: {
      const auto attributes = file->GetAttributes();
      if (!Answer(attributes)) return FALSE;
      if (kind == FileAttributeTagInfo) {
        auto* const tag = Room<FILE_ATTRIBUTE_TAG_INFO>(information, size);
        if (tag != nullptr) *tag = *attributes;
        return tag != nullptr;
      }
      auto* const basic = Room<FILE_BASIC_INFO>(information, size);
      if (basic != nullptr) *basic = {};
      if (basic != nullptr) basic->FileAttributes = attributes->FileAttributes;
      return basic != nullptr;
    }
    case FileFullDirectoryInfo:
    case FileFullDirectoryRestartInfo:
      return Answer(file->List(kind == FileFullDirectoryRestartInfo, information, size));
    default:
      return Refuse(ERROR_NOT_SUPPORTED);
  }
}

BOOL WINAPI SetFileInformationByHandle(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS kind,
                                       LPVOID information, DWORD size) {
  if (!IsFake(handle)) return ::SetFileInformationByHandle(handle, kind, information, size);
  const auto file = FindFakeOf<OpenFile>(handle);
  if (file == nullptr) return Refuse(ERROR_INVALID_HANDLE);
  if (kind != kFileDispositionInfoEx) return Refuse(ERROR_NOT_SUPPORTED);
  const auto* const how = Room<FILE_DISPOSITION_INFO_EX>(information, size);
  return how != nullptr && Answer(file->Delete(*how));
}

}  // namespace hooks
}  // namespace csi_proxy::node_double
