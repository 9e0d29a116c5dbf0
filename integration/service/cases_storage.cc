#include "integration/service/cases.h"

namespace csi_proxy::integration {
namespace {

// Disk 3 arrives offline and read-only, as SAN disks do. Disk 4 does not answer the inquiry, yet
// the other disks are listed.
#define DEVICE(number)                                              \
  R"(path: "\\\\?\\scsi#disk&ven_simulated&prod_disk#00000)" number \
  R"(#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}" )"
constexpr char kDisks[] = "disks { number: 0 " DEVICE(
    "0") R"(serial_number: "vol00000000000000001"
        page83: "systemdisk" unique_id: "systemdisk" adapter: "0" bus: "0" target: "0" lun_id: "0"
        size_bytes: 68719476736 partition_style: GPT is_boot: true is_system: true is_online: true }
    )"
         "disks { number: 1 " DEVICE("1") R"(page83: "60022480a1b2c3d4e5f60718293a4b5c"
        unique_id: "60022480A1B2C3D4E5F60718293A4B5C" adapter: "3" bus: "0" target: "0" lun_id: "0"
        size_bytes: 10737418240 is_online: true }
    )"
                                          "disks { number: 2 " DEVICE(
                                              "2") R"(serial_number: "vol0a1b2c3d4e5f60789"
        page83: "nvme.1d0f-766f6c30353433" unique_id: "nvme.1d0f-766f6c30353433" adapter: "4"
        bus: "0" target: "0" lun_id: "1" size_bytes: 21474836480 is_online: true }
    )"
                                                   "disks { number: 3 " DEVICE(
                                                       "3") R"(page83: "Google  pvc-1f2e3d4c"
        unique_id: "Google  pvc-1f2e3d4c" adapter: "3" bus: "0" target: "1" lun_id: "2"
        size_bytes: 5368709120 offline_reason: "Policy" is_read_only: true }
    )"
                                                            "disks { number: 4 " DEVICE(
                                                                "4") R"(serial_number: "mute"
        unique_id: "SIMULATED\\DISK\\4:NODE" size_bytes: 1073741824 is_online: true })";
#undef DEVICE

}  // namespace

