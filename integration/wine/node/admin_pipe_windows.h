// The administrator's pipe of the double's node, for tests in other processes.
//
// A request is the name of a method of server/simulator/admin.proto, a newline, the length
// of the serialized request as a uint32, and the request. An answer is a status code as a uint32, a
// length as a uint32, and the serialized response, or, of a failure, the message. Numbers are
// little-endian; a connection may ask again after each answer.
#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/simulator/machine.h"

namespace csi_proxy::node_double {

// Serves the pipe as long as the process lives.
void ServeAdmin(machine::simulated::Machine& node);

}  // namespace csi_proxy::node_double
