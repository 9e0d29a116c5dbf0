// StageTarget: opens the sessions of an iSCSI target, then runs StageVolume. Of earlier calls the
// process remembers only portals that failed, because the initiator lists its sessions and portals.
// While the call waits for a portal, it holds only locks that concern this portal. While it waits
// for a disk, it holds no lock.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/locks.h"
#include "server/groups/storage/calls.h"
#include "server/groups/storage/lun.h"
#include "server/groups/storage/target.h"
#include "server/host/mount_point.h"

namespace csi_proxy::storage {
namespace {

using host::DiskDescription;
using host::IscsiPortal;

static_assert(static_cast<int>(ChapUse::kChapOneWay) == static_cast<int>(host::ChapMode::kOneWay));
static_assert(static_cast<int>(ChapUse::kChapMutual) == static_cast<int>(host::ChapMode::kMutual));

// The time for one portal, longer than the initiator's own wait for a connection: TCPConnectTime is
// 15 s (learn.microsoft.com/archive/blogs/san/
// microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference).
constexpr absl::Duration kPortalTime = absl::Seconds(30);

// The minimum time for one portal while the call has no session with the target. A call with little
// time tries only some portals, and a repeated call begins with the remaining ones.
constexpr absl::Duration kLeastPortalTime = absl::Seconds(5);

// The time for all portals. Connect() divides it, or the call's time if that is shorter, equally
// among several portals and the disk. So a portal that does not answer leaves time for the others.
constexpr absl::Duration kAllPortalsTime = absl::Minutes(2);

// The time for a failed call to end the sessions that other calls kept for it.
constexpr absl::Duration kAfterwards = absl::Seconds(5);

// How long to wait for a session's disks.
constexpr absl::Duration kLunArrival = absl::Seconds(10);

// Returns true for an IP address. A DNS name has no colon, and its last label has a letter.
bool IsIpAddress(absl::string_view address) {
  return absl::StrContains(address, ':') ||
         address.find_first_not_of("0123456789.") == absl::string_view::npos;
}

bool IsBy(const host::IscsiSession& session, const IscsiPortal& portal) {
  return std::any_of(
      session.connections.begin(), session.connections.end(),
      [&](const host::IscsiConnection& connection) { return IsSame(connection.portal, portal); });
}

class TargetStager {
 public:
  TargetStager(const groups::HandlerDeps& deps, const CallContext& context,
               const StageTargetRequest& request, std::vector<IscsiPortal> portals,
               host::ChapCredentials credentials)
      : deps_(deps),
        host_(*deps.host),
        context_(context),
        request_(request),
        portals_(std::move(portals)),
        credentials_(std::move(credentials)) {}

  // Connects the target and returns the LUN's disk. `target` is the target path. Until EndKept() or
  // this object's end, other calls of the storage group keep the request's sessions and portals.
  absl::StatusOr<DiskDescription> Run(const ConfinedPath& target) {
    ABSL_ASSIGN_OR_RETURN(mounted_, FindMounted(host_, context_, target));
    stage_.emplace(
        deps_.stages.get(),
        [this](const std::string& iqn, const host::IscsiSession& session) {
          return EqualNames(iqn, request_.iqn) && (IsOwn(session) || MayBeNew(session));
        },
        [this](const IscsiPortal& portal) {
          return std::ranges::any_of(portals_,
                                     [&](const auto& one) { return IsSame(one, portal); });
        });
    ABSL_RETURN_IF_ERROR(stage_->AwaitEnds(context_));
    ABSL_RETURN_IF_ERROR(host_.iscsi().AwaitEnds(context_, request_.iqn));
    ABSL_RETURN_IF_ERROR(Connect());
    ABSL_RETURN_IF_ERROR(MakeOwnPersistent());
    ABSL_ASSIGN_OR_RETURN(const auto disks, AwaitDisks());
    return ChooseDisk(request_, disks, others_);
  }

  // Ends the unused sessions of the target if another call has kept a session for this call, even
  // if the caller has left: the kubelet does not repeat an UnstageTarget that has succeeded.
  // REQUIRES: this call has failed.
  void EndKept() {
    if (!stage_.has_value() || !stage_->Leave()) return;
    const CallContext afterwards = context_.Afterwards(kAfterwards);
    host_.iscsi().AwaitLogins(host::TeardownStep(afterwards), request_.iqn).IgnoreError();
    (void)EndUnusedSessions(deps_, afterwards, request_.iqn,
                            [](const host::IscsiSession&) { return true; });
  }

  // The steps and failed portals of Run().
  StageTargetResponse response;
  StepClock clock;

 private:
  void AddStep(StorageStep step) { clock.Add(step, &response); }