std::vector<Script> StorageScripts() {
#define TARGET R"("C:\\var\\lib\\kubelet\\plugins\\stage")"
#define SYSTEM_VOLUME R"("\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\")"
#define NO_VOLUME R"("\\\\?\\Volume{00000000-0000-0000-0000-00000000dead}\\")"
  const Script script{
      "storage",
      {"v1alpha1"},
      {
          {"ListDisks", "", kOk, kDisks},
          {"ListDisks", "", kInternal, kQueryFailed, "wmi.Query/MSFT_Disk"},
          {"SetDiskReadOnly", "disk_number: 2 read_only: true"},
          {"SetDiskReadOnly", "disk_number: 2"},
          {"SetDiskReadOnly", "disk_number: 2"},
          {"SetDiskReadOnly", "disk_number: 0 read_only: true", kPrecondition, "disk 0"},
          {"SetDiskReadOnly", "disk_number: 77", kNotFound, "there is no disk 77"},
          {"StageVolume", "target_path: " TARGET, kInvalid, "disk: "},
          {"StageVolume", "disk { number: '1' lun_id: '0' } target_path: " TARGET, kInvalid,
           "disk"},
          {"StageVolume", "disk { number: '-1' } target_path: " TARGET, kInvalid, "number"},
          {"StageVolume", "disk { number: '77' } target_path: " TARGET, kNotFound, "disk"},
          {"StageVolume", "disk { number: '0' } target_path: " TARGET, kPrecondition, "disk 0"},
          {"StageVolume", "disk { lun_id: '0' adapter: '0' } target_path: " TARGET, kPrecondition,
           "Windows runs on disk 0"},
          {"StageVolume", R"(disk { number: '1' } target_path: "C:\\Windows\\Temp")", kDenied,
           "target_path: "},
          {"StageVolume", "disk { number: '1' } file_system: 'ext4' target_path: " TARGET, kInvalid,
           "file_system: "},
          {"StageVolume", "disk { number: '1' } target_path: " TARGET, kInternal, "mounting volume",
           "win32.SetMountPoint"},
          // Performs only the last step: the failed call has partitioned and formatted the disk.
          {"StageVolume", "disk { number: '1' } target_path: " TARGET, kOk,
           "disk_number: 1 volume_id: '$V' size_bytes: 10718543872 steps: MOUNTED"},
          {"StageVolume",
           "disk { page83: '60022480a1b2c3d4e5f60718293a4b5c' } target_path: " TARGET, kOk,
           "disk_number: 1 volume_id: '$V' size_bytes: 10718543872"},
          {"StageVolume", "disk { number: '3' } target_path: " TARGET, kExists,
           "another volume is mounted"},
          {"GetPathStats", "path: " TARGET, kOk,
           "total_bytes: 10718543872 available_bytes: 10684989440 used_bytes: 33554432 "
           "volume_id: '$V'"},
          {"GetPathStats", R"(path: "C:\\var\\lib\\kubelet\\none")", kNotFound, "does not exist"},
          {"GetPathStats", R"(path: "C:\\Windows")", kDenied, "path: "},
          {"ListMounts", "", kOk, "mounts { path: " TARGET " target: '$V' }"},
          {"ListMounts", R"(path: "C:\\var\\lib\\kubelet\\none")", kNotFound, "does not exist"},
          {"ListMounts", R"(path: "C:\\Windows")", kDenied, "path: "},
          {"RemoveMount", "path: " TARGET " target: '$V'", kPrecondition, "works"},
          {"RemoveMount", "path: " TARGET, kInvalid, "target: "},
          {"RemoveMount", R"(path: "C:\\Windows\\Temp" target: '$V')", kDenied, "path: "},
          {"RemoveMount", R"(path: "C:\\var\\lib\\kubelet\\none" target: '$V')"},
          {"ListSmbMappings", "", kOk, ""},
          {"ListSmbMappings", "", kInternal, kQueryFailed, "wmi.Query/MSFT_SmbGlobalMapping"},
          {"GetVolumeHealth", "volume_id: '$V'", kOk,
           "file_system: 'NTFS' volume_health: 'Healthy' disk_number: 1 disk_health: 'Healthy'"},
          {"GetVolumeHealth", "volume_id: " NO_VOLUME, kNotFound, "there is no volume"},
          {"GetVolumeHealth", "volume_id: 'C:'", kInvalid, "volume_id: \"C:\" is not a volume id"},
          {"ListVolumeHealth", "volume_ids: '$V'", kOk, "volumes { volume_id: '$V' }"},
          {"ListVolumeHealth", "volume_ids: 'C:'", kInvalid,
           "volume_id: \"C:\" is not a volume id"},
          {"FormatVolume", "volume_id: '$V'", kPrecondition, "volume_id: "},
          {"FormatVolume", "volume_id: " SYSTEM_VOLUME " overwrite: true", kPrecondition, "disk 0"},
          {"FormatVolume", "volume_id: '$V' overwrite: true allocation_unit_bytes: 5", kInvalid,
           "allocation_unit_bytes: "},
          {"FormatVolume", "volume_id: '$W' overwrite: true", kPrecondition,
           "is mounted at a folder"},
          {"UnstageVolume", "keep_online: true target_path: " TARGET, kOk,
           "volume_id: '$V' steps: FLUSHED steps: UNMOUNTED steps: REMOVED_DIRECTORY"},
          {"FormatVolume", "volume_id: '$W' overwrite: true file_system: 'refs' label: 'data'"},
          {"GetVolumeHealth", "volume_id: '$V'", kOk,
           "file_system: 'ReFS' volume_health: 'Healthy' disk_number: 1 disk_health: 'Healthy'"},
          {"UnstageVolume", R"(target_path: "C:\\Windows\\Temp")", kDenied, "target_path: "},
          {"UnstageVolume", R"(target_path: "C:\\var\\lib\\kubelet")", kDenied,
           "is a working directory itself"},
          {"StageVolume", "disk { number: '1' } target_path: " TARGET, kOk,
           "disk_number: 1 volume_id: '$V' size_bytes: 10718543872 steps: MADE_DIRECTORY "
           "steps: MOUNTED"},
          {"UnstageVolume", "target_path: " TARGET, kOk,
           "volume_id: '$V' steps: FLUSHED steps: TAKEN_OFFLINE steps: UNMOUNTED "
           "steps: REMOVED_DIRECTORY"},
          {"UnstageVolume", "target_path: " TARGET, kOk,
           R"(warnings: "nothing is mounted at C:\\var\\lib\\kubelet\\plugins\\stage, so no disk was )"
           "looked at: before the cloud detaches the volume's disk, see that csi-proxyctl storage "
           "list-disks shows it offline, or take it offline\""},
      }};
