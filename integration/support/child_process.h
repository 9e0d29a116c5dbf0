#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace csi_proxy::integration {

// A process that a test starts and stops. The destructor kills it if it still runs.
class ChildProcess {
 public:
  // Starts `command` and appends its output to the file `log`.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(std::vector<std::string> command,
                                                             const std::string& log);
  ~ChildProcess();

  // True if Stop() can ask the process to end. False on Windows: Wine has no console for
  // Ctrl-Break, so Stop() kills, and tests of the service use the service control manager.
  static const bool kCanAsk;

  int64_t pid() const;
  bool IsRunning();
  // Waits for the process to end. Returns its exit code, or -1 if it was killed after `limit`.
  int Wait(absl::Duration limit);
  // Asks the process to end by SIGTERM or Ctrl-Break, and waits like Wait().
  int Stop(absl::Duration limit);

 private:
  struct State;
  explicit ChildProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Creates an empty directory for a test's files and returns its path.
std::string NewTestDirectory();

}  // namespace csi_proxy::integration