  // Returns true if the request may use the session. Either this call opened the session, or the
  // session has the request's CHAP mode, and uses one of the request's portals or shows the disk of
  // the volume that was mounted at the target path. A session by another portal may be with another
  // target of this name.
  bool IsOwn(const host::IscsiSession& session) const {
    if (opened_.contains(session.id)) return true;
    if (session.chap != credentials_.mode) return false;
    if (mounted_.has_value() && session.Shows(mounted_->disk)) return true;
    return std::any_of(portals_.begin(), portals_.end(),
                       [&](const IscsiPortal& portal) { return IsBy(session, portal); });
  }

  // Returns true if LogIn() may be opening this session. If the request names the portal by DNS,
  // every new session counts, because Windows reports only the portal's address.
  bool MayBeNew(const host::IscsiSession& session) const {
    return login_ != nullptr && !seen_.contains(session.id) &&
           (IsBy(session, *login_) || !IsIpAddress(login_->address));
  }

  // Updates `mounted_`, `own_`, `others_` and `seen_`.
  absl::Status LookAtSessions(const CallContext& context) {
    ABSL_ASSIGN_OR_RETURN(auto sessions, host_.iscsi().GetSessions(context, request_.iqn));
    bool has_left = false;
    if (mounted_.has_value()) {
      // Windows may have given the number of the mounted volume's disk to another disk.
      const auto disk = host_.volume().GetDiskNumber(context, mounted_->volume);
      if (!disk.ok() && !absl::IsNotFound(disk.status())) return disk.status();
      has_left = !disk.ok() || *disk != mounted_->disk;
    }
    own_ = std::move(sessions);
    stage_->Change([&] {
      if (has_left) mounted_.reset();
      seen_.clear();
      for (const host::IscsiSession& session : own_) seen_.insert(session.id);
    });
    others_ =
        std::erase_if(own_, [&](const host::IscsiSession& session) { return !IsOwn(session); });
    return absl::OkStatus();
  }

  // Without multipath, returns true if `own_` has any session. With multipath, returns true if it
  // has a session by the portal.
  bool HasSession(const IscsiPortal& portal) const {
    if (!request_.multipath) return !own_.empty();
    return std::any_of(own_.begin(), own_.end(),
                       [&](const host::IscsiSession& session) { return IsBy(session, portal); });
  }

  absl::Status Connect() {
    ABSL_RETURN_IF_ERROR(LookAtSessions(context_));
    const SteadyTime end = std::min(context_.deadline(), SteadyTime::Now() + kAllPortalsTime);
    std::vector<absl::Status> failed;
    size_t shares = portals_.size() + (portals_.size() > 1 ? 1 : 0);
    for (const size_t i : deps_.failed_portals->Order(context_, request_.iqn, request_.portals)) {
      const absl::Duration share = (end - SteadyTime::Now()) / shares--;
      if (HasSession(portals_[i])) continue;
      const auto least = own_.empty() ? kLeastPortalTime : absl::ZeroDuration();
      absl::Status status = ConnectBy(portals_[i], std::clamp(share, least, kPortalTime));
      if (status.ok()) {
        ABSL_RETURN_IF_ERROR(LookAtSessions(context_));
        continue;
      }
      // This error concerns all portals: it is not recorded for one, and no further portal is
      // tried.
      if (host::IsInitiatorStopped(status)) return status;
      const absl::Status over = context_.Check();
      // If the call's end interrupted the portal, remembers the portal as failed only if no portal
      // before it failed.
      const std::string& name = request_.portals[i];
      if (over.ok() || failed.empty()) deps_.failed_portals->Note(context_, request_.iqn, name);
      response.failed_portals.push_back({.portal = name, .message = std::string(status.message())});
      failed.push_back(std::move(status));
      if (!over.ok()) return WithTried(over);
    }
    if (own_.empty()) return NoSessionError(failed);
    deps_.failed_portals->Forget(context_, request_.iqn);
    return absl::OkStatus();
  }

  absl::Status WithTried(const absl::Status& over) const {
    return absl::Status(over.code(),
                        absl::StrCat(over.message(), "; portals tried: ",
                                     absl::StrJoin(response.failed_portals, "; ",
                                                   [](std::string* out, const PortalFailure& f) {
                                                     absl::StrAppend(out, f.portal, " (", f.message,
                                                                     ")");
                                                   })));
  }

