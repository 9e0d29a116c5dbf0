#include "server/observability/logging.h"

#include <google/protobuf/util/json_util.h>
#include <spdlog/details/file_helper.h>
#include <spdlog/details/os.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "server/base/fallbacks.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"
#include "server/observability/log_line.pb.h"
#include "server/observability/loggers.h"
#include "server/observability/product_version.h"

namespace csi_proxy::observability {
namespace {

// The number of full log files kept beside the current one.
constexpr size_t kOldFiles = 5;

// The maximum time until a line is flushed to the file.
constexpr std::chrono::seconds kFlushInterval(1);

// The maximum number of bytes of the reason that the log shows for a fallback.
constexpr size_t kMostOfAReason = 512;

// Formats messages as JSON objects. Audit lines are JSON already.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const absl::string_view payload(message.payload.data(), message.payload.size());
    const spdlog::string_view_t severity = spdlog::level::to_string_view(message.level);
    const std::string line =
        message.logger_name == kAuditLogger
            ? std::string(payload)
            : JsonLine(absl::FromChrono(message.time),
                       absl::string_view(severity.data(), severity.size()), payload);
    out.append(line.data(), line.data() + line.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

// Writes the lines with which klog begins a file.
void WriteFileHeader(const spdlog::filename_t&, std::FILE* file) {
  const std::string text =
      absl::StrCat("Log file created at: ",
                   absl::FormatTime("%Y/%m/%d %H:%M:%S", absl::Now(), absl::LocalTimeZone()),
                   "\nRunning on machine: ", MachineName(), "\nBinary: Built with ", kBuiltWith,
                   "\nLog line format: [IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] msg\n");
  (void)std::fwrite(text.data(), 1, text.size(), file);
}

// A log file, and old ones beside it with the names of spdlog's rotating sink. That sink empties a
// full file that it cannot rename, for instance because another program has an old one open. This
// sink writes on, and tries again after each further megabyte. A file that cannot be
// renamed is emptied only at twice its maximum size.
class LogFile final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogFile(std::string name, size_t most_bytes, const spdlog::file_event_handlers& events)
      : name_(std::move(name)), most_bytes_(most_bytes), limit_(most_bytes), file_(events) {
    Open(/*truncate=*/false);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!is_open_ && SteadyTime::Now() < retry_at_) return;
    if (!is_open_) Open(/*truncate=*/false);
    if (size_ + line.size() > limit_) Rotate();
    file_.write(line);
    size_ += line.size();
  }
  void flush_() override { file_.flush(); }

  std::string Name(size_t i) const {
    return spdlog::sinks::rotating_file_sink_mt::calc_filename(name_, i);
  }

  void Open(bool truncate) {
    is_open_ = false;
    retry_at_ = SteadyTime::Now() + kReopen;
    file_.open(name_, truncate);  // throws if it fails; spdlog catches
    is_open_ = true;
    size_ = file_.size();
  }

  void Rotate() {
    file_.flush();
    if (file_.size() == 0) return;  // The system's disk is full.
    file_.close();
    const bool moved = Move();
    const bool truncate = !moved && size_ / 2 >= most_bytes_;
    Open(truncate);
    const size_t old_limit = std::exchange(limit_, moved || truncate ? most_bytes_ : size_ + kMega);
    if (moved || truncate || old_limit != most_bytes_) return;
    sink_it_({kServiceLogger, spdlog::level::warn,
              "cannot rename the full log file or an old one; does another program have one open? "
              "When the file has twice its size, the service empties it."});
  }

  // Renames the file to number 1, and each old file to the next number, up to the first unused
  // number. Removes the oldest of kOldFiles old files. Returns false if a file cannot be renamed.
  bool Move() const {
    namespace os = spdlog::details::os;
    size_t last = 1;
    while (last < kOldFiles && os::path_exists(Name(last))) ++last;
    (void)os::remove(Name(last));
    for (; last > 0; --last) {
      if (os::rename(Name(last - 1), Name(last)) != 0) return false;
    }
    return true;
  }

  static constexpr size_t kMega = 1 << 20;
  // Lines are lost for this time after the file could not be opened, because spdlog's attempts take
  // 50 ms, in which every call that logs would wait.
  static constexpr absl::Duration kReopen = absl::Seconds(1);
  const std::string name_;
  const size_t most_bytes_;
  size_t limit_;  // the size at which to rotate
  size_t size_ = 0;
  bool is_open_ = false;
  SteadyTime retry_at_;  // when a file that is not open is opened again
  spdlog::details::file_helper file_;
};

}  // namespace

