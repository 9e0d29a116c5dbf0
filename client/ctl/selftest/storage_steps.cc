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

void SetOnline(Attempt& attempt, bool online) {
  attempt.Call("disk", "SetDiskState", DiskState(attempt.disk(), online).fields);
  const bool is_online = attempt.Call("disk", "GetDiskState", attempt.OfDisk()).Flag("is_online");
  attempt.Expect(is_online == online, "the disk is ", is_online ? "online" : "offline",
                 " after SetDiskState(", online ? "true" : "false", ")");
}

std::vector<std::string> ListVolumes(Attempt& attempt) {
  return attempt.Call("volume", "ListVolumesOnDisk", attempt.OfDisk()).Texts("volume_ids");
}

void ExpectOnDisk(Attempt& attempt, const std::string& volume) {
  const uint64_t number = attempt.DiskOf(volume);
  attempt.Expect(number == attempt.options().disk(), "the service reports volume ", volume,
                 " is on disk ", number);
}

}  // namespace

std::string FindDisk(Attempt& attempt) {
  attempt.Call("disk", "Rescan");
  const std::optional<Answer> ids =
      attempt.Call("disk", "ListDiskIDs").Entry("disk_ids", attempt.options().disk());
  attempt.Expect(ids.has_value(), "ListDiskIDs does not list the disk");
  if (!attempt.ok()) return "";
  const std::string page83 = ids->Text("page83"), serial = ids->Text("serial_number");
  attempt.Expect(!page83.empty() || !serial.empty(),
                 "the disk has neither a page 83 identifier nor a serial number");
  if (!page83.empty()) {
    const uint64_t number =
        attempt.Call("disk", "GetDiskNumberByName", {{"disk-name", page83}}).Number("disk_number");
    attempt.Expect(number == attempt.options().disk(), "its page 83 identifier finds disk ",
                   number);
  }
  // ListDiskLocations omits disks without a bus location, such as a VHD, whose location is a file.
  const std::optional<Answer> location =
      attempt.Call("disk", "ListDiskLocations").Entry("disk_locations", attempt.options().disk());
  State& state = attempt.state();
  state.disk_bytes = attempt.Call("disk", "GetDiskStats", attempt.OfDisk()).Number("total_bytes");
  attempt.Expect(state.disk_bytes > 0, "the disk has no size");
  const std::string place =
      !location.has_value()
          ? "no bus location"
          : absl::StrCat("adapter ", location->Text("Adapter"), " bus ", location->Text("Bus"),
                         " target ", location->Text("Target"), " LUN ", location->Text("LUNID"));
  return absl::StrCat("page 83 \"", page83, "\", serial number \"", serial, "\", ", place, ", ",
                      SizeText(state.disk_bytes));
}

std::string MakeSureDiskIsFree(Attempt& attempt) {
  const uint64_t own = attempt.DiskOf(attempt.ClosestVolume(attempt.options().work_dir()));
  attempt.Expect(own != attempt.options().disk(), "disk ", own,
                 " holds the working directory itself");
  const bool online = attempt.Call("disk", "GetDiskState", attempt.OfDisk()).Flag("is_online");
  if (!online) {
    attempt.AddUndo(DiskState(attempt.disk(), false));
    SetOnline(attempt, true);
  }
  const size_t volumes = ListVolumes(attempt).size();
  const std::string found = online ? "was online" : "was offline";
  if (attempt.options().disk_is_mine()) {
    attempt.Expect(volumes <= 1, "volumes on the disk: ", volumes,
                   "; even --disk-is-mine allows only one");
    return absl::StrCat("volumes on it: ", volumes, " (--disk-is-mine), ", found);
  }
  attempt.Expect(volumes == 0, "volumes on the disk: ", volumes,
                 "; --disk-is-mine permits overwriting one");
  // Volumes of a disk that has just come online may appear later, but its partitions do not.
  for (int partition = 1; partition <= kPartitions && attempt.ok(); ++partition) {
    const absl::Status absent =
        attempt
            .Try("volume", "ListVolumesOnDisk",
                 {{"disk-number", attempt.disk()}, {"partition-number", absl::StrCat(partition)}})
            .status();
    attempt.Expect(absl::IsNotFound(absent),
                   "the disk is not raw: ListVolumesOnDisk for partition ", partition,
                   " returns not NOT_FOUND but ", absl::StatusCodeToString(absent.code()),
                   "; give --disk-is-mine to overwrite it");
  }
  return absl::StrCat("raw, ", found);
}

void TakeOfflineAndOnline(Attempt& attempt) {
  attempt.AddUndo(DiskState(attempt.disk(), true));
  SetOnline(attempt, false);
  SetOnline(attempt, true);
  attempt.RemoveUndo("the disk online again");
}

std::string GoOfflineAndOnline(Attempt& attempt) {
  TakeOfflineAndOnline(attempt);
  SetOnline(attempt, true);
  return "offline, online, and online again";
}

