// WMI's Storage namespace: its methods, and the names of the numbers in its objects. The provider
// of the methods works on a cache of disks and volumes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/call_context.h"
#include "server/host/shared_run.h"
#include "server/machine/cim/session.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::host {

// Thread-safe.
class StorageNamespace {
 public:
  explicit StorageNamespace(cim::Session* wmi) : wmi_(*wmi) {}

  // Makes the provider search for disks that arrived, left or changed size, and for their volumes.
  // Simultaneous calls share one update (SharedRun).
  absl::Status UpdateCache(const CallContext& context);

  // Calls a method. If the method returns that the provider's cache is out of date (40003) or lacks
  // the object (40006), updates the cache and calls the method once more, as the page of return
  // codes demands
  // (learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-common-return-codes).
  // Runs `check` before the second call; if `check` fails, returns its error without a second call.
  // The caller must check the return value.
  absl::StatusOr<cim::MethodResult> Invoke(const CallContext& context, const std::string& path,
                                           const std::string& method,
                                           const cim::Arguments& arguments = {},
                                           absl::FunctionRef<absl::Status()> check = NoCheck);
  // Calls a method as Invoke() does. Returns an error that names `operation` unless the method
  // reports success.
  absl::Status Call(const CallContext& context, const std::string& operation,
                    const std::string& path, const std::string& method,
                    const cim::Arguments& arguments = {},
                    absl::FunctionRef<absl::Status()> check = NoCheck);

  // The runs of UpdateCache().
  SharedRun<absl::Status>& update() { return update_; }

 private:
  static absl::Status NoCheck() { return absl::OkStatus(); }

  cim::Session& wmi_;
  SharedRun<absl::Status> update_;
};

// Returns `names[n]`, where n is the property's value, or n as text if `names` is too short; "" if
// the property is not a number. `names` are in the order of Microsoft's page.
template <size_t kSize>
std::string NameOf(const cim::Object& object, const char* property,
                   const char* const (&names)[kSize]) {
  const absl::StatusOr<uint32_t> number = object.GetUint32(property);
  if (!number.ok()) return "";
  return *number < kSize ? names[*number] : absl::StrCat(*number);
}

// Returns the MSFT_Disk with a number, or nullopt if WMI does not show it. Fails like CheckOne().
absl::StatusOr<std::optional<cim::Object>> FindMsftDisk(cim::Session& wmi,
                                                        const CallContext& context,
                                                        uint32_t disk_number);

// Returns the MSFT_Partition objects of a disk.
absl::StatusOr<std::vector<cim::Object>> ListMsftPartitions(cim::Session& wmi,
                                                            const CallContext& context,
                                                            uint32_t disk_number);

// Returns FAILED_PRECONDITION if a query by a key found several objects: on a node of a failover
// cluster WMI also shows objects of other nodes
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-storageobject).
absl::Status CheckOne(absl::string_view what, size_t found);

}  // namespace csi_proxy::host
