#include "integration/service/cases.h"

namespace csi_proxy::integration {
namespace {

// Disks 0 to 3 of the default scenario have a location; disk 4 has none.
constexpr char kLocations[] = R"(
  disk_locations { key: 0 value { Adapter: "0" Bus: "0" Target: "0" LUNID: "0" } }
  disk_locations { key: 1 value { Adapter: "3" Bus: "0" Target: "0" LUNID: "0" } }
  disk_locations { key: 2 value { Adapter: "4" Bus: "0" Target: "0" LUNID: "1" } }
  disk_locations { key: 3 value { Adapter: "3" Bus: "0" Target: "1" LUNID: "2" } })";
constexpr char kTextLocations[] = R"(
  disk_locations { key: "0" value { Adapter: "0" Bus: "0" Target: "0" LUNID: "0" } }
  disk_locations { key: "1" value { Adapter: "3" Bus: "0" Target: "0" LUNID: "0" } }
  disk_locations { key: "2" value { Adapter: "4" Bus: "0" Target: "0" LUNID: "1" } }
  disk_locations { key: "3" value { Adapter: "3" Bus: "0" Target: "1" LUNID: "2" } })";

// Disk 4 does not answer the inquiry. The other disks are listed all the same.
constexpr char kIds[] = R"(
  diskIDs { key: 0 value { page83: "systemdisk" serial_number: "vol00000000000000001" } }
  diskIDs { key: 1 value { page83: "60022480a1b2c3d4e5f60718293a4b5c" } }
  diskIDs { key: 2 value { page83: "nvme.1d0f-766f6c30353433" serial_number: "vol0a1b2c3d4e5f60789" } }
  diskIDs { key: 3 value { page83: "Google  pvc-1f2e3d4c" } }
  diskIDs { key: 4 value { serial_number: "mute" } })";
#define IDENTIFIERS(page83, serial)                     \
  "value { identifiers { key: 'page83' value: '" page83 \
  "' } identifiers { key: 'serialNumber' value: '" serial "' } } }"
constexpr char kTextIds[] =
    "diskIDs { key: '0' " IDENTIFIERS("systemdisk", "vol00000000000000001")
    "diskIDs { key: '1' " IDENTIFIERS("60022480a1b2c3d4e5f60718293a4b5c", "")
    "diskIDs { key: '2' " IDENTIFIERS("nvme.1d0f-766f6c30353433", "vol0a1b2c3d4e5f60789")
    "diskIDs { key: '3' " IDENTIFIERS("Google  pvc-1f2e3d4c", "")
    "diskIDs { key: '4' " IDENTIFIERS("", "mute");
#undef IDENTIFIERS

constexpr char kIdRange[] = "diskID: \"4294967296\" is not a decimal number from 0 to 4294967295";

