// The program's input besides its command line: requests and secrets.
#pragma once

#include <istream>
#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::ctl {

// Not thread-safe.
class Input {
 public:
  // `standard_input` is not owned and outlives the object.
  explicit Input(std::istream& standard_input) : standard_input_(standard_input) {}

  // The whole of a file; `-` is standard input, which can be read once. INVALID_ARGUMENT names the
  // file that cannot be read.
  absl::StatusOr<std::string> Read(const std::string& path);

  // Read() without the last line break. A secret typed at a terminal is one line and does not
  // show.
  absl::StatusOr<std::string> ReadSecret(const std::string& path);

  // One line of standard input, after which nothing else can be read from it.
  absl::StatusOr<std::string> ReadLine();

 private:
  // OK the first time.
  absl::Status TakeStandardInput();

  std::istream& standard_input_;
  bool taken_ = false;
};

}  // namespace csi_proxy::ctl
