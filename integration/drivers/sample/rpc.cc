#include "integration/drivers/sample/rpc.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace csi_proxy::sample_driver {

CallOptions WithDeadlineOf(const grpc::ServerContext& context) {
  // Formatting may take long; without a deadline of the caller's this is the limit.
  constexpr absl::Duration kLongest = absl::Minutes(10);
  const absl::Duration left = absl::FromChrono(context.deadline()) - absl::Now();
  return {.timeout = std::clamp(left, absl::Milliseconds(1), kLongest)};
}

absl::Status Require(const char* field, const std::string& value) {
  if (!value.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": is missing"));
}

}  // namespace csi_proxy::sample_driver
