#include "server/groups/volume/grow.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"

namespace csi_proxy::volume {
namespace {

// The sizes that a disk and Windows report differ by less.
constexpr uint64_t kMinGrowth = uint64_t{100} << 20;

// Takes growth that failed for done, unless the call has ended.
absl::Status GiveUp(const CallContext& context, const absl::Status& failed) {
  const absl::Status over = context.Check();
  if (over.ok()) RecordFallback(Fallback::kGrowthGivenUp, failed.message());
  return over;
}

}  // namespace

absl::Status Grow(host::VolumeHost& host, const CallContext& context, const VolumeId& volume,
                  uint64_t current, uint64_t asked) {
  if (asked != 0 && asked <= current) return absl::OkStatus();
  bool is_little = asked != 0 && asked < current + kMinGrowth;
  const auto supported = host.GetSupportedSize(context, volume);
  if (!supported.ok()) return is_little ? GiveUp(context, supported.status()) : supported.status();
  const uint64_t most = *supported;
  if (asked > most && !is_little) {
    return absl::FailedPreconditionError(absl::StrCat("size_bytes: ", asked,
                                                      " is more than the disk has room for (", most,
                                                      "); rescan if the disk has grown"));
  }
  const uint64_t wanted = asked != 0 ? std::min(asked, most) : most;
  if (wanted <= current) return absl::OkStatus();
  is_little = wanted < current + kMinGrowth;
  const absl::Status resized = host.Resize(
      context, volume, wanted, asked == 0 ? host::ResizeTo::kAtMost : host::ResizeTo::kExactly);
  return is_little && !resized.ok() ? GiveUp(context, resized) : resized;
}

}  // namespace csi_proxy::volume
