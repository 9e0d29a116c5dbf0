#include "server/groups/volume/grow.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/host/find_volume.h"

namespace csi_proxy::volume {
namespace {

// A growth by fewer bytes than this may fail, because the sizes that disks and Windows report
// differ by up to this much.
constexpr uint64_t kMinGrowth = uint64_t{100} << 20;

// Records that the growth was given up and returns OK. If the call has ended, only returns the
// call's error.
absl::Status RecordGivenUp(const CallContext& context, Fallback reason, absl::string_view why) {
  const absl::Status over = context.Check();
  if (over.ok()) RecordFallback(reason, why);
  return over;
}

// Grows the partition. See Grow() for `asked` and the errors. Sets `*volume` to the volume with its
// extents after the growth.
absl::StatusOr<Growth> GrowPartition(host::VolumeHost& host, const CallContext& context,
                                     host::VolumeView* volume, uint64_t current, uint64_t asked) {
  Growth growth;
  bool is_little = asked != 0 && asked < current + kMinGrowth;
  auto room = host.GetGrowthRoom(context, *volume);
  if (!room.ok()) {
    if (!is_little) return room.status();
    ABSL_RETURN_IF_ERROR(
        RecordGivenUp(context, Fallback::kGrowthObstructed, room.status().message()));
    return growth;
  }
  const uint64_t most = room->size_bytes;
  if (asked > most && !is_little) {
    return absl::FailedPreconditionError(absl::StrCat(
        "size_bytes: ", asked, " is more than the disk has room for (", most,
        " bytes): ", room->obstacle.empty() ? "rescan if the disk has grown" : room->obstacle));
  }
  if (asked == 0) growth.obstacle = std::move(room->obstacle);
  const uint64_t wanted = asked != 0 ? std::min(asked, most) : most;
  Fallback reason = Fallback::kGrowthObstructed;
  if (wanted > current) {
    is_little = wanted < current + kMinGrowth;
    const absl::Status resized =
        host.Resize(context, *volume, *room, wanted,
                    asked == 0 ? host::ResizeTo::kAtMost : host::ResizeTo::kExactly);
    if (!resized.ok() && !is_little) return resized;
    if (!resized.ok()) growth.obstacle = std::string(resized.message());
    // INTERNAL does not explain the refusal. Other codes say what is wrong with the volume or disk.
    if (absl::IsInternal(resized)) reason = Fallback::kGrowthGivenUp;
    ABSL_ASSIGN_OR_RETURN(*volume, host.Locate(context, volume->id));
    const uint64_t now = volume->extents.front().length;
    growth.grew = now > current;
    if (resized.ok() && growth.obstacle.empty() && now + kMinGrowth <= wanted) {
      growth.obstacle = absl::StrCat("Windows grew it only to ", now, " of ", wanted,
                                     " bytes, the limit of its file system or disk");
    }
  }
  if (!growth.obstacle.empty()) {
    ABSL_RETURN_IF_ERROR(RecordGivenUp(context, reason, growth.obstacle));
  }
  return growth;
}

}  // namespace

absl::StatusOr<Growth> Grow(host::VolumeHost& host, const CallContext& context,
                            host::VolumeView volume, uint64_t asked) {
  ABSL_ASSIGN_OR_RETURN(const auto extent, host::ExtentOf(volume));
  Growth growth;
  if (asked == 0 || asked > extent.length) {
    ABSL_ASSIGN_OR_RETURN(growth, GrowPartition(host, context, &volume, extent.length, asked));
  }
  const auto extended = host.ExtendFileSystem(context, volume, asked);
  growth.grew |= extended.value_or(false);
  if (!extended.ok()) {
    growth.obstacle = std::string(extended.status().message());
    ABSL_RETURN_IF_ERROR(RecordGivenUp(context, Fallback::kGrowthObstructed, growth.obstacle));
  }
  return growth;
}

}  // namespace csi_proxy::volume
