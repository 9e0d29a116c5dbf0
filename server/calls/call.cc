#include "server/calls/call.h"

#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/calls/request_fields.h"
#include "server/names/win32_error.h"

namespace csi_proxy::rpc {
namespace {

// The limit of an error's text, in bytes. A header carries the text percent-encoded, which may
// triple its length, and clients accept 8 KiB of headers in all
// (github.com/grpc/grpc/blob/v1.51.1/include/grpc/impl/codegen/grpc_types.h, MAX_METADATA_SIZE).
constexpr size_t kMaxErrorText = 2048;

}  // namespace

ServedCall::ServedCall(const CallDeps& deps, const MethodInfo& method, const CallContext& context)
    : deps_(deps),
      method_(method),
      arrived_(SteadyTime::Now()),
      context_(context.NoLaterThan(arrived_ + deps.max_call_duration)) {
  for (CallObserver* observer : deps_.observers) observer->OnStart(method_);
}

absl::Status ServedCall::Run(TaskSlot* slot,
                             absl::FunctionRef<absl::Status(const CallContext&)> function) const {
  const CallContext context = context_.With(slot);
  if (absl::Status over = context.Check(); !over.ok()) {
    return absl::IsCancelled(over) ? over : Appended(over, "other calls kept it from beginning");
  }
  return function(context);
}

absl::Status ServedCall::End(const absl::Status& status) const {
  const absl::Duration duration = SteadyTime::Now() - arrived_;
  for (CallObserver* observer : deps_.observers) {
    observer->OnDone(method_, context_, status, duration);
  }
  return StatusForCaller(status);
}

absl::Status StatusForCaller(const absl::Status& error) {
  const absl::string_view text = error.message();
  if (text.size() <= kMaxErrorText) return absl::Status(error.code(), text);
  constexpr size_t kHalf = kMaxErrorText / 2;
  const auto cuts_character = [&](size_t at) { return (text[at] & 0xC0) == 0x80; };
  size_t begin = kHalf, end = text.size() - kHalf;
  while (begin > 0 && cuts_character(begin)) --begin;
  while (end < text.size() && cuts_character(end)) ++end;
  return absl::Status(error.code(), absl::StrCat(text.substr(0, begin), " ... (", end - begin,
                                                 " bytes are left out) ... ", text.substr(end)));
}

absl::Status RunAt(const CallDeps* calls, const MethodInfo& method, const CallContext& context,
                   absl::FunctionRef<absl::Status(const CallContext&)> function) {
  if (calls == nullptr) return function(context);
  const ServedCall call(*calls, method, context.From(&calls->own_process, method.pipe));
  return call.End(calls->executor->RunHere(
      call.context(), [&](TaskSlot* slot) { return call.Run(slot, function); }));
}

absl::Status CallWithBytes(
    const UnaryMethod& method, void* api, const CallContext& context,
    google::protobuf::io::ZeroCopyInputStream* request,
    absl::FunctionRef<absl::Status(const google::protobuf::MessageLite&)> write) {
  const std::unique_ptr<google::protobuf::Message> message(method.request().New());
  const absl::Cleanup wiped = [&] {
    if (method.info->has_secrets) WipeTexts(message.get());
  };
  if (request == nullptr || !message->ParseFromZeroCopyStream(request)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request is not a ", message->GetTypeName()));
  }
  // Saves memory: protobuf needs 64 bytes for an unknown field of two bytes. If a call changes the
  // node, the shim refuses unknown fields instead.
  if (method.info->reads) DiscardUnknownFields(message.get());
  const std::unique_ptr<google::protobuf::MessageLite> response(method.response().New());
  ABSL_RETURN_IF_ERROR(method.call(api, context, *message, response.get()));
  return write(*response);
}

}  // namespace csi_proxy::rpc
