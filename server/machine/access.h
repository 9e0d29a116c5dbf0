// The rights and the sharing mode with which every machine opens entries: ACCESS_MASK and
// ShareAccess of learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile.
#pragma once

#include <cstdint>

#include "server/machine/os.h"

namespace csi_proxy::machine {

// Rights, with the numbers of winnt.h. On a directory, kReadData is the right to list it and
// kWriteData the right to add files.
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

// The rights to look at an entry. kReadData is included, because Windows ignores the sharing mode
// of a handle that has rights to attributes alone: other programs could still delete the entry
// (learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819).
// FILE_TRAVERSE is left out: Windows does not check it for holders of SeChangeNotifyPrivilege, and
// all accounts have that privilege by default. On a file, FILE_TRAVERSE is the right to execute.
inline constexpr uint32_t kLook = right::kSynchronize | right::kReadAttributes | right::kReadData;

// Returns the rights for `access`. Deletion includes kWriteAttributes, because some file systems do
// not delete a read-only entry.
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

// Lets other handles read and write but, without FILE_SHARE_DELETE, neither rename nor delete.
inline constexpr uint32_t kShare = share::kRead | share::kWrite;

// Returns the sharing mode for `access`.
constexpr uint32_t ShareOf(Access access) {
  return access == Access::kPeek ? kShare | share::kDelete : kShare;
}

}  // namespace csi_proxy::machine
