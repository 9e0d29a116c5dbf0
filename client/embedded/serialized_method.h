// Makes a generated method one that takes bytes.
#pragma once

#include <limits>

#include "absl/strings/str_cat.h"
#include "client/embedded/embedded_version.h"
#include "server/shim/method_info.h"

namespace csi_proxy::client {

template <typename Api, typename Request, typename Response,
          absl::Status (Api::*kMethod)(const CallContext&, const Request&, Response*)>
absl::Status CallSerialized(void* api, const CallContext& context, absl::string_view bytes,
                            std::string* out) {
  Request request;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request is no ", Request::descriptor()->full_name()));
  }
  Response response;
  const absl::Status status = (static_cast<Api*>(api)->*kMethod)(context, request, &response);
  if (!status.ok()) return status;
  *out = response.SerializeAsString();
  return absl::OkStatus();
}

template <typename Api, typename Request, typename Response,
          absl::Status (Api::*kMethod)(const CallContext&, const Request&, Response*)>
constexpr SerializedMethod MakeSerializedMethod(const shim::MethodInfo& method) {
  return {method.path, &CallSerialized<Api, Request, Response, kMethod>};
}

}  // namespace csi_proxy::client
