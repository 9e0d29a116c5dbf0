#include "server/host/storage_namespace.h"

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"
#include "server/base/win32_error.h"
#include "server/machine/cim/errors.h"

namespace csi_proxy::host {

using cim::Namespace;

absl::Status UpdateStorageCache(cim::Session& wmi, const CallContext& context) {
  const auto result =
      wmi.Invoke(context, Namespace::kStorage, "MSFT_StorageSetting", "UpdateHostStorageCache");
  if (!result.ok()) return Prefixed("rescanning", result.status());
  return cim::StorageStatus("rescanning", *result);
}

absl::StatusOr<cim::MethodResult> InvokeStorage(cim::Session& wmi, const CallContext& context,
                                                const std::string& path, const std::string& method,
                                                const cim::Arguments& arguments) {
  absl::StatusOr<cim::MethodResult> result =
      wmi.Invoke(context, Namespace::kStorage, path, method, arguments);
  if (!result.ok() ||
      (result->return_value != cim::kCacheOutOfDate && result->return_value != cim::kNotInCache)) {
    return result;
  }
  // The first refusal says more than the failure of an update.
  if (!UpdateStorageCache(wmi, context).ok()) return result;
  RecordFallback(Fallback::kMethodRepeated,
                 absl::StrCat(method, " returned ", result->return_value));
  return wmi.Invoke(context, Namespace::kStorage, path, method, arguments);
}

}  // namespace csi_proxy::host
