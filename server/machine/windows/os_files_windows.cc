#include "server/machine/windows/os_files_windows.h"

#include <winioctl.h>

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/machine/reparse_point.h"
#include "server/machine/windows/names.h"
#include "server/names/volume_id.h"
#include "server/names/win32_error.h"
#include "server/platform/peer_process.h"

namespace csi_proxy::machine {
namespace {

// The NTSTATUS of an open that succeeded before the holder of an oplock released the oplock.
constexpr NTSTATUS kOplockBreakInProgress = 0x108;

// mingw-w64 does not declare this member, and numbers the members after it wrongly
// (learn.microsoft.com/windows/win32/api/minwinbase/ne-minwinbase-file_info_by_handle_class).
constexpr auto kFileDispositionInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);

// The information class and its structure are those of wdm.h and ntifs.h. winternl.h lacks both
// (learn.microsoft.com/windows-hardware/drivers/ddi/wdm/ne-wdm-_file_information_class).
constexpr auto kProcessIdsUsingFile = static_cast<FILE_INFORMATION_CLASS>(47);
struct ProcessIdsUsingFile {
  ULONG count;
  ULONG_PTR process_ids[256];
};

// The longest text of a UNICODE_STRING with room for a NUL, in UTF-16 units.
constexpr size_t kMaxPathUnits = 0x7FFE;

// The size of a listing's buffer in bytes, enough for a few hundred names.
constexpr size_t kListBytes = 64 * 1024;

absl::StatusOr<win32::UniqueHandle> Create(HANDLE parent, std::wstring name,
                                           const OpenRequest& request) {
  const auto bytes = static_cast<USHORT>(name.size() * sizeof(wchar_t));
  UNICODE_STRING text{.Length = bytes, .MaximumLength = bytes, .Buffer = name.data()};
  OBJECT_ATTRIBUTES object;
  InitializeObjectAttributes(&object, &text, request.attributes, parent, nullptr);
  IO_STATUS_BLOCK io{};
  HANDLE handle = nullptr;
  const NTSTATUS status =
      NtCreateFile(&handle, request.access, &object, &io, nullptr, FILE_ATTRIBUTE_NORMAL,
                   request.share, request.disposition, request.options, nullptr, 0);
  if (!NT_SUCCESS(status)) return win32::ToStatus(OpenError(status), "NtCreateFile");
  win32::UniqueHandle opened(handle);
  if (status == kOplockBreakInProgress) {
    return win32::ToStatus(ERROR_SHARING_VIOLATION,
                           "NtCreateFile: another process holds an oplock");
  }
  return opened;
}

// Returns true if the error says that the file system does not support FileDispositionInfoEx.
bool IsUnknown(DWORD error) {
  return error == ERROR_INVALID_PARAMETER || error == ERROR_INVALID_FUNCTION ||
         error == ERROR_NOT_SUPPORTED;
}

class NtFile final : public File {
 public:
  explicit NtFile(win32::UniqueHandle handle) : handle_(std::move(handle)) {}

  static absl::StatusOr<std::unique_ptr<File>> New(HANDLE parent, std::wstring name,
                                                   const OpenRequest& request) {
    ABSL_ASSIGN_OR_RETURN(win32::UniqueHandle handle, Create(parent, std::move(name), request));
    return std::make_unique<NtFile>(std::move(handle));
  }

  absl::StatusOr<FileAttributes> GetAttributes() override {
    FILE_BASIC_INFO basic{};
    if (!GetFileInformationByHandleEx(handle_.get(), FileBasicInfo, &basic, sizeof(basic))) {
      return win32::LastError("FileBasicInfo");
    }
    FILE_ATTRIBUTE_TAG_INFO tag{.FileAttributes = basic.FileAttributes, .ReparseTag = 0};
    // Queries the tag of reparse points only, because FAT does not support the query
    // (github.com/microsoft/Windows-driver-samples, filesys/fastfat/fileinfo.c).
    if ((basic.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
        !GetFileInformationByHandleEx(handle_.get(), FileAttributeTagInfo, &tag, sizeof(tag))) {
      return win32::LastError("FileAttributeTagInfo");
    }
    return FileAttributes{
        .is_directory = (tag.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0,
        .is_reparse_point = (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0,
        .reparse_tag = tag.ReparseTag};
  }

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) override {
    return NewEntry(name, EntryRequest(access));
  }

  absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                  Access access) override {
    std::u16string path;
    for (const std::string& name : names) {
      ABSL_ASSIGN_OR_RETURN(const std::u16string units, EntryNameToUtf16(name));
      if (!path.empty()) path += u'\\';
      path += units;
    }
    if (path.size() > kMaxPathUnits) {
      return win32::ToStatus(ERROR_FILENAME_EXCED_RANGE, "NtCreateFile");
    }
    return New(handle_.get(), std::wstring(path.begin(), path.end()), EntryRequest(access));
  }

  absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) override {
    return NewEntry(name, NewDirectoryRequest());
  }