std::vector<Script> DiskScripts() {
  const std::vector<Case> text_common = {
      {"ListDiskLocations", "", kOk, kTextLocations},
      {"ListDiskLocations", "", kInternal, kQueryFailed, "wmi.Query/MSFT_Disk"},
      {"Rescan", ""},
      {"Rescan", "", kInternal, kMethodFailed,
       "wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache"},
      {"PartitionDisk", "diskID: '1'"},
      {"PartitionDisk", "diskID: '1'"},
      {"PartitionDisk", "diskID: '3'"},
      {"PartitionDisk", "diskID: '77'", kNotFound, "there is no disk 77"},
      {"PartitionDisk", "diskID: '4294967296'", kInvalid, kIdRange},
      {"PartitionDisk", "diskID: ''", kInvalid, "diskID: \"\" is not a decimal number"},
  };
  const std::vector<Case> identifiers_and_stats = {
      {"ListDiskIDs", "", kOk, kTextIds},
      {"ListDiskIDs", "", kInternal, kQueryFailed, "wmi.Query/MSFT_Disk"},
      {"DiskStats", "diskID: '2'", kOk, "diskSize: 21474836480"},
      {"DiskStats", "diskID: '-1'", kInvalid, "diskID: \"-1\" is not a decimal number"},
      {"DiskStats", "diskID: '99'", kNotFound, "there is no disk 99"},
  };
  Script alpha{"disk", {"v1alpha1"}, text_common};
  const std::vector<Case> by_name = {
      {"GetDiskNumberByName", "disk_name: 'Google  pvc-1f2e3d4c'", kOk, "disk_number: '3'"},
      {"GetDiskNumberByName", "disk_name: 'nobody'", kNotFound, "disk_name: no disk has"},
      {"GetDiskNumberByName", "", kInvalid, "disk_name: must not be empty"},
  };
  alpha.cases.insert(alpha.cases.end(), by_name.begin(), by_name.end());

  Script beta{"disk", {"v1beta1", "v1beta2"}, text_common};
  beta.cases.insert(beta.cases.end(), identifiers_and_stats.begin(), identifiers_and_stats.end());

  const Script attach{"disk",
                      {"v1beta2"},
                      {
                          {"GetAttachState", "diskID: '3'", kOk, "isOnline: false"},
                          {"SetAttachState", "diskID: '3' isOnline: true"},
                          {"GetAttachState", "diskID: '3'", kOk, "isOnline: true"},
                          {"SetAttachState", "diskID: '3' isOnline: false"},
                          {"GetAttachState", "diskID: '3'", kOk, "isOnline: false"},
                          {"SetAttachState", "diskID: ' 3'", kInvalid, "diskID: \" 3\""},
                          {"GetAttachState", "diskID: '33'", kNotFound, "there is no disk 33"},
                      }};

  const Script numbers{
      "disk",
      {"v1beta3", "v1"},
      {
          {"ListDiskLocations", "", kOk, kLocations},
          {"ListDiskLocations", "", kInternal, kQueryFailed, "wmi.Query/MSFT_Disk"},
          {"ListDiskIDs", "", kOk, kIds},
          {"ListDiskIDs", "", kInternal, kQueryFailed, "wmi.Query/MSFT_Disk"},
          {"Rescan", ""},
          {"Rescan", "", kInternal, kMethodFailed,
           "wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache"},
          {"GetDiskStats", "disk_number: 1", kOk, "total_bytes: 10737418240"},
          {"GetDiskStats", "disk_number: 50", kNotFound, "there is no disk 50"},
          {"GetDiskState", "disk_number: 3", kOk, "is_online: false"},
          {"GetDiskState", "disk_number: 51", kNotFound, "there is no disk 51"},
          {"SetDiskState", "disk_number: 3 is_online: true"},
          {"GetDiskState", "disk_number: 3", kOk, "is_online: true"},
          {"SetDiskState", "disk_number: 52 is_online: true", kNotFound, "there is no disk 52"},
          {"SetDiskState", "disk_number: 3 is_online: false"},
          {"PartitionDisk", "disk_number: 3"},
          {"GetDiskState", "disk_number: 3", kOk, "is_online: true"},
          {"SetDiskState", "disk_number: 3 is_online: false"},
          {"PartitionDisk", "disk_number: 3"},
          {"GetDiskState", "disk_number: 3", kOk, "is_online: true"},
          {"PartitionDisk", "disk_number: 2", kInternal, kMethodFailed,
           "wmi.Invoke/MSFT_Disk.CreatePartition"},
          {"PartitionDisk", "disk_number: 2"},
      }};
  return {alpha, beta, attach, numbers};
}

