// The refusals of WMI, of the iSCSI initiator and of the storage classes.
#include "server/names/refusal_rows.h"

namespace csi_proxy {
namespace {

using enum absl::StatusCode;

constexpr char kWmiService[] =
    "repeat the call; if the error stays, restart the node's service Winmgmt";
constexpr char kWmiOwn[] =
    "WMI rejects a query of csi-proxy: report it with the version of Windows";
constexpr char kWmiMissing[] =
    "this version of Windows lacks it, or WMI's repository is damaged: check with `winmgmt "
    "/verifyrepository`";
constexpr char kWmiRegistration[] =
    "Windows has lost the registration of WMI: `sfc /scannow` on the node repairs its files, and "
    "`winmgmt /verifyrepository` checks its repository";
constexpr char kCipher[] =
    "let the node, the server's account and the domain controller share a cipher, such as AES";
constexpr char kSecret[] = "correct the CHAP user or secret in the driver's secret";
constexpr char kPortal[] =
    "check that the array serves the portal and that the node reaches its TCP port";
constexpr char kOtherPortal[] = "name the portal that serves the target now";
constexpr char kNoTarget[] = "check the IQN, and that the portal offers it";
constexpr char kChapSecret[] =
    "a CHAP secret has 12 to 16 bytes: correct it in the driver's secret";
constexpr char kInitiator[] =
    "look for the initiator's errors, of source iScsiPrt or MSiSCSI, in the node's System log";
constexpr char kArray[] = "the array refuses: check its log and its limits";
constexpr char kService[] =
    "set the service MSiSCSI to start automatically with `Set-Service -Name MSiSCSI -StartupType "
    "Automatic`, start it with `csi-proxyctl system start-service --name=MSiSCSI`, then repeat the "
    "call";
constexpr char kNewer[] =
    "the node has seen the disk change: `Update-HostStorageCache` on the node, then repeat the "
    "call";
constexpr char kSmphost[] =
    "restart the node's service smphost (enable it if disabled), then repeat the call";
constexpr char kNoReason[] =
    "Windows gives no reason: look for errors of the disk in the node's System log";
constexpr char kCluster[] =
    "the disk belongs to a failover cluster: take it out of the cluster, or use another";
constexpr char kReadOnly[] =
    "csi-proxyctl repair --what=read-only-disks clears the disk's flag; if the disk stays "
    "read-only, its storage exports it so";
constexpr char kCheck[] = "check the file system with `Repair-Volume` when no pod uses the volume";
constexpr char kFree[] = "there is too little space for it: grow the disk at its storage";

// Numbers of learn.microsoft.com/windows/win32/wmisdk/wmi-error-constants and of iscsierr.h
// (learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers). The code is
// INTERNAL for a malformed query, because csi-proxy made it, and UNIMPLEMENTED for a missing class.
constexpr Refusal kHresultRefusals[] = {
    {0x80041001, kInternal, "WBEM_E_FAILED"},
    {0x80041002, kNotFound, "WBEM_E_NOT_FOUND"},
    {0x80041003, kFailedPrecondition, "WBEM_E_ACCESS_DENIED", kAdviceRights},
    {0x80041004, kUnavailable, "WBEM_E_PROVIDER_FAILURE", kWmiService},
    {0x80041005, kInternal, "WBEM_E_TYPE_MISMATCH", kWmiOwn},
    {0x80041006, kUnavailable, "WBEM_E_OUT_OF_MEMORY", kAdviceMemory},
    {0x80041008, kInternal, "WBEM_E_INVALID_PARAMETER", kWmiOwn},
    {0x8004100C, kUnimplemented, "WBEM_E_NOT_SUPPORTED", kWmiMissing},
    {0x8004100E, kUnimplemented, "WBEM_E_INVALID_NAMESPACE", kWmiMissing},
    {0x80041010, kUnimplemented, "WBEM_E_INVALID_CLASS", kWmiMissing},
    {0x80041013, kUnavailable, "WBEM_E_PROVIDER_LOAD_FAILURE", kWmiService},
    {0x80041014, kUnavailable, "WBEM_E_INITIALIZATION_FAILURE", kWmiService},
    {0x80041015, kUnavailable, "WBEM_E_TRANSPORT_FAILURE", kWmiService},
    {0x80041017, kInternal, "WBEM_E_INVALID_QUERY", kWmiOwn},
    {0x80041019, kAlreadyExists, "WBEM_E_ALREADY_EXISTS"},
    {0x80041024, kUnimplemented, "WBEM_E_PROVIDER_NOT_CAPABLE", kWmiMissing},
    {0x8004102E, kUnimplemented, "WBEM_E_INVALID_METHOD", kWmiMissing},
    {0x8004102F, kInternal, "WBEM_E_INVALID_METHOD_PARAMETERS", kWmiOwn},
    {0x80041033, kUnavailable, "WBEM_E_SHUTTING_DOWN", kWmiService},
    {0x8004103A, kInternal, "WBEM_E_INVALID_OBJECT_PATH", kWmiOwn},
    {0x80041055, kUnimplemented, "WBEM_E_METHOD_NOT_IMPLEMENTED", kWmiMissing},
    {0x80041058, kInternal, "WBEM_E_UNPARSABLE_QUERY", kWmiOwn},
    {0x80041069, kUnavailable, "WBEM_E_TIMED_OUT", kAdviceSlow},
    {0x8004106C, kUnavailable, "WBEM_E_QUOTA_VIOLATION", kWmiService},
    {0x80010001, kUnavailable, "RPC_E_CALL_REJECTED", kWmiService},
    {0x80010108, kUnavailable, "RPC_E_DISCONNECTED", kWmiService},
    {0x80040154, kFailedPrecondition, "REGDB_E_CLASSNOTREG", kWmiRegistration},
    {0x800401F3, kFailedPrecondition, "CO_E_CLASSSTRING", kWmiRegistration},
    {0x80070422, kFailedPrecondition, "ERROR_SERVICE_DISABLED",
     "enable WMI on the node: `Set-Service -Name Winmgmt -StartupType Automatic`. If Winmgmt runs, "
     "the service of a provider is disabled: smphost for disks, MSiSCSI for iSCSI"},
    {0x800706BA, kUnavailable, "RPC_S_SERVER_UNAVAILABLE", kWmiService},
    {0x800706BE, kUnavailable, "RPC_S_CALL_FAILED", kWmiService},
    {0x800706BF, kUnavailable, "RPC_S_CALL_FAILED_DNE", kWmiService},

    // A sign-in at a server (learn.microsoft.com/windows/win32/secauthn/sspi-status-codes).
    {0x80090302, kFailedPrecondition, "SEC_E_UNSUPPORTED_FUNCTION", kAdviceNtlm},
    {0x80090303, kFailedPrecondition, "SEC_E_TARGET_UNKNOWN", kAdvicePrincipal},
    {0x80090304, kUnavailable, "SEC_E_INTERNAL_ERROR", kAdviceDomain},
    {0x80090308, kFailedPrecondition, "SEC_E_INVALID_TOKEN", kAdvicePrincipal},
    {0x8009030C, kFailedPrecondition, "SEC_E_LOGON_DENIED", kAdviceSecret},
    {0x8009030D, kFailedPrecondition, "SEC_E_UNKNOWN_CREDENTIALS", kAdviceSecret},
    {0x8009030E, kFailedPrecondition, "SEC_E_NO_CREDENTIALS", kAdviceWholeName},
    {0x80090311, kUnavailable, "SEC_E_NO_AUTHENTICATING_AUTHORITY", kAdviceDomain},
    {0x80090322, kFailedPrecondition, "SEC_E_WRONG_PRINCIPAL", kAdvicePrincipal},
    {0x80090324, kFailedPrecondition, "SEC_E_TIME_SKEW", kAdviceClock},
    {0x80090331, kFailedPrecondition, "SEC_E_ALGORITHM_MISMATCH", kCipher},
    {0x80090342, kFailedPrecondition, "SEC_E_KDC_UNKNOWN_ETYPE", kCipher},
    {0x80090350, kUnavailable, "SEC_E_DOWNGRADE_DETECTED", kAdviceDomain},

    {0xEFFF0001, kInternal, "Unspecified iSCSI error", kInitiator},
    {0xEFFF0002, kFailedPrecondition, "Login failed", kArray},
    {0xEFFF0003, kUnavailable, "Connection failed", kPortal},
    {0xEFFF0006, kUnavailable, "Target moved temporarily", kOtherPortal},
    {0xEFFF0007, kFailedPrecondition, "Target moved permanently", kOtherPortal},
    {0xEFFF0008, kInternal, "Initiator error", kInitiator},
    {0xEFFF0009, kFailedPrecondition, "Authentication failed", kSecret},
    {0xEFFF000A, kFailedPrecondition, "Authorization failed",
     "allow the node's initiator name, which `Get-InitiatorPort` shows, on the array"},
    {0xEFFF000B, kNotFound, "Not found", kNoTarget},
    {0xEFFF000C, kNotFound, "Target removed", kNoTarget},
    {0xEFFF000D, kFailedPrecondition, "Unsupported version", kArray},
    {0xEFFF000E, kFailedPrecondition, "Too many connections", kArray},
    {0xEFFF0010, kFailedPrecondition, "The session cannot include the connection", kArray},
    {0xEFFF0011, kFailedPrecondition, "Session type not supported", kArray},
    {0xEFFF0012, kUnavailable, "Target error", kArray},
    {0xEFFF0013, kUnavailable, "Service unavailable", kArray},
    {0xEFFF0014, kUnavailable, "Out of resources", kArray},
    {0xEFFF0015, kAlreadyExists, "Connection exists already"},
    {0xEFFF0016, kAlreadyExists, "Session exists already"},
    {0xEFFF0018, kAlreadyExists, "Target exists already"},
    {0xEFFF0019, kInternal, "The initiator's driver failed", kInitiator},
    {0xEFFF001A, kInternal, "Invalid text key", kInitiator},
    {0xEFFF001B, kInternal, "Invalid answer to SendTargets", kInitiator},
    {0xEFFF001C, kNotFound, "Session not found", "repeat the call: the session has ended"},
    {0xEFFF001E, kFailedPrecondition, "Too many sessions", kArray},
    {0xEFFF001F, kUnavailable, "Session busy", "repeat the call"},
    {0xEFFF0022, kFailedPrecondition, "Logon failed", kSecret},
    {0xEFFF0023, kUnavailable, "TCP send failed", kPortal},
    {0xEFFF0024, kUnavailable, "Transport error", kPortal},
    {0xEFFF0025, kFailedPrecondition, "iSCSI version mismatch", kArray},
    {0xEFFF0028, kFailedPrecondition, "No authentication known for the target",
     "give the driver the target's CHAP user and secret"},
    {0xEFFF0029, kNotFound, "Target not found", kNoTarget},
    {0xEFFF002A, kFailedPrecondition, "Wrong user for the login", kSecret},
    {0xEFFF0032, kAlreadyExists, "Portal exists already"},
    {0xEFFF0037, kFailedPrecondition, "Request not supported", kInitiator},
    {0xEFFF0038, kUnavailable, "Target out of resources", kArray},
    {0xEFFF0039, kUnavailable, "The initiator service did not respond",
     "restart the node's service MSiSCSI, which ends its sessions"},
    {0xEFFF003C, kNotFound, "No portal for the login", kNoTarget},
    {0xEFFF003E, kFailedPrecondition, "The initiator service is not running", kService},
    {0xEFFF003F, kAlreadyExists, "Target already logged in"},
    {0xEFFF0040, kFailedPrecondition, "A disk of the session is in use",
     "unstage the volumes of the target's disks first; csi-proxyctl storage list-mounts shows "
     "them"},
    {0xEFFF0041, kInternal, "Persistent login could not be saved", kInitiator},
    {0xEFFF0042, kInternal, "Persistent login could not be removed",
     "remove it by hand with `iscsicli ListPersistentTargets` and `RemovePersistentTarget`"},
    {0xEFFF0043, kNotFound, "Portal not found",
     "csi-proxyctl iscsi add-target-portal registers it, as StageTarget does"},
    {0xEFFF0044, kNotFound, "Initiator not found", kService},
    {0xEFFF0048, kFailedPrecondition, "CHAP secret too short", kChapSecret},
    {0xEFFF004A, kFailedPrecondition, "CHAP secret not valid", kChapSecret},
    {0xEFFF004B, kFailedPrecondition, "CHAP secret of the target not valid",
     "a CHAP secret has 12 to 16 bytes, and the target's differs from the initiator's"},
    {0xEFFF004C, kFailedPrecondition, "CHAP secret of the initiator not valid",
     "csi-proxyctl iscsi set-mutual-chap-secret sets it: 12 to 16 bytes, other than the target's"},
    {0xEFFF004D, kFailedPrecondition, "CHAP user name not valid", kSecret},
    {0xEFFF004E, kFailedPrecondition, "Kind of authentication not valid",
     "request the kind of CHAP that the array is set up for"},
    {0xEFFF0051, kFailedPrecondition, "Not an iSCSI name", "check the spelling of the IQN"},
    {0xEFFF0056, kInternal, "Invalid parameter", kAdviceReport},
    {0xEFFF005F, kNotFound, "The portal's DNS name does not resolve",
     "check the name and the node's DNS servers, or name the portal by its IP address"},
    {0xEFFF0060, kUnavailable, "No connection left", kPortal},
    {0xEFFF0065, kFailedPrecondition, "Forbidden by group policy",
     "the policy is in Administrative Templates, System, iSCSI"},
};

// 1062, ERROR_SERVICE_NOT_ACTIVE: WMI's classes of iSCSI need the initiator's service.
constexpr Refusal kInitiatorRefusals[] = {{1062, kFailedPrecondition, "", kService}};

// learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-common-return-codes
// and the page of each method.
constexpr Refusal kStorageRefusals[] = {
    {1, kUnimplemented, "Not supported", "the disk's driver or this version of Windows lacks it"},
    {2, kInternal, "Unspecified error", kNoReason},
    {3, kUnavailable, "Timed out", kAdviceSlow},
    {4, kInternal, "Failed", kNoReason},
    {5, kInternal, "Invalid parameter", kAdviceReport},
    {6, kFailedPrecondition, "In use", kAdviceInUse},
    {7, kInternal, "Not supported for a 32-bit process"},
    {8, kUnavailable, "Object not found", kNewer},
    {4096, kInternal, "Windows started a job instead of doing the work at once"},
    {4097, kInternal, "Size not supported",
     "the disk ends, or another partition begins, before that size"},
    {4098, kInternal, "Timeout not supported"},
    {4099, kUnavailable, "Device is busy", kAdviceInUse},
    {40000, kFailedPrecondition, "Not enough free capacity", kFree},
    {40001, kFailedPrecondition, "Access denied", kAdviceRights},
    {40002, kUnavailable, "Insufficient resources", kAdviceMemory},
    {40003, kUnavailable, "The cache of the storage provider is out of date", kNewer},
    {40004, kInternal, "Unexpected I/O error", kAdviceDisk},
    {40005, kInternal, "Exactly one of Size and UseMaximumSize is required", kAdviceReport},
    {40006, kUnavailable, "The object is not in the cache of the storage provider", kNewer},
    {40007, kInternal, "Fatal device error", kAdviceDisk},
    {40018, kFailedPrecondition, "The clustered object must be in maintenance mode", kCluster},
    {41000, kFailedPrecondition, "The disk is not initialised",
     "csi-proxyctl disk partition-disk initialises it"},
    {41001, kFailedPrecondition, "The disk is initialised already"},
    {41002, kFailedPrecondition, "The disk is read-only", kReadOnly},
    {41003, kFailedPrecondition, "The disk is offline",
     "csi-proxyctl storage list-disks shows why; a driver that stages the volume brings it online"},
    {41004, kFailedPrecondition, "The disk holds as many partitions as it can"},
    {41005, kInternal, "Bad alignment", kAdviceReport},
    {41006, kInternal, "A parameter is not valid for this type of partition", kAdviceReport},
    {41007, kInternal, "The disk holds OEM partitions"},
    {41008, kInternal, "The disk holds data partitions"},
    {41009, kFailedPrecondition, "Not on a critical disk"},
    {41010, kInternal, "Bad partition type", kAdviceReport},
    {41011, kInternal, "Only the first 2 TB of an MBR disk can be used"},
    {41012, kInternal, "Bad offset", kAdviceReport},
    {41013, kInternal, "The disk holds data and cannot be converted"},
    {41014, kInternal, "The disk is too small for a GPT"},
    {41015, kFailedPrecondition, "No medium in the device"},
    {41016, kInternal, "Bad offset", kAdviceReport},
    {41017, kInternal, "Bad partition layout", kAdviceReport},
    {41018, kFailedPrecondition, "The clustered object must be in maintenance mode", kCluster},
    {42000, kInternal, "The partition was deleted, its access paths were not"},
    {42001, kInternal, "The extended partition is not empty"},
    {42002, kInternal, "The access path is in use",
     "csi-proxyctl storage list-mounts shows what is mounted there"},
    {42004, kFailedPrecondition, "A hidden partition cannot have access paths"},
    {42005, kInternal, "The path of a volume GUID cannot be removed"},
    {42006, kInternal, "The drive letter of a boot or paging volume cannot be removed"},
    {42007, kInternal, "Bad access path", kAdviceReport},
    {42008, kFailedPrecondition, "The volume has errors and cannot shrink", kCheck},
    {42009, kFailedPrecondition, "The file system is unknown, so it cannot be resized"},
    {42010, kFailedPrecondition, "Not on a system or critical partition"},
    {42011, kFailedPrecondition, "Only on a data partition"},
    {42012, kInternal, "Several drive letters"},
    {42013, kInternal, "A drive letter is not possible here"},
    {43000, kFailedPrecondition, "Bad cluster size",
     "give another allocation unit, or 0 so that Windows chooses"},
    {43001, kFailedPrecondition, "The file system is not supported",
     "this version of Windows cannot make it on this volume: request another, such as NTFS"},
    {43002, kFailedPrecondition, "The volume cannot be formatted quickly"},
    {43003, kFailedPrecondition, "There would be too many clusters",
     "give a larger allocation unit, or 0 so that Windows chooses"},
    {43004, kInternal, "Bad UDF version"},
    {43005, kFailedPrecondition, "The cluster size is not a multiple of the physical sector size",
     "give a larger allocation unit, or 0 so that Windows chooses"},
    {43006, kFailedPrecondition, "The drive is read-only", kReadOnly},
    {46000, kUnavailable, "The storage provider cannot be reached", kSmphost},
    {46001, kUnavailable, "The storage subsystem cannot be reached", kSmphost},
    {48007, kInternal, "The storage pool is read-only",
     "`Set-StoragePool -IsReadOnly $false` on the node makes it writable"},
};

}  // namespace

absl::Span<const Refusal> HresultRefusals() { return kHresultRefusals; }
absl::Span<const Refusal> InitiatorRefusals() { return kInitiatorRefusals; }
absl::Span<const Refusal> StorageRefusals() { return kStorageRefusals; }

}  // namespace csi_proxy
