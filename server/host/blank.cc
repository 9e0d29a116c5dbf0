#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/base/win32_error.h"
#include "server/host/devices.h"

namespace csi_proxy::host {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kHead = 2 * kMiB;
constexpr uint64_t kTail = kMiB;
// Bytes of one read; small, because a hundred calls may read at the same time.
constexpr uint64_t kPiece = kMiB / 8;
// Between head and tail, kPlace bytes are read at each 1/kPlaces of the size. kPlace is a multiple
// of every sector size.
constexpr uint64_t kPlaces = 256;
constexpr uint64_t kPlace = kMiB / 64;

// Returns true if the bytes of a disk from `begin` to `end` are all zero.
absl::StatusOr<bool> IsZero(machine::Os& os, const CallContext& context, uint32_t disk_number,
                            uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    ABSL_RETURN_IF_ERROR(context.Check());
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

}  // namespace csi_proxy::host
