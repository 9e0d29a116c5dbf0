// Redirects the logs of libraries, because they quote what peers send.
#pragma once

#include <functional>

#include "absl/strings/string_view.h"
#include "csi_proxy/log_function.h"

namespace csi_proxy::observability {

// Passes messages of protobuf to `log` instead of standard error. Escapes and shortens a message to
// one line. Passes at most five messages a minute from one place in the code, and counts the rest.
// kError means that the process will end. Fatal errors of Abseil still go to standard error,
// because Abseil's version in Debian 12 has no log to redirect. REQUIRES: a program calls this
// once, before using protobuf. A library must not call this function, because log handlers are
// process-wide and the program may have its own.
void RouteLibraryLogs(LogFunction log);

// Passes messages of gRPC to the `log` of RouteLibraryLogs(), by the same rules. REQUIRES:
// RouteLibraryLogs() was called, and gRPC has not been used. Only for programs that link
// csi_proxy_grpc_log.
void RouteGrpcLogs();

// Passes a message of `library` to the `log` of RouteLibraryLogs(), by the same rules. REQUIRES:
// RouteLibraryLogs() was called.
void WriteLibraryLine(const char* library, const char* file, int line, Severity severity,
                      absl::string_view message);

}  // namespace csi_proxy::observability
