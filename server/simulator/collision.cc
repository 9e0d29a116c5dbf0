// Handles copies of a disk beside the original, whose identities collide.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/win32_error.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr uint16_t kOfflineByCollision = 4;

}  // namespace

bool Collides(NodeState& state, const Disk& disk) {
  if (disk.facts.disk_id.empty()) return false;
  const std::vector<Disk*> disks = VisibleDisks(state);
  return std::any_of(disks.begin(), disks.end(), [&](const Disk* other) {
    return other != &disk && other->number != disk.number && other->online &&
           other->facts.disk_id == disk.facts.disk_id;
  });
}

void KeepOffline(Disk& disk) {
  disk.online = false;
  disk.facts.offline_reason = kOfflineByCollision;
}

// The read-only flag must be cleared first, because Windows writes the new identity to the disk
// (github.com/kubernetes-csi/csi-proxy/issues/287,
// github.com/hpe-storage/common-host-libs/pull/40). Otherwise Windows fails with "the parameter is
// incorrect" (github.com/MicrosoftDocs/windowsserverdocs/issues/3637).
absl::Status Resign(NodeState& state, Disk& disk) {
  if (disk.read_only) {
    return Failure(absl::StrCat("bringing disk ", disk.number, " online beside its original"),
                   win32_error::kInvalidParameter);
  }
  disk.facts.disk_id.clear();
  for (DiskPartition& partition : disk.partitions) {
    if (!partition.volume.has_value()) continue;
    partition.volume->id = MakeVolumeId(state, disk, partition.number);
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulator
