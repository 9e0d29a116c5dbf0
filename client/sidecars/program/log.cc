#include "client/sidecars/program/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "server/base/unicode.h"

namespace csi_proxy::sidecars {
namespace {

// By severity.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};

// A line is one line, whatever a driver says, and a message a string of JSON.
std::string Escape(LogFormat format, absl::string_view message) {
  std::string text;
  for (const char c : ReplaceInvalidUtf8(message)) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(&text, "\\%s%02x", format == LogFormat::kJson ? "u00" : "x", c);
      continue;
    }
    if (format == LogFormat::kJson && (c == '"' || c == '\\')) text += '\\';
    text += c;
  }
  return text;
}

std::unique_ptr<spdlog::formatter> FormatterOf(LogFormat format) {
  if (format == LogFormat::kText) {
    return std::make_unique<spdlog::pattern_formatter>(
        R"(%L%m%d %H:%M:%S.%f %7P] %v component="%n")");
  }
  return std::make_unique<spdlog::pattern_formatter>(
      R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","severity":"%l","component":"%n","message":"%v"})",
      spdlog::pattern_time_type::utc);
}

}  // namespace

LogFunction LogTo(spdlog::sink_ptr sink, LogFormat format, absl::string_view component) {
  sink->set_formatter(FormatterOf(format));
  auto logger = std::make_shared<spdlog::logger>(std::string(component), std::move(sink));
  // Standard error has a buffer on Windows if it is not a console.
  logger->flush_on(spdlog::level::trace);
  return [logger, format](Severity severity, absl::string_view message) {
    // The text is not a format.
    logger->log(kLevels[static_cast<size_t>(severity)],
                spdlog::string_view_t(Escape(format, message)));
  };
}

LogFunction LogToStandardError(LogFormat format, absl::string_view component) {
  return LogTo(std::make_shared<spdlog::sinks::stderr_sink_mt>(), format, component);
}

}  // namespace csi_proxy::sidecars
