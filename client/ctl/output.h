// Shows a response to programs and to people.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::ctl {

// Protobuf's own JSON, with the fields' names as in the API and empty ones shown.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

// Columns: lists and maps of messages as one row each, the rest as `name  value`. An empty message
// is `ok`.
std::string ToTable(const google::protobuf::Message& message);

}  // namespace csi_proxy::ctl
