// What an entry is opened with, on every machine: the rights that are asked for and what is shared
// with others, as ACCESS_MASK and ShareAccess have them
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile).
#pragma once

#include <cstdint>

#include "server/machine/os.h"

namespace csi_proxy::machine {

// Rights, with the numbers of winnt.h. Those of a file have other names for a directory: to read
// is to list, to write to add a file.
namespace right {
inline constexpr uint32_t kReadData = 0x1;
inline constexpr uint32_t kWriteData = 0x2;
inline constexpr uint32_t kAppendData = 0x4;
inline constexpr uint32_t kExecute = 0x20;
inline constexpr uint32_t kReadAttributes = 0x80;
inline constexpr uint32_t kWriteAttributes = 0x100;
inline constexpr uint32_t kDelete = 0x10000;
inline constexpr uint32_t kSynchronize = 0x100000;
}  // namespace right

namespace share {
inline constexpr uint32_t kRead = 0x1;
inline constexpr uint32_t kWrite = 0x2;
inline constexpr uint32_t kDelete = 0x4;
}  // namespace share

// To look: the right to read, which of a directory is that to list it, makes the share mode count.
// A handle with rights to attributes alone would keep nobody from deleting the entry
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819).
// FILE_TRAVERSE is not among them: whoever holds SeChangeNotifyPrivilege, as all do, is not asked
// for it, and of a file it is the right to run it.
inline constexpr uint32_t kLook = right::kSynchronize | right::kReadAttributes | right::kReadData;

// What `access` means. Deleting takes the right to attributes too, for file systems that keep
// read-only entries.
constexpr uint32_t AccessMask(Access access) {
  switch (access) {
    case Access::kRead:
      return kLook;
    case Access::kDelete:
      return kLook | right::kDelete | right::kWriteAttributes;
    case Access::kWriteAttributes:
      return kLook | right::kWriteAttributes;
  }
  return 0;
}

// Who reads and writes may go on; without FILE_SHARE_DELETE nobody renames or deletes.
inline constexpr uint32_t kShare = share::kRead | share::kWrite;

}  // namespace csi_proxy::machine
