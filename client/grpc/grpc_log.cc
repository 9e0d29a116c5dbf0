#include <grpc/support/log.h>

#include "absl/strings/match.h"
#include "server/observability/library_log.h"

namespace csi_proxy::observability {
namespace {

void Write(gpr_log_func_args* message) {
  // gpr_assertion_failed() logs an error, then ends the process.
  const Severity severity = message->severity != GPR_LOG_SEVERITY_ERROR ? Severity::kInfo
                            : absl::StartsWithIgnoreCase(message->message, "assertion failed")
                                ? Severity::kError
                                : Severity::kWarning;
  WriteLibraryLine("gRPC", message->file, message->line, severity, message->message);
}

}  // namespace

void RouteGrpcLogs() { gpr_set_log_function(Write); }

}  // namespace csi_proxy::observability
