#include "server/service/loggers.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "server/base/unicode.h"

namespace csi_proxy::service {
namespace {

// Calls `write` with the message as one line, escaped, because callers, servers and libraries
// contribute to its text.
void WriteOneLine(const spdlog::details::log_msg& message,
                  absl::FunctionRef<void(const spdlog::details::log_msg&)> write) {
  const auto& text = message.payload;
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; })) {
    write(message);
    return;
  }
  const std::string escaped =
      EscapeForLog(absl::string_view(text.data(), text.size()), /*quotes=*/"");
  spdlog::details::log_msg one_line = message;
  one_line.payload = escaped;
  write(one_line);
}

class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    WriteOneLine(message, [&](const auto& line) { klog_.format(line, out); });
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return NewTextFormatter(); }

 private:
  spdlog::pattern_formatter klog_{"%L%m%d %H:%M:%S.%f %7t] %v"};
};

// Locks nothing, so `function` must be thread-safe if the logger is shared.
class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(std::function<void(spdlog::level::level_enum, absl::string_view)> function)
      : function_(std::move(function)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    WriteOneLine(message, [this](const auto& line) {
      function_(line.level, absl::string_view(line.payload.data(), line.payload.size()));
    });
  }
  void flush_() override {}

  const std::function<void(spdlog::level::level_enum, absl::string_view)> function_;
};

}  // namespace

std::shared_ptr<spdlog::logger> NewFunctionLogger(
    std::function<void(spdlog::level::level_enum, absl::string_view)> function) {
  return std::make_shared<spdlog::logger>("csi_proxy",
                                          std::make_shared<FunctionSink>(std::move(function)));
}

std::unique_ptr<spdlog::formatter> NewTextFormatter() { return std::make_unique<TextFormatter>(); }

std::shared_ptr<spdlog::logger> NewStderrLogger() {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_formatter(NewTextFormatter());
  return std::make_shared<spdlog::logger>("csi_proxy", std::move(sink));
}

#ifndef _WIN32
spdlog::sink_ptr NewEventLogSink() { return nullptr; }

absl::StatusOr<std::string> LogFileName(const std::string& name) { return name; }
#endif

}  // namespace csi_proxy::service