absl::Status InitLogging(const LogOptions& options, spdlog::sink_ptr event_log) {
  std::vector<spdlog::sink_ptr> sinks;
  const std::string file = options.FileName();
  if (!options.to_stderr && !file.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string name, LogFileName(file));
    try {
      spdlog::file_event_handlers events;
      if (options.format == LogFormat::kText && !options.skip_file_headers) {
        events.after_open = WriteFileHeader;
      }
      sinks.push_back(std::make_shared<LogFile>(name, options.file_max_megabytes << 20, events));
    } catch (const spdlog::spdlog_ex& error) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot open the log file ", file, ": ", error.what()));
    }
  }
  if (sinks.empty() || options.also_to_stderr) {
    sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  }
  for (const spdlog::sink_ptr& sink : sinks) {
    if (options.format == LogFormat::kJson) {
      sink->set_formatter(std::make_unique<JsonFormatter>());
    } else {
      sink->set_formatter(NewTextFormatter(options.skip_headers, options.add_dir_header));
    }
  }
  const spdlog::level::level_enum level = options.verbosity >= 4   ? spdlog::level::trace
                                          : options.verbosity >= 2 ? spdlog::level::debug
                                                                   : spdlog::level::info;
  for (const std::string_view kind : {kAuditLogger, kCallLogger, kServiceLogger}) {
    const std::string name(kind);
    spdlog::drop(name);
    auto logger = std::make_shared<spdlog::logger>(name, sinks.begin(), sinks.end());
    logger->set_level(level);
    // An audit line is flushed before the call's answer is sent. Call lines wait for the timer,
    // because pods can cause any number of them.
    logger->flush_on(kind == kCallLogger ? spdlog::level::off : spdlog::level::info);
    if (kind == kServiceLogger && event_log != nullptr) {
      event_log->set_formatter(NewTextFormatter());
      logger->sinks().push_back(event_log);
    }
    spdlog::register_logger(std::move(logger));
  }
  spdlog::flush_every(kFlushInterval);
  // Logs fallbacks at the debug level only, because pods can cause any number of them, too.
  ObserveFallbacks(
      [calls = spdlog::get(kCallLogger)](const FallbackFacts& facts, absl::string_view why) {
        if (!calls->should_log(spdlog::level::debug)) return;
        Log(*calls, spdlog::level::debug,
            absl::StrCat("fallback=", facts.name, " doubt=", facts.doubt, " why=\"",
                         EscapeForLog(why.substr(0, kMostOfAReason)), "\""));
      });
  spdlog::set_default_logger(spdlog::get(kCallLogger));
  return absl::OkStatus();
}

namespace {

LogLine LineAt(absl::Time time, absl::string_view severity) {
  LogLine line;
  line.set_time(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()));
  line.set_severity(std::string(severity));
  return line;
}

std::string Print(const LogLine& line) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  // The line of an audit record contains its zero fields, too.
  options.always_print_primitive_fields = line.has_audit();
  std::string text;
  // Fails only for text that is not UTF-8. All fields are UTF-8.
  if (!google::protobuf::util::MessageToJsonString(line, &text, options).ok()) return "{}";
  return text;
}

}  // namespace

std::string JsonLine(absl::Time time, absl::string_view severity, absl::string_view message) {
  LogLine line = LineAt(time, severity);
  line.set_message(EscapeForLog(message));
  return Print(line);
}

std::string JsonLine(absl::Time time, const AuditRecord& record) {
  LogLine line = LineAt(time, "info");
  Audit& audit = *line.mutable_audit();
  audit.set_pipe(record.context.pipe());
  audit.set_method(record.method);
  audit.set_subject(record.subject);
  audit.set_peer_process_id(record.context.peer().process_id);
  audit.set_peer_image(ShortenForLog(record.context.peer().image_path));
  audit.set_duration_milliseconds(absl::ToDoubleMilliseconds(record.duration));
  audit.set_trace(std::string(record.context.trace()));
  audit.set_code(absl::StatusCodeToString(record.status.code()));
  return Print(line);
}

}  // namespace csi_proxy::observability
