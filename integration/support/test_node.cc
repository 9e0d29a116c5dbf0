#include "integration/support/test_node.h"

#include <google/protobuf/text_format.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace csi_proxy::integration {
namespace {

// What a real node's host does for an operation of the simulated one, and an error there that means
// no more than that it failed.
struct WindowsFault {
  const char* operation;
  const char* windows_operation;
  uint32_t error;
};

constexpr uint32_t kWmiFailed = 0x80041001;
constexpr uint32_t kStorageFailed = 4;
constexpr uint32_t kErrorIoDevice = 1117;

constexpr WindowsFault kWindowsFaults[] = {
    {"disk.CreateBasicPartition", "wmi.Invoke/MSFT_Disk.CreatePartition", kStorageFailed},
    {"disk.ListDiskIdentities", "wmi.Query/MSFT_Disk", kWmiFailed},
    {"disk.ListDiskLocations", "wmi.Query/MSFT_Disk", kWmiFailed},
    {"disk.Rescan", "wmi.Invoke/MSFT_StorageSetting.UpdateHostStorageCache", kStorageFailed},
    {"iscsi.ListPortals", "wmi.Query/MSFT_iSCSITargetPortal", kWmiFailed},
    {"system.GetBiosSerialNumber", "win32.GetSmbiosTable", kErrorIoDevice},
    {"volume.Flush", "win32.Flush", kErrorIoDevice},
    {"volume.Format", "wmi.Invoke/MSFT_Volume.Format", kStorageFailed},
};

}  // namespace

NodeKind NodeUnderTest() {
  const char* const node = std::getenv("CSI_PROXY_TEST_NODE");
  return node != nullptr && std::string(node) == "windows" ? NodeKind::kWindows
                                                           : NodeKind::kSimulated;
}

absl::Status TestNode::Reset() {
  csi_proxy::simulated::ResetResponse response;
  return Admin("Reset", csi_proxy::simulated::ResetRequest(), &response);
}

absl::Status TestNode::InjectFault(const std::string& textproto) {
  csi_proxy::simulated::InjectFaultRequest request;
  if (!google::protobuf::TextFormat::ParseFromString(textproto, request.mutable_fault())) {
    return absl::InvalidArgumentError("bad fault: " + textproto);
  }
  csi_proxy::simulated::InjectFaultResponse response;
  return Admin("InjectFault", request, &response);
}

absl::Status TestNode::FailOnce(const std::string& operation) {
  if (NodeUnderTest() == NodeKind::kSimulated) {
    return InjectFault(
        absl::StrCat("operation: '", operation, "' times: 1 code: 'INTERNAL' error { code: 5 }"));
  }
  for (const WindowsFault& fault : kWindowsFaults) {
    if (fault.operation != operation) continue;
    return InjectFault(absl::StrCat("operation: '", fault.windows_operation,
                                    "' times: 1 code: 'INTERNAL' error { code: ", fault.error,
                                    " }"));
  }
  return absl::InvalidArgumentError(operation + ": no fault of a Windows node stands for it");
}

csi_proxy::simulated::Node TestNode::Dump() {
  csi_proxy::simulated::DumpStateResponse response;
  const absl::Status status =
      Admin("DumpState", csi_proxy::simulated::DumpStateRequest(), &response);
  if (!status.ok()) return {};
  return response.node();
}

}  // namespace csi_proxy::integration
