// The program's input besides the command line: requests and secrets.
#pragma once

#include <istream>
#include <string>

#include "absl/status/statusor.h"

namespace csi_proxy::ctl {

// Not thread-safe.
class Input {
 public:
  // `standard_input` is not owned and must outlive the object.
  explicit Input(std::istream& standard_input) : standard_input_(standard_input) {}

  // Reads a whole file. `-` is standard input, which can be read once. INVALID_ARGUMENT names the
  // file that cannot be read.
  absl::StatusOr<std::string> Read(const std::string& path);

  // Reads a file without the last line break. A terminal gives one line, without echo.
  absl::StatusOr<std::string> ReadSecret(const std::string& path);

  // Reads one line of standard input. Nothing can be read from it afterwards.
  absl::StatusOr<std::string> ReadLine();

 private:
  // Returns OK the first time only.
  absl::Status TakeStandardInput();

  std::istream& standard_input_;
  bool taken_ = false;
};

}  // namespace csi_proxy::ctl
