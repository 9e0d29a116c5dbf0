#include "server/host/storage_namespace.h"

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/win32_error.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::host {

using cim::Namespace;

absl::Status StorageNamespace::UpdateCache(const CallContext& context) {
  return update_.Get(context, [&]() -> absl::Status {
    const auto result =
        wmi_.Invoke(context, Namespace::kStorage, "MSFT_StorageSetting", "UpdateHostStorageCache");
    if (!result.ok()) return Prefixed("rescanning", result.status());
    return cim::StorageStatus("rescanning", *result);
  });
}

absl::StatusOr<cim::MethodResult> StorageNamespace::Invoke(const CallContext& context,
                                                           const std::string& path,
                                                           const std::string& method,
                                                           const cim::Arguments& arguments) {
  absl::StatusOr<cim::MethodResult> result =
      wmi_.Invoke(context, Namespace::kStorage, path, method, arguments);
  if (!result.ok() ||
      (result->return_value != cim::kCacheOutOfDate && result->return_value != cim::kNotInCache)) {
    return result;
  }
  // The first refusal says more than the failure of an update.
  if (!UpdateCache(context).ok()) return result;
  RecordFallback(Fallback::kMethodRepeated,
                 absl::StrCat(method, " returned ", result->return_value));
  return wmi_.Invoke(context, Namespace::kStorage, path, method, arguments);
}

absl::Status CheckOne(absl::string_view what, size_t found) {
  if (found <= 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("WMI shows ", found, " objects for ", what,
                   ", as on a node of a failover cluster, and does not say which is this node's"));
}

}  // namespace csi_proxy::host
