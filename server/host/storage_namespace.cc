#include "server/host/storage_namespace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {

using cim::Namespace;
using cim::Value;

absl::Status StorageNamespace::UpdateCache(const CallContext& context) {
  return update_.Get(context, [this](const CallContext& run) -> absl::Status {
    const auto result =
        wmi_.Invoke(run, Namespace::kStorage, "MSFT_StorageSetting", "UpdateHostStorageCache");
    if (!result.ok()) return Prefixed("rescanning", result.status());
    return cim::StorageStatus("rescanning", *result);
  });
}

absl::StatusOr<cim::MethodResult> StorageNamespace::Invoke(
    const CallContext& context, const std::string& path, const std::string& method,
    const cim::Arguments& arguments, absl::FunctionRef<absl::Status()> check) {
  absl::StatusOr<cim::MethodResult> result =
      wmi_.Invoke(context, Namespace::kStorage, path, method, arguments);
  if (!result.ok() ||
      (result->return_value != cim::kCacheOutOfDate && result->return_value != cim::kNotInCache)) {
    return result;
  }
  // Returns the first refusal, because it has more information than the failure of an update.
  if (!UpdateCache(context).ok()) return result;
  ABSL_RETURN_IF_ERROR(check());
  const std::string why = absl::StrCat(method, " returned ", result->return_value);
  RecordFallback(Fallback::kMethodRepeated, why);
  result = wmi_.Invoke(context, Namespace::kStorage, path, method, arguments);
  if (result.ok() &&
      (result->return_value == cim::kCacheOutOfDate || result->return_value == cim::kNotInCache)) {
    RecordFallback(Fallback::kMethodRefusedAgain, why);
  }
  return result;
}

absl::Status StorageNamespace::Call(const CallContext& context, const std::string& operation,
                                    const std::string& path, const std::string& method,
                                    const cim::Arguments& arguments,
                                    absl::FunctionRef<absl::Status()> check) {
  const auto result = Invoke(context, path, method, arguments, check);
  return result.ok() ? cim::StorageStatus(operation, *result)
                     : Prefixed(operation, result.status());
}

absl::StatusOr<std::optional<cim::Object>> FindMsftDisk(cim::Session& wmi,
                                                        const CallContext& context,
                                                        uint32_t disk_number) {
  auto disks = wmi.Query(context, Namespace::kStorage,
                         cim::Query("MSFT_Disk").Where("Number", Value::Uint32(disk_number)));
  if (!disks.ok()) return Prefixed(absl::StrCat("finding disk ", disk_number), disks.status());
  ABSL_RETURN_IF_ERROR(CheckOne(absl::StrCat("disk ", disk_number), disks->size()));
  if (disks->empty()) return std::nullopt;
  return std::move(disks->front());
}

absl::StatusOr<std::vector<cim::Object>> ListMsftPartitions(cim::Session& wmi,
                                                            const CallContext& context,
                                                            uint32_t disk_number) {
  auto partitions =
      wmi.Query(context, Namespace::kStorage,
                cim::Query("MSFT_Partition").Where("DiskNumber", Value::Uint32(disk_number)));
  if (partitions.ok()) return partitions;
  return Prefixed(absl::StrCat("listing partitions of disk ", disk_number), partitions.status());
}

absl::Status CheckOne(absl::string_view what, size_t found) {
  if (found <= 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("WMI shows ", found, " objects for ", what,
                   ", as on a node of a failover cluster, and does not say which is this node's"));
}

}  // namespace csi_proxy::host