std::vector<Script> FilesystemScripts() {
  std::vector<Case> common = {
      {"PathExists", R"(path: "C:\\var\\lib\\kubelet\\a")", kOk, "exists: false"},
      {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\a\\b")"},
      {"Mkdir", R"(path: "c:/VAR/lib/kubelet/A/b")"},
      {"PathExists", R"(path: "C:\\var\\lib\\kubelet\\a\\B\\")", kOk, "exists: true"},
      {"PathExists", R"(path: "C:\\Windows")", kDenied, "path: \"C:\\\\Windows\": it is outside"},
      {"Mkdir", R"(path: "C:\\var\\lib\\kubelet-evil\\a")", kDenied, "outside the working"},
      {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\nul")", kInvalid, "reserved device name"},
      {"Rmdir", R"(path: "C:\\var\\lib\\kubelet\\a")", kPrecondition, "is not empty"},
      {"Rmdir", R"(path: "C:\\var\\lib\\kubelet\\none")", kNotFound, "does not exist"},
      {"Rmdir", R"(path: "C:\\var\\lib\\kubelet\\none" force: true)"},
      {"Rmdir", R"(path: "C:\\var\\lib\\kubelet")", kDenied, "is a working directory itself"},
  };
  const auto with = [&](std::vector<const char*> versions, std::vector<Case> more) {
    Script script{"filesystem", std::move(versions), common};
    script.cases.insert(script.cases.end(), more.begin(), more.end());
    return script;
  };
  const Case remove = {"Rmdir", R"(path: "C:\\var\\lib\\kubelet\\a" force: true)"};
  const Script links = with(
      {"v1beta2", "v1", "v2alpha1"},
      {
          {"CreateSymlink",
           R"(source_path: "C:\\var\\lib\\kubelet\\a\\b" target_path: "C:\\var\\lib\\kubelet\\l")"},
          {"IsSymlink", R"(path: "C:\\var\\lib\\kubelet\\l")", kOk, "is_symlink: true"},
          {"IsSymlink", R"(path: "C:\\var\\lib\\kubelet\\a")", kOk, "is_symlink: false"},
          {"IsSymlink", R"(path: "C:\\var\\lib\\kubelet\\none")", kNotFound, "does not exist"},
          {"CreateSymlink",
           R"(source_path: "C:\\var\\lib\\kubelet\\a" target_path: "C:\\var\\lib\\kubelet\\l")",
           kExists, "exists already"},
          {"CreateSymlink", R"(source_path: "C:\\Windows" target_path: "C:\\var\\lib\\kubelet\\m")",
           kDenied, "source_path: "},
          remove,
          {"IsSymlink", R"(path: "C:\\var\\lib\\kubelet\\l")", kOk, "is_symlink: false"},
      });
  const Script old_links = with(
      {"v1alpha1", "v1beta1"},
      {
          {"LinkPath",
           R"(source_path: "C:\\var\\lib\\kubelet\\a\\b" target_path: "C:\\var\\lib\\kubelet\\l")"},
          {"IsMountPoint", R"(path: "C:\\var\\lib\\kubelet\\l")", kOk, "is_mount_point: true"},
          {"IsMountPoint", R"(path: "C:\\var\\lib\\kubelet\\none")", kNotFound, "does not exist"},
          {"LinkPath", R"(source_path: "C:\\var\\lib\\kubelet\\a" target_path: "\\\\h\\s")",
           kInvalid, "target_path: \"\\\\\\\\h\\\\s\": UNC paths are not allowed"},
          {"PathExists", R"(path: "C:\\var\\lib\\kubelet\\a" context: POD)", kOk, "exists: true"},
          {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\c" context: POD)"},
          {"Rmdir", R"(path: "C:\\var\\lib\\kubelet\\c" context: POD)"},
          remove,
          {"IsMountPoint", R"(path: "C:\\var\\lib\\kubelet\\l")", kOk, "is_mount_point: false"},
      });
  const Script contents = {
      "filesystem",
      {"v2alpha1"},
      {
          {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\a\\b\\c")"},
          {"RmdirContents", R"(path: "C:\\var\\lib\\kubelet\\a")"},
          {"PathExists", R"(path: "C:\\var\\lib\\kubelet\\a")", kOk, "exists: true"},
          {"PathExists", R"(path: "C:\\var\\lib\\kubelet\\a\\b")", kOk, "exists: false"},
          {"RmdirContents", R"(path: "C:\\var\\lib\\kubelet\\none")", kNotFound, "does not exist"},
          {"RmdirContents", R"(path: "D:\\a")", kDenied, "outside the working"},
      }};
  return {links, old_links, contents};
}

