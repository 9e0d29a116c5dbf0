// The C interface: checks all arguments of the caller, and never throws.
#include "csi_proxy/csi_proxy.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/c/handles.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/steady_time.h"
#include "server/base/secret.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"
#include "server/observability/product_version.h"

namespace csi_proxy::c {
namespace {

// The largest size of a protobuf message, in bytes.
constexpr size_t kMaxSize = std::numeric_limits<int>::max();

void Empty(csi_proxy_bytes* out) {
  if (out != nullptr) *out = {nullptr, 0};
}

// Copies `text` into memory for the caller to free, unless `out` is null. Returns false if memory
// is short.
bool Give(absl::string_view text, csi_proxy_bytes* out) {
  if (out == nullptr || text.empty()) return true;
  auto* const data = static_cast<uint8_t*>(std::malloc(text.size()));
  if (data == nullptr) return false;
  std::memcpy(data, text.data(), text.size());
  *out = {data, text.size()};
  return true;
}

// Wipes and frees the bytes that Give() made.
void Free(csi_proxy_bytes* bytes) {
  if (bytes == nullptr) return;
  if (bytes->data != nullptr) Wipe(bytes->data, bytes->size);
  std::free(bytes->data);
  Empty(bytes);
}

// Runs `function() -> absl::Status` and returns the code. On failure puts the text into `message`,
// unless memory runs out. Catches exceptions, because they must not cross the C interface.
template <typename Function>
int32_t Answer(csi_proxy_bytes* message, const Function& function) {
  absl::StatusCode code;
  try {
    const absl::Status status = function();
    code = status.code();
    // The text may quote bytes of the caller that are not valid UTF-8.
    if (!status.ok()) (void)Give(ReplaceInvalidUtf8(status.message()), message);
  } catch (const std::bad_alloc&) {
    code = absl::StatusCode::kResourceExhausted;
    (void)Give("out of memory", message);
  } catch (const std::exception& error) {
    code = absl::StatusCode::kInternal;
    (void)Give(error.what(), message);
  }
  return static_cast<int32_t>(code);
}

absl::Status CheckAbi(uint32_t programs) {
  if (programs == CSI_PROXY_ABI_VERSION) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("abi_version: the program was built for ",
                                                    programs, ", this library has ",
                                                    CSI_PROXY_ABI_VERSION));
}

absl::Status CheckOptions(const char* options, size_t options_size) {
  if (options == nullptr && options_size > 0) {
    return absl::InvalidArgumentError("options: is null, but options_size is not 0");
  }
  if (options_size > kMaxSize) return absl::InvalidArgumentError("options: is too large");
  return absl::OkStatus();
}

LogFunction ToLogFunction(csi_proxy_log log, void* user) {
  if (log == nullptr) return nullptr;
  return [log, user](Severity severity, absl::string_view line) {
    log(user, static_cast<int32_t>(severity), line.data(), line.size());
  };
}

constexpr absl::string_view kAdministrator = "/csi_proxy.simulated.Admin/";

absl::Status Closed() { return absl::NotFoundError("node: is closed, or was never opened"); }

absl::Status Open(uint32_t abi_version, const char* options, size_t options_size, csi_proxy_log log,
                  void* user, csi_proxy_node* node) {
  ABSL_RETURN_IF_ERROR(CheckAbi(abi_version));
  if (node == nullptr) return absl::InvalidArgumentError("node: is null");
  ABSL_RETURN_IF_ERROR(CheckOptions(options, options_size));
  ABSL_ASSIGN_OR_RETURN(OpenedNode opened, OpenNodeOf(absl::string_view(options, options_size),
                                                      ToLogFunction(log, user)));
  *node = Handles::Get().AddNode(std::move(opened));
  return absl::OkStatus();
}

absl::Status Call(OpenNode& open, const CallContext& context, absl::string_view method,
                  absl::string_view request, std::string* response) {
  if (!absl::StartsWith(method, kAdministrator)) {
    return open.rpcs->Call(method, context, request, response);
  }
  ABSL_RETURN_IF_ERROR(context.Check());
  if (open.opened.administer == nullptr) {
    return absl::FailedPreconditionError("only a simulated node can be administered");
  }
  ABSL_ASSIGN_OR_RETURN(
      std::string answer,
      open.opened.administer(absl::StripPrefix(method, kAdministrator), std::string(request)));
  *response = std::move(answer);
  return absl::OkStatus();
}

// Leaves the gate of a node and ends the call, also on an exception.
class UnderWay {
 public:
  UnderWay(OpenNode* node, csi_proxy_call call) : node_(node), call_(call) {}
  ~UnderWay() {
    if (call_ != 0) Handles::Get().EndCall(call_);
    node_->gate.Leave();
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  OpenNode* const node_;
  const csi_proxy_call call_;
};

absl::Status Invoke(csi_proxy_node node, csi_proxy_call call, const char* method,
                    const uint8_t* request, size_t request_size, int64_t timeout_ns,
                    std::string* response) {
  const std::shared_ptr<OpenNode> open = Handles::Get().EnterNode(node);
  if (open == nullptr) return Closed();
  std::shared_ptr<Cancellable> cancellable;
  if (call != 0) cancellable = Handles::Get().BeginCall(node, call);
  const UnderWay under_way(open.get(), cancellable != nullptr ? call : 0);
  if (call != 0 && cancellable == nullptr) {
    return absl::NotFoundError("call: was not announced for this node, or has begun already");
  }
  if (method == nullptr) return absl::InvalidArgumentError("method: is null");
  if (request == nullptr && request_size > 0) {
    return absl::InvalidArgumentError("request: is null, but request_size is not 0");
  }
  if (request_size > kMaxSize) return absl::InvalidArgumentError("request: is too large");
  const SteadyTime deadline = timeout_ns < 0 ? SteadyTime::InfiniteFuture()
                                             : SteadyTime::Now() + absl::Nanoseconds(timeout_ns);
  const CallContext context(
      deadline, (cancellable != nullptr ? *cancellable : open->closing).notification(), nullptr);
  return Call(*open, context, method,
              absl::string_view(reinterpret_cast<const char*>(request), request_size), response);
}

}  // namespace
}  // namespace csi_proxy::c

