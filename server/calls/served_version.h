// A released version of a group as a table of its methods. Code that does not know the version's
// types serves the table to gRPC and to callers in this process that pass bytes.
#pragma once

#include <google/protobuf/message.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "csi_proxy/call_context.h"
#include "server/calls/method_info.h"

namespace csi_proxy::rpc {

struct CallDeps;

// One rpc.
struct UnaryMethod {
  const MethodInfo* info;
  // Return the default instances of the method's request and response.
  const google::protobuf::Message& (*request)();
  const google::protobuf::MessageLite& (*response)();
  // Calls the method. The response is valid only if it returns OK. REQUIRES: `api` is the version's
  // Api; `request` and `*response` have the method's types.
  absl::Status (*call)(void* api, const CallContext& context,
                       const google::protobuf::MessageLite& request,
                       google::protobuf::MessageLite* response);
};

template <typename Service>
struct ServedVersion {
  const char* name;          // `v1`
  const char* service_name;  // `v1.Volume`, the name in the rpc's path
  // Makes the version's Api over `service`. Its calls run as embedded calls of `calls` (RunAt()),
  // or directly if `calls` is null. REQUIRES: both outlive the Api.
  std::shared_ptr<void> (*open)(Service* service, const CallDeps* calls);
  absl::Span<const UnaryMethod> methods;
};

template <typename Api, typename Request, typename Response,
          absl::Status (Api::*kMethod)(const CallContext&, const Request&, Response*)>
constexpr UnaryMethod MakeUnaryMethod(const MethodInfo& info) {
  using google::protobuf::Message;
  using google::protobuf::MessageLite;
  return {
      &info, []() -> const Message& { return Request::default_instance(); },
      []() -> const MessageLite& { return Response::default_instance(); },
      [](void* api, const CallContext& context, const MessageLite& request, MessageLite* response) {
        return (static_cast<Api*>(api)->*kMethod)(context, static_cast<const Request&>(request),
                                                  static_cast<Response*>(response));
      }};
}

}  // namespace csi_proxy::rpc