std::vector<Script> IscsiScripts() {
#define PORTAL "target_portal { target_address: '10.0.0.5' target_port: 3260 }"
#define OPEN "iqn: 'iqn.2026-01.example.storage:open'"
#define CHAP "iqn: 'iqn.2026-01.example.storage:chap' chap_username: 'node-1'"
#define MUTUAL "iqn: 'iqn.2026-01.example.storage:mutual' chap_username: 'node-1'"
  const std::vector<Case> common = {
      {"ListTargetPortals", "", kOk, ""},
      {"ListTargetPortals", "", kInternal, kQueryFailed, "wmi.Query/MSFT_iSCSITargetPortal"},
      {"DiscoverTargetPortal", PORTAL, kNotFound, "is not registered"},
      {"AddTargetPortal", "target_portal { target_address: '10.0.0.5' }"},
      {"AddTargetPortal", PORTAL},
      {"AddTargetPortal", "target_portal { target_address: '10.0.0.6' }", kUnavailable,
       "Connection failed"},
      {"AddTargetPortal", "target_portal { target_address: '10.0.0.5' target_port: 65536 }",
       kInvalid, "target_portal.target_port: 65536"},
      {"AddTargetPortal", "", kInvalid, "target_portal.target_address: must not be empty"},
      {"ListTargetPortals", "", kOk,
       "target_portals { target_address: '10.0.0.5' target_port: 3260 }"},
      {"DiscoverTargetPortal", PORTAL, kOk,
       "iqns: 'iqn.2026-01.example.storage:open' iqns: 'iqn.2026-01.example.storage:chap' "
       "iqns: 'iqn.2026-01.example.storage:mutual'"},
      {"GetTargetDisks", PORTAL OPEN, kOk, ""},
      {"GetTargetDisks", PORTAL "iqn: 'iqn.2026-01.example.storage:gone'", kNotFound,
       "offers no target"},
      {"ConnectTarget", PORTAL OPEN},
      {"ConnectTarget", PORTAL OPEN},
      {"GetTargetDisks", PORTAL OPEN, kOk, "diskIDs: '10' diskIDs: '11'"},
      {"ConnectTarget", PORTAL CHAP " auth_type: ONE_WAY_CHAP chap_secret: 'one-way-secret'"},
      {"GetTargetDisks", PORTAL "iqn: 'iqn.2026-01.example.storage:chap'", kOk, "diskIDs: '12'"},
      {"ConnectTarget", PORTAL MUTUAL " auth_type: ONE_WAY_CHAP chap_secret: 'one-way-secret'",
       kPrecondition, "Authentication failed (0xEFFF0009)"},
      {"ConnectTarget", PORTAL CHAP " auth_type: ONE_WAY_CHAP chap_secret: 'short'", kInvalid,
       "chap_secret: must have 12 to 16 bytes"},
      {"ConnectTarget", PORTAL OPEN " auth_type: 7", kInvalid,
       "auth_type: 7 is not a value of AuthenticationType"},
      {"ConnectTarget", PORTAL "iqn: 'disk1'", kInvalid, "iqn: is not an iSCSI name"},
      {"DisconnectTarget", PORTAL OPEN},
      {"DisconnectTarget", PORTAL OPEN},
      {"DisconnectTarget", PORTAL "iqn: 'iqn.2026-01.example.storage:gone'", kNotFound,
       "offers no target"},
      {"GetTargetDisks", PORTAL OPEN, kOk, ""},
      {"RemoveTargetPortal", PORTAL},
      {"RemoveTargetPortal", PORTAL, kNotFound, "is not registered"},
  };
  const Script mutual{
      "iscsi",
      {"v1alpha2"},
      {
          {"AddTargetPortal", PORTAL},
          {"ConnectTarget", PORTAL MUTUAL " auth_type: MUTUAL_CHAP chap_secret: 'one-way-secret'",
           kPrecondition, "Authentication failed (0xEFFF0009)"},
          {"SetMutualChapSecret", "MutualChapSecret: 'short'", kInvalid,
           "mutual_chap_secret: must have 12 to 16 bytes"},
          {"SetMutualChapSecret", "MutualChapSecret: 'mutual-secret1'"},
          {"ConnectTarget", PORTAL MUTUAL " auth_type: MUTUAL_CHAP chap_secret: 'one-way-secret'"},
          {"GetTargetDisks", PORTAL "iqn: 'iqn.2026-01.example.storage:mutual'", kOk,
           "diskIDs: '13'"},
      }};
#undef PORTAL
#undef OPEN
#undef CHAP
#undef MUTUAL
  return {{"iscsi", {"v1alpha1", "v1alpha2"}, common}, mutual};
}

