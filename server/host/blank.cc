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

}  // namespace

absl::StatusOr<bool> IsBlank(machine::Os& os, const CallContext& context, uint32_t disk_number,
                             uint64_t offset_bytes, uint64_t size_bytes) {
  const YieldSlot yielded(context);
  const uint64_t end = offset_bytes + size_bytes;
  uint64_t at = offset_bytes;
  while (at < end) {
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
    // Skip from the head straight to the tail.
    if (at - offset_bytes == kHead && end - at > kTail) at = end - kTail;
  }
  return true;
}

}  // namespace csi_proxy::host
