#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/base/status_macros.h"
#include "server/host/devices.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kHead = 2 * kMiB;
constexpr uint64_t kTail = kMiB;
// The bytes of one read. The number is small, because a hundred calls may read simultaneously.
constexpr uint64_t kPiece = kMiB / 8;
// Between head and tail, reads kPlace bytes at kPlaces - 1 evenly spaced places. kPlace is a
// multiple of every sector size.
constexpr uint64_t kPlaces = 256;
constexpr uint64_t kPlace = kMiB / 64;

// Returns true if the bytes of a disk from `begin` to `end` are all zero.
absl::StatusOr<bool> IsZero(machine::Os& os, const CallContext& context, uint32_t disk_number,
                            uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    ABSL_RETURN_IF_ERROR(Prefixed(absl::StrCat("reading disk ", disk_number), context.Check()));
    const auto wanted = static_cast<size_t>(std::min(kPiece, end - at));
    const absl::StatusOr<machine::Bytes> read =
        os.Read(absl::StrCat("\\\\.\\PhysicalDrive", disk_number), at, wanted);
    if (HasWin32Code(read.status(), win32_error::kFileNotFound)) return NoDisk(disk_number);
    if (!read.ok()) return Prefixed(absl::StrCat("reading disk ", disk_number), read.status());
    if (read->size() != wanted) {
      return absl::InternalError(absl::StrCat("reading disk ", disk_number, ": there are only ",
                                              read->size(), " of ", wanted, " bytes at ", at));
    }
    if (std::any_of(read->begin(), read->end(), [](uint8_t byte) { return byte != 0; })) {
      return false;
    }
    at += wanted;
  }
  return true;
}

constexpr char kLvm[] = "a volume of Linux' LVM2";
constexpr char kMd[] = "a member of a Linux MD RAID";
// The bytes that identify a kind of data. Unless another source is named, the offsets and bytes are
// from the named files of github.com/util-linux/util-linux, libblkid/src/superblocks.
struct Magic {
  uint64_t offset;
  absl::string_view bytes;
  const char* name;
};
constexpr Magic kMagics[] = {
    {0, "XFSB", "an XFS file system of Linux"},             // xfs.c
    {0x10040, "_BHRfS_M", "a Btrfs file system of Linux"},  // btrfs.c
    {0, "LABELONE", kLvm},                                  // lvm.c, also the next three
    {512, "LABELONE", kLvm},
    {1024, "LABELONE", kLvm},
    {1536, "LABELONE", kLvm},
    {0, "LUKS\xBA\xBE", "an encrypted LUKS volume of Linux"},  // luks.c
    {0, "\xFC\x4E\x2B\xA9", kMd},                 // MD_SB_MAGIC of linux/raid/md_p.h: version 1.1,
    {0x1000, "\xFC\x4E\x2B\xA9", kMd},            // and version 1.2
    {4086, "SWAPSPACE2", "swap space of Linux"},  // swap.c
    {0x21000, "\x0C\xB1\xBA", "a ZFS pool"},      // zfs.c
    {3, "-FVE-FS-", "a BitLocker volume"},        // bitlocker.c
    // learn.microsoft.com/windows/win32/fileio/file-system-recognition-structure
    {3, "ReFS", "a ReFS file system"},
    {3, "NTFS    ", "an NTFS file system"},  // ntfs.c
    // This row is the last, because a signature of two bytes may match by chance.
    {0x438, "\x53\xEF", "an ext2, ext3 or ext4 file system of Linux"},  // ext.c
};

}  // namespace

absl::StatusOr<bool> IsBlank(machine::Os& os, const CallContext& context, uint32_t disk_number,
                             uint64_t offset_bytes, uint64_t size_bytes, Look look) {
  const YieldSlot yielded(context);
  const auto is_zero = [&](uint64_t begin, uint64_t end) {
    return IsZero(os, context, disk_number, offset_bytes + begin, offset_bytes + end);
  };
  if (size_bytes <= kHead + kTail) return is_zero(0, size_bytes);
  const uint64_t tail = size_bytes - kTail;
  absl::StatusOr<bool> blank = is_zero(0, kHead);
  if (blank.ok() && *blank) blank = is_zero(tail, size_bytes);
  if (look == Look::kAtEnds) return blank;
  for (uint64_t i = 1; i < kPlaces && blank.ok() && *blank; ++i) {
    const uint64_t begin = std::max(kHead, size_bytes / kPlaces * i / kPlace * kPlace);
    blank = is_zero(begin, std::min(begin + kPlace, tail));
  }
  return blank;
}

absl::StatusOr<std::string> FindData(machine::Os& os, const CallContext& context,
                                     uint32_t disk_number, uint64_t offset_bytes,
                                     uint64_t size_bytes, Look look) {
  const YieldSlot yielded(context);
  ABSL_ASSIGN_OR_RETURN(const bool blank,
                        IsBlank(os, context, disk_number, offset_bytes, size_bytes, look));
  if (blank) return "";
  // A multiple of every sector size. The last magic number begins at 132 KiB.
  constexpr size_t kBegin = 136 << 10;
  const absl::StatusOr<machine::Bytes> read =
      os.Read(absl::StrCat("\\\\.\\PhysicalDrive", disk_number), offset_bytes, kBegin);
  if (read.ok()) {
    const absl::string_view bytes(reinterpret_cast<const char*>(read->data()), read->size());
    for (const Magic& magic : kMagics) {
      if (magic.offset < bytes.size() &&
          absl::StartsWith(bytes.substr(magic.offset), magic.bytes)) {
        return magic.name;
      }
    }
  }
  return "data that Windows does not recognise";
}

}  // namespace csi_proxy::host