std::vector<Script> SmbScripts() {
#define USER R"( username: "EXAMPLE\\storage" password: "correct horse")"
  return {
      {"smb",
       {"v1", "v1alpha1", "v1beta1", "v1beta2"},
       {
           {"NewSmbGlobalMapping",
            R"(remote_path: "//FileServer.example/Data/reports" local_path: "C:\\var\\lib\\kubelet\\s")" USER},
           {"NewSmbGlobalMapping",
            R"(remote_path: "\\\\fileserver.example\\data\\reports" local_path: "C:\\var\\lib\\kubelet\\s")" USER},
           {"NewSmbGlobalMapping", R"(remote_path: "\\\\fileserver.example\\scratch")" USER},
           {"NewSmbGlobalMapping",
            R"(remote_path: "\\\\fileserver.example\\none" username: "u" password: "p")", kNotFound,
            "The network name cannot be found (67)"},
           {"NewSmbGlobalMapping",
            R"(remote_path: "\\\\oldnas.example\\public" username: "guest" password: "wrong")",
            kPrecondition, "user name or password"},
           {"NewSmbGlobalMapping", R"(remote_path: "C:\\data" username: "u")", kInvalid,
            "remote_path: \"C:\\\\data\": it is not a share"},
           {"RemoveSmbGlobalMapping", R"(remote_path: "//FILESERVER.EXAMPLE/data")"},
           {"RemoveSmbGlobalMapping", R"(remote_path: "\\\\fileserver.example\\data")", kNotFound,
            "is not mapped"},
           {"RemoveSmbGlobalMapping", R"(remote_path: "\\\\.\\pipe\\x")", kInvalid,
            "device paths are not allowed"},
       }}};
#undef USER
}

std::vector<Script> SystemScripts() {
  return {
      {"system",
       {"v1alpha1"},
       {
           {"GetBIOSSerialNumber", "", kOk,
            "serial_number: 'VMware-42 1a 7c 2e 90 4d 11 5f-b3 8e 6a 00 27 9c d4 51'"},
           {"GetBIOSSerialNumber", "", kInternal, "SMBIOS table", "win32.GetSmbiosTable"},
           {"GetService", "name: 'msiscsi'", kOk,
            "display_name: 'Microsoft iSCSI Initiator Service' start_type: MANUAL status: RUNNING"},
           {"GetService", "name: 'nobody'", kNotFound, "there is no service nobody"},
           {"GetService", R"(name: "a\\b")", kInvalid, "must not contain a slash"},
           {"StopService", "name: 'MSiSCSI'"},
           {"StopService", "name: 'MSiSCSI'"},
           {"GetService", "name: 'MSiSCSI'", kOk,
            "display_name: 'Microsoft iSCSI Initiator Service' start_type: MANUAL status: STOPPED"},
           {"StartService", "name: 'MSiSCSI'"},
           {"StartService", "name: 'MSiSCSI'"},
           {"GetService", "name: 'MSiSCSI'", kOk,
            "display_name: 'Microsoft iSCSI Initiator Service' start_type: MANUAL status: RUNNING"},
           {"StartService", "name: 'defragsvc'", kPrecondition, "disabled"},
           {"StartService", "", kInvalid, "name: must not be empty"},
           {"StopService", "name: 'LanmanWorkstation'", kPrecondition,
            "SessionEnv is running and depends on LanmanWorkstation"},
           {"StopService", "name: 'LanmanWorkstation' force: true"},
           {"GetService", "name: 'SessionEnv'", kOk,
            "display_name: 'Remote Desktop Configuration' start_type: MANUAL status: STOPPED"},
       }}};
}

}  // namespace

const std::vector<Script>& AllScripts() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<Script>();
    for (auto* scripts : {&DiskScripts, &FilesystemScripts, &IscsiScripts, &SmbScripts,
                          &StorageScripts, &SystemScripts, &VolumeScripts}) {
      for (Script& script : scripts()) all->push_back(std::move(script));
    }
    return all;
  }();
  return *kAll;
}

}  // namespace csi_proxy::integration
