#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/sidecars/program/options.h"
#include "server/names/unicode.h"
#include "server/observability/loggers.h"

namespace csi_proxy::sidecars {
namespace {

// Indexed by Severity.
constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::info, spdlog::level::warn,
                                                 spdlog::level::err};

}  // namespace

LogFunction NewLog(const observability::LogOptions& options, absl::string_view component,
                   spdlog::sink_ptr sink) {
  if (sink == nullptr) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  const bool json = options.format == observability::LogFormat::kJson;
  if (json) {
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","severity":"%l","component":"%n","message":"%v"})",
        spdlog::pattern_time_type::utc));
  } else {
    sink->set_formatter(
        observability::NewTextFormatter(options.skip_headers, options.add_dir_header));
  }
  auto logger = std::make_shared<spdlog::logger>(std::string(component), std::move(sink));
  // On Windows, standard error is buffered unless it is a console.
  logger->flush_on(spdlog::level::trace);
  return [logger, json](Severity severity, const LogText& line) {
    // In JSON, the message is a string with escaped quotes and backslashes.
    const std::string text =
        json ? EscapeForLog(line) : absl::StrCat(line.text, " component=\"", logger->name(), "\"");
    observability::Log(*logger, kLevels[static_cast<size_t>(severity)],
                       LogText(text, line.file, line.line));
  };
}

}  // namespace csi_proxy::sidecars
