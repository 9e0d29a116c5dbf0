// Steps on the storage group, with a disk whose volume earlier steps have formatted.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/selftest/selftest.h"
#include "server/names/windows_path.h"

namespace csi_proxy::ctl::selftest {

Answer Attempt::OwnDisk() {
  for (const Answer& disk : Call("storage.ListDisks").Each("disks")) {
    if (disk.Number("number") == options_.disk()) return disk;
  }
  Expect(false, "ListDisks does not list the disk");
  return Answer();
}

void Attempt::ExpectNothingToDo(const std::string& rpc, const Fields& fields) {
  const std::vector<std::string> again = Call(rpc, fields).Texts("steps");
  Expect(again.empty(), "the second call did ", absl::StrJoin(again, ", "));
}

std::string Attempt::ListDisks() {
  const Answer disk = OwnDisk();
  if (!ok()) return "";
  const uint64_t bytes = disk.Number("size_bytes");
  Expect(bytes == state_.disk_bytes, "its size is ", state_.disk_bytes,
         " bytes for GetDiskStats, and ", bytes, " for ListDisks");
  Expect(!disk.Flag("is_boot") && !disk.Flag("is_system"), "Windows runs on the disk");
  Expect(disk.Flag("is_online"), "it is listed as offline");
  return absl::StrCat("bus ", disk.Text("bus_type"), ", ", disk.Text("partition_style"),
                      ", unique id \"", disk.Text("unique_id"), "\"");
}

std::string Attempt::Stage() {
  const Fields request = ToStage();
  AddUndo(Unstaging());
  const Answer staged = Call("storage.StageVolume", request);
  Expect(staged.Text("volume_id") == state_.volume, "it staged volume ", staged.Text("volume_id"));
  const std::vector<std::string> steps = staged.Texts("steps");
  for (const char* wanted : {"MADE_DIRECTORY", "MOUNTED"}) {
    Expect(absl::c_linear_search(steps, wanted), "StageVolume did not say ", wanted);
  }
  Expect(!absl::c_linear_search(steps, "FORMATTED"),
         "StageVolume formatted a volume that had a file system");
  Expect(VolumeAt(Staging()) == state_.volume, "another volume is mounted there");
  ExpectNothingToDo("storage.StageVolume", request);
  return absl::StrJoin(steps, ", ");
}

std::string Attempt::SeeStaged() {
  std::string state = "not listed";
  for (const Answer& mount :
       Call("storage.ListMounts", {{"path", options_.work_dir()}}).Each("mounts")) {
    if (EqualNames(mount.Text("path"), Staging())) state = mount.Text("state");
  }
  Expect(state == "ALIVE", "the mount is ", state);
  const Answer stats = Call("storage.GetPathStats", {{"path", Staging()}});
  Expect(stats.Text("volume_id") == state_.volume, "the path is measured on volume ",
         stats.Text("volume_id"));
  const uint64_t total = stats.Number("total_bytes");
  Expect(total > 0 && total <= state_.disk_bytes, "a size of ", total, " bytes is not plausible");
  const Answer health = Call("storage.GetVolumeHealth", OfVolume());
  Expect(!health.Flag("abnormal"), health.Text("message"));
  const Answer all = Call("storage.ListVolumeHealth", {{"volume-ids", state_.volume}});
  Expect(all.Size("volumes") == 1, "its health is not listed");
  return absl::StrCat("volume ", health.Text("volume_health"), ", disk ",
                      health.Text("disk_health"));
}

std::string Attempt::RefuseToFormat() {
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "storage.FormatVolume", OfVolume());
  return "";
}

std::string Attempt::Unstage() {
  AddUndo(DiskState(true));
  const Answer done = Finish("the staged volume");
  Expect(done.Text("volume_id") == state_.volume, "it unstaged volume ", done.Text("volume_id"));
  Expect(!Exists(Staging()), "the directory is still there");
  Expect(!IsOnline(), "the disk is still online");
  ExpectNothingToDo("storage.UnstageVolume", Unstaging().fields);
  Finish("the disk online again");
  return absl::StrJoin(done.Texts("steps"), ", ");
}

std::string Attempt::ProtectDisk() {
  const auto read_only = [&](const char* value) {
    return Fields{{"disk-number", disk()}, {"read-only", value}};
  };
  const std::string inside = absl::StrCat(Staging(), "\\made");
  AddUndo(DiskState(true));
  AddUndo(Unstaging());
  AddUndo({"the disk writable again", "storage.SetDiskReadOnly", read_only("false")});
  Call("storage.StageVolume", ToStage());
  Call("storage.SetDiskReadOnly", read_only("true"));
  Expect(OwnDisk().Flag("is_read_only"), "the disk is not read-only");
  Expect(!Try("filesystem.Mkdir", {{"path", inside}}).ok(),
         "a directory was made on a read-only disk");
  Call("storage.SetDiskReadOnly", read_only("false"));
  Expect(!OwnDisk().Flag("is_read_only"), "the disk is still read-only");
  RemoveUndo("the disk writable again");
  // Fails if the file system is still mounted read-only.
  Mkdir(inside);
  Finish("the staged volume");
  Finish("the disk online again");
  return "read-only, and writable again";
}

std::string Attempt::StageShare() {
  const std::string link = Path("staged-share");
  const Fields target = {{"target-path", link}, {"remote-path", options_.smb_share()}};
  Fields request = target;
  request.push_back({"username", options_.smb_username()});
  request.push_back({"password", options_.smb_password()});
  AddUndo({"the staged share", "storage.UnstageShare", target});
  const auto expect = [&](const std::string& method, const Fields& fields, const char* wanted) {
    const std::string steps = absl::StrJoin(Call("storage." + method, fields).Texts("steps"), ", ");
    Expect(steps == wanted, method, " did \"", steps, "\"");
  };
  expect("StageShare", request, "LINKED, MAPPED");
  expect("StageShare", request, "");
  Expect(Exists(link), "the link to the share does not exist");
  expect("UnstageShare", target, "UNMAPPED, UNLINKED");
  RemoveUndo("the staged share");
  expect("UnstageShare", target, "");
  for (const Answer& mapping : Call("storage.ListSmbMappings").Each("mappings")) {
    Expect(!EqualNames(mapping.Text("remote_path"), options_.smb_share()),
           "the mapping is still listed");
  }
  return link;
}

}  // namespace csi_proxy::ctl::selftest
