#include "server/service/loggers.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

#include "server/service/logging.h"

namespace csi_proxy::observability {
namespace {

// Takes no lock: many threads may call the function at once.
class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(std::function<void(spdlog::level::level_enum, absl::string_view)> function)
      : function_(std::move(function)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    function_(message.level, absl::string_view(message.payload.data(), message.payload.size()));
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

std::shared_ptr<spdlog::logger> NewStderrLogger() {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_pattern(kTextPattern);
  return std::make_shared<spdlog::logger>("csi_proxy", std::move(sink));
}

}  // namespace csi_proxy::observability
