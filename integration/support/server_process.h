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

// A csi-proxy process with a simulated node in a new socket directory. The destructor ends the
// process and keeps its standard error.
class ServerProcess final : public TestNode {
 public:
  // Starts the process and waits until its pipes are open.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(
      const std::vector<std::string>& more_flags = {});
  ~ServerProcess() override;

  const std::string& directory() const { return directory_; }
  ClientOptions client_options() const override;
  int64_t pid() const { return child_->pid(); }

  absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                     google::protobuf::Message* response) override;

  // Stops the process and starts it again with the same flags and directory.
  absl::Status Restart();
  // Sends SIGTERM and waits. Returns the exit code, or -1 if the process was killed after `limit`.
  int Stop(absl::Duration limit);

  std::string Log() const;

 private:
  ServerProcess() = default;
  absl::Status Launch();

  std::string directory_;
  std::vector<std::string> flags_;
  std::unique_ptr<ChildProcess> child_;
};

// Linux only. Returns a number from /proc/<pid>/status, e.g. VmRSS in KiB or Threads; -1 if it is
// absent.
int64_t ProcessStatus(int64_t pid, const std::string& name);
int64_t OpenDescriptors(int64_t pid);

}  // namespace csi_proxy::integration
