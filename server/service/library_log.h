// The log of gRPC and protobuf, which quote what a peer sends.
#pragma once

#include <functional>

#include "csi_proxy/log_function.h"

namespace csi_proxy::observability {

// Hands the messages of gRPC and protobuf to `log` in place of standard error: each as one line,
// escaped and shortened, and of those of one place in the code the first five of a minute and a
// count. kError is a message after which the process ends. Abseil of Debian 12 has no log; its
// fatal errors go to standard error.
// REQUIRES: called once, by a program before it uses either. Not for a library: both functions are
// the process's, and the program may have set its own.
void RouteLibraryLogs(LogFunction log);

}  // namespace csi_proxy::observability
