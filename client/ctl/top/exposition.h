// Reads Prometheus' text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace csi_proxy::ctl::top {

// One line: `name{label="value",...} number`.
struct Sample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  double value = 0;

  // Returns the value of a label, or "" if there is no such label.
  std::string Label(absl::string_view label) const;
};

// Calls `visit` with each sample, in the order of the text; skips comments and timestamps.
// INVALID_ARGUMENT names the first malformed line; samples before it have been visited.
absl::Status ReadExposition(absl::string_view text,
                            absl::FunctionRef<void(const Sample& sample)> visit);

}  // namespace csi_proxy::ctl::top
