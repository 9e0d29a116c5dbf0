// UnstageTarget: ends the sessions of an iSCSI target after UnstageVolume.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"
#include "server/groups/storage/lun.h"
#include "server/groups/storage/target.h"
#include "server/host/mount_point.h"
#include "server/names/win32_error.h"

namespace csi_proxy::storage {
namespace {

using host::IscsiPortal;

class TargetUnstager {
 public:
  TargetUnstager(const groups::HandlerDeps& deps, const CallContext& context,
                 const UnstageTargetRequest& request, const ConfinedPath& target,
                 std::vector<IscsiPortal> portals)
      : deps_(deps),
        host_(*deps.host),
        context_(context),
        request_(request),
        target_(target),
        portals_(std::move(portals)) {}

  absl::StatusOr<UnstageTargetResponse> Run() {
    // A volume that does not answer is also unstaged.
    const auto found = FindMounted(host_, context_, target_);
    ABSL_RETURN_IF_ERROR(context_.Check());
    const std::optional<MountedVolume> mounted = found.value_or(std::nullopt);
    if (mounted.has_value()) {
      ABSL_RETURN_IF_ERROR(CheckMounted(mounted->disk));
    }
    ABSL_ASSIGN_OR_RETURN(auto unstaged, UnstageVolume(deps_, context_, target_, false, clock_));
    // The last step of UnstageVolume() has just ended, so the next step is measured from now.
    if (!unstaged.steps.empty()) clock_ = StepClock();
    response_.volume_id = std::move(unstaged.volume_id);
    response_.steps = std::move(unstaged.steps);
    response_.step_milliseconds = std::move(unstaged.step_milliseconds);
    // Without a volume the first warning is that no disk was checked. It is dropped, because the
    // sessions are ended below.
    response_.warnings = std::move(unstaged.warnings);
    if (response_.volume_id.empty() && !response_.warnings.empty()) {
      response_.warnings.erase(response_.warnings.begin());
    }
    const std::string& tenant = context_.peer().tenant;
    const std::string key =
        absl::StrCat(FoldName(request_.iqn), "|", FoldName(target_.path.ToString()));
    const bool is_known = mounted.has_value() && mounted->volume.ToString() == response_.volume_id;
    const std::string unmounted = deps_.stages->RememberUnstaged(
        tenant, key,
        is_known ? absl::StrCat(response_.volume_id, "|", mounted->disk) : response_.volume_id);
    const std::optional<uint32_t> disk = is_known ? mounted->disk : DiskOf(unmounted);
    const absl::Status awaited =
        host_.iscsi().AwaitLogins(host::TeardownStep(context_), request_.iqn);
    if (!awaited.ok()) response_.warnings.push_back(std::string(awaited.message()));
    const auto ended = EndUnusedSessions(
        deps_, context_, request_.iqn, [](const host::IscsiSession&) { return true; }, disk);
    if (!ended.ok()) {
      return Prefixed(absl::StrCat("ending the sessions of target ", request_.iqn), ended.status());
    }
    const UnusedSessions& sessions = *ended;
    deps_.stages->ForgetUnstaged(tenant, key);
    if (sessions.ended) clock_.Add(StorageStep::kDisconnectedTarget, &response_);
    response_.disks_in_use.assign(sessions.disks_in_use.begin(), sessions.disks_in_use.end());
    if (sessions.is_being_staged) {
      response_.warnings.push_back(absl::StrCat("a session with target ", request_.iqn,
                                                " stays: another call is staging a disk of it"));
    }
    if (response_.disks_in_use.empty()) RemovePortals();
    return std::move(response_);
  }

 private:
  // Returns FAILED_PRECONDITION if disk `number`, whose volume is mounted at the target, is another
  // LUN than the request's. Returns OK if the LUN is not known, or if the initiator or the disk
  // does not answer, so that the volume is unmounted.
  absl::Status CheckMounted(uint32_t number) {
    if (request_.lun_id.empty()) return absl::OkStatus();
    const CallContext step = host::TeardownStep(context_);
    const auto sessions = host_.iscsi().GetSessions(step, request_.iqn);
    if (!sessions.ok()) return context_.Check();
    for (const host::IscsiSession& session : *sessions) {
      for (const host::IscsiConnection& connection : session.connections) {
        if (!connection.Shows(number)) continue;
        const auto disk = host_.disk().Describe(step, number);
        if (!disk.ok()) return context_.Check();
        if (!IsDecimal(disk->lun_id) || HasLun(*disk, request_.lun_id, connection)) {
          return absl::OkStatus();
        }
        return absl::FailedPreconditionError(absl::StrCat("lun_id: the volume at ",
                                                          target_.path.ToString(), " is on disk ",
                                                          number, ", another LUN of the target"));
      }
    }
    return absl::OkStatus();
  }

  // Returns the disk, if known, of a volume that this call or an earlier one has unmounted.
  // `unmounted` is the volume's id. If the disk's number was known, `|` and the number follow it.
  std::optional<uint32_t> DiskOf(const std::string& unmounted) {
    const std::vector<std::string> parts = absl::StrSplit(unmounted, '|');
    const auto volume = VolumeId::Parse(parts.front());
    if (!volume.ok()) return std::nullopt;
    const auto found = host_.volume().GetDiskNumber(context_, *volume);
    if (found.ok()) return *found;
    // An offline disk shows no volume. An online disk with the remembered number is another disk.
    uint32_t number = 0;
    if (!absl::SimpleAtoi(parts.back(), &number)) return std::nullopt;
    const auto online = host_.disk().IsOnline(context_, number);
    return online.ok() && !*online ? std::optional(number) : std::nullopt;
  }

  // Removes the portals in the request, unless a session or a StageTarget call uses them. A failure
  // is only a warning, because a portal without a session does no harm.
  void RemovePortals() {
    for (const IscsiPortal& portal : portals_) {
      const absl::Status removed = RemovePortal(host::TeardownStep(context_), portal);
      if (removed.ok() || absl::IsNotFound(removed)) continue;
      const std::string warning =
          absl::StrCat("portal ", portal.address, " stays: ", removed.message());
      host_.Warn(absl::StrCat("unstaging target ", request_.iqn, ": ", warning));
      response_.warnings.push_back(warning);
    }
  }

  absl::Status RemovePortal(const CallContext& context, const IscsiPortal& portal) {
    ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(*deps_.locks, context, portal));
    // A StageTarget call may be about to log in through this portal.
    if (deps_.stages->Names(portal)) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(const auto connected, host_.iscsi().ListConnected(context, portal));
    if (!connected.empty()) return absl::OkStatus();
    ABSL_RETURN_IF_ERROR(host_.iscsi().RemovePortal(context, portal));
    clock_.Add(StorageStep::kRemovedPortal, &response_);
    return absl::OkStatus();
  }

  const groups::HandlerDeps& deps_;
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
