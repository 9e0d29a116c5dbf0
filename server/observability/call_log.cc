#include "server/observability/call_log.h"

#include "absl/strings/escaping.h"

namespace csi_proxy::observability {
namespace {

// Errors caused by the caller, such as a path that does not exist, are common in normal use.
spdlog::level::level_enum LevelFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kCancelled:
      return spdlog::level::debug;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return spdlog::level::err;
    default:
      return spdlog::level::warn;
  }
}

}  // namespace

void CallLog::OnDone(const shim::MethodInfo& method, const Peer& peer, const absl::Status& status,
                     absl::Duration duration) {
  const spdlog::level::level_enum level = LevelFor(status.code());
  if (logger_ == nullptr || !logger_->should_log(level)) return;
  // The text may quote what a caller sent: it is escaped, so that it cannot forge a line.
  logger_->log(level, "{}/{} {} pid={} image=\"{}\" code={} ms={:.3f} {}", method.group,
               method.version, method.method, peer.process_id, absl::CEscape(peer.image_path),
               absl::StatusCodeToString(status.code()), absl::ToDoubleMilliseconds(duration),
               absl::Utf8SafeCEscape(status.message()));
}

}  // namespace csi_proxy::observability
