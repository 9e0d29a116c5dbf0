// The calls of the storage group, and the search for a disk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/handler_deps.h"
#include "server/host/disk_host.h"
#include "server/host/volume_host.h"
#include "server/names/windows_path.h"

namespace csi_proxy::storage {

// The maximum number of attempts of a call if other programs keep changing its target.
inline constexpr int kAttempts = 8;
// A listing that waits for each disk or volume leaves 1/kTimeToAnswer of its time for the answer,
// or a second if that is less.
inline constexpr int kTimeToAnswer = 4;
// The first and the longest pause between two searches for a disk that has not appeared yet.
inline constexpr absl::Duration kFirstPoll = absl::Milliseconds(10);
inline constexpr absl::Duration kLastPoll = absl::Seconds(1);

// Measures the steps of one call.
class StepClock {
 public:
  // Appends a step that has just ended to the answer, with the time since the previous step, or
  // since this object was made.
  template <typename Response>
  void Add(StorageStep step, Response* response) {
    const SteadyTime now = SteadyTime::Now();
    response->steps.push_back(step);
    response->step_milliseconds.push_back(static_cast<uint32_t>(
        std::min<int64_t>(absl::ToInt64Milliseconds(now - begin_), UINT32_MAX)));
    begin_ = now;
  }

 private:
  SteadyTime begin_ = SteadyTime::Now();
};

// The handler of the group. Thread-safe. csi_proxy/storage/hub.h documents each call.
class StorageService final : public Service {
 public:
  explicit StorageService(const groups::HandlerDeps& deps) : deps_(deps) {}

  // Calls on disks and volumes (disks.cc).
  absl::StatusOr<ListDisksResponse> ListDisks(const CallContext& context,
                                              const ListDisksRequest& request) override;
  absl::StatusOr<SetDiskReadOnlyResponse> SetDiskReadOnly(
      const CallContext& context, const SetDiskReadOnlyRequest& request) override;
  absl::StatusOr<FormatVolumeResponse> FormatVolume(const CallContext& context,
                                                    const FormatVolumeRequest& request) override;

  // Report the health of volumes (health.cc).
  absl::StatusOr<GetVolumeHealthResponse> GetVolumeHealth(
      const CallContext& context, const GetVolumeHealthRequest& request) override;
  absl::StatusOr<ListVolumeHealthResponse> ListVolumeHealth(
      const CallContext& context, const ListVolumeHealthRequest& request) override;

  // List mounts and links, and measure the space at a path (mounts.cc). These calls take no lock
  // but LockListing().
  absl::StatusOr<GetPathStatsResponse> GetPathStats(const CallContext& context,
                                                    const GetPathStatsRequest& request) override;
  absl::StatusOr<ListMountsResponse> ListMounts(const CallContext& context,
                                                const ListMountsRequest& request) override;
  absl::StatusOr<ListSmbMappingsResponse> ListSmbMappings(
      const CallContext& context, const ListSmbMappingsRequest& request) override;

  // Removes a mount or link that does not work (mounts.cc). Takes and releases LockListing(), then
  // takes the locks of the share, if the link leads to one, and of the path.
  absl::StatusOr<RemoveMountResponse> RemoveMount(const CallContext& context,
                                                  const RemoveMountRequest& request) override;

  // Stages a disk's volume at a directory and unstages it (stage.cc, unstage.cc). Either call can
  // be repeated after any crash.
  absl::StatusOr<StageVolumeResponse> StageVolume(const CallContext& context,
                                                  const StageVolumeRequest& request) override;
  absl::StatusOr<UnstageVolumeResponse> UnstageVolume(const CallContext& context,
                                                      const UnstageVolumeRequest& request) override;

  // Stages and unstages a share at a link (shares.cc). Either call can be repeated after any crash.
  absl::StatusOr<StageShareResponse> StageShare(const CallContext& context,
                                                const StageShareRequest& request) override;
  absl::StatusOr<UnstageShareResponse> UnstageShare(const CallContext& context,
                                                    const UnstageShareRequest& request) override;

  // Stages a LUN of an iSCSI target, with its sessions, and unstages it (stage_target.cc,
  // unstage_target.cc). Either call can be repeated after any crash.
  absl::StatusOr<StageTargetResponse> StageTarget(const CallContext& context,
                                                  const StageTargetRequest& request) override;
  absl::StatusOr<UnstageTargetResponse> UnstageTarget(const CallContext& context,
                                                      const UnstageTargetRequest& request) override;

 private:
  const groups::HandlerDeps deps_;
};

// The parsed fields of a request, except its disk.
struct StagingFields {
  ConfinedPath target;
  host::FormatOptions options;
};
absl::StatusOr<StagingFields> ReadStaging(const groups::HandlerDeps& deps,
                                          const StageVolumeRequest& request);
// Returns FAILED_PRECONDITION if the disk cannot have allocation units of this size, because
// Windows would refuse the size only after the disk was initialised. Accepts 0.
absl::Status CheckAllocationUnit(const host::DiskDescription& disk, uint32_t allocation_unit_bytes);
// Does the work of StageVolume() for a disk that was found already. REQUIRES: `clock` was made when
// the first step began; `request.disk` is empty.
absl::StatusOr<StageVolumeResponse> StageFoundDisk(
    const groups::HandlerDeps& deps, const CallContext& context, const StageVolumeRequest& request,
    const StagingFields& fields, const host::DiskDescription& disk, StepClock clock);
// Does the work of UnstageVolume(). REQUIRES: `clock` was made when the first step began.
absl::StatusOr<UnstageVolumeResponse> UnstageVolume(const groups::HandlerDeps& deps,
                                                    const CallContext& context,
                                                    const ConfinedPath& target, bool keep_online,
                                                    StepClock clock);

// Returns true if `point` is the mount at `target`. `real_path` is LinkInfo::real_path of the
// target, because the mount manager may name a folder without the links above it.
bool IsMountAt(const host::MountPoint& point, const ConfinedPath& target,
               absl::string_view real_path);

// The search for the disk of a request (find.cc).

// Returns true if a text is a decimal number below 2^32.
bool IsDecimal(absl::string_view text);

// Returns INVALID_ARGUMENT, naming the field, unless the selector has exactly one of number,
// serial_number, page83 and lun_id, and all its fields are valid.
absl::Status CheckSelector(const DiskSelector& selector);

// Returns the disk of a selector. If no disk fits, rescans, sets `rescanned` and retries for five
// seconds, because a cloud may have just attached the disk. Returns NOT_FOUND if still no disk
// fits. Returns FAILED_PRECONDITION, with the disks' numbers, if several disks fit. REQUIRES:
// CheckSelector() accepts the selector.
//
// A LUN without adapter and bus never selects a disk that Windows or the node uses (windows_use.h).
// Nor does it select another disk on the adapter of Windows' own disk, if Windows' disk has a LUN:
// clouds put the temporary disk there, and the next adapter may have the same LUN.
absl::StatusOr<host::DiskDescription> FindDisk(const groups::HandlerDeps& deps,
                                               const CallContext& context,
                                               const DiskSelector& selector, bool* rescanned);

// Returns the partition of the disk's volume, or null if it does not exist yet.
const host::Partition* DataPartition(const host::DiskDescription& disk);

// Returns FAILED_PRECONDITION for a disk with several data partitions, or with partitions that
// StageVolume does not make. An MBR disk may have one data partition: Kubernetes made such disks
// before CSI drivers existed (github.com/kubernetes/kubernetes issue 64082).
absl::Status CheckPartitions(const host::DiskDescription& disk);

}  // namespace csi_proxy::storage
