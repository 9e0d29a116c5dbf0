// The calls of the storage group, which storage_service.cc puts behind its rpcs, and how they find
// a disk. The hub says what each call promises.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/storage/hub.h"
#include "server/groups/deps.h"

namespace csi_proxy::storage {

// The number of times that a call begins anew when something else has come to its target.
inline constexpr int kAttempts = 8;
// The pauses between two looks for a disk that is to come.
inline constexpr absl::Duration kFirstPoll = absl::Milliseconds(10);
inline constexpr absl::Duration kLastPoll = absl::Seconds(1);

// Runs a step of a teardown, whose failure may pass, up to three times with pauses, until
// `is_final` returns true for its result. Returns the last result; earlier if the call ends.
template <typename Step, typename IsFinal>
auto TryThrice(const CallContext& context, Step step, IsFinal is_final) {
  constexpr absl::Duration kPause = absl::Milliseconds(100);
  for (int tries = 1;; ++tries) {
    auto result = step();
    if (is_final(result) || tries == 3 || !context.SleepFor(kPause).ok()) return result;
  }
}

// Disks and volumes as a whole: disks.cc.
absl::StatusOr<ListDisksResponse> Disks(const groups::Deps& deps, const CallContext& context);
absl::StatusOr<SetDiskReadOnlyResponse> SetReadOnly(const groups::Deps& deps,
                                                    const CallContext& context,
                                                    const SetDiskReadOnlyRequest& request);
absl::StatusOr<FormatVolumeResponse> Format(const groups::Deps& deps, const CallContext& context,
                                            const FormatVolumeRequest& request);
absl::StatusOr<GetVolumeHealthResponse> Health(const groups::Deps& deps, const CallContext& context,
                                               const GetVolumeHealthRequest& request);

// Mounts, links, and the space below the working directories: mounts.cc. These take no locks.
absl::StatusOr<GetPathStatsResponse> PathStats(const groups::Deps& deps, const CallContext& context,
                                               const GetPathStatsRequest& request);
absl::StatusOr<ListMountsResponse> Mounts(const groups::Deps& deps, const CallContext& context,
                                          const ListMountsRequest& request);
absl::StatusOr<ListSmbMappingsResponse> SmbMappings(const groups::Deps& deps,
                                                    const CallContext& context);

// A disk's volume made usable at a directory, and taken back: stage.cc and unstage.cc. Either call
// can be repeated after any crash.
absl::StatusOr<StageVolumeResponse> Stage(const groups::Deps& deps, const CallContext& context,
                                          const StageVolumeRequest& request);
absl::StatusOr<UnstageVolumeResponse> Unstage(const groups::Deps& deps, const CallContext& context,
                                              const UnstageVolumeRequest& request);

// A share made usable at a link, and taken back: shares.cc. Likewise.
absl::StatusOr<StageShareResponse> Stage(const groups::Deps& deps, const CallContext& context,
                                         const StageShareRequest& request);
absl::StatusOr<UnstageShareResponse> Unstage(const groups::Deps& deps, const CallContext& context,
                                             const UnstageShareRequest& request);

// Checks all of a request but its disk.
absl::Status CheckStaging(const groups::Deps& deps, const StageVolumeRequest& request);
// As Stage(), with a disk that was found already: `request.disk` is ignored.
absl::StatusOr<StageVolumeResponse> StageFound(const groups::Deps& deps, const CallContext& context,
                                               const StageVolumeRequest& request,
                                               const host::DiskDescription& disk);

// The same for a LUN of an iSCSI target, with the sessions: stage_target.cc and
// unstage_target.cc.
absl::StatusOr<StageTargetResponse> StageLun(const groups::Deps& deps, const CallContext& context,
                                             const StageTargetRequest& request);
absl::StatusOr<UnstageTargetResponse> UnstageLun(const groups::Deps& deps,
                                                 const CallContext& context,
                                                 const UnstageTargetRequest& request);

// The disk that a request means: find.cc.

// Tells whether a text is a number in decimal, below 2^32.
bool IsDecimal(absl::string_view text);

// INVALID_ARGUMENT, naming the field, unless it names one disk in one way.
absl::Status CheckSelector(const DiskSelector& selector);

// The disk that a checked selector means. A LUN without adapter and bus never means a disk that
// Windows lives on, nor another one on the adapter of Windows' own disk: that is where clouds put
// the node's temporary disk, whose LUN a data disk on the next adapter may have as well. When there
// is none, the disks are scanned anew, which sets `rescanned`, and looked for again for some
// seconds, because a cloud may have attached one just now. NOT_FOUND after that;
// FAILED_PRECONDITION, naming them, when several fit.
absl::StatusOr<host::DiskDescription> FindDisk(const groups::Deps& deps, const CallContext& context,
                                               const DiskSelector& selector, bool* rescanned);

}  // namespace csi_proxy::storage
