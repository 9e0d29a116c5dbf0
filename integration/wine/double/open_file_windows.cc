#include "integration/wine/double/open_file_windows.h"

#include <winioctl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "server/machine/little_endian.h"
#include "server/machine/windows/names.h"
#include "server/names/win32_error.h"

namespace csi_proxy::node_double {
namespace {

using machine::Bytes;

// Returns the offset of the next FILE_FULL_DIR_INFO.
size_t Aligned(size_t offset) { return (offset + 7) / 8 * 8; }

std::wstring Wide(absl::string_view name) {
  const absl::StatusOr<std::u16string> units = machine::EntryNameToUtf16(name);
  // The simulated tree has only valid names.
  return std::wstring(units->begin(), units->end());
}

// A fake handle consists of kMark, a serial number of 36 bits, and kOdd, bits that no kernel handle
// has set.
constexpr uint64_t kMark = 0x0D0B1E0;
constexpr int kMarkShift = 38;
constexpr uint64_t kOdd = 3;

struct Table {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::shared_ptr<Opened>> opened;
  uint64_t next = 1;
};

Table& TheTable() {
  static auto* const table = new Table();
  return *table;
}

uint64_t Number(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

}  // namespace

bool IsFake(const void* handle) {
  return Number(handle) >> kMarkShift == kMark && (Number(handle) & kOdd) == kOdd;
}

void* NewFake(std::shared_ptr<Opened> opened) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  // Numbers are never reused, so the use of a closed handle is noticed.
  const uint64_t handle = kMark << kMarkShift | table.next++ << 2 | kOdd;
  table.opened.emplace(handle, std::move(opened));
  return reinterpret_cast<void*>(handle);
}

std::shared_ptr<Opened> FindFake(const void* handle) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.opened.find(Number(handle));
  return found == table.opened.end() ? nullptr : found->second;
}

bool CloseFake(const void* handle) {
  Table& table = TheTable();
  // Destroys the object after the lock is released.
  std::shared_ptr<Opened> closed;
  const std::lock_guard lock(table.mutex);
  const auto found = table.opened.find(Number(handle));
  if (found == table.opened.end()) return false;
  closed = std::move(found->second);
  table.opened.erase(found);
  return true;
}

absl::Status OpenFile::Require(ACCESS_MASK rights) const {
  if ((granted_ & rights) == rights) return absl::OkStatus();
  return Win32Status(ERROR_ACCESS_DENIED, "opened without the right to do this");
}

absl::StatusOr<FILE_ATTRIBUTE_TAG_INFO> OpenFile::GetAttributes() {
  if (absl::Status status = Require(FILE_READ_ATTRIBUTES); !status.ok()) return status;
  const absl::StatusOr<machine::FileAttributes> attributes = file_->GetAttributes();
  if (!attributes.ok()) return attributes.status();
  FILE_ATTRIBUTE_TAG_INFO info{};
  if (attributes->is_directory) info.FileAttributes |= FILE_ATTRIBUTE_DIRECTORY;
  if (attributes->is_reparse_point) {
    info.FileAttributes |= FILE_ATTRIBUTE_REPARSE_POINT;
    info.ReparseTag = attributes->reparse_tag;
  }
  if (info.FileAttributes == 0) info.FileAttributes = FILE_ATTRIBUTE_NORMAL;
  return info;
}

absl::Status OpenFile::Begin() {
  entries_.clear();
  for (bool first = true;; first = false) {
    const absl::StatusOr<std::vector<machine::DirectoryEntry>> some = file_->ListNext(first);
    if (!some.ok()) return some.status();
    if (some->empty()) return absl::OkStatus();
    for (const machine::DirectoryEntry& entry : *some) {
      const DWORD attributes = (entry.is_directory ? FILE_ATTRIBUTE_DIRECTORY : 0) |
                               (entry.is_reparse_point ? FILE_ATTRIBUTE_REPARSE_POINT : 0);
      entries_.push_back(
          {Wide(entry.name), attributes != 0 ? attributes : DWORD{FILE_ATTRIBUTE_NORMAL}});
    }
  }
}

