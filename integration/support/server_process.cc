#include "integration/support/server_process.h"

#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/remote_call.h"
#include "client/remote_channel.h"

extern char** environ;

namespace csi_proxy::integration {

absl::StatusOr<std::unique_ptr<ServerProcess>> ServerProcess::Start(
    const std::vector<std::string>& more_flags) {
  std::unique_ptr<ServerProcess> server(new ServerProcess());
  char pattern[] = "/tmp/csi-proxy-it-XXXXXX";
  server->directory_ = mkdtemp(pattern);
  server->flags_ = {CSI_PROXY_BINARY, "--host=simulated", "--socket-dir=" + server->directory_};
  server->flags_.insert(server->flags_.end(), more_flags.begin(), more_flags.end());
  if (absl::Status s = server->Launch(); !s.ok()) return s;
  return server;
}

absl::Status ServerProcess::Launch() {
  std::vector<char*> argv;
  for (std::string& flag : flags_) argv.push_back(flag.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log = directory_ + ".log";
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int error = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, "posix_spawn");
  // The admin socket is published first: the last version's is there once all are.
  for (int i = 0; i < 1000; ++i) {
    size_t sockets = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().extension() == ".sock") ++sockets;
    }
    const bool some_pipe = sockets >= 2;
    if (some_pipe && absl::StrContains(Log(), " serves ")) return absl::OkStatus();
    int status;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return absl::InternalError("csi-proxy did not start:\n" + Log());
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return absl::InternalError("csi-proxy took too long to start:\n" + Log());
}

ServerProcess::~ServerProcess() {
  Stop(absl::Seconds(10));
  std::filesystem::remove_all(directory_);
  std::filesystem::remove(directory_ + ".log");
}

int ServerProcess::Stop(absl::Duration limit) {
  if (pid_ < 0) return 0;
  kill(pid_, SIGTERM);
  const absl::Time give_up = absl::Now() + limit;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) != pid_) {
    if (absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(5));
      continue;
    }
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return -1;
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

absl::Status ServerProcess::Restart() {
  Stop(absl::Seconds(30));
  std::filesystem::remove(directory_ + ".log");
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
  const auto channel =
      client::RemoteChannel::OpenPath(client_options(), directory_ + "/admin.sock");
  if (!channel.ok()) return channel.status();
  const std::string path = "/csi_proxy.simulated.Admin/" + method;
  return client::CallUnary(**channel, path.c_str(), client::MakeCallContext({}, {}), request,
                           response);
}

absl::Status ServerProcess::Reset() {
  csi_proxy::simulated::ResetResponse response;
  return Admin("Reset", csi_proxy::simulated::ResetRequest(), &response);
}

absl::Status ServerProcess::InjectFault(const std::string& textproto) {
  csi_proxy::simulated::InjectFaultRequest request;
  if (!google::protobuf::TextFormat::ParseFromString(textproto, request.mutable_fault())) {
    return absl::InvalidArgumentError("bad fault: " + textproto);
  }
  csi_proxy::simulated::InjectFaultResponse response;
  return Admin("InjectFault", request, &response);
}

csi_proxy::simulated::Node ServerProcess::Dump() {
  csi_proxy::simulated::DumpStateResponse response;
  const absl::Status status =
      Admin("DumpState", csi_proxy::simulated::DumpStateRequest(), &response);
  if (!status.ok()) return {};
  return response.node();
}

std::string ServerProcess::Log() const {
  std::ifstream file(directory_ + ".log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int64_t ProcessStatus(pid_t pid, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(file, line)) {
    if (absl::StartsWith(line, name + ":")) return std::atoll(line.c_str() + name.size() + 1);
  }
  return -1;
}

int64_t OpenDescriptors(pid_t pid) {
  int64_t count = 0;
  std::error_code error;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    ++count;
  }
  return count;
}

}  // namespace csi_proxy::integration