#define SHARE R"("\\\\fileserver.example\\data")"
#define STAGE_SHARE "remote_path: " SHARE " target_path: " TARGET " username: 'EXAMPLE\\\\storage' "
  const Script shares{
      "storage",
      {"v1alpha1"},
      {
          {"StageShare", "target_path: " TARGET " username: 'u'", kInvalid, "remote_path: "},
          {"StageShare", "remote_path: " SHARE " target_path: " TARGET " password: 'p'", kInvalid,
           "username: "},
          {"StageShare", "remote_path: " SHARE R"( target_path: "C:\\Windows\\Temp" username: 'u')",
           kDenied, "target_path: "},
          {"StageShare", STAGE_SHARE "password: 'wrong'", kPrecondition, "mapping "},
          {"StageShare", STAGE_SHARE "password: 'correct horse'", kInternal, "mapping ",
           "wmi.Invoke/MSFT_SmbGlobalMapping.Create"},
          {"StageShare", STAGE_SHARE "password: 'correct horse'", kOk,
           "share: " SHARE " steps: LINKED steps: MAPPED"},
          {"StageShare", STAGE_SHARE "password: 'correct horse'", kOk, "share: " SHARE},
          {"StageVolume", "disk { number: '1' } target_path: " TARGET, kPrecondition, "is a link"},
          {"UnstageShare", R"(target_path: "C:\\Windows\\Temp")", kDenied, "target_path: "},
          {"UnstageShare",
           "target_path: " TARGET R"( remote_path: "\\\\fileserver.example\\scratch")",
           kPrecondition, "leads to "},
          {"UnstageShare", "target_path: " TARGET, kOk,
           "share: " SHARE " steps: UNMAPPED steps: UNLINKED"},
          {"UnstageShare", "target_path: " TARGET},
      }};
  const Script from_nothing{
      "storage",
      {"v1alpha1"},
      {
          {"StageVolume",
           "disk { lun_id: '2' adapter: '3' } file_system: 'ReFS' allocation_unit_bytes: 65536 "
           "label: 'data' target_path: " TARGET,
           kOk,
           "disk_number: 3 volume_id: '$V' size_bytes: 5349834752 steps: BROUGHT_ONLINE "
           "steps: MADE_WRITABLE steps: INITIALIZED steps: PARTITIONED steps: FORMATTED "
           "steps: MADE_DIRECTORY steps: MOUNTED"},
          {"StageVolume", "disk { number: '3' } file_system: 'NTFS' target_path: " TARGET,
           kPrecondition, "ReFS"},
          {"UnstageVolume", "target_path: " TARGET " keep_online: true", kOk,
           "volume_id: '$V' steps: FLUSHED steps: UNMOUNTED steps: REMOVED_DIRECTORY"},
      }};
#define IQN " iqn: 'iqn.2026-01.example.storage:open' target_path: " TARGET
#define UNSTAGE(name) " iqn: 'iqn.2026-01.example.storage:" name "' target_path: " TARGET
#define CHAP                                                                             \
  " iqn: 'iqn.2026-01.example.storage:chap' chap: CHAP_ONE_WAY chap_username: 'node-1' " \
  "target_path: " TARGET
  const Script targets{
      "storage",
      {"v1alpha1"},
      {
          {"StageTarget", "lun_id: '0'" IQN, kInvalid, "portals: is empty"},
          {"StageTarget", "portals: '10.0.0.5'" IQN, kInvalid, "lun_id: "},
          {"StageTarget", "portals: '10.0.0.5' lun_id: '0' chap_secret: 'one-way-secret'" IQN,
           kInvalid, "chap: "},
          {"StageTarget",
           R"(portals: '10.0.0.5' lun_id: '0' iqn: 'iqn.a' target_path: "C:\\Windows")", kDenied,
           "target_path: "},
          {"StageTarget", "portals: '10.0.0.9' lun_id: '0'" IQN, kUnavailable,
           "portals: registering portal 10.0.0.9:3260"},
          {"StageTarget", "portals: '10.0.0.5' lun_id: '0' chap_secret: 'not-the-secret'" CHAP,
           kPrecondition, "Authentication failed"},
          {"StageTarget", "portals: '10.0.0.5' lun_id: '0' chap_secret: 'one-way-secret'" CHAP, kOk,
           "disk_number: 12 volume_id: '$V' size_bytes: 2128609280 steps: REFRESHED_PORTAL "
           "steps: CONNECTED_TARGET steps: INITIALIZED steps: PARTITIONED steps: FORMATTED "
           "steps: MADE_DIRECTORY steps: MOUNTED"},
          {"StageTarget", "portals: '10.0.0.5' lun_id: '0'" IQN, kExists,
           "another volume is mounted"},
          {"UnstageTarget", "target_path: " TARGET, kInvalid, "iqn: "},
          {"UnstageTarget", "lun_id: '1'" UNSTAGE("chap"), kPrecondition, "another LUN"},
          {"UnstageTarget", UNSTAGE("chap"), kOk,
           "volume_id: '$V' steps: FLUSHED steps: TAKEN_OFFLINE steps: UNMOUNTED "
           "steps: REMOVED_DIRECTORY steps: DISCONNECTED_TARGET"},
          {"UnstageTarget", "remove_portals: '10.0.0.5'" UNSTAGE("open"), kOk,
           "steps: DISCONNECTED_TARGET steps: REMOVED_PORTAL"},
          {"UnstageTarget", UNSTAGE("open")},
      }};
#undef CHAP
#undef UNSTAGE
#undef IQN
  return {script, shares, from_nothing, targets};
}

}  // namespace csi_proxy::integration
