#include "server/observability/call_log.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/calls/request_fields.h"
#include "server/names/unicode.h"
#include "server/observability/loggers.h"
#include "server/observability/logging.h"
#include "server/platform/peer_process.h"

namespace csi_proxy::observability {
namespace {

// Returns the level of a call's line: debug (verbosity 2) for success and for errors that callers
// often cause, such as a missing path; error for faults; otherwise warning.
spdlog::level::level_enum LevelFor(absl::StatusCode code) {
  using enum absl::StatusCode;
  constexpr absl::StatusCode kUsual[] = {kOk, kNotFound, kAlreadyExists, kCancelled};
  constexpr absl::StatusCode kFaults[] = {kInternal, kUnknown, kDataLoss};
  return absl::c_linear_search(kUsual, code)    ? spdlog::level::debug
         : absl::c_linear_search(kFaults, code) ? spdlog::level::err
                                                : spdlog::level::warn;
}

// Returns the words of a line that name the caller and the result.
std::string CallerAndCode(int64_t process_id, absl::string_view image_path, absl::StatusCode code) {
  return absl::StrCat("pid=", process_id, " image=\"", ShortenForLog(image_path),
                      "\" code=", absl::StatusCodeToString(code));
}

// Returns the words that the lines of calls and of audits share. Uses StrCat(), because spdlog
// would parse a format string for each line.
std::string Outcome(const CallContext& call, const absl::Status& status, absl::Duration duration) {
  const int64_t microseconds = absl::ToInt64Microseconds(duration);
  return absl::StrCat(CallerAndCode(call.peer().process_id, call.peer().image_path, status.code()),
                      " ms=", microseconds / 1000, ".",
                      absl::Dec(microseconds % 1000, absl::kZeroPad3),
                      call.trace().empty() ? "" : " trace=", call.trace());
}

// Returns the line about calls that have no line of their own.
std::string CountText(const Repeats::Count& count, absl::string_view fate) {
  return absl::StrCat(count.what, " ",
                      CallerAndCode(count.process_id, count.image_path, count.code), ": ",
                      count.times, " more such calls ", fate, " within a minute");
}

// Returns true if the code proves that the call did not change the node. PERMISSION_DENIED is no
// proof: a call may meet a link that leads outside after it has formatted a disk.
bool NothingChanged(absl::StatusCode code) { return code == absl::StatusCode::kInvalidArgument; }

}  // namespace

CallLog::CallLog(std::shared_ptr<spdlog::logger> logger, AuditLog* audit)
    : logger_(std::move(logger)),
      audit_(audit),
      repeats_([this](const Repeats::Count& count) {
        Log(*logger_, spdlog::level::warn, CountText(count, "failed"));
      }),
      // Drops the counts, because the next line of OnLimit() contains the total.
      limits_(nullptr) {}

void CallLog::OnDone(const rpc::MethodInfo& method, const CallContext& call,
                     const absl::Status& status, absl::Duration duration) {
  const std::optional<std::string> unknown = rpc::UnknownFieldOf(status);
  if (unknown.has_value() && audit_ != nullptr) {
    audit_->Record(
        {method.method, absl::StrCat("unknown_field=\"", *unknown, "\""), call, status, duration});
  }
  if (logger_ == nullptr) return;
  const spdlog::level::level_enum level = LevelFor(status.code());
  repeats_.WriteEnded(SteadyTime::Now());
  if (!logger_->should_log(level)) return;
  // Verbosity 2 logs every call.
  if (!logger_->should_log(spdlog::level::debug) &&
      !repeats_.Admit(method.path, call.peer(), status.code(), SteadyTime::Now())) {
    return;
  }
  // ShortenForLog() escapes the text, so that a caller's input in it cannot forge a line.
  Log(*logger_, level,
      absl::StrCat(method.group, "/", method.version, " ", method.method, " ",
                   Outcome(call, status, duration), " ", ShortenForLog(status.message())));
}

void CallLog::OnLimit(const Peer& peer, rpc::Limit limit, uint64_t times) {
  if (logger_ == nullptr || limit == rpc::Limit::kCalls || !std::has_single_bit(times)) return;
  const char* const name = rpc::kLimitNames[static_cast<size_t>(limit)];
  if (!limits_.Admit(name, peer, absl::StatusCode::kResourceExhausted, SteadyTime::Now())) return;
  Log(*logger_, spdlog::level::warn,
      absl::StrCat("pid=", peer.process_id, " image=\"", ShortenForLog(ImageName(peer.image_path)),
                   "\" has used its share of ", name, " and wants more (", times,
                   " times so far)"));
}

SpdlogAuditSink::SpdlogAuditSink(std::shared_ptr<spdlog::logger> logger, LogFormat format)
    : logger_(std::move(logger)), format_(format), repeats_([this](const Repeats::Count& count) {
        const std::string text = absl::StrCat("audit method=", CountText(count, "were refused"));
        Log(*logger_, spdlog::level::info,
            format_ == LogFormat::kJson ? JsonLine(absl::Now(), "info", text) : text);
      }) {}

void SpdlogAuditSink::Record(const AuditRecord& record) {
  if (logger_ == nullptr) return;
  const SteadyTime now = SteadyTime::Now();
  repeats_.WriteEnded(now);
  const absl::StatusCode code = record.status.code();
  if (NothingChanged(code) && !repeats_.Admit(record.method, record.context.peer(), code, now)) {
    return;
  }
  Log(*logger_, spdlog::level::info,
      format_ == LogFormat::kJson
          ? JsonLine(absl::Now(), record)
          : absl::StrCat("audit pipe=", record.context.pipe(), " method=", record.method, " ",
                         Outcome(record.context, record.status, record.duration), " ",
                         record.subject));
}

}  // namespace csi_proxy::observability
