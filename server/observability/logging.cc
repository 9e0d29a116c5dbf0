#include "server/observability/logging.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"

namespace csi_proxy::observability {
namespace {

// How many full log files are kept beside the current one.
constexpr size_t kOldFiles = 5;

}  // namespace

absl::Status InitLogging(const LogOptions& options) {
  std::vector<spdlog::sink_ptr> sinks;
  std::string file = options.file;
  if (file.empty() && !options.directory.empty()) {
    file = absl::StrCat(options.directory, "/csi-proxy.log");
  }
  if (!options.to_stderr && !file.empty()) {
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
          file, options.file_max_megabytes << 20, kOldFiles));
    } catch (const spdlog::spdlog_ex& error) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot open the log file ", file, ": ", error.what()));
    }
  }
  if (sinks.empty() || options.also_to_stderr) {
    sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  }
  auto logger = std::make_shared<spdlog::logger>("csi-proxy", sinks.begin(), sinks.end());
  // klog's line: severity, month and day, time, thread, then the text.
  logger->set_pattern("%L%m%d %H:%M:%S.%f %7t] %v");
  logger->set_level(options.verbosity >= 4   ? spdlog::level::trace
                    : options.verbosity >= 2 ? spdlog::level::debug
                                             : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

}  // namespace csi_proxy::observability
