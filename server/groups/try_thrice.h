// Repeats a step that may fail temporarily.
#pragma once

#include "absl/time/time.h"
#include "csi_proxy/call_context.h"

namespace csi_proxy::groups {

// Runs `step` up to three times, with pauses, until `is_final` accepts its result or the call ends.
// Returns the last result.
template <typename Step, typename IsFinal>
auto TryThrice(const CallContext& context, Step step, IsFinal is_final) {
  constexpr absl::Duration kPause = absl::Milliseconds(100);
  for (int tries = 1;; ++tries) {
    auto result = step();
    if (is_final(result) || tries == 3 || !context.SleepFor(kPause).ok()) return result;
  }
}

}  // namespace csi_proxy::groups
