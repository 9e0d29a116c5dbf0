// UnstageTarget: the end of an iSCSI target's sessions after UnstageVolume.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
#include "server/groups/paths.h"
#include "server/groups/storage/calls.h"
#include "server/groups/storage/target.h"

namespace csi_proxy::storage {
namespace {

using host::IscsiPortal;

class TargetUnstager {
 public:
  TargetUnstager(const groups::Deps& deps, const CallContext& context,
                 const UnstageTargetRequest& request, const ConfinedPath& target,
                 std::vector<IscsiPortal> portals)
      : deps_(deps),
        host_(*deps.host),
        context_(context),
        request_(request),
        target_(target),
        portals_(std::move(portals)) {}

  absl::StatusOr<UnstageTargetResponse> Run() {
    ABSL_ASSIGN_OR_RETURN(const auto before, host_.iscsi().GetSessions(context_, request_.iqn));
    ABSL_RETURN_IF_ERROR(CheckMounted(before));
    ABSL_ASSIGN_OR_RETURN(
        auto unstaged,
        Unstage(deps_, context_, UnstageVolumeRequest{.target_path = request_.target_path}));
    response_.volume_id = std::move(unstaged.volume_id);
    response_.steps = std::move(unstaged.steps);
    if (before.count > 0) {
      ABSL_ASSIGN_OR_RETURN(response_.disks_in_use, DisksInUse(before));
      if (!response_.disks_in_use.empty()) return std::move(response_);
      ABSL_RETURN_IF_ERROR(host_.iscsi().EndSessions(context_, request_.iqn));
      response_.steps.push_back(StorageStep::kDisconnectedTarget);
    }
    ABSL_RETURN_IF_ERROR(RemovePortals());
    return std::move(response_);
  }

 private:
  // The caller means another volume if that of another LUN is mounted.
  absl::Status CheckMounted(const host::IscsiSessions& sessions) {
    if (request_.lun_id.empty()) return absl::OkStatus();
    const auto link = host_.filesystem().ReadLink(context_, target_);
    // UnstageVolume says what is wrong with the directory.
    if (!link.ok()) return context_.Check();
    const auto volume = VolumeId::Parse(link->target);
    if (!link->is_link || !volume.ok()) return absl::OkStatus();
    const auto number = host_.volume().GetDiskNumber(context_, *volume);
    if (!number.ok()) return context_.Check();
    for (const host::IscsiConnection& connection : sessions.connections) {
      const auto& disks = connection.disks;
      if (std::find(disks.begin(), disks.end(), *number) == disks.end()) continue;
      ABSL_ASSIGN_OR_RETURN(const auto disk, host_.disk().Describe(context_, *number));
      if (HasLun(disk, request_.lun_id, connection)) return absl::OkStatus();
      return absl::FailedPreconditionError(
          absl::StrCat("lun_id: at ", target_.path.ToString(), " a volume of disk ", *number,
                       " is mounted, which is another LUN of the target"));
    }
    return absl::OkStatus();
  }

  // A disk is in use while a volume of it is mounted, by a driver or by the node.
  absl::StatusOr<std::vector<uint32_t>> DisksInUse(const host::IscsiSessions& sessions) {
    std::set<uint32_t> numbers;
    for (const host::IscsiConnection& connection : sessions.connections) {
      numbers.insert(connection.disks.begin(), connection.disks.end());
    }
    std::vector<uint32_t> in_use;
    for (const uint32_t number : numbers) {
      const auto volumes = host_.volume().ListVolumes(context_, number, 0);
      if (absl::IsNotFound(volumes.status())) continue;
      if (!volumes.ok()) return volumes.status();
      bool is_mounted = false;
      for (const VolumeId& volume : *volumes) {
        const auto points = host_.volume().ListMountPoints(context_, volume, deps_.roots.get());
        if (absl::IsNotFound(points.status())) continue;
        if (!points.ok()) return points.status();
        is_mounted = is_mounted || !points->empty();
      }
      if (is_mounted) in_use.push_back(number);
    }
    ABSL_RETURN_IF_ERROR(context_.Check());
    return in_use;
  }

  absl::Status RemovePortals() {
    for (const IscsiPortal& portal : portals_) {
      ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(*deps_.locks, context_, portal));
      const auto connected = host_.iscsi().ListConnected(context_, portal);
      if (absl::IsNotFound(connected.status())) continue;
      if (!connected.ok()) return connected.status();
      if (!connected->empty()) continue;
      const absl::Status removed = host_.iscsi().RemovePortal(context_, portal);
      if (removed.ok()) response_.steps.push_back(StorageStep::kRemovedPortal);
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    }
    return absl::OkStatus();
  }

  const groups::Deps& deps_;
  host::Host& host_;
  const CallContext& context_;
  const UnstageTargetRequest& request_;
  const ConfinedPath& target_;
  const std::vector<IscsiPortal> portals_;
  UnstageTargetResponse response_;
};

}  // namespace

absl::StatusOr<UnstageTargetResponse> UnstageLun(const groups::Deps& deps,
                                                 const CallContext& context,
                                                 const UnstageTargetRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto target, groups::ParseConfinedPathBelowLeniently(
                                               deps.roots, "target_path", request.target_path));
  ABSL_RETURN_IF_ERROR(iscsi::CheckIqn(request.iqn));
  ABSL_RETURN_IF_ERROR(CheckLun(request.lun_id, true));
  ABSL_ASSIGN_OR_RETURN(auto portals, ReadPortals("remove_portals", request.remove_portals));
  ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockTarget(*deps.locks, context, request.iqn));
  return TargetUnstager(deps, context, request, target, std::move(portals)).Run();
}

}  // namespace csi_proxy::storage
