#include "server/service/spdlog_audit_sink.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/base/unicode.h"
#include "server/service/logging.h"

namespace csi_proxy::service {
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
    logger_->info(format_ == LogFormat::kJson ? JsonLine(absl::Now(), "info", text) : text);
  }
}

void SpdlogAuditSink::Record(const AuditRecord& record) {
  if (logger_ == nullptr) return;
  const absl::Time now = absl::Now();
  if (repeats_.counting()) WriteCounts(repeats_.TakeEnded(now));
  if (NothingChanged(record.status.code())) {
    std::vector<Repeats::Count> ended;
    const bool written =
        repeats_.Admit(record.method, record.context.peer(), record.status.code(), now, &ended);
    WriteCounts(ended);
    if (!written) return;
  }
  if (format_ == LogFormat::kJson) {
    logger_->info(JsonLine(now, record));
    return;
  }
  const Peer& peer = record.context.peer();
  // Negative if the clock was set back during the call.
  const int64_t microseconds = std::max<int64_t>(absl::ToInt64Microseconds(record.duration), 0);
  const absl::string_view trace = record.context.trace();
  // StrCat(), because spdlog would parse a format string for each line.
  logger_->info(absl::StrCat("audit pipe=", record.context.pipe(), " method=", record.method,
                             " pid=", peer.process_id, " image=\"", ShortenForLog(peer.image_path),
                             "\" code=", absl::StatusCodeToString(record.status.code()),
                             " ms=", microseconds / 1000, ".",
                             absl::Dec(microseconds % 1000, absl::kZeroPad3),
                             trace.empty() ? "" : " trace=", trace, " ", record.subject));
}

}  // namespace csi_proxy::service
