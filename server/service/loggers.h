// Loggers for a program that is not the service: a driver that embeds it.
#pragma once

#include <spdlog/logger.h>

#include <functional>
#include <memory>

#include "absl/strings/string_view.h"

namespace csi_proxy::observability {

// Lines go to `function`, without time or severity, which it may add. Thread-safe if `function` is.
std::shared_ptr<spdlog::logger> NewFunctionLogger(
    std::function<void(spdlog::level::level_enum, absl::string_view)> function);

// Lines go to standard error, in the form of klog.
std::shared_ptr<spdlog::logger> NewStderrLogger();

}  // namespace csi_proxy::observability
