#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "integration/support/node_admin.h"
#include "integration/wine/node/admin_wire_windows.h"

namespace csi_proxy::integration {
namespace {

// What the host asks of a machine for an operation, and an error there that means no more than that
// it failed.
struct MachineFault {
  absl::string_view operation;
  const char* of_machine;
  uint32_t error;
};

constexpr uint32_t kDenied = 5;
constexpr uint32_t kWmiFailed = 0x80041001;
constexpr uint32_t kStorageFailed = 4;
constexpr uint32_t kErrorIoDevice = 1117;

constexpr MachineFault kMachineFaults[] = {
    {"disk.CreateBasicPartition", "wmi.Invoke/MSFT_Disk.CreatePartition", kStorageFailed},
    {"disk.ListDiskIdentities", "wmi.Query/MSFT_Disk", kWmiFailed},
    {"disk.ListDiskLocations", "wmi.Query/MSFT_Disk", kWmiFailed},
    {"disk.ListDisks", "wmi.Query/MSFT_Disk", kWmiFailed},
    {"disk.Rescan", "wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache", kStorageFailed},
    {"iscsi.ListPortals", "wmi.Query/MSFT_iSCSITargetPortal", kWmiFailed},
    {"smb.ListMappings", "wmi.Query/MSFT_SmbGlobalMapping", kWmiFailed},
    {"system.GetBiosSerialNumber", "win32.GetSmbiosTable", kErrorIoDevice},
    {"volume.Flush", "win32.Flush", kErrorIoDevice},
    {"volume.Format", "wmi.Invoke/MSFT_Volume.Format", kStorageFailed},
    {"volume.Mount", "win32.SetMountPoint", kErrorIoDevice},
    {"volume.Unmount", "win32.DeleteMountPoint", kErrorIoDevice},
};

// Null where the operation is known by its own name: not over the doubles, or not in the table.
const MachineFault* FindMachineFault(const std::string& operation) {
  const auto* fault = std::ranges::find(kMachineFaults, operation, &MachineFault::operation);
  return MachineIsDouble() && fault != std::end(kMachineFaults) ? fault : nullptr;
}

// Waits for an instance that no other client has.
win32::UniqueHandle OpenPipe() {
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (true) {
    win32::UniqueHandle pipe(CreateFileW(node_double::kAdminPipe, GENERIC_READ | GENERIC_WRITE, 0,
                                         nullptr, OPEN_EXISTING, 0, nullptr));
    if (pipe.valid() || GetLastError() != ERROR_PIPE_BUSY || absl::Now() > give_up) return pipe;
    absl::SleepFor(absl::Milliseconds(10));
  }
}

}  // namespace

bool MachineIsDouble() { return std::getenv("CSI_PROXY_NODE_DOUBLE") != nullptr; }

absl::Status CallMachineAdmin(const std::string& method, const google::protobuf::Message& request,
                              google::protobuf::Message* response) {
  const win32::UniqueHandle pipe = OpenPipe();
  if (!pipe.valid()) return win32::LastError("the pipe of the doubles");
  const std::string name = absl::StrCat(method, "\n");
  uint32_t code = 0;
  std::string answer;
  if (!node_double::WriteAll(pipe.get(), name.data(), name.size()) ||
      !node_double::WriteCounted(pipe.get(), request.SerializeAsString()) ||
      !node_double::ReadAll(pipe.get(), &code, sizeof(code)) ||
      !node_double::ReadCounted(pipe.get(), &answer)) {
    return win32::LastError(absl::StrCat("asking the doubles for ", method));
  }
  if (code != 0) return absl::Status(static_cast<absl::StatusCode>(code), answer);
  if (response->ParseFromString(answer)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("no response of ", method));
}

std::string FaultRule(const std::string& operation, int times) {
  const MachineFault* fault = FindMachineFault(operation);
  return absl::StrCat(
      "operation: '", fault == nullptr ? operation : fault->of_machine, "' times: ", times,
      " code: 'INTERNAL' error { code: ", fault == nullptr ? kDenied : fault->error, " }");
}

std::string MachineFaultWords(const std::string& operation) {
  const MachineFault* fault = FindMachineFault(operation);
  if (fault == nullptr) return "";
  return fault->error == kErrorIoDevice ? absl::StrCat("(", kErrorIoDevice, ")") : "failed";
}

}  // namespace csi_proxy::integration
