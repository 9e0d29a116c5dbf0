// Compares the service with the bare echo server. Both are measured in turns in one run, so that
// other load of the machine affects both. Prints a table of ratios.
//
//   load CSI_PROXY ECHO_SERVER [SECONDS_PER_TURN [TURNS]]
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/remote_channel.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/filesystem/v1/remote.h"
#include "csi_proxy/steady_time.h"
#include "integration/support/server_process.h"

extern char** environ;

namespace csi_proxy::integration {
namespace {

struct Contender {
  const char* name;
  std::vector<std::string> command;
  std::string socket;
  pid_t pid = -1;
};

struct Figures {
  double p50_us = 0, p99_us = 0, calls_per_second = 0, cpu_us_per_call = 0;
};

void Spawn(Contender* contender) {
  std::vector<char*> argv;
  for (std::string& word : contender->command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  if (posix_spawn(&contender->pid, argv[0], &actions, nullptr, argv.data(), environ) != 0) {
    std::perror(argv[0]);
    std::exit(1);
  }
}

void Kill(Contender* contender) {
  kill(contender->pid, SIGKILL);
  waitpid(contender->pid, nullptr, 0);
  std::filesystem::remove(contender->socket);
}

filesystem::v1::Client Open(const Contender& contender) {
  while (true) {
    auto channel = client::RemoteChannel::OpenPath({}, contender.socket);
    if (channel.ok()) return filesystem::v1::Client(filesystem::v1::NewRemote(*std::move(channel)));
    absl::SleepFor(absl::Milliseconds(1));
  }
}

filesystem::v1::PathExistsRequest Request() {
  filesystem::v1::PathExistsRequest request;
  request.set_path(R"(C:\var\lib\kubelet\pods)");
  return request;
}

void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Returns the CPU time that a process has used.
double CpuMicroseconds(pid_t pid) {
  FILE* const file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  unsigned long user = 0, system = 0;
  if (std::fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                  &system) != 2) {
    std::exit(1);
  }
  std::fclose(file);
  return static_cast<double>(user + system) * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Figures Measure(const Contender& contender, int callers, absl::Duration length) {
  std::vector<std::vector<double>> times(static_cast<size_t>(callers));
  std::vector<std::thread> threads;
  std::atomic<bool> stop = false;
  const double cpu = CpuMicroseconds(contender.pid);
  const SteadyTime start = SteadyTime::Now();
  for (int n = 0; n < callers; ++n) {
    threads.emplace_back([&, n] {
      const filesystem::v1::Client client = Open(contender);
      const auto request = Request();
      while (!stop) {
        const SteadyTime before = SteadyTime::Now();
        Must(client.PathExists(request).status());
        times[static_cast<size_t>(n)].push_back(
            absl::ToDoubleMicroseconds(SteadyTime::Now() - before));
      }
    });
  }
  absl::SleepFor(length);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double seconds = absl::ToDoubleSeconds(SteadyTime::Now() - start);
  std::vector<double> all;
  for (const auto& some : times) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  Figures figures;
  figures.p50_us = all[all.size() / 2];
  figures.p99_us = all[all.size() * 99 / 100];
  figures.calls_per_second = static_cast<double>(all.size()) / seconds;
  figures.cpu_us_per_call =
      (CpuMicroseconds(contender.pid) - cpu) / static_cast<double>(all.size());
  return figures;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the time from the start of the process to its first answer.
double StartMilliseconds(Contender* contender) {
  const SteadyTime start = SteadyTime::Now();
  Spawn(contender);
  Must(Open(*contender).PathExists(Request()).status());
  return absl::ToDoubleMilliseconds(SteadyTime::Now() - start);
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: load CSI_PROXY ECHO_SERVER [SECONDS_PER_TURN [TURNS]]\n");
    return 2;
  }
  const absl::Duration length = absl::Seconds(argc > 3 ? std::atof(argv[3]) : 2.0);
  const int turns = argc > 4 ? std::atoi(argv[4]) : 5;
  char pattern[] = "/tmp/csi-proxy-bench-XXXXXX";
  const std::string directory = mkdtemp(pattern);
  Contender ours{"csi-proxy",
                 {argv[1], "--host=simulated", "--socket-dir=" + directory},
                 directory + "/csi-proxy-filesystem-v1.sock"};
  Contender echo{"bare echo", {argv[2], directory + "/echo.sock"}, directory + "/echo.sock"};

  std::printf("%-26s %12s %12s %8s %10s\n", "", "csi-proxy", "bare echo", "ratio", "target");
  std::vector<double> ours_start, echo_start;
  for (int i = 0; i < 5; ++i) {
    ours_start.push_back(StartMilliseconds(&ours));
    Kill(&ours);
    echo_start.push_back(StartMilliseconds(&echo));
    Kill(&echo);
  }
  StartMilliseconds(&ours);
  StartMilliseconds(&echo);
  const auto row = [](const char* name, double a, double b, const char* target) {
    std::printf("%-26s %12.1f %12.1f %8.2f %10s\n", name, a, b, a / b, target);
    std::fflush(stdout);
  };
  row("start to answer, ms", Median(ours_start), Median(echo_start), "< 300 ms");
  row("RSS at start, MiB", static_cast<double>(ProcessStatus(ours.pid, "VmRSS")) / 1024,
      static_cast<double>(ProcessStatus(echo.pid, "VmRSS")) / 1024, "<= 1.50");
  for (const int callers : {1, 8, 64}) {
    std::vector<double> p50[2], p99[2], rate[2], cpu[2], p50_ratio, rate_ratio;
    for (int turn = 0; turn < turns; ++turn) {
      Figures figures[2];
      for (int i = 0; i < 2; ++i) {
        // Alternates the order, so that neither program always runs second.
        const int who = (i + turn) % 2;
        figures[who] = Measure(who == 0 ? ours : echo, callers, length);
        p50[who].push_back(figures[who].p50_us);
        p99[who].push_back(figures[who].p99_us);
        rate[who].push_back(figures[who].calls_per_second);
        cpu[who].push_back(figures[who].cpu_us_per_call);
      }
    }
    const std::string suffix = " (" + std::to_string(callers) + " callers)";
    row(("p50, us" + suffix).c_str(), Median(p50[0]), Median(p50[1]), "<= 1.15");
    row(("p99, us" + suffix).c_str(), Median(p99[0]), Median(p99[1]), "");
    row(("calls/s" + suffix).c_str(), Median(rate[0]), Median(rate[1]), ">= 0.90");
    row(("CPU us/call" + suffix).c_str(), Median(cpu[0]), Median(cpu[1]), "");
  }
  row("RSS after load, MiB", static_cast<double>(ProcessStatus(ours.pid, "VmRSS")) / 1024,
      static_cast<double>(ProcessStatus(echo.pid, "VmRSS")) / 1024, "");
  Kill(&ours);
  Kill(&echo);
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace csi_proxy::integration

int main(int argc, char** argv) { return csi_proxy::integration::Main(argc, argv); }