  absl::StatusOr<std::vector<std::string>> List() override {
    std::vector<std::string> names;
    for (bool restart = true;; restart = false) {
      ABSL_ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, ListNext(restart));
      if (entries.empty()) return names;
      for (DirectoryEntry& entry : entries) names.push_back(std::move(entry.name));
    }
  }

  absl::StatusOr<std::vector<DirectoryEntry>> ListNext(bool restart) override {
    std::vector<DirectoryEntry> entries;
    std::vector<uint64_t> buffer(kListBytes / sizeof(uint64_t));
    FILE_INFO_BY_HANDLE_CLASS question =
        restart ? FileFullDirectoryRestartInfo : FileFullDirectoryInfo;
    while (GetFileInformationByHandleEx(handle_.get(), question, buffer.data(), kListBytes)) {
      question = FileFullDirectoryInfo;
      const auto* at = reinterpret_cast<const char*>(buffer.data());
      for (bool more = true; more;) {
        const auto* const entry = reinterpret_cast<const FILE_FULL_DIR_INFO*>(at);
        const std::wstring_view name(entry->FileName, entry->FileNameLength / sizeof(wchar_t));
        if (name != L"." && name != L"..") {
          entries.push_back(
              {.name = EntryNameFromUtf16(std::u16string(name.begin(), name.end())),
               .is_directory = (entry->FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0,
               .is_reparse_point = (entry->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0});
        }
        more = entry->NextEntryOffset != 0;
        at += entry->NextEntryOffset;
      }
      // Continue after a block with only `.` and `..`.
      if (!entries.empty()) return entries;
    }
    const DWORD error = GetLastError();
    // An empty FAT root lacks even `.` and `..`, and the first query of the root fails with this
    // error (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntquerydirectoryfile).
    const bool is_bare = error == ERROR_FILE_NOT_FOUND && question == FileFullDirectoryRestartInfo;
    if (error == ERROR_NO_MORE_FILES || is_bare) return entries;
    return win32::ToStatus(error, "FileFullDirectoryInfo");
  }

  absl::StatusOr<std::vector<FileUser>> ListUsers(const std::string& name) override {
    ABSL_ASSIGN_OR_RETURN(const std::u16string units, EntryNameToUtf16(name));
    OpenRequest request = EntryRequest(Access::kPeek);
    request.access = FILE_READ_ATTRIBUTES | SYNCHRONIZE;
    ABSL_ASSIGN_OR_RETURN(const win32::UniqueHandle file,
                          Create(handle_.get(), std::wstring(units.begin(), units.end()), request));
    const auto found = std::make_unique<ProcessIdsUsingFile>();
    IO_STATUS_BLOCK io{};
    const NTSTATUS status =
        NtQueryInformationFile(file.get(), &io, found.get(), sizeof(*found), kProcessIdsUsingFile);
    if (!NT_SUCCESS(status)) {
      return win32::ToStatus(RtlNtStatusToDosError(status), "FileProcessIdsUsingFileInformation");
    }
    std::vector<FileUser> users;
    for (ULONG i = 0; i < found->count; ++i) {
      const auto process_id = static_cast<int64_t>(found->process_ids[i]);
      if (process_id == GetCurrentProcessId()) continue;
      users.push_back({process_id, std::string(ImageName(PeerOfProcess(process_id).image_path))});
    }
    return users;
  }

  absl::Status Delete() override {
    FILE_DISPOSITION_INFO_EX disposition{.Flags = kDeleteFlags};
    if (SetFileInformationByHandle(handle_.get(), kFileDispositionInfoEx, &disposition,
                                   sizeof(disposition))) {
      return absl::OkStatus();
    }
    const DWORD error = GetLastError();
    const absl::Status refused = win32::ToStatus(error, "FileDispositionInfoEx");
    if (!IsUnknown(error)) return refused;
    wchar_t system[MAX_PATH + 1] = L"";
    const bool is_ntfs = GetVolumeInformationByHandleW(handle_.get(), nullptr, 0, nullptr, nullptr,
                                                       nullptr, system, std::size(system)) &&
                         std::wstring_view(system) == L"NTFS";
    RecordFallback(is_ntfs ? Fallback::kPlainDeletion : Fallback::kPlainDeletionElsewhere,
                   refused.message());
    return DeletePlainly(handle_.get());
  }

  absl::StatusOr<Bytes> ReadReparsePoint() override {
    return SendControl(handle_.get(), FSCTL_GET_REPARSE_POINT, {},
                       MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
  }

  absl::Status WriteReparsePoint(const Bytes& data) override {
    return SendControl(handle_.get(), FSCTL_SET_REPARSE_POINT, data, 0).status();
  }

  absl::Status DeleteReparsePoint(uint32_t tag) override {
    return SendControl(handle_.get(), FSCTL_DELETE_REPARSE_POINT, MakeReparseHeader(tag), 0)
        .status();
  }

 private:
  absl::StatusOr<std::unique_ptr<File>> NewEntry(const std::string& name,
                                                 const OpenRequest& request) {
    ABSL_ASSIGN_OR_RETURN(const std::u16string units, EntryNameToUtf16(name));
    return New(handle_.get(), std::wstring(units.begin(), units.end()), request);
  }

  const win32::UniqueHandle handle_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<File>> OpenRootDirectory(const std::string& root) {
  constexpr absl::string_view kVerbatim = "\\\\?\\";
  const bool is_drive =
      root.size() == 3 && absl::ascii_isalpha(root[0]) && root[1] == ':' && root[2] == '\\';
  const bool is_volume = absl::EndsWith(root, "\\") && VolumeId::Parse(root).ok();
  if (!is_drive && !is_volume) {
    return win32::ToStatus(ERROR_INVALID_NAME, "neither a drive's nor a volume's root");
  }
  const absl::string_view name =
      is_drive ? absl::string_view(root) : absl::string_view(root).substr(kVerbatim.size());
  return NtFile::New(nullptr, win32::Utf16(absl::StrCat("\\??\\", name)), RootRequest());
}

DWORD OpenError(NTSTATUS status) {
  constexpr auto kDeletePending = static_cast<NTSTATUS>(0xC0000056);
  return status == kDeletePending ? ERROR_DELETE_PENDING : RtlNtStatusToDosError(status);
}

absl::Status DeletePlainly(HANDLE file) {
  FILE_BASIC_INFO basic{};
  if (!GetFileInformationByHandleEx(file, FileBasicInfo, &basic, sizeof(basic))) {
    return win32::LastError("FileBasicInfo");
  }
  // Windows ignores a field that is zero. So the times keep their values, and FILE_ATTRIBUTE_NORMAL
  // must stand for no attributes.
  const auto set_attributes = [&](DWORD attributes) {
    FILE_BASIC_INFO change{};
    change.FileAttributes = attributes != 0 ? attributes : FILE_ATTRIBUTE_NORMAL;
    return SetFileInformationByHandle(file, FileBasicInfo, &change, sizeof(change));
  };
  const bool is_read_only = (basic.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0;
  if (is_read_only && !set_attributes(basic.FileAttributes & ~FILE_ATTRIBUTE_READONLY)) {
    return win32::LastError("FileBasicInfo");
  }
  FILE_DISPOSITION_INFO disposition{.DeleteFile = TRUE};
  if (SetFileInformationByHandle(file, FileDispositionInfo, &disposition, sizeof(disposition))) {
    return absl::OkStatus();
  }
  const absl::Status failed = win32::LastError("FileDispositionInfo");
  if (is_read_only) set_attributes(basic.FileAttributes);
  return failed;
}

absl::StatusOr<Bytes> SendControl(HANDLE device, uint32_t code, const Bytes& input,
                                  size_t max_output) {
  Bytes output(max_output);
  DWORD length = 0;
  if (!DeviceIoControl(device, code, const_cast<uint8_t*>(input.data()),
                       static_cast<DWORD>(input.size()), output.data(),
                       static_cast<DWORD>(output.size()), &length, nullptr)) {
    return win32::LastError("DeviceIoControl");
  }
  output.resize(length);
  return output;
}

}  // namespace csi_proxy::machine
