#pragma once

#include "absl/status/statusor.h"
#include "client/cpp/pipe_owner.h"

namespace csi_proxy::client {

// The owner of the pipe behind a handle that was opened with READ_CONTROL, which generic read
// access includes.
absl::StatusOr<PipeOwner> WhoseIs(void* handle);

}  // namespace csi_proxy::client
