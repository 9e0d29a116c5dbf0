// Opens disks and volumes as devices, and handles every handle that the double has opened.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration/wine/double/hooks_windows.h"
#include "integration/wine/double/open_file_windows.h"
#include "integration/wine/double/simulated_node.h"
#include "integration/wine/double/win32_answers_windows.h"
#include "server/machine/layouts.h"
#include "server/names/volume_id.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/devices.h"

namespace csi_proxy::node_double {
namespace {

using machine::Bytes;
using machine::DeviceAccess;

struct Device final : Opened {
  std::string path;
  bool may_read = false;
  bool may_write = false;

  DeviceAccess access() const {
    if (!may_read) return DeviceAccess::kNone;
    return may_write ? DeviceAccess::kReadWrite : DeviceAccess::kRead;
  }
};

// Returns true if the path has the form of a disk's or volume's, even if that does not exist.
bool IsDevice(const std::string& path) {
  return absl::StartsWithIgnoreCase(path, R"(\\.\PhysicalDrive)") ||
         absl::StartsWithIgnoreCase(path, R"(\\?\Volume{)") ||
         machine::simulator::DiskNumberOfPath(path).has_value();
}

// Returns OK if the device can be opened. Ignores injected faults, which apply only to later
// control codes.
absl::Status Probe(const std::string& path) {
  return TheNode().node->core()->Change([&](machine::simulator::NodeState& state) {
    return machine::simulator::ControlDevice(state, path, DeviceAccess::kNone,
                                             machine::control::kGetDeviceNumber, {},
                                             sizeof(machine::DeviceNumber))
        .status();
  });
}

absl::StatusOr<Bytes> Send(HANDLE handle, DWORD code, const Bytes& input, DWORD max_output) {
  if (const auto device = FindFakeOf<Device>(handle); device != nullptr) {
    return TheNode().os->Control(device->path, device->access(), code, input, max_output);
  }
  if (const auto file = FindFakeOf<OpenFile>(handle); file != nullptr) {
    return file->Control(code, input, max_output);
  }
  return Win32Status(ERROR_INVALID_HANDLE, "not opened");
}

}  // namespace

namespace hooks {

BOOL WINAPI CloseHandle(HANDLE handle) {
  if (!IsFake(handle)) return ::CloseHandle(handle);
  const bool closable =
      FindFakeOf<Device>(handle) != nullptr || FindFakeOf<OpenFile>(handle) != nullptr;
  return closable && CloseFake(handle) ? TRUE : Refuse(ERROR_INVALID_HANDLE);
}

HANDLE WINAPI CreateFileW(LPCWSTR path, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security,
                          DWORD disposition, DWORD flags, HANDLE pattern) {
  auto device = std::make_shared<Device>();
  device->path = TextOf(path);
  if (!IsDevice(device->path)) {
    constexpr DWORD kAny = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    if (access == 0 && disposition == OPEN_EXISTING && (flags & ~kAny) == 0) {
      HANDLE const opened = OpenPath(path, (flags & FILE_FLAG_OPEN_REPARSE_POINT) == 0);
      if (opened != nullptr) return opened;
    }
    return ::CreateFileW(path, access, share, security, disposition, flags, pattern);
  }
  constexpr DWORD kRights = GENERIC_READ | GENERIC_WRITE;
  // Volumes and disks must exist and be shared
  // (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew, physical disks and
  // volumes). kFlags have no effect on devices; Go's syscall.Open sets them. Asynchronous handles
  // are not supported.
  constexpr DWORD kFlags =
      FILE_ATTRIBUTE_NORMAL | FILE_ATTRIBUTE_READONLY | FILE_FLAG_BACKUP_SEMANTICS;
  if (disposition != OPEN_EXISTING || (share & FILE_SHARE_WRITE) == 0 || (flags & ~kFlags) != 0 ||
      (access & ~kRights) != 0) {
    Refuse(ERROR_INVALID_PARAMETER);
    return INVALID_HANDLE_VALUE;
  }
  if (!Answer(Probe(device->path))) return INVALID_HANDLE_VALUE;
  device->may_read = (access & GENERIC_READ) != 0;
  device->may_write = (access & GENERIC_WRITE) != 0;
  return NewFake(std::move(device));
}

BOOL WINAPI DeviceIoControl(HANDLE handle, DWORD code, LPVOID input, DWORD input_size,
                            LPVOID output, DWORD output_size, LPDWORD returned,
                            LPOVERLAPPED overlapped) {
  if (!IsFake(handle)) {
    return ::DeviceIoControl(handle, code, input, input_size, output, output_size, returned,
                             overlapped);
  }
  if (overlapped != nullptr || returned == nullptr) return Refuse(ERROR_INVALID_PARAMETER);
  *returned = 0;
  const auto* const bytes = static_cast<const uint8_t*>(input);
  const absl::StatusOr<Bytes> answer =
      Send(handle, code, Bytes(bytes, bytes + input_size), output_size);
  if (!Answer(answer)) return FALSE;
  std::copy(answer->begin(), answer->end(), static_cast<uint8_t*>(output));
  *returned = static_cast<DWORD>(answer->size());
  return TRUE;
}

BOOL WINAPI FlushFileBuffers(HANDLE handle) {
  if (!IsFake(handle)) return ::FlushFileBuffers(handle);
  const auto device = FindFakeOf<Device>(handle);
  if (device == nullptr) return Refuse(ERROR_INVALID_HANDLE);
  // See learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-flushfilebuffers.
  if (!device->may_write) return Refuse(ERROR_ACCESS_DENIED);
  if (!VolumeId::Parse(device->path).ok()) return Refuse(ERROR_INVALID_FUNCTION);
  return Answer(TheNode().os->Flush(absl::StrCat(device->path, "\\")));
}

BOOL WINAPI ReadFile(HANDLE handle, LPVOID buffer, DWORD size, LPDWORD read,
                     LPOVERLAPPED overlapped) {
  if (!IsFake(handle)) return ::ReadFile(handle, buffer, size, read, overlapped);
  const auto device = FindFakeOf<Device>(handle);
  // Requires an offset, because device handles have no file position here.
  if (device == nullptr || overlapped == nullptr || read == nullptr) {
    return Refuse(ERROR_INVALID_PARAMETER);
  }
  if (!device->may_read) return Refuse(ERROR_ACCESS_DENIED);
  const uint64_t offset = (uint64_t{overlapped->OffsetHigh} << 32) | overlapped->Offset;
  const absl::StatusOr<Bytes> bytes = TheNode().os->Read(device->path, offset, size);
  if (!Answer(bytes)) return FALSE;
  std::copy(bytes->begin(), bytes->end(), static_cast<uint8_t*>(buffer));
  *read = static_cast<DWORD>(bytes->size());
  return TRUE;
}

}  // namespace hooks
}  // namespace csi_proxy::node_double