using csi_proxy::c::Answer;
using csi_proxy::c::Closed;
using csi_proxy::c::Empty;
using csi_proxy::c::Handles;

extern "C" {

uint32_t csi_proxy_abi_version(void) { return CSI_PROXY_ABI_VERSION; }

const char* csi_proxy_version(void) { return csi_proxy::kVersion; }

int32_t csi_proxy_open(uint32_t abi_version, const char* options, size_t options_size,
                       csi_proxy_log log, void* user, csi_proxy_node* node,
                       csi_proxy_bytes* error) {
  if (node != nullptr) *node = 0;
  Empty(error);
  return Answer(error, [&] {
    return csi_proxy::c::Open(abi_version, options, options_size, log, user, node);
  });
}

int32_t csi_proxy_begin(csi_proxy_node node, csi_proxy_call* call) {
  if (call != nullptr) *call = 0;
  return Answer(nullptr, [&] {
    if (call == nullptr) return absl::InvalidArgumentError("call: is null");
    *call = Handles::Get().AddCall(node);
    return *call != 0 ? absl::OkStatus() : Closed();
  });
}

int32_t csi_proxy_invoke(csi_proxy_node node, csi_proxy_call call, const char* method,
                         const uint8_t* request, size_t request_size, int64_t timeout_ns,
                         csi_proxy_bytes* response, csi_proxy_bytes* message) {
  Empty(response);
  Empty(message);
  return Answer(message, [&] {
    std::string bytes;
    absl::Status status =
        csi_proxy::c::Invoke(node, call, method, request, request_size, timeout_ns, &bytes);
    if (status.ok() && !csi_proxy::c::Give(bytes, response)) {
      status = absl::ResourceExhaustedError("out of memory for the response");
    }
    return status;
  });
}

void csi_proxy_cancel(csi_proxy_call call) { Handles::Get().CancelCall(call); }

int32_t csi_proxy_close(csi_proxy_node node) {
  return Answer(nullptr,
                [&] { return Handles::Get().CloseNode(node) ? absl::OkStatus() : Closed(); });
}

void csi_proxy_free(csi_proxy_bytes* bytes) { csi_proxy::c::Free(bytes); }

}  // extern "C"
