// StageTarget: the sessions of an iSCSI target before StageVolume. Nothing is remembered between
// calls: the initiator tells which sessions and portals there are. The call has the target's lock
// throughout, so that no target is disconnected while a LUN of it is staged.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"
#include "server/groups/storage/target.h"

namespace csi_proxy::storage {
namespace {

using host::DiskDescription;
using host::IscsiPortal;

static_assert(static_cast<int>(ChapUse::kChapOneWay) == static_cast<int>(host::ChapMode::kOneWay));
static_assert(static_cast<int>(ChapUse::kChapMutual) == static_cast<int>(host::ChapMode::kMutual));

// The time that one portal may take, longer than the initiator itself waits for a connection: its
// TCPConnectTime is 15 s (learn.microsoft.com/archive/blogs/san/
// microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference).
constexpr absl::Duration kPortalTime = absl::Seconds(30);

// The time in which a session's disks appear.
constexpr absl::Duration kLunArrival = absl::Seconds(10);

// DiskDescription::offline_reason of a disk that is another one by a second path
// (learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_disk_offline_reason).
constexpr char kRedundantPath[] = "Redundant Path";

// A DNS name has a letter in its last label, and no colon.
bool IsIpAddress(absl::string_view address) {
  return absl::StrContains(address, ':') ||
         address.find_first_not_of("0123456789.") == absl::string_view::npos;
}

std::string Numbers(const std::vector<DiskDescription>& disks) {
  return absl::StrJoin(disks, ", ", [](std::string* out, const DiskDescription& disk) {
    absl::StrAppend(out, disk.disk_number);
  });
}

class TargetStager {
 public:
  TargetStager(const groups::Deps& deps, const CallContext& context,
               const StageTargetRequest& request, std::vector<IscsiPortal> portals,
               host::ChapCredentials credentials)
      : host_(*deps.host),
        locks_(*deps.locks),
        context_(context),
        request_(request),
        portals_(std::move(portals)),
        credentials_(std::move(credentials)) {}

  // Sees to the sessions and returns the LUN's disk.
  absl::StatusOr<DiskDescription> Run() {
    ABSL_RETURN_IF_ERROR(Connect());
    ABSL_ASSIGN_OR_RETURN(const auto disks, AwaitDisks());
    return Choose(disks);
  }

  std::vector<StorageStep> steps;
  std::vector<PortalFailure> failures;

 private:
  absl::Status Connect() {
    ABSL_ASSIGN_OR_RETURN(const auto before, host_.iscsi().GetSessions(context_, request_.iqn));
    int sessions = before.count;
    std::vector<absl::Status> failed;
    for (size_t i = 0; i < portals_.size(); ++i) {
      const IscsiPortal& portal = portals_[i];
      const bool is_there =
          request_.multipath
              ? std::any_of(before.connections.begin(), before.connections.end(),
                            [&](const auto& there) { return IsSame(there.portal, portal); })
              : sessions > 0;
      if (is_there) continue;
      absl::Status status = ConnectBy(portal);
      ABSL_RETURN_IF_ERROR(context_.Check());
      if (status.ok()) {
        ++sessions;
        continue;
      }
      failures.push_back({.portal = request_.portals[i], .message = std::string(status.message())});
      failed.push_back(std::move(status));
    }
    if (sessions == 0) return NoSession(failed);
    if (!request_.persistent || before.non_persistent == 0) return absl::OkStatus();
    ABSL_RETURN_IF_ERROR(
        host_.iscsi().MakePersistent(context_, request_.iqn, credentials_, request_.multipath));
    steps.push_back(StorageStep::kMadePersistent);
    return absl::OkStatus();
  }

  absl::Status ConnectBy(const IscsiPortal& portal) {
    const CallContext context = context_.WithTimeout(kPortalTime);
    absl::Status status = ConnectBy(context, portal);
    if (status.ok() || context.Check().ok()) return status;
    return absl::UnavailableError(
        absl::StrCat("not within ", absl::FormatDuration(kPortalTime), ": ", status.message()));
  }

  absl::Status ConnectBy(const CallContext& context, const IscsiPortal& portal) {
    {
      ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(locks_, context, portal));
      const absl::Status added = host_.iscsi().AddPortal(context, portal);
      if (added.ok()) {
        steps.push_back(StorageStep::kAddedPortal);
      } else if (!absl::IsAlreadyExists(added)) {
        return added;
      } else {
        // The target may be newer than the portal's last answer.
        const absl::Status asked = host_.iscsi().RefreshPortal(context, portal);
        if (asked.ok()) steps.push_back(StorageStep::kRefreshedPortal);
        if (absl::IsUnavailable(asked)) return asked;
        ABSL_RETURN_IF_ERROR(context.Check());
      }
    }
    const absl::Status opened = host_.iscsi().OpenSession(
        context, portal, request_.iqn, credentials_,
        {.is_persistent = request_.persistent, .allow_multipath = request_.multipath});
    if (opened.ok()) steps.push_back(StorageStep::kConnectedTarget);
    // Somebody else has connected the target meanwhile.
    return absl::IsAlreadyExists(opened) ? absl::OkStatus() : opened;
  }

  // A refusal says more than a portal that does not answer.
  static absl::Status NoSession(const std::vector<absl::Status>& failed) {
    const auto told = std::find_if(failed.begin(), failed.end(), [](const absl::Status& status) {
      return !absl::IsUnavailable(status);
    });
    const absl::StatusCode code =
        told == failed.end() ? absl::StatusCode::kUnavailable : told->code();
    return absl::Status(
        code,
        absl::StrCat("portals: ",
                     absl::StrJoin(failed, "; ", [](std::string* out, const absl::Status& status) {
                       absl::StrAppend(out, status.message());
                     })));
  }

