#include "server/names/refusals.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/names/refusal_rows.h"
#include "server/names/win32_error.h"

namespace csi_proxy {
namespace {

using enum absl::StatusCode;

constexpr char kAdvicePayload[] = "csi-proxy/advice";

// The numbers and words are from learn.microsoft.com/windows/win32/debug/system-error-codes and
// learn.microsoft.com/windows/win32/netmgmt/network-management-error-codes.
constexpr Refusal kWin32Refusals[] = {
    {1, kInternal, "Incorrect function"},
    {2, kNotFound, "The system cannot find the file specified"},
    {3, kNotFound, "The system cannot find the path specified"},
    {5, kFailedPrecondition, "Access is denied", kAdviceRights},
    {8, kUnavailable, "Not enough memory resources are available to process this command",
     kAdviceMemory},
    {14, kUnavailable, "Not enough storage is available to complete this operation", kAdviceMemory},
    {15, kNotFound, "The system cannot find the drive specified"},
    {19, kInternal, "The media is write protected",
     "csi-proxyctl storage list-disks shows whether the disk is read-only"},
    {21, kInternal, "The device is not ready", kAdviceGone},
    {23, kInternal, "Data error (cyclic redundancy check)", kAdviceDisk},
    {31, kInternal, "A device attached to the system is not functioning", kAdviceDisk},
    {32, kUnavailable,
     "The process cannot access the file because it is being used by another process",
     kAdviceInUse},
    {50, kInternal, "The request is not supported"},
    {53, kNotFound, "The network path was not found"},
    {55, kInternal, "The specified network resource or device is no longer available", kAdviceGone},
    {59, kInternal, "An unexpected network error occurred"},
    {64, kInternal, "The specified network name is no longer available"},
    {65, kInternal, "Network access is denied"},
    {67, kNotFound, "The network name cannot be found"},
    {80, kAlreadyExists, "The file exists"},
    {85, kInternal, "The local device name is already in use"},
    {87, kInternal, "The parameter is incorrect", kAdviceReport},
    {109, kUnavailable, "The pipe has been ended"},
    {112, kFailedPrecondition, "There is not enough space on the disk",
     "free space on the volume, or grow it"},
    {121, kUnavailable, "The semaphore timeout period has expired", kAdviceSlow},
    {123, kInternal, "The filename, directory name, or volume label syntax is incorrect"},
    {145, kFailedPrecondition, "The directory is not empty"},
    {161, kInternal, "The specified path is invalid"},
    {183, kAlreadyExists, "Cannot create a file when that file already exists"},
    {206, kInternal, "The filename or extension is too long"},
    {231, kUnavailable, "All pipe instances are busy"},
    {232, kUnavailable, "The pipe is being closed"},
    {233, kUnavailable, "No process is on the other end of the pipe"},
    {234, kInternal, "More data is available"},
    {258, kUnavailable, "The wait operation timed out", kAdviceSlow},
    {267, kFailedPrecondition, "The directory name is invalid"},
    {303, kUnavailable, "The file cannot be opened because it is in the process of being deleted",
     kAdviceInUse},
    {433, kInternal, "A device which does not exist was specified", kAdviceGone},
    {483, kInternal, "The request failed due to a fatal device hardware error", kAdviceDisk},
    {995, kCancelled, "The I/O operation has been aborted"},
    {1005, kInternal, "The volume does not contain a recognized file system"},
    {1006, kInternal,
     "The volume for a file has been externally altered so that the opened file is no longer valid",
     kAdviceDisk},
    {1051, kFailedPrecondition,
     "A stop control has been sent to a service that other running services are dependent on"},
    {1056, kAlreadyExists, "An instance of the service is already running"},
    {1058, kFailedPrecondition, "The service cannot be started because it is disabled",
     "enable it on the node: `Set-Service -StartupType Manual -Name NAME`"},
    {1060, kNotFound, "The specified service does not exist as an installed service"},
    {1061, kUnavailable, "The service cannot accept control messages at this time"},
    {1062, kInternal, "The service has not been started"},
    {1068, kInternal, "The dependency service or group failed to start",
     "`sc.exe qc NAME` on the node shows the services that it depends on"},
    {1073, kAlreadyExists, "The specified service already exists"},
    {1117, kInternal, "The request could not be performed because of an I/O device error",
     kAdviceDisk},
    {1167, kInternal, "The device is not connected", kAdviceGone},
    {1168, kNotFound, "Element not found"},
    {1223, kCancelled, "The operation was canceled by the user"},
    {1231, kInternal, "The network location cannot be reached"},
    {1314, kFailedPrecondition, "A required privilege is not held by the client", kAdviceRights},
    {1392, kInternal, "The file or directory is corrupted and unreadable",
     "check the file system with `Repair-Volume` when no pod uses the volume"},
    {1450, kUnavailable, "Insufficient system resources exist to complete the requested service",
     kAdviceMemory},
    {1921, kInternal, "The name of the file cannot be resolved by the system"},
    {2250, kInternal, "The network connection could not be found"},
    {4390, kInternal, "The file or directory is not a reparse point"},
    {4392, kInternal, "The data present in the reparse point buffer is invalid"},
    {4394, kInternal,
     "There is a mismatch between the tag specified in the request and the tag present in the "
     "reparse point"},
    {4395, kInternal, "The object manager encountered a reparse point while retrieving an object"},
};

constexpr Refusal kMappingRefusals[] = {
    {5, kFailedPrecondition, "",
     "the server refuses the user: check the permissions of the share and the server's log"},
    // github.com/kubernetes-csi/csi-driver-smb/issues/1039
    {8, kUnavailable, "",
     "the node may have too many mappings: see csi-proxyctl repair --what=leaked-mappings"},
    {53, kNotFound, "", kAdviceServer},
    {59, kUnavailable, "", kAdviceNetwork},
    {64, kUnavailable, "", kAdviceNetwork},
    {65, kFailedPrecondition, "",
     "the server refuses the user or the node: check the permissions of the share and the "
     "server's log"},
    {67, kNotFound, "", "check the share's name: the server has no such share"},
    {85, kAlreadyExists, "",
     "another program maps the share: Get-SmbGlobalMapping on the node shows it"},
    {87, kInternal, "", kAdviceReport},
    {121, kUnavailable, "",
     "the server did not answer in time: check that the node reaches its TCP port 445"},
    {1231, kUnavailable, "",
     "the node has no route to the server: check its network and that of the server. A global "
     "mapping cannot follow a DFS link: name the share that it leads to"},
};

// The advice for the answers of a server that cannot encrypt
// (github.com/kubernetes-csi/csi-proxy/issues/311).
constexpr char kEncrypt[] =
    "csi-proxy requires encryption, which the server may lack: turn it on there, or start "
    "csi-proxy with -require-privacy=false (embedded: require_privacy in C++, allowPlainSmb in C, "
    "WithPlainSMB in Go). If it is on, check the permissions of the share";
constexpr Refusal kEncryptedMappingRefusals[] = {
    {5, kFailedPrecondition, "", kEncrypt},
    {50, kFailedPrecondition, "", kEncrypt},
    {65, kFailedPrecondition, "", kEncrypt},
};

}  // namespace

absl::Span<const Refusal> AllRefusals(Refuser refuser) {
  switch (refuser) {
    case Refuser::kWin32:
      return kWin32Refusals;
    case Refuser::kMapping:
      return kMappingRefusals;
    case Refuser::kEncryptedMapping:
      return kEncryptedMappingRefusals;
    case Refuser::kSignIn:
      return SignInRefusals();
    case Refuser::kInitiator:
      return InitiatorRefusals();
    case Refuser::kHresult:
      return HresultRefusals();
    case Refuser::kStorage:
      return StorageRefusals();
  }
  return {};
}

const Refusal* FindRefusal(Refuser refuser, uint32_t number) {
  for (const Refusal& refusal : AllRefusals(refuser)) {
    if (refusal.number == number) return &refusal;
  }
  if (refuser == Refuser::kEncryptedMapping) return FindRefusal(Refuser::kMapping, number);
  const bool is_win32 = refuser == Refuser::kWin32 || refuser == Refuser::kMapping;
  return is_win32 ? FindRefusal(Refuser::kSignIn, number) : nullptr;
}

absl::Status Advise(const absl::Status& error, absl::string_view advice) {
  if (error.ok() || advice.empty()) return error;
  absl::string_view message = error.message();
  if (const auto earlier = error.GetPayload(kAdvicePayload); earlier.has_value()) {
    message = absl::StripSuffix(message, absl::StrCat(" (", std::string(*earlier), ")"));
  }
  absl::Status advised = Reworded(error, error.code(), absl::StrCat(message, " (", advice, ")"));
  advised.SetPayload(kAdvicePayload, absl::Cord(advice));
  return advised;
}

absl::Status RefusedBy(Refuser refuser, const absl::Status& error) {
  const Refusal* const refusal = FindRefusal(refuser, Win32CodeOf(error).value_or(0));
  if (refusal == nullptr) return error;
  return Advise(Reworded(error, refusal->code, error.message()), refusal->advice);
}

}  // namespace csi_proxy
