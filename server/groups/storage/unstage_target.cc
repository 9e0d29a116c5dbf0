// UnstageTarget: ends the sessions of an iSCSI target after UnstageVolume.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
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
    // A volume that does not answer is unstaged too.
    const auto found = FindMounted(host_, context_, target_);
    ABSL_RETURN_IF_ERROR(context_.Check());
    const std::optional<MountedVolume> mounted = found.value_or(std::nullopt);
    if (mounted.has_value()) {
      ABSL_RETURN_IF_ERROR(CheckMounted(mounted->disk));
    }
    ABSL_ASSIGN_OR_RETURN(
        auto unstaged,
        UnstageVolume(deps_, context_, UnstageVolumeRequest{.target_path = request_.target_path},
                      clock_));
    // The last step of UnstageVolume() has just ended, so the next step is measured from now.
    if (!unstaged.steps.empty()) clock_ = StepClock();
    response_.volume_id = std::move(unstaged.volume_id);
    response_.steps = std::move(unstaged.steps);
    response_.step_milliseconds = std::move(unstaged.step_milliseconds);
    response_.warnings = std::move(unstaged.warnings);
    const bool is_unstaged =
        mounted.has_value() && mounted->volume.ToString() == response_.volume_id;
    ABSL_ASSIGN_OR_RETURN(
        const auto sessions,
        EndUnusedSessions(
            deps_, context_, request_.iqn, [](const host::IscsiSession&) { return true; },
            is_unstaged ? std::optional(mounted->disk) : std::nullopt));
    if (sessions.ended) clock_.Add(StorageStep::kDisconnectedTarget, &response_);
    response_.disks_in_use.assign(sessions.disks_in_use.begin(), sessions.disks_in_use.end());
    if (sessions.is_being_staged) {
      response_.warnings.push_back(absl::StrCat("a session with target ", request_.iqn,
                                                " stays: another call is staging a disk of it"));
    }
    if (response_.disks_in_use.empty()) {
      ABSL_RETURN_IF_ERROR(RemovePortals());
    }
    return std::move(response_);
  }

 private:
  // Returns an error if the volume of another LUN than the request's is mounted at the target.
  // Returns OK if the initiator or the disk does not answer, so that the volume is unmounted.
  absl::Status CheckMounted(uint32_t number) {
    if (request_.lun_id.empty()) return absl::OkStatus();
    const auto sessions = host_.iscsi().GetSessions(context_, request_.iqn);
    if (!sessions.ok()) return context_.Check();
    for (const host::IscsiSession& session : *sessions) {
      for (const host::IscsiConnection& connection : session.connections) {
        if (!connection.Shows(number)) continue;
        const auto disk = host_.disk().Describe(context_, number);
        if (!disk.ok()) return context_.Check();
        if (HasLun(*disk, request_.lun_id, connection)) return absl::OkStatus();
        return absl::FailedPreconditionError(absl::StrCat("lun_id: the volume at ",
                                                          target_.path.ToString(), " is on disk ",
                                                          number, ", another LUN of the target"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status RemovePortals() {
    for (const IscsiPortal& portal : portals_) {
      ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(*deps_.locks, context_, portal));
      // A StageTarget call is about to log in through this portal.
      if (deps_.stages->Names(portal)) continue;
      const auto connected = host_.iscsi().ListConnected(context_, portal);
      if (absl::IsNotFound(connected.status())) continue;
      if (!connected.ok()) return connected.status();
      if (!connected->empty()) continue;
      const absl::Status removed = host_.iscsi().RemovePortal(context_, portal);
      if (removed.ok()) clock_.Add(StorageStep::kRemovedPortal, &response_);
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
  StepClock clock_;
  UnstageTargetResponse response_;
};

}  // namespace

absl::StatusOr<UnstageTargetResponse> StorageService::UnstageTarget(
    const CallContext& context, const UnstageTargetRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto target,
                        ConfinedPath::Parse(deps_.roots, "target_path", request.target_path,
                                            Place::kBelowRoots, Spelling::kLenient));
  ABSL_RETURN_IF_ERROR(iscsi::CheckIqn(request.iqn));
  ABSL_RETURN_IF_ERROR(CheckLun(request.lun_id, true));
  ABSL_ASSIGN_OR_RETURN(auto portals, ReadPortals("remove_portals", request.remove_portals));
  return TargetUnstager(deps_, context, request, target, std::move(portals)).Run();
}

}  // namespace csi_proxy::storage