  // The disks that have the LUN now, by number. `complete` if no session lacks it.
  absl::StatusOr<std::vector<DiskDescription>> Look(bool* complete) {
    ABSL_ASSIGN_OR_RETURN(const auto now, host_.iscsi().GetSessions(context_, request_.iqn));
    ABSL_ASSIGN_OR_RETURN(const auto all, host_.disk().ListDisks(context_));
    std::set<uint32_t> numbers;
    *complete = true;
    for (const host::IscsiConnection& connection : now.connections) {
      bool shows = false;
      for (const DiskDescription& disk : all) {
        const auto& disks = connection.disks;
        if (std::find(disks.begin(), disks.end(), disk.disk_number) == disks.end()) continue;
        if (!HasLun(disk, request_.lun_id, connection)) continue;
        numbers.insert(disk.disk_number);
        shows = true;
      }
      *complete = *complete && shows;
    }
    std::vector<DiskDescription> found;
    for (const DiskDescription& disk : all) {
      if (numbers.contains(disk.disk_number)) found.push_back(disk);
    }
    if (found.empty()) *complete = false;
    return found;
  }

  // Several paths to a disk appear one after the other.
  absl::StatusOr<std::vector<DiskDescription>> AwaitDisks() {
    const CallContext waiting = context_.WithTimeout(kLunArrival);
    host::DeviceWatch devices = host_.WatchDevices(kFirstPoll, kLastPoll);
    bool rescanned = false;
    while (true) {
      devices.Watch();
      bool complete = false;
      ABSL_ASSIGN_OR_RETURN(const auto found, Look(&complete));
      if (complete || (!request_.multipath && !found.empty())) return found;
      if (!rescanned) {
        ABSL_RETURN_IF_ERROR(host_.disk().Rescan(context_));
        steps.push_back(StorageStep::kRescanned);
        rescanned = true;
        continue;
      }
      if (devices.Wait(waiting).ok()) continue;
      ABSL_RETURN_IF_ERROR(context_.Check());
      if (!found.empty()) return found;
      return absl::NotFoundError(absl::StrCat("lun_id: target ", request_.iqn,
                                              " shows no disk with LUN ", request_.lun_id));
    }
  }

  // Without MPIO each session shows the LUN as a disk of its own, and all but one of these are kept
  // offline: written by two of them it would be lost.
  absl::StatusOr<DiskDescription> Choose(const std::vector<DiskDescription>& found) {
    std::vector<DiskDescription> usable;
    for (const DiskDescription& disk : found) {
      if (disk.is_online || disk.offline_reason != kRedundantPath) usable.push_back(disk);
    }
    if (usable.size() == 1 && (found.size() == 1 || portals_.size() == 1)) return usable.front();
    return absl::FailedPreconditionError(absl::StrCat(
        "multipath: LUN ", request_.lun_id, " of target ", request_.iqn,
        " is not one disk but several, ", Numbers(found),
        ", as MPIO does not claim it. Install the feature Multipath-IO, run "
        "`Enable-MSDSMAutomaticClaim -BusType iSCSI` and restart the node, or unstage the target "
        "and use one portal"));
  }

  host::Host& host_;
  ResourceLocks& locks_;
  const CallContext& context_;
  const StageTargetRequest& request_;
  const std::vector<IscsiPortal> portals_;
  const host::ChapCredentials credentials_;
};

}  // namespace

absl::StatusOr<StageTargetResponse> StageLun(const groups::Deps& deps, const CallContext& context,
                                             const StageTargetRequest& request) {
  if (request.portals.empty()) {
    return absl::InvalidArgumentError("portals: is empty");
  }
  ABSL_ASSIGN_OR_RETURN(auto portals, ReadPortals("portals", request.portals));
  for (size_t i = 0; i < portals.size(); ++i) {
    if (!request.multipath || IsIpAddress(portals[i].address)) continue;
    // Windows tells the portal of a session by its address alone.
    return absl::InvalidArgumentError(
        absl::StrCat("portals[", i, "]: with multipath it must be an IP address"));
  }
  ABSL_RETURN_IF_ERROR(iscsi::CheckIqn(request.iqn));
  ABSL_ASSIGN_OR_RETURN(
      auto credentials,
      iscsi::ReadChap("chap: CHAP_UNUSED", static_cast<host::ChapMode>(request.chap),
                      request.chap_username, request.chap_secret));
  ABSL_RETURN_IF_ERROR(CheckLun(request.lun_id, false));
  StageVolumeRequest staging = {.target_path = request.target_path,
                                .file_system = request.file_system,
                                .allocation_unit_bytes = request.allocation_unit_bytes,
                                .label = request.label};
  ABSL_RETURN_IF_ERROR(CheckStaging(deps, staging));

  ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockTarget(*deps.locks, context, request.iqn));
  TargetStager stager(deps, context, request, std::move(portals), std::move(credentials));
  ABSL_ASSIGN_OR_RETURN(const auto disk, stager.Run());
  ABSL_ASSIGN_OR_RETURN(auto staged, StageFound(deps, context, staging, disk));
  StageTargetResponse response;
  response.disk_number = staged.disk_number;
  response.volume_id = std::move(staged.volume_id);
  response.size_bytes = staged.size_bytes;
  response.steps = std::move(stager.steps);
  response.steps.insert(response.steps.end(), staged.steps.begin(), staged.steps.end());
  response.failed_portals = std::move(stager.failures);
  return response;
}

}  // namespace csi_proxy::storage