absl::Status OpenFile::List(bool restart, void* buffer, size_t size) {
  if (absl::Status status = Require(FILE_LIST_DIRECTORY); !status.ok()) return status;
  if (restart || !has_begun_) {
    if (absl::Status status = Begin(); !status.ok()) return status;
    // NTFS lists `.` and `..` in every directory but a root.
    if (!is_root_) entries_.insert(entries_.end(), {{L".."}, {L"."}});
    has_begun_ = true;
  }
  if (entries_.empty()) return Win32Status(ERROR_NO_MORE_FILES, "no more entries");
  auto* const bytes = static_cast<char*>(buffer);
  FILE_FULL_DIR_INFO* last = nullptr;
  size_t offset = 0;
  while (!entries_.empty()) {
    const std::wstring& name = entries_.back().name;
    const size_t length = name.size() * sizeof(wchar_t);
    if (offset + offsetof(FILE_FULL_DIR_INFO, FileName) + length > size) break;
    auto* const entry = reinterpret_cast<FILE_FULL_DIR_INFO*>(bytes + offset);
    std::memset(entry, 0, offsetof(FILE_FULL_DIR_INFO, FileName));
    entry->FileAttributes = entries_.back().attributes;
    entry->FileNameLength = static_cast<ULONG>(length);
    std::memcpy(entry->FileName, name.data(), length);
    if (last != nullptr) {
      last->NextEntryOffset =
          static_cast<ULONG>(reinterpret_cast<char*>(entry) - reinterpret_cast<char*>(last));
    }
    last = entry;
    offset = Aligned(offset + offsetof(FILE_FULL_DIR_INFO, FileName) + length);
    entries_.pop_back();
  }
  if (last == nullptr) return Win32Status(ERROR_MORE_DATA, "not even one entry has room");
  return absl::OkStatus();
}

absl::Status OpenFile::Delete(const FILE_DISPOSITION_INFO_EX& how) {
  if (absl::Status status = Require(DELETE); !status.ok()) return status;
  // The simulated tree supports only this way of deletion: the name disappears immediately, and
  // read-only files are deleted too.
  constexpr DWORD kDone = FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS |
                          FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE;
  if (how.Flags != kDone) return Win32Status(ERROR_NOT_SUPPORTED, "another way to delete");
  return file_->Delete();
}

absl::StatusOr<Bytes> OpenFile::Control(DWORD code, const Bytes& input, size_t max_output) {
  if (code == FSCTL_SET_REPARSE_POINT || code == FSCTL_DELETE_REPARSE_POINT) {
    // Either right suffices (learn.microsoft.com/windows-hardware/drivers/ifs/
    // fsctl-set-reparse-point and fsctl-delete-reparse-point).
    if (!Require(FILE_WRITE_ATTRIBUTES).ok() && !Require(FILE_WRITE_DATA).ok()) {
      return Win32Status(ERROR_ACCESS_DENIED, "opened without the right to write attributes");
    }
    absl::Status status;
    if (code == FSCTL_SET_REPARSE_POINT) {
      status = file_->WriteReparsePoint(input);
    } else {
      // The input must be a tag without data.
      machine::LittleEndianReader header(input);
      const auto tag = header.Read<uint32_t>();
      const auto rest = header.Read<uint32_t>();
      if (!header.ok() || !header.rest().empty() || rest != 0) {
        return Win32Status(ERROR_INVALID_REPARSE_DATA, "more than a tag");
      }
      status = file_->DeleteReparsePoint(tag);
    }
    if (!status.ok()) return status;
    return Bytes();
  }
  if (code != FSCTL_GET_REPARSE_POINT) return Win32Status(ERROR_INVALID_FUNCTION, "no such code");
  absl::StatusOr<Bytes> data = file_->ReadReparsePoint();
  if (data.ok() && data->size() > max_output) return Win32Status(ERROR_MORE_DATA, "too small");
  return data;
}

}  // namespace csi_proxy::node_double
