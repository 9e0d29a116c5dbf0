#include "server/service/call_log.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/peer_process.h"
#include "server/base/unicode.h"
#include "server/rpc/request_fields.h"
#include "server/service/loggers.h"
#include "server/service/logging.h"

namespace csi_proxy::service {
namespace {

// Errors that the caller causes, such as a missing path, are common.
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

void CallLog::OnDone(const rpc::MethodInfo& method, const CallContext& call,
                     const absl::Status& status, absl::Duration duration) {
  if (logger_ == nullptr) return;
  const Peer& peer = call.peer();
  const spdlog::level::level_enum level = LevelFor(status.code());
  if (repeats_.counting()) WriteCounts(repeats_.TakeEnded(SteadyTime::Now()));
  if (!logger_->should_log(level)) return;
  // Verbosity 2 logs every call.
  if (!logger_->should_log(spdlog::level::debug)) {
    std::vector<Repeats::Count> ended;
    const bool written =
        repeats_.Admit(method.path, peer, status.code(), SteadyTime::Now(), &ended);
    WriteCounts(ended);
    if (!written) return;
  }
  const std::string trace = call.trace().empty() ? "" : absl::StrCat(" trace=", call.trace());
  // ShortenForLog() escapes the text, which may quote a caller's input and must not forge a line.
  logger_->log(Here(), level, "{}/{} {} pid={} image=\"{}\" code={} ms={:.3f}{} {}", method.group,
               method.version, method.method, peer.process_id, ShortenForLog(peer.image_path),
               absl::StatusCodeToString(status.code()), absl::ToDoubleMilliseconds(duration), trace,
               ShortenForLog(status.message()));
}

void CallLog::WriteCounts(const std::vector<Repeats::Count>& counts) {
  for (const Repeats::Count& count : counts) {
    logger_->log(Here(), spdlog::level::warn,
                 "{} pid={} image=\"{}\" code={}: {} more such calls failed within a minute",
                 count.what, count.process_id, ShortenForLog(count.image_path),
                 absl::StatusCodeToString(count.code), count.times);
  }
}

void CallLog::OnLimit(const Peer& peer, rpc::Limit limit, uint64_t times) {
  if (logger_ == nullptr || limit == rpc::Limit::kCalls || !std::has_single_bit(times)) return;
  const char* const name = rpc::kLimitNames[static_cast<size_t>(limit)];
  // The next line has the total, so counts of the last minute are not needed.
  std::vector<Repeats::Count> ended;
  if (!limits_.Admit(name, peer, absl::StatusCode::kResourceExhausted, SteadyTime::Now(), &ended))
    return;
  logger_->log(Here(), spdlog::level::warn,
               "pid={} image=\"{}\" has used its share of {} and wants more ({} times so far)",
               peer.process_id, ShortenForLog(ImageName(peer.image_path)), name, times);
}

void UnknownFieldAudit::OnDone(const rpc::MethodInfo& method, const CallContext& call,
                               const absl::Status& status, absl::Duration duration) {
  const std::optional<std::string> field = rpc::UnknownFieldOf(status);
  if (!field.has_value()) return;
  audit_->Record(
      {method.method, absl::StrCat("unknown_field=\"", *field, "\""), call, status, duration});
}

namespace {

// Returns true if the code proves that nothing was changed; other failures prove nothing.
bool NothingChanged(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kPermissionDenied;
}

}  // namespace

void SpdlogAuditSink::WriteCounts(const std::vector<Repeats::Count>& counts) {
  for (const Repeats::Count& count : counts) {
    const std::string text = absl::StrCat(
        "audit method=", count.what, " pid=", count.process_id, " image=\"",
        ShortenForLog(count.image_path), "\" code=", absl::StatusCodeToString(count.code), ": ",
        count.times, " more such calls were refused within a minute");
    Log(*logger_, spdlog::level::info,
        format_ == LogFormat::kJson ? JsonLine(absl::Now(), "info", text) : text);
  }
}

void SpdlogAuditSink::Record(const AuditRecord& record) {
  if (logger_ == nullptr) return;
  const SteadyTime now = SteadyTime::Now();
  if (repeats_.counting()) WriteCounts(repeats_.TakeEnded(now));
  if (NothingChanged(record.status.code())) {
    std::vector<Repeats::Count> ended;
    const bool written =
        repeats_.Admit(record.method, record.context.peer(), record.status.code(), now, &ended);
    WriteCounts(ended);
    if (!written) return;
  }
  if (format_ == LogFormat::kJson) {
    Log(*logger_, spdlog::level::info, JsonLine(absl::Now(), record));
    return;
  }
  const Peer& peer = record.context.peer();
  const int64_t microseconds = absl::ToInt64Microseconds(record.duration);
  const absl::string_view trace = record.context.trace();
  // StrCat(), because spdlog would parse a format string for each line.
  Log(*logger_, spdlog::level::info,
      absl::StrCat("audit pipe=", record.context.pipe(), " method=", record.method,
                   " pid=", peer.process_id, " image=\"", ShortenForLog(peer.image_path),
                   "\" code=", absl::StatusCodeToString(record.status.code()), " ms=",
                   microseconds / 1000, ".", absl::Dec(microseconds % 1000, absl::kZeroPad3),
                   trace.empty() ? "" : " trace=", trace, " ", record.subject));
}

}  // namespace csi_proxy::service
