#include "server/service/call_log.h"

#include <bit>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/base/peer_process.h"
#include "server/rpc/request_fields.h"

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

// Most of an error's text; a caller may have sent any amount of what it quotes.
std::string Shortened(absl::string_view text) {
  constexpr size_t kMost = 1024;
  return text.size() <= kMost ? absl::Utf8SafeCEscape(text)
                              : absl::StrCat(absl::Utf8SafeCEscape(text.substr(0, kMost)), "...");
}

}  // namespace

void CallLog::OnDone(const rpc::MethodInfo& method, const Peer& peer, const absl::Status& status,
                     absl::Duration duration) {
  if (logger_ == nullptr) return;
  const spdlog::level::level_enum level = LevelFor(status.code());
  if (repeats_.counting()) WriteCounts(repeats_.TakeEnded(absl::Now()));
  if (!logger_->should_log(level)) return;
  // At full verbosity the log has every call.
  if (!logger_->should_log(spdlog::level::debug)) {
    std::vector<Repeats::Count> ended;
    const bool written = repeats_.Admit(method.path, peer, status.code(), absl::Now(), &ended);
    WriteCounts(ended);
    if (!written) return;
  }
  // The text may quote a caller's input, so it is escaped and cannot forge a line.
  logger_->log(level, "{}/{} {} pid={} image=\"{}\" code={} ms={:.3f} {}", method.group,
               method.version, method.method, peer.process_id, absl::CEscape(peer.image_path),
               absl::StatusCodeToString(status.code()), absl::ToDoubleMilliseconds(duration),
               Shortened(status.message()));
}

void CallLog::WriteCounts(const std::vector<Repeats::Count>& counts) {
  for (const Repeats::Count& count : counts) {
    if (count.what.empty()) {
      logger_->warn("{} more calls of other clients and methods failed within a minute",
                    count.times);
    } else {
      logger_->warn("{} pid={} image=\"{}\" code={}: {} more such calls failed within a minute",
                    count.what, count.process_id, absl::CEscape(count.image_path),
                    absl::StatusCodeToString(count.code), count.times);
    }
  }
}

void CallLog::OnLimit(const Peer& peer, rpc::Limit limit, uint64_t times) {
  if (logger_ == nullptr || !std::has_single_bit(times)) return;
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  int64_t next = next_limit_line_;
  if (now < next || !next_limit_line_.compare_exchange_strong(next, now + 1)) return;
  logger_->warn("pid={} image=\"{}\" has all of its share of {} and wants more ({} times so far)",
                peer.process_id, absl::CEscape(ImageName(peer.image_path)),
                rpc::kLimitNames[static_cast<size_t>(limit)], times);
}

void UnknownFieldAudit::OnDone(const rpc::MethodInfo& method, const Peer& peer,
                               const absl::Status& status, absl::Duration duration) {
  const std::optional<std::string> field = rpc::UnknownFieldOf(status);
  if (!field.has_value()) return;
  const CallContext context(absl::InfiniteFuture(), nullptr, &peer, method.pipe);
  audit_->Record(
      {method.method, absl::StrCat("unknown_field=\"", *field, "\""), context, status, duration});
}

}  // namespace csi_proxy::observability
