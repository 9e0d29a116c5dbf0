// Steps on the storage group, with a disk whose volume earlier steps have formatted.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/selftest/selftest.h"
#include "server/names/windows_path.h"

namespace csi_proxy::ctl::selftest {
namespace {

std::string Staging(const Attempt& attempt) { return attempt.Path("stage"); }

Fields StagingTarget(const Attempt& attempt) { return {{"target-path", Staging(attempt)}}; }
Fields StagingRequest(const Attempt& attempt) {
  return {{"disk.number", attempt.disk()}, {"target-path", Staging(attempt)}};
}

// Returns the disk from ListDisks.
Answer OwnDisk(Attempt& attempt) {
  for (const Answer& disk : attempt.Call("storage", "ListDisks").Each("disks")) {
    if (disk.Number("number") == attempt.options().disk()) return disk;
  }
  attempt.Expect(false, "ListDisks does not list the disk");
  return Answer();
}

}  // namespace

std::string ListDisks(Attempt& attempt) {
  const Answer disk = OwnDisk(attempt);
  if (!attempt.ok()) return "";
  const uint64_t bytes = disk.Number("size_bytes");
  attempt.Expect(bytes == attempt.state().disk_bytes, "its size is ", attempt.state().disk_bytes,
                 " bytes for GetDiskStats, and ", bytes, " for ListDisks");
  attempt.Expect(!disk.Flag("is_boot") && !disk.Flag("is_system"), "Windows runs on the disk");
  attempt.Expect(disk.Flag("is_online"), "it is listed as offline");
  return absl::StrCat("bus ", disk.Text("bus_type"), ", ", disk.Text("partition_style"),
                      ", unique id \"", disk.Text("unique_id"), "\"");
}

std::string Stage(Attempt& attempt) {
  const Fields request = StagingRequest(attempt);
  attempt.AddUndo({"the staged volume", "storage", "UnstageVolume", StagingTarget(attempt)});
  const Answer staged = attempt.Call("storage", "StageVolume", request);
  attempt.Expect(staged.Text("volume_id") == attempt.state().volume, "it staged volume ",
                 staged.Text("volume_id"));
  const std::vector<std::string> steps = staged.Texts("steps");
  for (const char* wanted : {"MADE_DIRECTORY", "MOUNTED"}) {
    attempt.Expect(std::find(steps.begin(), steps.end(), wanted) != steps.end(),
                   "StageVolume did not say ", wanted);
  }
  attempt.Expect(std::find(steps.begin(), steps.end(), "FORMATTED") == steps.end(),
                 "StageVolume formatted a volume that had a file system");
  attempt.Expect(attempt.Call("volume", "GetVolumeIDFromTargetPath", StagingTarget(attempt))
                         .Text("volume_id") == attempt.state().volume,
                 "another volume is mounted there");
  const std::vector<std::string> again =
      attempt.Call("storage", "StageVolume", request).Texts("steps");
  attempt.Expect(again.empty(), "the second call did ", absl::StrJoin(again, ", "));
  return absl::StrJoin(steps, ", ");
}

std::string SeeStaged(Attempt& attempt) {
  std::string state = "not listed";
  for (const Answer& mount :
       attempt.Call("storage", "ListMounts", {{"path", attempt.options().work_dir()}})
           .Each("mounts")) {
    if (EqualNames(mount.Text("path"), Staging(attempt))) state = mount.Text("state");
  }
  attempt.Expect(state == "ALIVE", "the mount is ", state);
  const Answer stats = attempt.Call("storage", "GetPathStats", {{"path", Staging(attempt)}});
  attempt.Expect(stats.Text("volume_id") == attempt.state().volume,
                 "the path is measured on volume ", stats.Text("volume_id"));
  const uint64_t total = stats.Number("total_bytes");
  attempt.Expect(total > 0 && total <= attempt.state().disk_bytes, "a size of ", total,
                 " bytes is not plausible");
  const Answer health = attempt.Call("storage", "GetVolumeHealth", attempt.OfVolume());
  attempt.Expect(!health.Flag("abnormal"), health.Text("message"));
  const Answer all =
      attempt.Call("storage", "ListVolumeHealth", {{"volume-ids", attempt.state().volume}});
  attempt.Expect(all.Size("volumes") == 1, "its health is not listed");
  return absl::StrCat("volume ", health.Text("volume_health"), ", disk ",
                      health.Text("disk_health"));
}

std::string RefuseToFormat(Attempt& attempt) {
  attempt.ExpectRefused(absl::StatusCode::kFailedPrecondition, "storage", "FormatVolume",
                        attempt.OfVolume());
  return "";
}

std::string Unstage(Attempt& attempt) {
  attempt.AddUndo(DiskState(attempt.disk(), true));
  const Answer done = attempt.Finish("the staged volume");
  attempt.Expect(done.Text("volume_id") == attempt.state().volume, "it unstaged volume ",
                 done.Text("volume_id"));
  attempt.Expect(!attempt.Exists(Staging(attempt)), "the directory is still there");
  attempt.Expect(!attempt.Call("disk", "GetDiskState", attempt.OfDisk()).Flag("is_online"),
                 "the disk is still online");
  const std::vector<std::string> again =
      attempt.Call("storage", "UnstageVolume", StagingTarget(attempt)).Texts("steps");
  attempt.Expect(again.empty(), "the second call did ", absl::StrJoin(again, ", "));
  attempt.Finish("the disk online again");
  return absl::StrJoin(done.Texts("steps"), ", ");
}

std::string ProtectDisk(Attempt& attempt) {
  const auto read_only = [&](const char* value) {
    return Fields{{"disk-number", attempt.disk()}, {"read-only", value}};
  };
  const std::string inside = absl::StrCat(Staging(attempt), "\\made");
  attempt.AddUndo(DiskState(attempt.disk(), true));
  attempt.AddUndo({"the staged volume", "storage", "UnstageVolume", StagingTarget(attempt)});
  attempt.AddUndo({"the disk writable again", "storage", "SetDiskReadOnly", read_only("false")});
  attempt.Call("storage", "StageVolume", StagingRequest(attempt));
  attempt.Call("storage", "SetDiskReadOnly", read_only("true"));
  attempt.Expect(OwnDisk(attempt).Flag("is_read_only"), "the disk is not read-only");
  attempt.Expect(!attempt.Try("filesystem", "Mkdir", {{"path", inside}}).ok(),
                 "a directory was made on a read-only disk");
  attempt.Call("storage", "SetDiskReadOnly", read_only("false"));
  attempt.Expect(!OwnDisk(attempt).Flag("is_read_only"), "the disk is still read-only");
  attempt.RemoveUndo("the disk writable again");
  // Fails if the file system is still mounted read-only.
  attempt.Mkdir(inside);
  attempt.Finish("the staged volume");
  attempt.Finish("the disk online again");
  return "read-only, and writable again";
}

std::string StageShare(Attempt& attempt) {
  const Options& options = attempt.options();
  const std::string link = attempt.Path("staged-share");
  const Fields target = {{"target-path", link}, {"remote-path", options.smb_share()}};
  Fields request = target;
  request.push_back({"username", options.smb_username()});
  request.push_back({"password", options.smb_password()});
  attempt.AddUndo({"the staged share", "storage", "UnstageShare", target});
  const auto expect = [&](const char* method, const Fields& fields, const std::string& wanted) {
    const std::string steps =
        absl::StrJoin(attempt.Call("storage", method, fields).Texts("steps"), ", ");
    attempt.Expect(steps == wanted, method, " did \"", steps, "\"");
  };
  expect("StageShare", request, "LINKED, MAPPED");
  expect("StageShare", request, "");
  attempt.Expect(attempt.Exists(link), "the link to the share does not exist");
  expect("UnstageShare", target, "UNMAPPED, UNLINKED");
  attempt.RemoveUndo("the staged share");
  expect("UnstageShare", target, "");
  for (const Answer& mapping : attempt.Call("storage", "ListSmbMappings").Each("mappings")) {
    attempt.Expect(!EqualNames(mapping.Text("remote_path"), options.smb_share()),
                   "the mapping is still listed");
  }
  return link;
}

}  // namespace csi_proxy::ctl::selftest