  absl::Status ConnectBy(const IscsiPortal& portal, absl::Duration time) {
    const CallContext context = context_.WithTimeout(time);
    absl::Status status;
    // Tries twice, because an earlier UnstageTarget call may still remove the portal once.
    for (const bool is_last : {false, true}) {
      status = Register(context, portal);
      if (status.ok()) status = LogIn(context, portal);
      if (is_last || !absl::IsNotFound(status)) break;
    }
    if (status.ok() || context.Check().ok()) return status;
    return absl::UnavailableError(absl::StrCat(
        "no success within ", absl::FormatDuration(absl::Trunc(time, absl::Milliseconds(1))), ": ",
        status.message()));
  }

  absl::Status Register(const CallContext& context, const IscsiPortal& portal) {
    while (true) {
      // The target may be newer than the last answer of a registered portal. Refreshes the portal
      // without its lock, so that calls need not wait for each other.
      const absl::Status asked = host_.iscsi().RefreshPortal(context, portal);
      if (asked.ok()) AddStep(StorageStep::kRefreshedPortal);
      if (!absl::IsNotFound(asked)) return absl::IsUnavailable(asked) ? asked : context.Check();
      ABSL_ASSIGN_OR_RETURN(const auto lock, groups::LockPortal(*deps_.locks, context, portal));
      // The call that held the lock has probably added the portal.
      if (lock.has_waited()) continue;
      const absl::Status added = host_.iscsi().AddPortal(context, portal, credentials_);
      if (added.ok()) AddStep(StorageStep::kAddedPortal);
      if (!absl::IsAlreadyExists(added)) return added;
    }
  }

  absl::Status LogIn(const CallContext& context, const IscsiPortal& portal) {
    ABSL_ASSIGN_OR_RETURN(const auto lock,
                          groups::LockSession(*deps_.locks, context, request_.iqn, portal));
    // Another call may have logged in, or may be doing so now.
    for (const bool beside_others : {request_.multipath, true}) {
      ABSL_RETURN_IF_ERROR(LookAtSessions(context));
      if (HasSession(portal)) return absl::OkStatus();
      if (others_ > 0) {
        ABSL_RETURN_IF_ERROR(EndOthers(context, portal));
      }
      stage_->Change([&] { login_ = &portal; });
      const auto opened = host_.iscsi().OpenSession(
          context, portal, request_.iqn, credentials_,
          {.is_persistent = request_.persistent, .allow_multipath = beside_others || others_ > 0});
      stage_->Change([&] {
        login_ = nullptr;
        if (opened.ok()) opened_.insert(*opened);
      });
      if (opened.ok()) AddStep(StorageStep::kConnectedTarget);
      if (!absl::IsAlreadyExists(opened.status())) return opened.status();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "chap: target ", request_.iqn, " is connected by portal ", portal.address, ":", portal.port,
        " with another authentication, and a disk of it is in use: unstage its volumes first"));
  }

  // Ends unused sessions that the request cannot use, with multipath only those by `portal`.
  // Without multipath Windows opens only one session with a target of this name.
  absl::Status EndOthers(const CallContext& context, const IscsiPortal& portal) {
    const auto sessions =
        EndUnusedSessions(deps_, context, request_.iqn, [&](const host::IscsiSession& session) {
          return !IsOwn(session) && (!request_.multipath || IsBy(session, portal));
        });
    if (sessions.ok() && sessions->ended) AddStep(StorageStep::kDisconnectedTarget);
    // Ignores an error, because the login fails if a remaining session prevents it.
    ABSL_RETURN_IF_ERROR(context.Check());
    return LookAtSessions(context);
  }

  // Makes only the sessions in `own_` persistent, because Windows must not use these credentials to
  // restore another tenant's session after a restart. Has no effect unless `persistent` is set.
  absl::Status MakeOwnPersistent() {
    if (!request_.persistent) return absl::OkStatus();
    std::set<std::string> ids;
    for (const host::IscsiSession& session : own_) {
      if (!session.is_persistent) ids.insert(session.id);
    }
    if (ids.empty()) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(const auto lock,
                          groups::LockTarget(*deps_.locks, context_, request_.iqn));
    ABSL_RETURN_IF_ERROR(host_.iscsi().MakePersistent(context_, request_.iqn, ids, credentials_,
                                                      request_.multipath));
    AddStep(StorageStep::kMadePersistent);
    return absl::OkStatus();
  }

  absl::StatusOr<LunDisks> Look() {
    // Describes the disks before it lists the sessions. If another disk gets a number of a
    // session's disk afterwards, StageFoundDisk() then refuses that disk.
    ABSL_ASSIGN_OR_RETURN(const auto all,
                          host_.disk().ListDisks(context_, host::AskDisks::kLocation));
    ABSL_RETURN_IF_ERROR(LookAtSessions(context_));
    if (own_.empty()) {
      return absl::UnavailableError(absl::StrCat(
          "target ", request_.iqn, " was disconnected during the call: repeat the call"));
    }
    return FindLun(request_.lun_id, own_, all);
  }

