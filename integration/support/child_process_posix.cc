#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "integration/support/child_process.h"

extern char** environ;

namespace csi_proxy::integration {

struct ChildProcess::State {
  std::string command, log;
  pid_t pid = 0;
  bool ended = false;
  int status = 0;

  bool HasEnded() {
    if (!ended) ended = waitpid(pid, &status, WNOHANG) == pid;
    return ended;
  }
};

const bool ChildProcess::kCanAsk = true;

ChildProcess::ChildProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(std::vector<std::string> command,
                                                                  const std::string& log) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  // Replaces stdout and stderr: a child that outlives a crashed test must not keep open the pipe
  // that ctest reads to its end.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  auto state = std::make_unique<State>(State{absl::StrJoin(command, " "), log});
  const int error = posix_spawn(&state->pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, "posix_spawn");
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(state)));
}

ChildProcess::~ChildProcess() {
  const int code = Stop(absl::ZeroDuration());
  // For check_log.py.
  if (const char* const directory = getenv("CSI_PROXY_KEEP_LOGS")) {
    std::ofstream(absl::StrCat(directory, "/", absl::GetCurrentTimeNanos(), "-", state_->pid))
        << code << " " << state_->command << "\n"
        << std::ifstream(state_->log).rdbuf();
  }
}

int64_t ChildProcess::pid() const { return state_->pid; }

bool ChildProcess::IsRunning() { return !state_->HasEnded(); }

int ChildProcess::Stop(absl::Duration limit) {
  if (!state_->HasEnded()) kill(state_->pid, SIGTERM);
  return Wait(limit);
}

int ChildProcess::Wait(absl::Duration limit) {
  const SteadyTime give_up = SteadyTime::Now() + limit;
  while (!state_->HasEnded()) {
    if (SteadyTime::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(5));
      continue;
    }
    kill(state_->pid, SIGKILL);
    waitpid(state_->pid, &state_->status, 0);
    state_->ended = true;
    return -1;
  }
  return WIFEXITED(state_->status) ? WEXITSTATUS(state_->status) : -1;
}

std::string NewTestDirectory() {
  char pattern[] = "/tmp/csi-proxy-it-XXXXXX";
  return mkdtemp(pattern);
}

}  // namespace csi_proxy::integration
