// Opens entries that another program may hold exclusively for a moment.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "server/base/fallbacks.h"
#include "server/machine/os.h"
#include "server/names/win32_error.h"

namespace csi_proxy::host {

// The time and the interval for repeated opens of an entry that other programs hold.
inline constexpr absl::Duration kPatience = absl::Seconds(2);
inline constexpr absl::Duration kPatienceRetry = absl::Milliseconds(5);

// Returns true if an open failed because another handle does not share the entry, or because the
// entry is being deleted. Virus scanners and other calls often cause this for a short time.
inline bool IsHeldByOthers(const absl::Status& status) {
  return HasWin32Code(status, {win32_error::kSharingViolation, win32_error::kDeletePending});
}

// Repeats `call` while other programs hold its entry, until kPatience is over or `context` ends.
template <typename Call>
auto Patiently(const CallContext& context, Call call) -> decltype(call()) {
  std::optional<CallContext> waiting;
  for (;;) {
    auto result = call();
    if constexpr (std::is_same_v<decltype(result), absl::Status>) {
      if (!IsHeldByOthers(result)) return result;
    } else {
      if (!IsHeldByOthers(result.status())) return result;
    }
    // Computes the deadline only here, because hardly any call has to wait.
    if (!waiting.has_value()) waiting = context.WithTimeout(kPatience);
    if (!waiting->SleepFor(kPatienceRetry).ok()) return result;
  }
}

// Calls `call`, which must open or make an entry of a directory. Repeats it once after
// ERROR_INVALID_PARAMETER, because directories mounted into a container return this error at random
// (github.com/microsoft/Windows-Containers/issues/635).
template <typename Call>
auto TwiceIfInvalid(Call call) -> decltype(call()) {
  auto opened = call();
  if (!HasWin32Code(opened.status(), win32_error::kInvalidParameter)) return opened;
  RecordFallback(Fallback::kOpenRepeated, opened.status().message());
  return call();
}

// Opens `name` in `directory`; retries as Patiently() and TwiceIfInvalid() do.
inline absl::StatusOr<std::unique_ptr<machine::File>> OpenPatiently(const CallContext& context,
                                                                    machine::File& directory,
                                                                    const std::string& name,
                                                                    machine::Access access) {
  return Patiently(context,
                   [&] { return TwiceIfInvalid([&] { return directory.Open(name, access); }); });
}

}  // namespace csi_proxy::host
