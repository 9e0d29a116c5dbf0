// A program that a test starts, watches and ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace csi_proxy::integration {

// Killed with the object when it still runs.
class ChildProcess {
 public:
  // Starts `command`, whose output is appended to the file `log`.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(std::vector<std::string> command,
                                                             const std::string& log);
  ~ChildProcess();

  // Stop() can ask. Wine has no console on which to press Ctrl-Break: there it kills, and
  // the tests of the service stop it through the service control manager instead.
  static const bool kCanAsk;

  int64_t pid() const;
  bool Running();
  // Waits until it ends by itself; the exit code, or -1 when it had to be killed after `limit`.
  int Wait(absl::Duration limit);
  // Asks it to end, as SIGTERM or Ctrl-Break do, and waits; the exit code, or -1 when it had to be
  // killed after `limit`.
  int Stop(absl::Duration limit);

 private:
  struct State;
  explicit ChildProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A new directory for a test's files.
std::string NewTestDirectory();

}  // namespace csi_proxy::integration
