#include "client/ctl/selftest/selftest.h"

namespace csi_proxy::ctl::selftest {

const std::vector<Step>& Steps() {
  static const std::vector<Step>* const kSteps = new std::vector<Step>{
      {"pipes", "every pipe that exists answers; lists the versions served", "", "", "",
       &Attempt::ExaminePipes},
      {"disk",
       "a rescan works; the disk is listed with page 83 identifier, serial number, bus location "
       "and size",
       "disk.Rescan disk.ListDiskIDs disk.GetDiskNumberByName disk.ListDiskLocations "
       "disk.GetDiskStats",
       "", "", &Attempt::FindDisk},
      {"work-directory", "a directory is made, and making it again succeeds",
       "filesystem.PathExists filesystem.Mkdir", "", "", &Attempt::MakeWorkDirectory},
      {"free", "the disk may be overwritten: it is raw, or --disk-is-mine is given",
       "volume.GetClosestVolumeIDFromTargetPath volume.GetDiskNumberFromVolumeID disk.GetDiskState "
       "disk.SetDiskState volume.ListVolumesOnDisk",
       "disk work-directory", "", &Attempt::MakeSureDiskIsFree},
      {"offline-online", "the disk goes offline and online again",
       "disk.SetDiskState disk.GetDiskState", "free", "", &Attempt::GoOfflineAndOnline},
      {"partition", "the disk becomes one partition, whose volume exists when the call returns",
       "disk.PartitionDisk volume.ListVolumesOnDisk volume.GetDiskNumberFromVolumeID",
       "offline-online", "", &Attempt::Partition},
      {"unformatted", "a new volume is not reported as formatted", "volume.IsVolumeFormatted",
       "partition", "", &Attempt::SeeUnformatted},
      {"format", "the volume gets a file system of plausible size",
       "volume.FormatVolume volume.IsVolumeFormatted volume.GetVolumeStats", "unformatted", "",
       &Attempt::Format},
      {"mount", "the volume is mounted at a directory, and mounting it again succeeds",
       "filesystem.Mkdir volume.MountVolume filesystem.IsSymlink filesystem.IsMountPoint", "format",
       "", &Attempt::Mount},
      {"volume-of-path", "every spelling of the path that drivers send finds the mounted volume",
       "volume.GetVolumeIDFromTargetPath volume.GetDiskNumberFromVolumeID", "mount", "",
       &Attempt::FindVolumeOfPath},
      {"closest-volume", "the volume that holds a path is found, mounted or not",
       "filesystem.Mkdir volume.GetClosestVolumeIDFromTargetPath", "mount", "",
       &Attempt::FindClosestVolume},
      {"link",
       "a link is made, is recognised, and does not count as a link once its target is gone",
       "filesystem.CreateSymlink filesystem.IsSymlink filesystem.Mkdir filesystem.Rmdir "
       "filesystem.PathExists volume.GetVolumeIDFromTargetPath",
       "mount", "", &Attempt::MakeLinks},
      {"directories",
       "directories are removed with their contents, and links in them are not followed",
       "filesystem.Mkdir filesystem.CreateSymlink filesystem.RmdirContents filesystem.Rmdir "
       "filesystem.PathExists",
       "work-directory", "", &Attempt::RemoveDirectories},
      {"hostile-paths",
       "every call that takes a path refuses malformed paths with INVALID_ARGUMENT and outside "
       "paths with PERMISSION_DENIED",
       "filesystem.PathExists filesystem.IsSymlink filesystem.Mkdir filesystem.Rmdir "
       "filesystem.RmdirContents filesystem.CreateSymlink volume.MountVolume volume.UnmountVolume "
       "volume.GetVolumeIDFromTargetPath volume.GetClosestVolumeIDFromTargetPath "
       "smb.NewSmbGlobalMapping storage.GetPathStats storage.ListMounts storage.RemoveMount "
       "storage.StageVolume storage.UnstageVolume storage.StageShare storage.UnstageShare "
       "storage.StageTarget storage.UnstageTarget",
       "work-directory", "", &Attempt::SendHostilePaths},
      {"write-cache", "the volume's cache is written to the disk", "volume.WriteVolumeCache",
       "format", "", &Attempt::WriteCache},
      {"resize",
       "the volume grows to the largest possible size, never shrinks, and never exceeds the disk",
       "volume.ResizeVolume volume.GetVolumeStats", "format", "", &Attempt::Resize},
      {"unmount",
       "the mount is removed, its directory stays until it is removed, and the volume's disk is "
       "still found",
       "volume.UnmountVolume filesystem.IsSymlink filesystem.Rmdir filesystem.PathExists "
       "volume.GetDiskNumberFromVolumeID",
       "mount", "", &Attempt::Unmount},
      {"not-mounted",
       "if nothing is mounted, the error says \"because it does not exist\", as drivers expect",
       "volume.GetVolumeIDFromTargetPath", "work-directory", "", &Attempt::AskNotMounted},
      {"release",
       "after the unmount the disk can be taken offline, as a driver does before it detaches it",
       "disk.SetDiskState disk.GetDiskState", "unmount", "", &Attempt::Release},
      {"disks", "the disk is listed with its size, and not as one that Windows runs on",
       "storage.ListDisks", "free", "", &Attempt::ListDisks},
      {"stage",
       "one call makes the directory and mounts the volume, and the next finds nothing to do",
       "storage.StageVolume volume.GetVolumeIDFromTargetPath", "release", "", &Attempt::Stage},
      {"staged", "the mount is listed as alive, its file system measured, its volume healthy",
       "storage.ListMounts storage.GetPathStats storage.GetVolumeHealth storage.ListVolumeHealth",
       "stage", "", &Attempt::SeeStaged},
      {"refuse-format", "a volume with a file system is formatted only if it may be overwritten",
       "storage.FormatVolume", "stage", "", &Attempt::RefuseToFormat},
      {"unstage",
       "one call removes mount and directory and takes the disk offline, and the next finds "
       "nothing to do",
       "storage.UnstageVolume filesystem.PathExists disk.GetDiskState disk.SetDiskState", "stage",
       "", &Attempt::Unstage},
      {"read-only",
       "the disk's read-only flag is set and cleared, and the volume on the disk follows it",
       "storage.SetDiskReadOnly storage.ListDisks storage.StageVolume storage.UnstageVolume "
       "filesystem.Mkdir disk.SetDiskState",
       "unstage", "", &Attempt::ProtectDisk},
      {"absent", "a disk, partition or volume that does not exist is NOT_FOUND",
       "disk.GetDiskStats disk.GetDiskState disk.GetDiskNumberByName volume.ListVolumesOnDisk "
       "volume.GetDiskNumberFromVolumeID",
       "", "", &Attempt::AskForAbsent},
      {"service", "an existing service is described, and one that does not exist is NOT_FOUND",
       "system.GetService", "", "", &Attempt::QueryService},
      {"restart-service", "a service stops and starts, and is left as it was",
       "system.GetService system.StartService system.StopService", "", "restart-service",
       &Attempt::RestartService},
      {"bios", "the machine has a serial number", "system.GetBIOSSerialNumber", "", "",
       &Attempt::ReadBios},
      {"smb-map", "a share is mapped and linked, and mapping it again succeeds",
       "smb.NewSmbGlobalMapping filesystem.IsSymlink filesystem.PathExists", "work-directory",
       "smb-share", &Attempt::MapShare},
      {"smb-mapping", "the mapping is listed with its link", "storage.ListSmbMappings", "smb-map",
       "smb-share", &Attempt::SeeMapping},
      {"smb-unmap", "the mapping is removed, and removing it again is NOT_FOUND",
       "filesystem.Rmdir smb.RemoveSmbGlobalMapping", "smb-map", "smb-share", &Attempt::UnmapShare},
      {"smb-refusals",
       "a wrong password, an absent share and a second user of a server are refused with their own "
       "codes",
       "smb.NewSmbGlobalMapping smb.RemoveSmbGlobalMapping", "smb-unmap", "smb-share",
       &Attempt::RefuseMappings},
      {"smb-stage",
       "one call links and maps the share, another removes both; repeated, each finds nothing to "
       "do",
       "storage.StageShare storage.UnstageShare storage.ListSmbMappings filesystem.PathExists",
       "smb-unmap", "smb-share", &Attempt::StageShare},
      {"iscsi-portal",
       "a portal is registered, registering it again succeeds, and its targets are listed",
       "iscsi.ListTargetPortals iscsi.AddTargetPortal iscsi.DiscoverTargetPortal", "",
       "iscsi-portal", &Attempt::AddPortal},
      {"iscsi-target", "a target is connected, provides disks, and is disconnected",
       "iscsi.GetTargetDisks iscsi.ConnectTarget iscsi.DisconnectTarget", "iscsi-portal",
       "iscsi-iqn", &Attempt::ConnectTarget},
      {"iscsi-forget", "the portal is removed, and removing it again is NOT_FOUND",
       "iscsi.RemoveTargetPortal", "iscsi-portal", "iscsi-portal", &Attempt::RemovePortal},
  };
  return *kSteps;
}

}  // namespace csi_proxy::ctl::selftest
