#include "integration/service/cases.h"

namespace csi_proxy::integration {

std::vector<Script> VolumeScripts() {
#define TARGET R"("C:\\var\\lib\\kubelet\\plugins\\mnt")"
#define SYSTEM_VOLUME R"("\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\")"
#define NO_VOLUME R"(volume_id: "\\\\?\\Volume{00000000-0000-0000-0000-00000000dead}\\")"
  // The test partitions disk 1 and creates the directory before each script.
  const std::vector<Case> old_common = {
      {"ListVolumesOnDisk", "disk_id: '1'", kOk, "volume_ids: '$V'"},
      {"ListVolumesOnDisk", "disk_id: '0'", kOk, "volume_ids: " SYSTEM_VOLUME},
      {"ListVolumesOnDisk", "disk_id: '1.0'", kInvalid, "disk_id: \"1.0\" is not a decimal"},
      {"ListVolumesOnDisk", "disk_id: '66'", kNotFound, "there is no disk 66"},
      {"IsVolumeFormatted", "volume_id: '$V'", kOk, "formatted: false"},
      {"MountVolume", "volume_id: '$V' path: " TARGET, kPrecondition, "has no file system"},
      {"FormatVolume", "volume_id: '$W'"},
      {"FormatVolume", NO_VOLUME, kNotFound, "there is no volume"},
      {"IsVolumeFormatted", "volume_id: '$V'", kOk, "formatted: true"},
      {"IsVolumeFormatted", "volume_id: 'C:'", kInvalid, "volume_id: \"C:\" is not a volume id"},
      {"MountVolume", "volume_id: '$V' path: " TARGET},
      {"MountVolume", "volume_id: '$W' path: " TARGET},
      {"MountVolume", R"(volume_id: '$V' path: "C:\\Windows\\Temp")", kDenied, "target_path: "},
      {"ResizeVolume", "volume_id: '$V' size: 0"},
      {"ResizeVolume", "volume_id: '$V' size: -1", kInvalid, "size_bytes: -1 is negative"},
      {"ResizeVolume", "volume_id: '$V' size: 999999999999", kPrecondition, "has room for"},
  };
  const std::vector<Case> old_unmount = {
      {"DismountVolume", "volume_id: '$V' path: " TARGET},
      {"DismountVolume", "volume_id: '$V' path: " TARGET, kNotFound, "no volume is mounted"},
  };
  const std::vector<Case> old_queries = {
      {"VolumeStats", "volume_id: '$V'", kOk, "volumeSize: 10718543872 volumeUsedSize: 33554432"},
      {"VolumeStats", NO_VOLUME, kNotFound, "there is no volume"},
      {"GetVolumeDiskNumber", "volume_id: '$V'", kOk, "diskNumber: 1"},
      {"GetVolumeDiskNumber", "volume_id: '{}'", kInvalid, "is not a volume id"},
      {"GetVolumeIDFromMount", "mount: " TARGET, kOk, "volume_id: '$V'"},
      {"GetVolumeIDFromMount", R"(mount: "/var/lib/kubelet/plugins")", kNotFound,
       "because it does not exist"},
  };
  const std::vector<Case> write_cache = {
      {"WriteVolumeCache", "volume_id: '$V'"},
      {"WriteVolumeCache", NO_VOLUME, kNotFound, "there is no volume"},
  };
  const std::vector<Case> now = {
      {"ListVolumesOnDisk", "disk_number: 1", kOk, "volume_ids: '$V'"},
      {"ListVolumesOnDisk", "disk_number: 1 partition_number: 2", kOk, "volume_ids: '$V'"},
      {"ListVolumesOnDisk", "disk_number: 1 partition_number: 1", kOk, ""},
      {"ListVolumesOnDisk", "disk_number: 1 partition_number: 9", kNotFound, "no partition 9"},
      {"ListVolumesOnDisk", "disk_number: 66", kNotFound, "there is no disk 66"},
      {"IsVolumeFormatted", "volume_id: '$V'", kOk, "formatted: false"},
      {"IsVolumeFormatted", "volume_id: ''", kInvalid, "volume_id: \"\" is not a volume id"},
      {"GetVolumeStats", "volume_id: '$V'", kPrecondition, "has no file system"},
      {"FormatVolume", "volume_id: '$V'"},
      {"FormatVolume", "volume_id: '$V'", kInternal, kMethodFailed,
       "wmi.Invoke/MSFT_Volume.Format"},
      {"IsVolumeFormatted", "volume_id: '$W'", kOk, "formatted: true"},
      {"MountVolume", "volume_id: '$V' target_path: " TARGET},
      {"MountVolume", "volume_id: '$V' target_path: " TARGET},
      {"MountVolume", "volume_id: " SYSTEM_VOLUME " target_path: " TARGET, kExists,
       "another volume is mounted"},
      {"GetVolumeStats", "volume_id: '$V'", kOk, "total_bytes: 10718543872 used_bytes: 33554432"},
      {"ResizeVolume", "volume_id: '$V' size_bytes: 1"},
      {"ResizeVolume", "volume_id: '$V' size_bytes: -9", kInvalid, "size_bytes: -9 is negative"},
      {"GetDiskNumberFromVolumeID", "volume_id: '$V'", kOk, "disk_number: 1"},
      {"GetDiskNumberFromVolumeID", NO_VOLUME, kNotFound, "because it does not exist"},
      {"GetVolumeIDFromTargetPath", R"(target_path: "\\var\\lib\\kubelet/plugins/mnt/")", kOk,
       "volume_id: '$V'"},
      {"GetVolumeIDFromTargetPath", R"(target_path: "C:\\var\\lib\\kubelet\\none")", kNotFound,
       "because it does not exist"},
      {"WriteVolumeCache", "volume_id: '$V'"},
      {"WriteVolumeCache", "volume_id: '$V'", kInternal, "flushing volume", "win32.Flush"},
      {"UnmountVolume", R"(volume_id: '$V' target_path: "C:\\var\\lib\\kubelet")", kDenied,
       "is a working directory itself"},
      {"UnmountVolume", "volume_id: '$V' target_path: " TARGET},
      {"UnmountVolume", "volume_id: '$V' target_path: " TARGET, kNotFound, "no volume is mounted"},
      {"GetDiskNumberFromVolumeID", "volume_id: '$V'", kOk, "disk_number: 1"},
  };
  const std::vector<Case> closest = {
      {"ListVolumesOnDisk", "disk_number: 1", kOk, "volume_ids: '$V'"},
      {"FormatVolume", "volume_id: '$V'"},
      {"GetClosestVolumeIDFromTargetPath", "target_path: " TARGET, kOk,
       "volume_id: " SYSTEM_VOLUME},
      {"MountVolume", "volume_id: '$V' target_path: " TARGET},
      {"GetClosestVolumeIDFromTargetPath", "target_path: " TARGET, kOk, "volume_id: '$V'"},
      {"GetClosestVolumeIDFromTargetPath", R"(target_path: "C:\\var\\lib\\kubelet\\none")",
       kNotFound, "does not exist"},
  };
#undef TARGET
#undef SYSTEM_VOLUME
#undef NO_VOLUME
  const auto join = [](std::initializer_list<std::vector<Case>> parts) {
    std::vector<Case> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  return {{"volume", {"v1alpha1"}, join({old_common, old_unmount})},
          {"volume", {"v1beta1"}, join({old_common, old_queries, old_unmount})},
          {"volume", {"v1beta2"}, join({old_common, old_queries, write_cache, old_unmount})},
          {"volume", {"v1beta3", "v1", "v2alpha1"}, now},
          {"volume", {"v2alpha1"}, closest}};
}

}  // namespace csi_proxy::integration
