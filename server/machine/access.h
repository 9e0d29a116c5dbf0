// The ways to open entries, on every machine: the requested rights, and the sharing mode for
// others, as in ACCESS_MASK and ShareAccess
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile).
#pragma once

#include <cstdint>

#include "server/machine/os.h"

namespace csi_proxy::machine {

// Rights, with the numbers of winnt.h. For a directory, the right to read is the right to list it,
// and the right to write is the right to add files.
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

// Just to look. The right to read, or to list a directory, is what makes the share mode count: a
// handle with rights to the attributes alone would not keep anybody from deleting the entry
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819).
// FILE_TRAVERSE is not needed: Windows does not check it for holders of SeChangeNotifyPrivilege,
// which everybody has, and for a file it is the right to execute it.
inline constexpr uint32_t kLook = right::kSynchronize | right::kReadAttributes | right::kReadData;

// The rights that `access` stands for. Deleting also asks for the right to write attributes, for
// file systems on which read-only entries cannot be deleted.
constexpr uint32_t AccessMask(Access access) {
  switch (access) {
    case Access::kRead:
    case Access::kPeek:
      return kLook;
    case Access::kDelete:
      return kLook | right::kDelete | right::kWriteAttributes;
    case Access::kWriteAttributes:
      return kLook | right::kWriteAttributes;
  }
  return 0;
}

// Others may read and write; without FILE_SHARE_DELETE nobody can rename or delete.
inline constexpr uint32_t kShare = share::kRead | share::kWrite;

// The sharing mode of an open for `access`.
constexpr uint32_t ShareOf(Access access) {
  return access == Access::kPeek ? kShare | share::kDelete : kShare;
}

}  // namespace csi_proxy::machine
