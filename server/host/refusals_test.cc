// Tests calls that the host refuses although the machine works, and the texts of the errors.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/host/mount_point.h"
#include "server/host/operations_testing.h"

namespace csi_proxy::host {
namespace {

using absl::AlreadyExistsError;
using absl::FailedPreconditionError;
using absl::NotFoundError;
using absl::PermissionDeniedError;

constexpr char kPods[] = R"(C:\var\lib\kubelet\pods)";

class RefusalsTest : public testing::Test {
 protected:
  static std::string Below(absl::string_view name) {
    return absl::StrCat(R"(C:\var\lib\kubelet\)", name);
  }
  static absl::Status Missing(absl::string_view name) {
    return NotFoundError(absl::StrCat("cannot find '", Below(name), "' because it does not exist"));
  }
  static std::string NotEmpty() { return absl::StrCat(" is not empty (", kFilesStay, ")"); }
  void MakeLink(absl::string_view name, absl::string_view target) {
    ASSERT_THAT(node_->MakeLink(Below(name), target), IsOk());
  }

  const CallContext context_{};
  const std::unique_ptr<Machine> node_ = *Machine::Create(PreparedNode());
  const std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(RefusalsTest, ErrorsNameAMissingDiskOrPartition) {
  DiskHost& disk = host_->disk();
  for (const absl::Status& status :
       {disk.GetLayout(context_, 77).status(), disk.GetSize(context_, 77).status(),
        disk.IsOnline(context_, 77).status(), disk.SetOnline(context_, 77, true).status(),
        disk.CountPromisedVolumes(context_, 77).status(),
        host_->volume().ListVolumes(context_, 77, 0).status()}) {
    EXPECT_EQ(status, NotFoundError("there is no disk 77"));
  }
  EXPECT_EQ(host_->volume().ListVolumes(context_, 2, 9).status(),
            NotFoundError("disk 2 has no partition 9"));
}

TEST_F(RefusalsTest, ErrorsNameAMissingVolume) {
  VolumeHost& volume = host_->volume();
  const VolumeId none = TestVolume(9);
  const std::string text = absl::StrCat("there is no volume ", none.ToString());
  for (const absl::Status& status :
       {volume.GetFileSystem(context_, none).status(), volume.Locate(context_, none).status(),
        volume.GetStats(context_, none).status(), volume.GetDiskNumber(context_, none).status(),
        volume.Mount(context_, none, Kubelet("empty")), volume.Flush(context_, none)}) {
    EXPECT_EQ(status, NotFoundError(text));
  }
  EXPECT_EQ(volume.Format(context_, none, {}),
            NotFoundError(absl::StrCat("formatting volume ", none.ToString(), ": ", text)));
}

TEST_F(RefusalsTest, AVolumeWithoutAFileSystemIsRefused) {
  node_->core()->Change(
      [](NodeState& state) { state.disks[2].partitions.back().volume->file_system.clear(); });
  const absl::Status refused =
      FailedPreconditionError(absl::StrCat("volume ", kVolume.ToString(), " has no file system"));
  EXPECT_EQ(host_->volume().GetStats(context_, kVolume).status(), refused);
  EXPECT_EQ(host_->volume().Mount(context_, kVolume, Kubelet("empty")), refused);
}

TEST_F(RefusalsTest, MountErrorsSayWhyThePathIsRefused) {
  VolumeHost& volume = host_->volume();
  const auto mount = [&](const char* name) {
    return volume.Mount(context_, TestVolume(6), Kubelet(name));
  };
  EXPECT_EQ(mount("mounted"),
            AlreadyExistsError(absl::StrCat("another volume is mounted at ", Below("mounted"), ": ",
                                            kVolume.ToString())));
  EXPECT_EQ(mount("file.txt"), FailedPreconditionError(Below("file.txt") + " is not a directory"));
  EXPECT_EQ(mount("link"), FailedPreconditionError(Below("link") + " is not a directory"));
  EXPECT_EQ(mount("pods"), FailedPreconditionError(Below("pods") + NotEmpty()));
  EXPECT_EQ(mount("absent"), Missing("absent"));
  EXPECT_EQ(volume.Mount(context_, TestVolume(6), Anywhere("C:\\")),
            FailedPreconditionError("C:\\ is not empty"));
  EXPECT_EQ(volume.Mount(context_, TestVolume(1), Kubelet("empty")),
            FailedPreconditionError(absl::StrCat("volume ", TestVolume(1).ToString(), " holds ",
                                                 Below("empty"), " itself")));
  const auto unmount = [&](const char* name) {
    return volume.Unmount(context_, TestVolume(6), Kubelet(name));
  };
  EXPECT_EQ(unmount("pods"), NotFoundError("no volume is mounted at " + Below("pods")));
  EXPECT_EQ(unmount("link"), NotFoundError("no volume is mounted at " + Below("link")));
  EXPECT_EQ(unmount("absent"), Missing("absent"));
  EXPECT_EQ(unmount("mounted"),
            FailedPreconditionError(
                absl::StrCat("volume ", kVolume.ToString(), " is mounted at ", Below("mounted"))));
}

TEST_F(RefusalsTest, LookUpsOfAPathsVolumeSayWhyThereIsNone) {
  VolumeHost& volume = host_->volume();
  EXPECT_EQ(volume.GetVolumeAtMountPoint(context_, Kubelet("pods")).status(),
            NotFoundError("no volume is mounted at " + Below("pods")));
  EXPECT_EQ(volume.GetVolumeAtMountPoint(context_, Kubelet("absent")).status(), Missing("absent"));
  EXPECT_EQ(volume.GetVolumeHolding(context_, Kubelet("absent")).status(), Missing("absent"));
  ASSERT_THAT(host_->filesystem().CreateLinkToShare(context_, *UncPath::Parse("p", kMapped),
                                                    Kubelet("share")),
              IsOk());
  EXPECT_EQ(volume.GetVolumeHolding(context_, Kubelet("share")).status(),
            NotFoundError(Below("share") + " is on a server, not on a volume of the node"));
}

TEST_F(RefusalsTest, RemovalErrorsSayWhyTheEntryStays) {
  FilesystemHost& files = host_->filesystem();
  EXPECT_EQ(files.Remove(context_, Kubelet("pods"), false),
            FailedPreconditionError(absl::StrCat("directory ", kPods, NotEmpty())));
  EXPECT_EQ(files.Remove(context_, Anywhere("C:\\"), true),
            FailedPreconditionError("C:\\ is the root of a drive"));
  EXPECT_EQ(files.Remove(context_, Kubelet("absent"), false),
            NotFoundError(absl::StrCat(Missing("absent").message(),
                                       ": The system cannot find the file specified.")));
  EXPECT_EQ(files.RemoveContents(context_, Kubelet("absent")), Missing("absent"));
  EXPECT_EQ(files.RemoveContents(context_, Kubelet("file.txt")),
            FailedPreconditionError(Below("file.txt") + " is not a directory"));
  for (const char* name : {"link", "mounted"}) {
    EXPECT_EQ(files.RemoveContents(context_, Kubelet(name)),
              FailedPreconditionError(Below(name) + " is a link or mount point, not a directory"));
  }
}

TEST_F(RefusalsTest, ErrorsNameTheEntryThatPreventsADirectoryOrLink) {
  FilesystemHost& files = host_->filesystem();
  MakeLink("gone", Below("nothing"));
  EXPECT_EQ(files.MakeDirectories(context_, Kubelet("gone\\x")),
            AlreadyExistsError("a link without a target is in the way of " + Below("gone\\x")));
  EXPECT_EQ(files.MakeDirectories(context_, Kubelet("file.txt\\x")),
            AlreadyExistsError("a file is in the way of " + Below("file.txt\\x")));
  EXPECT_EQ(files.MakeDirectories(context_, Anywhere("Q:\\x")),
            NotFoundError("creating directory Q:\\x: there is no drive Q:"));
  EXPECT_EQ(files.ReadLink(context_, Kubelet("absent")).status(), Missing("absent"));
  const auto link = [&](const char* source, const char* name) {
    return files.CreateLink(context_, Kubelet(source), Kubelet(name));
  };
  EXPECT_EQ(link("absent", "new"), Missing("absent"));
  EXPECT_EQ(link("file.txt", "new"),
            FailedPreconditionError(Below("file.txt") + " is not a directory"));
  EXPECT_EQ(link("pods", "empty"), AlreadyExistsError(Below("empty") + " exists already"));
  for (const char* nowhere : {"no\\new", "file.txt\\new", "gone\\new", "no\\such\\new"}) {
    EXPECT_EQ(link("pods", nowhere), Missing(nowhere));
  }
  const auto roots = std::make_shared<PathRoots>(
      std::vector<WindowsPath>{Path(R"(C:\var\lib\kubelet)"), Path("C:\\other")});
  EXPECT_EQ(files.CreateLink(context_, Kubelet("pods"), {Path("C:\\other"), roots}),
            PermissionDeniedError("a link cannot replace C:\\other, a working directory"));
}

// The call removes the directory made for a link. If that fails too, the call reports both errors.
TEST_F(RefusalsTest, AFailedLinkIsRemovedAgainOrBothErrorsAreReported) {
  for (const char* second : {"", "win32.Open", "win32.Delete"}) {
    FaultRule rule;
    rule.code = kInternal;
    rule.times = 1;
    rule.operation = "win32.WriteReparsePoint";
    rule.error.code = 1314;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
    if (*second == 0) {
      EXPECT_THAT(host_->filesystem().CreateLink(context_, Kubelet("pods"), Kubelet("new")),
                  HasCode(kPrecondition));
      EXPECT_THAT(host_->filesystem().Exists(context_, Kubelet("new")), Yields(false));
      continue;
    }
    rule.operation = second;
    rule.resource = Below("new");
    if (rule.operation == "win32.Open") {
      // The first open checks whether the link exists.
      FaultRule none = rule;
      none.latency = absl::Nanoseconds(1);
      none.code = absl::StatusCode::kOk;
      ASSERT_THAT(node_->InjectFault(none), IsOk());
    }
    rule.error.code = 1117;
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
    const absl::Status failed =
        host_->filesystem().CreateLink(context_, Kubelet("pods"), Kubelet("new"));
    EXPECT_THAT(failed, FailsWith(kPrecondition,
                                  absl::StrCat("creating link ", Below("new"),
                                               " (the directory made for it was not removed: ")));
    EXPECT_THAT(failed, FailsWith(kPrecondition, "0x45d"));
    EXPECT_THAT(failed, FailsWith(kPrecondition, "0x522"));
    ASSERT_THAT(host_->filesystem().Remove(context_, Kubelet("new"), false), IsOk());
  }
}

TEST_F(RefusalsTest, LinksThatLeaveOrLoopAreRefused) {
  FilesystemHost& files = host_->filesystem();
  MakeLink("out", "C:\\Windows");
  EXPECT_EQ(files.Exists(context_, Kubelet("out\\x")).status(),
            PermissionDeniedError(absl::StrCat("the link ", Below("out"),
                                               R"( leads to C:\Windows, outside )",
                                               R"(C:\var\lib\kubelet)")));
  MakeLink("a", Below("b"));
  MakeLink("b", Below("a"));
  const absl::Status loop = files.Exists(context_, Kubelet("a\\x")).status();
  EXPECT_TRUE(HasTooManyLinks(loop));
  EXPECT_EQ(absl::Status(loop.code(), loop.message()),
            FailedPreconditionError("an entry behind the link " + Below("a") +
                                    ": the path has too many links"));
}

TEST_F(RefusalsTest, ErrorsNameAMissingPortalOrTarget) {
  IscsiHost& iscsi = host_->iscsi();
  const IscsiPortal other = {"10.0.0.7", 860};
  EXPECT_EQ(iscsi.AddPortal(context_, kPortal),
            AlreadyExistsError("portal 10.0.0.5:3260 is registered"));
  for (const absl::Status& status :
       {iscsi.RemovePortal(context_, other), iscsi.DiscoverTargets(context_, other).status(),
        iscsi.IsConnected(context_, other, "iqn.x:open").status(),
        iscsi.Connect(context_, other, "iqn.x:open", {}),
        iscsi.Disconnect(context_, other, "iqn.x:open"),
        iscsi.GetTargetDisks(context_, other, "iqn.x:open").status()}) {
    EXPECT_EQ(status, NotFoundError("portal 10.0.0.7:860 is not registered, or the service MSiSCSI "
                                    "does not run: see `Get-Service MSiSCSI`"));
  }
  for (const absl::Status& status :
       {iscsi.IsConnected(context_, kPortal, "iqn.x:none").status(),
        iscsi.Connect(context_, kPortal, "iqn.x:none", {}),
        iscsi.Disconnect(context_, kPortal, "iqn.x:none"),
        iscsi.GetTargetDisks(context_, kPortal, "iqn.x:none").status()}) {
    EXPECT_EQ(status, NotFoundError("portal 10.0.0.5:3260 offers no target iqn.x:none"));
  }
  EXPECT_EQ(iscsi.Connect(context_, kPortal, "iqn.x:joined", {}),
            AlreadyExistsError("target iqn.x:joined is connected"));
  EXPECT_EQ(iscsi.Disconnect(context_, kPortal, "iqn.x:open"),
            NotFoundError("target iqn.x:open is not connected"));
}

TEST_F(RefusalsTest, ErrorsNameTheMissingServiceOrTheRunningDependentServices) {
  SystemHost& system = host_->system();
  for (const absl::Status& status :
       {system.GetService(context_, "none").status(),
        system.ListActiveDependents(context_, "none").status(),
        system.RequestStart(context_, "none"), system.RequestStop(context_, "none")}) {
    EXPECT_EQ(status, NotFoundError("there is no service none"));
  }
  EXPECT_EQ(system.RequestStop(context_, "Base"),
            FailedPreconditionError("Upper is running and depends on Base"));
}

}  // namespace
}  // namespace csi_proxy::host
