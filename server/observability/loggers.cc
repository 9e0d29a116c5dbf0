#include "server/observability/loggers.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "server/names/unicode.h"
#include "server/platform/peer_process.h"

#ifndef _WIN32
#include <unistd.h>

#include <cstring>
#endif

namespace csi_proxy::observability {
namespace {

// Calls `write` with a copy of the message. The copy has a source location, and its text is escaped
// to one line, because parts of it come from callers, servers and libraries.
void WriteOneLine(const spdlog::details::log_msg& message,
                  absl::FunctionRef<void(spdlog::details::log_msg&)> write) {
  spdlog::details::log_msg one_line = message;
  if (message.source.empty()) one_line.source = {"???", 1, ""};
  std::string escaped;
  const auto& text = message.payload;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; })) {
    escaped = EscapeForLog(absl::string_view(text.data(), text.size()), /*quotes=*/"");
    one_line.payload = escaped;
  }
  write(one_line);
}

class TextFormatter final : public spdlog::formatter {
 public:
  TextFormatter(bool skip_headers, bool add_dir_header)
      : skip_headers_(skip_headers),
        add_dir_header_(add_dir_header),
        klog_(skip_headers ? "%v" : "%L%m%d %H:%M:%S.%f %7t %g:%#] %v",
              spdlog::pattern_time_type::local, "\n") {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    WriteOneLine(message, [&](spdlog::details::log_msg& line) {
      line.level = std::max(line.level, spdlog::level::info);
      const absl::string_view path = line.source.filename;
      absl::string_view name = ImageName(path);
      if (add_dir_header_ && name.size() + 1 < path.size()) {
        name = ImageName(path.substr(0, path.size() - name.size() - 1));
      }
      line.source.filename = name.data();
      klog_.format(line, out);
    });
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return NewTextFormatter(skip_headers_, add_dir_header_);
  }

 private:
  const bool skip_headers_, add_dir_header_;
  spdlog::pattern_formatter klog_;
};

// A sink that calls `log` without a lock. So `log` must be thread-safe if the logger is shared.
class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(LogFunction log) : log_(std::move(log)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const Severity severity = message.level >= spdlog::level::err    ? Severity::kError
                              : message.level == spdlog::level::warn ? Severity::kWarning
                                                                     : Severity::kInfo;
    WriteOneLine(message, [&](const auto& line) {
      log_(severity, LogText(absl::string_view(line.payload.data(), line.payload.size()),
                             line.source.filename, line.source.line));
    });
  }
  void flush_() override {}

  const LogFunction log_;
};

}  // namespace

void Log(spdlog::logger& logger, spdlog::level::level_enum level, const LogText& line) {
  logger.log({line.file, line.line, ""}, level,
             spdlog::string_view_t(line.text.data(), line.text.size()));
}

LineFunction LinesTo(std::shared_ptr<spdlog::logger> logger, spdlog::level::level_enum level) {
  return [logger = std::move(logger), level](const LogText& line) { Log(*logger, level, line); };
}

std::shared_ptr<spdlog::logger> NewFunctionLogger(LogFunction log) {
  return std::make_shared<spdlog::logger>("csi_proxy",
                                          std::make_shared<FunctionSink>(std::move(log)));
}

std::unique_ptr<spdlog::formatter> NewTextFormatter(bool skip_headers, bool add_dir_header) {
  return std::make_unique<TextFormatter>(skip_headers, add_dir_header);
}

#ifndef _WIN32
spdlog::sink_ptr NewEventLogSink() { return nullptr; }

absl::StatusOr<std::string> LogFileName(const std::string& name) { return name; }

std::string MachineName() {
  char name[256] = "unknownhost";
  (void)gethostname(name, sizeof(name) - 1);
  return std::string(name, strcspn(name, "."));
}
#endif

}  // namespace csi_proxy::observability