  // Waits until every session shows the LUN, or, without multipath, until one does. Returns the
  // LUN's disks. After kLunArrival returns the disks that have appeared, or NOT_FOUND if none has.
  absl::StatusOr<std::vector<DiskDescription>> AwaitDisks() {
    const CallContext waiting = context_.WithTimeout(kLunArrival);
    host::DeviceWatch devices = host_.WatchDevices(kFirstPoll, kLastPoll);
    bool rescanned = false;
    while (true) {
      devices.Watch();
      ABSL_ASSIGN_OR_RETURN(const auto found, Look());
      if (found.complete || (!request_.multipath && !found.disks.empty())) return found.disks;
      if (!rescanned) {
        ABSL_RETURN_IF_ERROR(host_.disk().Rescan(context_));
        AddStep(StorageStep::kRescanned);
        rescanned = true;
        continue;
      }
      if (devices.Wait(waiting).ok()) continue;
      ABSL_RETURN_IF_ERROR(context_.Check());
      if (!found.disks.empty()) return found.disks;
      return absl::NotFoundError(absl::StrCat("lun_id: target ", request_.iqn,
                                              " shows no disk with LUN ", request_.lun_id,
                                              " by its sessions with ", PortalsOf(own_),
                                              ". Check that the array gives the node this LUN; if "
                                              "the target has moved, name its portal"));
    }
  }

  const groups::HandlerDeps& deps_;
  host::Host& host_;
  const CallContext& context_;
  const StageTargetRequest& request_;
  const std::vector<IscsiPortal> portals_;
  const host::ChapCredentials credentials_;
  // The volume that was mounted at the target path when the call began. Empty if the volume has
  // left its disk since.
  std::optional<MountedVolume> mounted_;
  // The ids of the sessions that this call opened.
  std::set<std::string> opened_;
  // The ids of all the target's sessions when this call last listed them.
  std::set<std::string> seen_;
  // The portal that LogIn() uses now, or null.
  const IscsiPortal* login_ = nullptr;
  // The target's sessions that the request may use, and the number of all others.
  std::vector<host::IscsiSession> own_;
  size_t others_ = 0;
  // Declared after the members that its functions read. Set by Run().
  std::optional<TargetStages::Stage> stage_;
};

}  // namespace

absl::StatusOr<StageTargetResponse> StorageService::StageTarget(const CallContext& context,
                                                                const StageTargetRequest& request) {
  if (request.portals.empty()) return absl::InvalidArgumentError("portals: is empty");
  ABSL_ASSIGN_OR_RETURN(auto portals, ReadPortals("portals", request.portals));
  for (size_t i = 0; i < portals.size(); ++i) {
    if (!request.multipath || IsIpAddress(portals[i].address)) continue;
    // Windows identifies the portal of a session only by its address.
    return absl::InvalidArgumentError(
        absl::StrCat("portals[", i, "]: must be an IP address when multipath is set"));
  }
  ABSL_RETURN_IF_ERROR(iscsi::CheckIqn(request.iqn));
  ABSL_ASSIGN_OR_RETURN(
      auto credentials,
      iscsi::ReadChap("chap: CHAP_UNUSED", static_cast<host::ChapMode>(request.chap),
                      request.chap_username, request.chap_secret));
  ABSL_RETURN_IF_ERROR(CheckLun(request.lun_id, false));
  const StageVolumeRequest staging = {.target_path = request.target_path,
                                      .file_system = request.file_system,
                                      .allocation_unit_bytes = request.allocation_unit_bytes,
                                      .label = request.label};
  ABSL_ASSIGN_OR_RETURN(const auto fields, ReadStaging(deps_, staging));

  TargetStager stager(deps_, context, request, std::move(portals), std::move(credentials));
  const auto disk = stager.Run(fields.target);
  auto staged = disk.ok() ? StageFoundDisk(deps_, context, staging, fields, *disk, stager.clock)
                          : absl::StatusOr<StageVolumeResponse>(disk.status());
  if (!staged.ok()) {
    stager.EndKept();
    return staged.status();
  }
  StageTargetResponse response = std::move(stager.response);
  response.disk_number = staged->disk_number;
  response.volume_id = std::move(staged->volume_id);
  response.size_bytes = staged->size_bytes;
  response.steps.insert(response.steps.end(), staged->steps.begin(), staged->steps.end());
  response.step_milliseconds.insert(response.step_milliseconds.end(),
                                    staged->step_milliseconds.begin(),
                                    staged->step_milliseconds.end());
  response.warnings = std::move(staged->warnings);
  return response;
}

}  // namespace csi_proxy::storage