std::string Partition(Attempt& attempt) {
  attempt.Call("disk", "PartitionDisk", attempt.OfDisk());
  const std::vector<std::string> volumes = ListVolumes(attempt);
  attempt.Expect(volumes.size() == 1, "volumes on the disk: ", volumes.size(), ", expected one");
  if (!attempt.ok()) return "";
  attempt.Call("disk", "PartitionDisk", attempt.OfDisk());
  attempt.Expect(ListVolumes(attempt) == volumes,
                 "partitioning the disk again changed its volumes");
  ExpectOnDisk(attempt, volumes[0]);
  if (attempt.ok()) attempt.state().volume = volumes[0];
  return volumes[0];
}

std::string SeeUnformatted(Attempt& attempt) {
  const bool formatted =
      attempt.Call("volume", "IsVolumeFormatted", attempt.OfVolume()).Flag("formatted");
  if (attempt.options().disk_is_mine() && formatted) return "it already has a file system";
  attempt.Expect(!formatted,
                 "the volume has a file system, which only --disk-is-mine permits overwriting");
  return "no file system";
}

std::string Format(Attempt& attempt) {
  attempt.Call("volume", "FormatVolume", attempt.OfVolume());
  attempt.Expect(attempt.Call("volume", "IsVolumeFormatted", attempt.OfVolume()).Flag("formatted"),
                 "the volume is not formatted after FormatVolume");
  const Answer stats = attempt.Call("volume", "GetVolumeStats", attempt.OfVolume());
  const uint64_t total = stats.Number("total_bytes"), used = stats.Number("used_bytes");
  attempt.Expect(used > 0 && used < total && total <= attempt.state().disk_bytes, used, " of ",
                 total, " bytes used on a disk of ", attempt.state().disk_bytes,
                 " is not plausible");
  return absl::StrCat(SizeText(used), " of ", SizeText(total), " used");
}

std::string Mount(Attempt& attempt) {
  const std::string path = attempt.Path("mount");
  const Fields target = {{"volume-id", attempt.state().volume}, {"target-path", path}};
  attempt.AddUndo({"directory mount", "filesystem", "Rmdir", {{"path", path}}});
  attempt.Mkdir(path);
  attempt.AddUndo({"mount", "volume", "UnmountVolume", target});
  attempt.Twice("volume", "MountVolume", target);
  attempt.Expect(attempt.IsSymlink(path), "IsSymlink returns false for the mount");
  attempt.Expect(
      attempt.Call("filesystem", "IsMountPoint", {{"path", path}}).Flag("is_mount_point"),
      "IsMountPoint returns false for the mount");
  return path;
}

std::string WriteCache(Attempt& attempt) {
  attempt.Call("volume", "WriteVolumeCache", attempt.OfVolume());
  return "";
}

std::string Resize(Attempt& attempt) {
  const auto total = [&] {
    return attempt.Call("volume", "GetVolumeStats", attempt.OfVolume()).Number("total_bytes");
  };
  const auto resize = [&](uint64_t bytes) {
    return Fields{{"volume-id", attempt.state().volume}, {"size-bytes", absl::StrCat(bytes)}};
  };
  const uint64_t before = total();
  attempt.Call("volume", "ResizeVolume", resize(0));
  const uint64_t largest = total();
  attempt.Expect(largest >= before, "the volume shrank");
  attempt.Call("volume", "ResizeVolume", resize(1));
  attempt.Expect(total() == largest, "a resize to one byte changed the volume");
  attempt.ExpectRefused(absl::StatusCode::kFailedPrecondition, "volume", "ResizeVolume",
                        resize(attempt.state().disk_bytes + kGiB));
  return absl::StrCat(SizeText(before), " -> ", SizeText(largest));
}

std::string Unmount(Attempt& attempt) {
  const std::string path = attempt.Path("mount");
  const State& state = attempt.state();
  attempt.Finish("mount");
  attempt.Expect(!attempt.IsSymlink(path), "the directory is still a mount point");
  attempt.Finish("directory mount");
  attempt.Expect(!attempt.Exists(path), "the directory is still there");
  ExpectOnDisk(attempt, state.volume);
  // The id must be accepted without its last backslash, too.
  ExpectOnDisk(attempt, std::string(absl::StripSuffix(state.volume, "\\")));
  return absl::StrCat("the volume is still found on disk ", attempt.disk());
}

std::string Release(Attempt& attempt) {
  TakeOfflineAndOnline(attempt);
  return "offline, and online again";
}

std::string AskForAbsent(Attempt& attempt) {
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  const Fields disk = {{"disk-number", kAbsentDisk}};
  attempt.ExpectRefused(kNotFound, "disk", "GetDiskStats", disk);
  attempt.ExpectRefused(kNotFound, "disk", "GetDiskState", disk);
  attempt.ExpectRefused(kNotFound, "disk", "GetDiskNumberByName", {{"disk-name", "no such disk"}});
  attempt.ExpectRefused(kNotFound, "volume", "ListVolumesOnDisk", disk);
  attempt.ExpectRefused(kNotFound, "volume", "ListVolumesOnDisk",
                        {{"disk-number", attempt.disk()}, {"partition-number", "4096"}});
  attempt.ExpectRefused(kNotFound, "volume", "GetDiskNumberFromVolumeID",
                        {{"volume-id", kAbsentVolume}});
  attempt.ExpectRefused(absl::StatusCode::kInvalidArgument, "volume", "GetDiskNumberFromVolumeID",
                        {{"volume-id", "no volume id"}});
  return "";
}

}  // namespace csi_proxy::ctl::selftest
