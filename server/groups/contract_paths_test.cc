// Tests the promises to drivers about mounted folders, links and the spellings of paths. Each test
// has the name of one promise.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

class MountedFolderContract : public HandlerTest {
 protected:
  // Mounts a volume with a directory `kept` at a new directory and returns the volume.
  std::string MountedAt(const std::string& path) {
    const std::string volume = Volume(1);
    EXPECT_TRUE(Mkdir(path).ok());
    EXPECT_TRUE(volume_->MountVolume(context_, {.volume_id = volume, .target_path = path}).ok());
    EXPECT_TRUE(Mkdir(path + "\\kept").ok());
    return volume;
  }
  bool HoldsWhatItHeld(const std::string& volume) {
    EXPECT_TRUE(Mkdir(Below("again")).ok());
    const auto mounted =
        volume_->MountVolume(context_, {.volume_id = volume, .target_path = Below("again")});
    EXPECT_TRUE(mounted.ok()) << mounted.status();
    return Exists(Below("again\\kept"));
  }
  absl::StatusOr<bool> IsLink(const std::string& path) {
    const auto answer = filesystem_->IsSymlink(context_, {.path = path});
    if (!answer.ok()) return answer.status();
    return answer->is_symlink;
  }
};

class SpellingContract : public HandlerTest {};

// Drivers that never call UnmountVolume end the mount by Rmdir.
TEST_F(MountedFolderContract, RmdirUnmountsAndKeepsTheVolumesContent) {
  for (const bool share : {false, true}) {
    for (const bool force : {false, true}) {
      node_->Reset();
      node_->core()->Change(
          [&](machine::simulator::NodeState& state) { state.behaviour.mount_calls_share = share; });
      const std::string volume = MountedAt(Below("m"));
      const absl::Status removed = Rmdir(Below("m"), force);
      EXPECT_TRUE(removed.ok()) << removed;
      EXPECT_FALSE(Exists(Below("m")));
      EXPECT_TRUE(HoldsWhatItHeld(volume));
    }
  }
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(MountedFolderContract, RmdirFlushesFirstAndOnlyLogsAFailedFlush) {
  const std::string volume = MountedAt(Below("m"));
  Fail("win32.Flush", 1, 1117);
  EXPECT_TRUE(Rmdir(Below("m"), true).ok());
  EXPECT_TRUE(node_->Snapshot().faults.empty()) << "it was flushed";
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(warnings_[0], absl::StrCat("volume ", volume, " was not flushed")))
      << warnings_[0];
  EXPECT_TRUE(HoldsWhatItHeld(volume));
}

TEST_F(MountedFolderContract, RmdirOfAMountSucceedsIfItsDiskWasDetached) {
  for (const bool force : {false, true}) {
    node_->Reset();
    MountedAt(Below("m"));
    ASSERT_TRUE(node_->DetachDisk(1).ok());
    // The mount manager has forgotten the volume.
    Fail("win32.DeleteMountPoint", 0, 2);
    const absl::Status removed = Rmdir(Below("m"), force);
    EXPECT_TRUE(removed.ok()) << removed;
    EXPECT_FALSE(Exists(Below("m")));
  }
}

TEST_F(MountedFolderContract, RmdirOfAMountSucceedsIfItsDiskIsOffline) {
  const std::string volume = MountedAt(Below("m"));
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 1, .is_online = false}).ok());
  EXPECT_TRUE(Rmdir(Below("m"), true).ok());
  EXPECT_FALSE(Exists(Below("m")));
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 1, .is_online = true}).ok());
  EXPECT_TRUE(HoldsWhatItHeld(volume));
}

TEST_F(MountedFolderContract, RmdirContentsOfAMountedFolderIsRefused) {
  MountedAt(Below("m"));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      filesystem_->RmdirContents(context_, {.path = Below("m")}).status()));
  EXPECT_TRUE(Exists(Below("m\\kept")));
}

TEST_F(MountedFolderContract, IsSymlinkIsTrueWhileTheMountedVolumeIsOnline) {
  MountedAt(Below("m"));
  EXPECT_EQ(IsLink(Below("m")).value_or(false), true);
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 1, .is_online = false}).ok());
  EXPECT_EQ(IsLink(Below("m")).value_or(true), false) << "offline, without an error";
  ASSERT_TRUE(disk_->SetDiskState(context_, {.disk_number = 1, .is_online = true}).ok());
  EXPECT_EQ(IsLink(Below("m")).value_or(false), true);
  ASSERT_TRUE(node_->DetachDisk(1).ok());
  EXPECT_EQ(IsLink(Below("m")).value_or(true), false) << "pulled, without an error";
}

