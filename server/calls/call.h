// The common part of remote and embedded calls.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/steady_time.h"
#include "server/calls/call_deps.h"
#include "server/calls/served_version.h"

namespace csi_proxy::rpc {

// A call from its arrival to its answer. REQUIRES: the arguments of the constructor, and all
// objects that `context` points to, outlive this.
class ServedCall {
 public:
  // Reports the call's arrival to the observers. The call's deadline is that of `context`, but at
  // most deps.max_call_duration from now.
  ServedCall(const CallDeps& deps, const MethodInfo& method, const CallContext& context);

  // Returns the call's context, without a slot.
  const CallContext& context() const { return context_; }

  // Calls `function` with a context that has `slot`, and returns the status of `function`. If the
  // call has ended, only returns the error of CallContext::Check().
  absl::Status Run(TaskSlot* slot,
                   absl::FunctionRef<absl::Status(const CallContext&)> function) const;

  // Reports the end of the call to the observers. Returns the status for the caller.
  absl::Status End(const absl::Status& status) const;

 private:
  const CallDeps& deps_;
  const MethodInfo& method_;
  const SteadyTime arrived_;
  const CallContext context_;
};

// Returns `error` with only its code and text. Cuts the middle out of a text of more than 2 KiB,
// because the beginning names the field and the end gives the reason.
absl::Status StatusForCaller(const absl::Status& error);

// Runs `function` on this thread as a call of this process, with a slot of calls->executor. Returns
// the status for the caller. If `calls` is null, only calls `function`.
absl::Status RunAt(const CallDeps* calls, const MethodInfo& method, const CallContext& context,
                   absl::FunctionRef<absl::Status(const CallContext&)> function);

// Calls a method with the message in `request`, and passes the response to `write`. Wipes the
// message if the method's requests may hold secrets. Returns INVALID_ARGUMENT if `request` is null
// or not a message of the method's type.
absl::Status CallWithBytes(
    const UnaryMethod& method, void* api, const CallContext& context,
    google::protobuf::io::ZeroCopyInputStream* request,
    absl::FunctionRef<absl::Status(const google::protobuf::MessageLite&)> write);

}  // namespace csi_proxy::rpc
