#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

#include "client/sidecars/program/options.h"
#include "server/base/unicode.h"

namespace csi_proxy::sidecars {
namespace {

// Indexed by Severity.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};

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
  // On Windows, standard error is buffered unless it is a console.
  logger->flush_on(spdlog::level::trace);
  // In JSON, the message is a string, in which quotes and backslashes are escaped too.
  return [logger, quotes = format == LogFormat::kJson ? "\"\\" : ""](Severity severity,
                                                                     absl::string_view message) {
    // Passed as a string view, because spdlog would read a string as a format.
    logger->log(kLevels[static_cast<size_t>(severity)],
                spdlog::string_view_t(EscapeForLog(message, quotes)));
  };
}

LogFunction LogToStandardError(LogFormat format, absl::string_view component) {
  return LogTo(std::make_shared<spdlog::sinks::stderr_sink_mt>(), format, component);
}

}  // namespace csi_proxy::sidecars
