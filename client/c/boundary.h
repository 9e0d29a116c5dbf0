// The C interfaces share this: how codes, texts and bytes leave a library, and which input is
// refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/csi_proxy.h"
#include "csi_proxy/log_function.h"
#include "server/base/secret.h"
#include "server/base/unicode.h"

namespace csi_proxy::c {

// The most bytes that a message can hold.
constexpr size_t kMaxSize = std::numeric_limits<int>::max();

inline void Empty(csi_proxy_bytes* out) {
  if (out != nullptr) *out = {nullptr, 0};
}

// A copy that the caller owns. False when there is no memory for it; null is not filled.
inline bool Give(absl::string_view text, csi_proxy_bytes* out) {
  if (out == nullptr || text.empty()) return true;
  auto* const data = static_cast<uint8_t*>(std::malloc(text.size()));
  if (data == nullptr) return false;
  std::memcpy(data, text.data(), text.size());
  *out = {data, text.size()};
  return true;
}

// Frees the bytes of Give().
inline void Free(csi_proxy_bytes* bytes) {
  if (bytes == nullptr) return;
  if (bytes->data != nullptr) Wipe(bytes->data, bytes->size);
  std::free(bytes->data);
  Empty(bytes);
}

// Runs `function() -> absl::Status`, and returns the code; the text of a failure goes to `message`,
// as far as there is memory for it. No exception may cross a C interface.
template <typename Function>
int32_t Answer(csi_proxy_bytes* message, const Function& function) {
  absl::StatusCode code;
  try {
    const absl::Status status = function();
    code = status.code();
    // It may quote bytes from outside.
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

inline absl::Status CheckAbi(uint32_t programs, uint32_t librarys) {
  if (programs == librarys) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("abi_version: the program was built for ",
                                                    programs, ", this library has ", librarys));
}

inline absl::Status CheckOptions(const char* options, size_t options_size) {
  if (options == nullptr && options_size > 0) {
    return absl::InvalidArgumentError("options: is null, but options_size is not 0");
  }
  if (options_size > kMaxSize) return absl::InvalidArgumentError("options: is too large");
  return absl::OkStatus();
}

inline LogFunction ToLogFunction(csi_proxy_log log, void* user) {
  if (log == nullptr) return nullptr;
  return [log, user](Severity severity, absl::string_view line) {
    log(user, static_cast<int32_t>(severity), line.data(), line.size());
  };
}

}  // namespace csi_proxy::c
