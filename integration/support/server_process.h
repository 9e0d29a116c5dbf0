// The real program, started and stopped by tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "csi_proxy/connection.h"
#include "integration/support/child_process.h"
#include "integration/support/test_node.h"

namespace csi_proxy::integration {

// A running csi-proxy with a simulated node, in a socket directory of its own. Ends with
// the object, and its standard error is kept.
class ServerProcess final : public TestNode {
 public:
  // Starts it and waits until its pipes are there.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(
      const std::vector<std::string>& more_flags = {});
  ~ServerProcess() override;

  const std::string& directory() const { return directory_; }
  ClientOptions client_options() const override;
  int64_t pid() const { return child_->pid(); }

  absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                     google::protobuf::Message* response) override;

  // Ends the process with a signal and starts it again at the same place.
  absl::Status Restart();
  // Sends SIGTERM and waits; the exit code, or -1 when it had to be killed after `limit`.
  int Stop(absl::Duration limit);

  // Returns what the process has written to standard error so far.
  std::string Log() const;

 private:
  ServerProcess() = default;
  absl::Status Launch();

  std::string directory_;
  std::vector<std::string> flags_;
  std::unique_ptr<ChildProcess> child_;
};

// On Linux: a number from /proc/<pid>/status, as VmRSS in KiB or Threads; -1 when there is none.
int64_t ProcessStatus(int64_t pid, const std::string& name);
// Counts the descriptors that a process has open.
int64_t OpenDescriptors(int64_t pid);

}  // namespace csi_proxy::integration