// A volume without a file system exists: IsSymlink must not fail before the driver formats it.
TEST_F(MountedFolderContract, IsSymlinkOfAMountWithoutAFileSystemIsTrue) {
  MountedAt(Below("m"));
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.disks[1].partitions.back().volume->file_system.clear();
  });
  EXPECT_EQ(IsLink(Below("m")).value_or(false), true);
}

TEST_F(MountedFolderContract, IsSymlinkIsFalseForADanglingLinkAndFailsForAnAbsentPath) {
  ASSERT_TRUE(Mkdir(Below("t\\inner")).ok());
  ASSERT_TRUE(Link(Below("t\\inner"), Below("l")).ok());
  ASSERT_TRUE(Link(Below("l"), Below("chain")).ok());
  EXPECT_EQ(IsLink(Below("l")).value_or(false), true);
  EXPECT_EQ(IsLink(Below("chain")).value_or(false), true);
  EXPECT_EQ(IsLink(Below("t")).value_or(true), false) << "a plain directory";
  ASSERT_TRUE(Rmdir(Below("t"), true).ok());
  EXPECT_EQ(IsLink(Below("l")).value_or(true), false) << "dangling, without an error";
  EXPECT_EQ(IsLink(Below("chain")).value_or(true), false);
  for (const char* absent : {"none", "none\\deeper", "l\\deeper"}) {
    EXPECT_TRUE(absl::IsNotFound(IsLink(Below(absent)).status())) << absent;
  }
}

// A pod must not find out which paths exist on its node.
TEST_F(MountedFolderContract, IsSymlinkDoesNotRevealWhichPathsExistOutside) {
  ASSERT_TRUE(node_->MakeDirectory(R"(C:\secret\there)").ok());
  for (const bool there : {false, true}) {
    for (const bool junction : {false, true}) {
      ASSERT_TRUE(
          node_->MakeLink(Below("l"), there ? R"(C:\secret\there)" : R"(C:\secret\other)", junction)
              .ok());
      const absl::Status answer = IsLink(Below("l")).status();
      EXPECT_TRUE(absl::IsPermissionDenied(answer)) << answer;
      ASSERT_TRUE(Rmdir(Below("l")).ok());
    }
  }
}

// Calls trust links at a working directory, so no call may put a link or another entry there.
TEST_F(MountedFolderContract, CallsRefuseToReplaceAWorkingDirectory) {
  const std::string inner = Below("pods\\inner");
  ASSERT_TRUE(Mkdir(inner).ok());
  ASSERT_TRUE(Mkdir(Below("t")).ok());
  const auto parse = [](const std::string& text) { return *WindowsPath::Parse("root", text); };
  deps_.roots = std::make_shared<const PathRoots>(
      std::vector<WindowsPath>{parse(R"(C:\var\lib\kubelet)"), parse(inner), parse(R"(C:\later)")});
  Remake();
  const std::string volume = Volume(1);
  for (const std::string& root : {inner, std::string(R"(C:\later)")}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Link(Below("t"), root))) << root;
    EXPECT_TRUE(absl::IsPermissionDenied(Rmdir(root, true))) << root;
    EXPECT_TRUE(
        absl::IsPermissionDenied(filesystem_->RmdirContents(context_, {.path = root}).status()))
        << root;
    EXPECT_TRUE(absl::IsPermissionDenied(
        volume_->MountVolume(context_, {.volume_id = volume, .target_path = root}).status()))
        << root;
    EXPECT_TRUE(absl::IsPermissionDenied(
        volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = root}).status()))
        << root;
    EXPECT_TRUE(absl::IsPermissionDenied(
        smb_->NewSmbGlobalMapping(context_, {.remote_path = R"(\\fileserver.example\data)",
                                             .local_path = root,
                                             .username = R"(EXAMPLE\storage)",
                                             .password = "correct horse"})
            .status()))
        << root;
  }
  EXPECT_FALSE(Exists(R"(C:\later)"));
  // The host without the handlers also refuses to make the link.
  const ConfinedPath later{parse(R"(C:\later)"), deps_.roots};
  const ConfinedPath source{parse(Below("t")), deps_.roots};
  EXPECT_TRUE(absl::IsPermissionDenied(host_->filesystem().CreateLink(context_, source, later)));
  EXPECT_TRUE(absl::IsPermissionDenied(host_->filesystem().CreateLinkToShare(
      context_, *UncPath::Parse("target", R"(\\fileserver.example\data)"), later)));
  EXPECT_FALSE(Exists(R"(C:\later)"));
}

