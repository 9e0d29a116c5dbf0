#include "integration/sample/mounter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"

namespace csi_proxy::sample {
namespace {

// Converts slashes to backslashes, because the kubelet and csi-sanity join paths with `/`.
std::string Windows(const std::string& path) { return absl::StrReplaceAll(path, {{"/", "\\"}}); }

}  // namespace

Mounter::Mounter(const std::shared_ptr<Connection>& connection)
    : disk_(connection), volume_(connection), filesystem_(connection) {}

absl::Status Mounter::Check(const CallOptions& call) {
  return disk_.ListDiskIDs({}, call).status();
}

absl::Status Mounter::Stage(const std::string& serial, const std::string& path,
                            const CallOptions& call) {
  // Rescans, because the disk may be new or may have grown.
  if (absl::Status s = disk_.Rescan({}, call).status(); !s.ok()) return s;
  const absl::StatusOr<uint32_t> disk = FindDisk(serial, call);
  if (!disk.ok()) return disk.status();
  // The disk is offline after Unstage, or by Windows' policy for new disks.
  if (absl::Status s = SetOnline(*disk, true, call); !s.ok()) return s;
  disk::v1::PartitionDiskRequest partition;
  partition.set_disk_number(*disk);
  if (absl::Status s = disk_.PartitionDisk(partition, call).status(); !s.ok()) return s;
  const absl::StatusOr<std::string> volume = FirstVolume(*disk, call);
  if (!volume.ok()) return volume.status();

  volume::v1::IsVolumeFormattedRequest is_formatted;
  is_formatted.set_volume_id(*volume);
  const auto formatted = volume_.IsVolumeFormatted(is_formatted, call);
  if (!formatted.ok()) return formatted.status();
  if (!formatted->formatted()) {
    volume::v1::FormatVolumeRequest format;
    format.set_volume_id(*volume);
    if (absl::Status s = volume_.FormatVolume(format, call).status(); !s.ok()) return s;
  }

  filesystem::v1::MkdirRequest mkdir;
  mkdir.set_path(Windows(path));
  if (absl::Status s = filesystem_.Mkdir(mkdir, call).status(); !s.ok()) return s;
  volume::v1::MountVolumeRequest mount;
  mount.set_volume_id(*volume);
  mount.set_target_path(Windows(path));
  if (absl::Status s = volume_.MountVolume(mount, call).status(); !s.ok()) return s;
  volume::v1::ResizeVolumeRequest resize;
  resize.set_volume_id(*volume);
  return volume_.ResizeVolume(resize, call).status();
}

absl::Status Mounter::Unstage(const std::string& serial, const std::string& path,
                              const CallOptions& call) {
  const absl::StatusOr<uint32_t> disk = FindDisk(serial, call);
  if (!disk.ok()) return disk.status();
  const absl::StatusOr<std::string> mounted = VolumeAt(path, call);
  if (!mounted.ok() && !absl::IsNotFound(mounted.status())) return mounted.status();
  if (mounted.ok()) {
    const absl::StatusOr<uint32_t> owner = DiskOf(*mounted, call);
    if (!owner.ok()) return owner.status();
    if (*owner != *disk) {
      return absl::FailedPreconditionError(absl::StrCat(
          "staging_target_path: ", *mounted, " of disk ", *owner, " is mounted at ", path));
    }
    volume::v1::UnmountVolumeRequest unmount;
    unmount.set_volume_id(*mounted);
    unmount.set_target_path(Windows(path));
    if (absl::Status s = volume_.UnmountVolume(unmount, call).status(); !s.ok()) return s;
  }
  if (absl::Status s = Remove(path, call); !s.ok()) return s;
  // A disk that is offline can be detached without loss of data.
  return SetOnline(*disk, false, call);
}

absl::Status Mounter::Publish(const std::string& serial, const std::string& staging,
                              const std::string& target, const CallOptions& call) {
  if (absl::StatusOr<uint32_t> disk = FindDisk(serial, call); !disk.ok()) return disk.status();
  const absl::StatusOr<std::string> staged = VolumeOfDiskAt(serial, staging, call);
  if (absl::IsNotFound(staged.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("staging_target_path: the volume is not staged at ", staging));
  }
  if (!staged.ok()) return staged.status();

  const absl::StatusOr<bool> exists = Exists(target, call);
  if (!exists.ok()) return exists.status();
  if (*exists) {
    const absl::StatusOr<std::string> published = VolumeAt(target, call);
    if (published.ok() && *published == *staged) return absl::OkStatus();
    if (published.ok()) {
      return absl::AlreadyExistsError(
          absl::StrCat("target_path: another volume, ", *published, ", is at ", target));
    }
    if (!absl::IsNotFound(published.status())) return published.status();
    // Kubelet creates the directory, but a link needs a free path.
    if (absl::Status s = Remove(target, call); !s.ok()) return s;
  }
  filesystem::v1::CreateSymlinkRequest link;
  link.set_source_path(Windows(staging));
  link.set_target_path(Windows(target));
  return filesystem_.CreateSymlink(link, call).status();
}

absl::Status Mounter::Unpublish(const std::string& target, const CallOptions& call) {
  return Remove(target, call);
}

absl::StatusOr<int64_t> Mounter::Expand(const std::string& serial, const std::string& path,
                                        const CallOptions& call) {
  const absl::StatusOr<uint32_t> disk = FindDisk(serial, call);
  if (!disk.ok()) return disk.status();
  const absl::StatusOr<std::string> volume = VolumeOfDiskAt(serial, path, call);
  if (!volume.ok()) return volume.status();
  if (absl::Status s = disk_.Rescan({}, call).status(); !s.ok()) return s;
  volume::v1::ResizeVolumeRequest resize;
  resize.set_volume_id(*volume);
  if (absl::Status s = volume_.ResizeVolume(resize, call).status(); !s.ok()) return s;
  disk::v1::GetDiskStatsRequest stats;
  stats.set_disk_number(*disk);
  const auto size = disk_.GetDiskStats(stats, call);
  if (!size.ok()) return size.status();
  return size->total_bytes();
}

absl::StatusOr<VolumeUse> Mounter::Measure(const std::string& serial, const std::string& path,
                                           const CallOptions& call) {
  const absl::StatusOr<std::string> volume = VolumeOfDiskAt(serial, path, call);
  if (!volume.ok()) return volume.status();
  volume::v1::GetVolumeStatsRequest request;
  request.set_volume_id(*volume);
  const auto stats = volume_.GetVolumeStats(request, call);
  if (!stats.ok()) return stats.status();
  return VolumeUse{stats->total_bytes(), stats->used_bytes()};
}

absl::StatusOr<uint32_t> Mounter::FindDisk(const std::string& serial, const CallOptions& call) {
  const auto ids = disk_.ListDiskIDs({}, call);
  if (!ids.ok()) return ids.status();
  for (const auto& [number, disk] : ids->diskids()) {
    if (disk.serial_number() == serial) return number;
  }
  return absl::NotFoundError(
      absl::StrCat("volume_id: no disk with the serial number ", serial, " is attached"));
}

absl::StatusOr<std::string> Mounter::FirstVolume(uint32_t disk, const CallOptions& call) {
  // Waits for the volume of a disk that came online; PartitionDisk waits only for a new
  // partition's.
  constexpr absl::Duration kPatience = absl::Seconds(10);
  constexpr absl::Duration kPause = absl::Milliseconds(100);
  volume::v1::ListVolumesOnDiskRequest request;
  request.set_disk_number(disk);
  for (absl::Duration waited; waited < kPatience; waited += kPause) {
    const auto volumes = volume_.ListVolumesOnDisk(request, call);
    if (!volumes.ok()) return volumes.status();
    if (volumes->volume_ids_size() != 0) return volumes->volume_ids(0);
    absl::SleepFor(kPause);
  }
  return absl::UnavailableError(absl::StrCat("disk ", disk, ": its volume has not arrived"));
}

absl::StatusOr<std::string> Mounter::VolumeAt(const std::string& path, const CallOptions& call) {
  volume::v1::GetVolumeIDFromTargetPathRequest request;
  request.set_target_path(Windows(path));
  const auto volume = volume_.GetVolumeIDFromTargetPath(request, call);
  if (!volume.ok()) return volume.status();
  return volume->volume_id();
}

absl::StatusOr<std::string> Mounter::VolumeOfDiskAt(const std::string& serial,
                                                    const std::string& path,
                                                    const CallOptions& call) {
  const absl::StatusOr<uint32_t> disk = FindDisk(serial, call);
  if (!disk.ok()) return disk.status();
  const absl::StatusOr<std::string> volume = VolumeAt(path, call);
  // No volume can be mounted at an invalid path.
  if (absl::IsInvalidArgument(volume.status())) {
    return absl::NotFoundError(volume.status().message());
  }
  if (!volume.ok()) return volume.status();
  const absl::StatusOr<uint32_t> owner = DiskOf(*volume, call);
  if (!owner.ok()) return owner.status();
  if (*owner == *disk) return *volume;
  return absl::NotFoundError(
      absl::StrCat("volume ", serial, " is not at ", path, ", but one of disk ", *owner, " is"));
}

absl::StatusOr<uint32_t> Mounter::DiskOf(const std::string& volume, const CallOptions& call) {
  volume::v1::GetDiskNumberFromVolumeIDRequest request;
  request.set_volume_id(volume);
  const auto disk = volume_.GetDiskNumberFromVolumeID(request, call);
  if (!disk.ok()) return disk.status();
  return disk->disk_number();
}

absl::StatusOr<bool> Mounter::Exists(const std::string& path, const CallOptions& call) {
  filesystem::v1::PathExistsRequest request;
  request.set_path(Windows(path));
  const auto answer = filesystem_.PathExists(request, call);
  if (!answer.ok()) return answer.status();
  return answer->exists();
}

absl::Status Mounter::SetOnline(uint32_t disk, bool online, const CallOptions& call) {
  disk::v1::SetDiskStateRequest request;
  request.set_disk_number(disk);
  request.set_is_online(online);
  return disk_.SetDiskState(request, call).status();
}

absl::Status Mounter::Remove(const std::string& path, const CallOptions& call) {
  const absl::StatusOr<bool> exists = Exists(path, call);
  if (!exists.ok()) return exists.status();
  if (!*exists) return absl::OkStatus();
  filesystem::v1::RmdirRequest request;
  request.set_path(Windows(path));
  return filesystem_.Rmdir(request, call).status();
}

}  // namespace csi_proxy::sample
