// Steps on the disk and its volume.
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/output.h"
#include "client/ctl/selftest/selftest.h"

namespace csi_proxy::ctl::selftest {
namespace {

// The highest partition number that is probed on a disk that should be raw.
constexpr int kPartitions = 16;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr char kAbsentDisk[] = "4294967295";
constexpr char kAbsentVolume[] = R"(\\?\Volume{00000000-0000-0000-0000-000000000000}\)";

using enum absl::StatusCode;

}  // namespace

void Attempt::SetOnline(bool online) {
  Call("disk.SetDiskState", DiskState(online).fields);
  const bool is_online = IsOnline();
  Expect(is_online == online, "the disk is ", is_online ? "online" : "offline",
         " after SetDiskState(", online ? "true" : "false", ")");
}

void Attempt::TakeOfflineAndOnline() {
  AddUndo(DiskState(true));
  SetOnline(false);
  SetOnline(true);
  RemoveUndo("the disk online again");
}

void Attempt::ExpectOnDisk(const std::string& volume) {
  ExpectOwn(DiskOf(volume), "the service reports volume ", volume, " is on disk ");
}

std::string Attempt::FindDisk() {
  Call("disk.Rescan");
  const std::optional<Answer> ids = Call("disk.ListDiskIDs").Entry("disk_ids", options_.disk());
  Expect(ids.has_value(), "ListDiskIDs does not list the disk");
  if (!ok()) return "";
  const std::string page83 = ids->Text("page83"), serial = ids->Text("serial_number");
  Expect(!page83.empty() || !serial.empty(),
         "the disk has neither a page 83 identifier nor a serial number");
  if (!page83.empty()) {
    ExpectOwn(Call("disk.GetDiskNumberByName", {{"disk-name", page83}}).Number("disk_number"),
              "its page 83 identifier finds disk ");
  }
  // ListDiskLocations omits disks without a bus location, such as a VHD, whose location is a file.
  const std::optional<Answer> location =
      Call("disk.ListDiskLocations").Entry("disk_locations", options_.disk());
  state_.disk_bytes = Call("disk.GetDiskStats", OfDisk()).Number("total_bytes");
  Expect(state_.disk_bytes > 0, "the disk has no size");
  const std::string place =
      !location.has_value()
          ? "no bus location"
          : absl::StrCat("adapter ", location->Text("Adapter"), " bus ", location->Text("Bus"),
                         " target ", location->Text("Target"), " LUN ", location->Text("LUNID"));
  return absl::StrCat("page 83 \"", page83, "\", serial number \"", serial, "\", ", place, ", ",
                      SizeText(state_.disk_bytes));
}

std::string Attempt::MakeSureDiskIsFree() {
  const uint64_t own = DiskOf(VolumeAt(options_.work_dir(), "GetClosestVolumeIDFromTargetPath"));
  Expect(own != options_.disk(), "disk ", own, " holds the working directory itself");
  const bool online = IsOnline();
  if (!online) {
    AddUndo(DiskState(false));
    SetOnline(true);
  }
  const size_t volumes = Volumes().size();
  const std::string found = online ? "was online" : "was offline";
  if (options_.disk_is_mine()) {
    Expect(volumes <= 1, "volumes on the disk: ", volumes, "; even --disk-is-mine allows only one");
    return absl::StrCat("volumes on it: ", volumes, " (--disk-is-mine), ", found);
  }
  Expect(volumes == 0, "volumes on the disk: ", volumes,
         "; --disk-is-mine permits overwriting one");
  // Volumes may appear some time after a disk comes online; its partitions are there at once.
  for (int partition = 1; partition <= kPartitions && ok(); ++partition) {
    const absl::Status absent =
        Try("volume.ListVolumesOnDisk",
            {{"disk-number", disk()}, {"partition-number", absl::StrCat(partition)}})
            .status();
    Expect(absl::IsNotFound(absent), "the disk is not raw: ListVolumesOnDisk for partition ",
           partition, " returns not NOT_FOUND but ", absl::StatusCodeToString(absent.code()),
           "; give --disk-is-mine to overwrite it");
  }
  return absl::StrCat("raw, ", found);
}

std::string Attempt::GoOfflineAndOnline() {
  TakeOfflineAndOnline();
  SetOnline(true);
  return "offline, online, and online again";
}

std::string Attempt::Partition() {
  Call("disk.PartitionDisk", OfDisk());
  const std::vector<std::string> volumes = Volumes();
  Expect(volumes.size() == 1, "volumes on the disk: ", volumes.size(), ", expected one");
  if (!ok()) return "";
  Call("disk.PartitionDisk", OfDisk());
  Expect(Volumes() == volumes, "partitioning the disk again changed its volumes");
  ExpectOnDisk(volumes[0]);
  if (ok()) state_.volume = volumes[0];
  return volumes[0];
}

std::string Attempt::SeeUnformatted() {
  const bool formatted = IsFormatted();
  if (options_.disk_is_mine() && formatted) return "it already has a file system";
  Expect(!formatted, "the volume has a file system, which only --disk-is-mine permits overwriting");
  return "no file system";
}

std::string Attempt::Format() {
  Call("volume.FormatVolume", OfVolume());
  Expect(IsFormatted(), "the volume is not formatted after FormatVolume");
  const Answer stats = Call("volume.GetVolumeStats", OfVolume());
  const uint64_t total = stats.Number("total_bytes"), used = stats.Number("used_bytes");
  Expect(used > 0 && used < total && total <= state_.disk_bytes, used, " of ", total,
         " bytes used on a disk of ", state_.disk_bytes, " is not plausible");
  return absl::StrCat(SizeText(used), " of ", SizeText(total), " used");
}

std::string Attempt::Mount() {
  const std::string path = Path("mount");
  const Fields target = {{"volume-id", state_.volume}, {"target-path", path}};
  AddUndo({"directory mount", "filesystem.Rmdir", {{"path", path}}});
  Mkdir(path);
  AddUndo({"mount", "volume.UnmountVolume", target});
  Twice("volume.MountVolume", target);
  Expect(IsSymlink(path), "IsSymlink returns false for the mount");
  Expect(Call("filesystem.IsMountPoint", {{"path", path}}).Flag("is_mount_point"),
         "IsMountPoint returns false for the mount");
  return path;
}

std::string Attempt::WriteCache() {
  Call("volume.WriteVolumeCache", OfVolume());
  return "";
}

std::string Attempt::Resize() {
  const auto total = [&] {
    return Call("volume.GetVolumeStats", OfVolume()).Number("total_bytes");
  };
  const auto to = [&](uint64_t bytes) {
    return Fields{{"volume-id", state_.volume}, {"size-bytes", absl::StrCat(bytes)}};
  };
  const uint64_t before = total();
  Call("volume.ResizeVolume", to(0));
  const uint64_t largest = total();
  Expect(largest >= before, "the volume shrank");
  Call("volume.ResizeVolume", to(1));
  Expect(total() == largest, "a resize to one byte changed the volume");
  ExpectRefused(kFailedPrecondition, "volume.ResizeVolume", to(state_.disk_bytes + kGiB));
  return absl::StrCat(SizeText(before), " -> ", SizeText(largest));
}

std::string Attempt::Unmount() {
  const std::string path = Path("mount");
  Finish("mount");
  Expect(!IsSymlink(path), "the directory is still a mount point");
  Finish("directory mount");
  Expect(!Exists(path), "the directory is still there");
  ExpectOnDisk(state_.volume);
  // The id must be accepted without its last backslash, too.
  ExpectOnDisk(std::string(absl::StripSuffix(state_.volume, "\\")));
  return absl::StrCat("the volume is still found on disk ", disk());
}

std::string Attempt::Release() {
  TakeOfflineAndOnline();
  return "offline, and online again";
}

std::string Attempt::AskForAbsent() {
  const Fields absent = {{"disk-number", kAbsentDisk}};
  ExpectRefused(kNotFound, "disk.GetDiskStats", absent);
  ExpectRefused(kNotFound, "disk.GetDiskState", absent);
  ExpectRefused(kNotFound, "disk.GetDiskNumberByName", {{"disk-name", "no such disk"}});
  ExpectRefused(kNotFound, "volume.ListVolumesOnDisk", absent);
  ExpectRefused(kNotFound, "volume.ListVolumesOnDisk",
                {{"disk-number", disk()}, {"partition-number", "4096"}});
  ExpectRefused(kNotFound, "volume.GetDiskNumberFromVolumeID", {{"volume-id", kAbsentVolume}});
  ExpectRefused(kInvalidArgument, "volume.GetDiskNumberFromVolumeID",
                {{"volume-id", "no volume id"}});
  return "";
}

}  // namespace csi_proxy::ctl::selftest
