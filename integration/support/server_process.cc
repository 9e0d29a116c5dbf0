#include "integration/support/server_process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "integration/support/node_admin.h"

namespace csi_proxy::integration {
absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(
    const std::vector<std::string>& more_flags) {
  std::unique_ptr<ServerProcess> server(new ServerProcess());
  server->directory_ = NewTestDirectory();
  if (MachineIsDouble()) {
    server->flags_ = {CSI_PROXY_BINARY};
  } else {
    server->flags_ = {CSI_PROXY_SIMULATED_BINARY, "--host=simulated"};
  }
  server->flags_.push_back("--socket-dir=" + server->directory_);
  server->flags_.insert(server->flags_.end(), more_flags.begin(), more_flags.end());
  if (absl::Status s = server->Launch(); !s.ok()) return s;
  return server;
}

absl::Status ServerProcess::Launch() {
  // Removes a log left by an earlier process with the same id.
  std::error_code absent;
  std::filesystem::remove(directory_ + ".log", absent);
  absl::StatusOr<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start(flags_, directory_ + ".log");
  if (!child.ok()) return child.status();
  child_ = *std::move(child);
  // The service logs " serves " once all pipes are open.
  const SteadyTime give_up = SteadyTime::Now() + absl::Seconds(30);
  while (SteadyTime::Now() < give_up) {
    if (absl::StrContains(Log(), " serves ")) return absl::OkStatus();
    if (!child_->IsRunning()) return absl::InternalError("csi-proxy did not start:\n" + Log());
    absl::SleepFor(absl::Milliseconds(10));
  }
  return absl::InternalError("csi-proxy took too long to start:\n" + Log());
}

ServerProcess::~ServerProcess() {
  Stop(absl::Seconds(10));
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  std::filesystem::remove(directory_ + ".log", ignored);
}

int ServerProcess::Stop(absl::Duration limit) {
  if (child_ == nullptr) return 0;
  const int code = child_->Stop(limit);
  child_.reset();
  return code;
}

absl::Status ServerProcess::Restart() {
  Stop(absl::Seconds(30));
  return Launch();
}

ClientOptions ServerProcess::client_options() const {
  ClientOptions options;
  options.mode = Mode::kRemote;
  options.socket_dir = directory_;
  return options;
}

absl::Status ServerProcess::Admin(const std::string& method,
                                  const google::protobuf::Message& request,
                                  google::protobuf::Message* response) {
  return MachineIsDouble() ? CallMachineAdmin(method, request, response)
                           : CallAdminService(client_options(), method, request, response);
}

std::string ServerProcess::Log() const {
  std::ifstream file(directory_ + ".log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int64_t ProcessStatus(int64_t pid, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(file, line)) {
    if (absl::StartsWith(line, name + ":")) return std::atoll(line.c_str() + name.size() + 1);
  }
  return -1;
}

int64_t OpenDescriptors(int64_t pid) {
  int64_t count = 0;
  std::error_code error;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    ++count;
  }
  return count;
}

}  // namespace csi_proxy::integration
