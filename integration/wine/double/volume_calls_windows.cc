// Volumes by name, mount points, and the machine's firmware.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "integration/wine/double/hooks_windows.h"
#include "integration/wine/double/open_file_windows.h"
#include "integration/wine/double/simulated_node.h"
#include "integration/wine/double/win32_answers_windows.h"
#include "server/names/volume_id.h"

namespace csi_proxy::node_double {
namespace {

struct VolumeSearch final : Opened {
  // In reverse order: the next name is the last element.
  std::vector<std::string> names;
};

BOOL TakeVolume(VolumeSearch& search, LPWSTR name, DWORD size) {
  if (search.names.empty()) return Refuse(ERROR_NO_MORE_FILES);
  if (!AnswerText(search.names.back(), name, size)) return FALSE;
  search.names.pop_back();
  return TRUE;
}

// Returns true for a volume's root directory, `\\?\Volume{guid}\`.
bool IsVolumeRoot(const std::string& path) {
  return absl::EndsWith(path, "\\") && VolumeId::Parse(path).ok();
}

// Returns true for a server's path, `\\host\share\`.
bool IsOnServer(const std::string& path) {
  return absl::StartsWith(path, R"(\\)") && !absl::StartsWith(path, R"(\\?\)") &&
         !absl::StartsWith(path, R"(\\.\)");
}

}  // namespace

namespace hooks {

HANDLE WINAPI FindFirstVolumeW(LPWSTR name, DWORD size) {
  absl::StatusOr<std::vector<std::string>> names = TheNode().os->ListVolumes();
  if (!Answer(names)) return INVALID_HANDLE_VALUE;
  auto search = std::make_shared<VolumeSearch>();
  search->names = *std::move(names);
  std::reverse(search->names.begin(), search->names.end());
  if (!TakeVolume(*search, name, size)) return INVALID_HANDLE_VALUE;
  return NewFake(std::move(search));
}

BOOL WINAPI FindNextVolumeW(HANDLE find, LPWSTR name, DWORD size) {
  const auto search = FindFakeOf<VolumeSearch>(find);
  return search != nullptr ? TakeVolume(*search, name, size) : Refuse(ERROR_INVALID_HANDLE);
}

BOOL WINAPI FindVolumeClose(HANDLE find) {
  const bool closable = FindFakeOf<VolumeSearch>(find) != nullptr;
  return closable && CloseFake(find) ? TRUE : Refuse(ERROR_INVALID_HANDLE);
}

BOOL WINAPI GetVolumeInformationW(LPCWSTR root, LPWSTR label, DWORD label_size, LPDWORD serial,
                                  LPDWORD component, LPDWORD flags, LPWSTR file_system,
                                  DWORD file_system_size) {
  const std::string volume = TextOf(root);
  if (!IsVolumeRoot(volume)) {
    return ::GetVolumeInformationW(root, label, label_size, serial, component, flags, file_system,
                                   file_system_size);
  }
  // The node knows only the file system's name and whether it is read-only.
  if (label != nullptr || serial != nullptr || component != nullptr || file_system == nullptr) {
    return Refuse(ERROR_NOT_SUPPORTED);
  }
  const absl::StatusOr<machine::FileSystem> known = TheNode().os->GetFileSystem(volume);
  if (!Answer(known)) return FALSE;
  if (flags != nullptr) *flags = known->read_only ? FILE_READ_ONLY_VOLUME : 0;
  return AnswerText(known->name, file_system, file_system_size);
}

BOOL WINAPI GetDiskFreeSpaceExW(LPCWSTR root, PULARGE_INTEGER available, PULARGE_INTEGER total,
                                PULARGE_INTEGER free) {
  const std::string volume = TextOf(root);
  if (!IsVolumeRoot(volume) && !IsOnServer(volume)) {
    return ::GetDiskFreeSpaceExW(root, available, total, free);
  }
  const absl::StatusOr<machine::VolumeSpace> space = TheNode().os->GetSpace(volume);
  if (!Answer(space)) return FALSE;
  if (available != nullptr) available->QuadPart = space->available_bytes;
  if (total != nullptr) total->QuadPart = space->total_bytes;
  if (free != nullptr) free->QuadPart = space->free_bytes;
  return TRUE;
}

BOOL WINAPI GetVolumePathNamesForVolumeNameW(LPCWSTR volume, LPWCH paths, DWORD size, PDWORD used) {
  const absl::StatusOr<std::vector<std::string>> points =
      TheNode().os->ListMountPoints(TextOf(volume));
  if (!Answer(points)) return FALSE;
  // A list of strings, each ending in a NUL, with another NUL at the end.
  std::wstring list;
  for (const std::string& point : *points) list += win32::Utf16(point) + L'\0';
  list += L'\0';
  if (used != nullptr) *used = static_cast<DWORD>(list.size());
  if (list.size() > size) return Refuse(ERROR_MORE_DATA);
  std::copy(list.begin(), list.end(), paths);
  return TRUE;
}

BOOL WINAPI SetVolumeMountPointW(LPCWSTR directory, LPCWSTR volume) {
  return Answer(TheNode().os->SetMountPoint(TextOf(directory), TextOf(volume)));
}

BOOL WINAPI DeleteVolumeMountPointW(LPCWSTR directory) {
  return Answer(TheNode().os->DeleteMountPoint(TextOf(directory)));
}

UINT WINAPI GetSystemFirmwareTable(DWORD provider, DWORD table, PVOID buffer, DWORD size) {
  // The provider 'RSMB'.
  constexpr DWORD kSmbios = 0x52534D42;
  if (provider != kSmbios) return ::GetSystemFirmwareTable(provider, table, buffer, size);
  const absl::StatusOr<machine::Bytes> smbios = TheNode().os->GetSmbiosTable();
  if (!Answer(smbios)) return 0;
  // If the buffer is too small, only the required size is returned.
  if (size >= smbios->size()) {
    std::copy(smbios->begin(), smbios->end(), static_cast<uint8_t*>(buffer));
  }
  return static_cast<UINT>(smbios->size());
}

}  // namespace hooks
}  // namespace csi_proxy::node_double
