// gRPC server reflection for a pipe that serves one service. Describes only what the pipe serves,
// not every file that is linked into the process.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::rpc {

// The limit of a request, in bytes. The names that tools ask for are far shorter.
inline constexpr size_t kMaxReflectionRequestBytes = 4096;

// The streams of both versions of the protocol. Their messages are equal on the wire.
inline constexpr const char* kReflectionPaths[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

// Returns the answer to a request of a stream. Lists `full_name` (such as `v1.Volume`), health and
// reflection, and describes the files that define these, with their imports. Returns
// RESOURCE_EXHAUSTED for a request over the limit, and INVALID_ARGUMENT for bytes that are not a
// message of the protocol; either error ends the stream. REQUIRES: `full_name` is linked in.
absl::StatusOr<std::string> AnswerReflection(const std::string& full_name,
                                             absl::string_view request);

}  // namespace csi_proxy::rpc
