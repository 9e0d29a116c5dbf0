// Redirects the logs of gRPC and protobuf, which quote what peers send.
#pragma once

#include <functional>

#include "csi_proxy/log_function.h"

namespace csi_proxy::service {

// Passes messages of gRPC and protobuf to `log` instead of standard error: escaped, shortened, one
// line each; at most five a minute from one place in the code, then a count. kError means that the
// process will end. Fatal errors of Abseil still go to standard error, because Debian 12's has no
// log.
// REQUIRES: called once, by a program, before it uses gRPC or protobuf. A library must not call it,
// because the program may have set these process-wide functions.
void RouteLibraryLogs(LogFunction log);

}  // namespace csi_proxy::service
