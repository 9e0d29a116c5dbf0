// Counts the cases in which Windows did not behave as expected and the service took another way. A
// node's counts show which expectations fail there. server/host/doubts.md describes the
// expectations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"

namespace csi_proxy {

enum class Fallback {
  kMethodRepeated,
  kMethodRefusedAgain,
  kPartitionWithoutLetter,
  kFileSystemRaw,
  kMountDirectoryLetGo,
  kResizeRepeated,
  kWindowsOwnMaximum,
  kGrowthGivenUp,
  kGrowthObstructed,
  kFileSystemExtended,
  kFileSystemNotExtended,
  kDiskStaysOnline,
  kAzureLunUnknown,
  kOpenRepeated,
  kPartitionsBroughtOnline,
  kFewerVolumes,
  kVolumeUnknownToWmi,
  kVerbatimMountPath,
  kPage83FromWmi,
  kDiskDoesNotAnswer,
  kStaleMountFolder,
  kFolderByAnotherName,
  kMountForgotten,
  kMountNotEnded,
  kUnmountedUnflushed,
  kDiskUnknownToWmi,
  kDiskWithoutNumber,
  kSizeNotUpdated,
  kLayoutNotRead,
  kReadOnlyAfterOnline,
  kDismountByReading,
  kPlainDeletion,
  kPlainDeletionElsewhere,
  kNamespaceReversed,
  kPortalNotUpdated,
  kPortalRefuses,
  kNoPrivateNamespace,
};

struct FallbackFacts {
  Fallback fallback;
  const char* name;
  // The number, in server/host/doubts.md, of the claim that the fallback disproves. 0 if the
  // fallback has another reason, such as a disk that does not answer.
  int doubt;
};

// Must be in the order of the enumeration.
inline constexpr std::array kFallbacks = std::to_array<FallbackFacts>({
    {Fallback::kMethodRepeated, "method-repeated", 0},
    {Fallback::kMethodRefusedAgain, "method-refused-again", 2},
    {Fallback::kPartitionWithoutLetter, "partition-without-letter", 5},
    {Fallback::kFileSystemRaw, "file-system-raw", 7},
    {Fallback::kMountDirectoryLetGo, "mount-directory-let-go", 8},
    {Fallback::kResizeRepeated, "resize-repeated", 10},
    {Fallback::kWindowsOwnMaximum, "windows-own-maximum", 10},
    {Fallback::kGrowthGivenUp, "growth-given-up", 10},
    {Fallback::kGrowthObstructed, "growth-obstructed", 0},
    {Fallback::kFileSystemExtended, "file-system-extended", 0},
    {Fallback::kFileSystemNotExtended, "file-system-not-extended", 80},
    {Fallback::kDiskStaysOnline, "disk-stays-online", 12},
    {Fallback::kAzureLunUnknown, "azure-lun-unknown", 14},
    {Fallback::kOpenRepeated, "open-repeated", 15},
    {Fallback::kPartitionsBroughtOnline, "partitions-brought-online", 21},
    {Fallback::kFewerVolumes, "fewer-volumes", 21},
    {Fallback::kVolumeUnknownToWmi, "volume-unknown-to-wmi", 21},
    {Fallback::kVerbatimMountPath, "verbatim-mount-path", 22},
    {Fallback::kPage83FromWmi, "page83-from-wmi", 23},
    {Fallback::kDiskDoesNotAnswer, "disk-does-not-answer", 0},
    {Fallback::kStaleMountFolder, "stale-mount-folder", 24},
    {Fallback::kFolderByAnotherName, "folder-by-another-name", 24},
    {Fallback::kMountForgotten, "mount-forgotten", 25},
    {Fallback::kMountNotEnded, "mount-not-ended", 0},
    {Fallback::kUnmountedUnflushed, "unmounted-unflushed", 78},
    {Fallback::kDiskUnknownToWmi, "disk-unknown-to-wmi", 26},
    {Fallback::kDiskWithoutNumber, "disk-without-number", 26},
    {Fallback::kSizeNotUpdated, "size-not-updated", 27},
    {Fallback::kLayoutNotRead, "layout-not-read", 27},
    {Fallback::kReadOnlyAfterOnline, "read-only-after-online", 28},
    {Fallback::kDismountByReading, "dismount-by-reading", 29},
    {Fallback::kPlainDeletion, "plain-deletion", 30},
    {Fallback::kPlainDeletionElsewhere, "plain-deletion-elsewhere", 0},
    {Fallback::kNamespaceReversed, "namespace-reversed", 31},
    {Fallback::kPortalNotUpdated, "portal-not-updated", 34},
    {Fallback::kPortalRefuses, "portal-refuses", 0},
    {Fallback::kNoPrivateNamespace, "no-private-namespace", 56},
});

// Counts `fallback` and calls the observer. `why`, if not empty, gives a reason. Thread-safe.
void RecordFallback(Fallback fallback, absl::string_view why = "");

// Returns how often this process has recorded `fallback`. Thread-safe.
uint64_t FallbackCount(Fallback fallback);

// Sets the process's only observer; null removes it. RecordFallback() calls the observer on the
// thread of its caller.
using FallbackObserver = std::function<void(const FallbackFacts& facts, absl::string_view why)>;
void ObserveFallbacks(FallbackObserver observer);

}  // namespace csi_proxy