// gcp-pd passes the kubelet's path unchanged to MountVolume, IsSymlink and the look-ups.
TEST_F(SpellingContract, AVolumeCanBeMountedAndUnmountedByAnySpellingOfAPath) {
  const std::string volume = Volume(1);
  for (const char* path : {R"(\var\lib\kubelet\m)", "/var/lib/kubelet/m", R"(/var\lib/kubelet\m\)",
                           R"(\\?\C:\var\lib\kubelet\m)", "c:/VAR/lib//kubelet/M"}) {
    ASSERT_TRUE(Mkdir(Below("m")).ok());
    const auto mounted = volume_->MountVolume(context_, {.volume_id = volume, .target_path = path});
    EXPECT_TRUE(mounted.ok()) << path << ": " << mounted.status();
    EXPECT_TRUE(volume_->MountVolume(context_, {.volume_id = volume, .target_path = path}).ok());
    const auto link = filesystem_->IsSymlink(context_, {.path = path});
    ASSERT_TRUE(link.ok()) << path << ": " << link.status();
    EXPECT_TRUE(link->is_symlink);
    const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = path});
    ASSERT_TRUE(found.ok()) << path << ": " << found.status();
    EXPECT_EQ(found->volume_id, volume);
    const auto unmounted =
        volume_->UnmountVolume(context_, {.volume_id = volume, .target_path = path});
    EXPECT_TRUE(unmounted.ok()) << path << ": " << unmounted.status();
    EXPECT_FALSE(filesystem_->IsSymlink(context_, {.path = path})->is_symlink);
    ASSERT_TRUE(Rmdir(Below("m")).ok());
  }
}

TEST_F(SpellingContract, APathWithoutADriveUsesTheDriveOfItsWorkingDirectory) {
  const WindowsPath on_c = *WindowsPath::Parse("root", R"(C:\var\lib\kubelet)");
  const WindowsPath on_d = *WindowsPath::Parse("root", R"(D:\csi)");
  const auto answer = [&](const std::string& path) {
    return filesystem_->IsSymlink(context_, {.path = path}).status();
  };
  for (const bool d_first : {false, true}) {
    deps_.roots = std::make_shared<const PathRoots>(d_first ? std::vector<WindowsPath>{on_d, on_c}
                                                            : std::vector<WindowsPath>{on_c, on_d});
    Remake();
    const absl::Status absent = answer(R"(\csi\x)");
    EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
    EXPECT_TRUE(absl::StrContains(absent.message(), R"(D:\csi\x)")) << absent;
    EXPECT_TRUE(answer("/var/lib/kubelet/pods").ok());
    const absl::Status outside = answer("/Windows");
    EXPECT_TRUE(absl::IsPermissionDenied(outside)) << outside;
    EXPECT_TRUE(absl::StrContains(outside.message(), d_first ? "D:\\\\Windows" : "C:\\\\Windows"))
        << "on the drive of the first: " << outside;
  }
}

TEST_F(SpellingContract, StrictCallsRefuseAPathWithoutADrive) {
  ASSERT_TRUE(Mkdir(Below("t")).ok());
  for (const std::string path : {R"(\var\lib\kubelet\a)", "/var/lib/kubelet/a"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(filesystem_->PathExists(context_, {.path = path}).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(Mkdir(path)));
    EXPECT_TRUE(absl::IsInvalidArgument(Rmdir(path, true)));
    EXPECT_TRUE(absl::IsInvalidArgument(Link(Below("t"), path)));
    EXPECT_TRUE(absl::IsInvalidArgument(Link(path, Below("l"))));
  }
}

}  // namespace
}  // namespace csi_proxy::groups
