// For tests: the program as people run it, against a real service.
#pragma once

#include <gtest/gtest.h>
#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration/support/server_process.h"
#include "server/base/testing_posix.h"

namespace csi_proxy::integration {

struct Result {
  int exit_code;
  std::string output;  // Standard output and standard error.
};

class CtlTest : public testing::Test {
 protected:
  void SetUp() override {
    metrics_ = absl::StrCat("127.0.0.1:", FreePort());
    auto server = ServerProcess::Start({"--metrics-bind-address=" + metrics_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::string Command(const std::string& arguments) const {
    return absl::StrCat("CSI_PROXY_SOCKET_DIR=", server_->directory(), " ", CSI_PROXYCTL_BINARY,
                        " ", arguments, " 2>&1");
  }

  // Runs csi-proxyctl without a terminal. A shell parses `arguments`.
  Result Ctl(const std::string& arguments) {
    FILE* const pipe = popen(absl::StrCat("</dev/null ", Command(arguments)).c_str(), "r");
    Result result;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) result.output.append(buffer, n);
    const int status = pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  // Runs csi-proxyctl at a terminal and answers its question with `answer`. Without `answer`, it
  // must not ask.
  Result CtlAtTerminal(const std::string& arguments,
                       const std::optional<std::string>& answer = std::nullopt) {
    const std::string command = Command(arguments);
    int terminal;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    Result result;
    bool answered = false;
    char buffer[4096];
    for (ssize_t n; (n = read(terminal, buffer, sizeof(buffer))) > 0;) {
      result.output.append(buffer, static_cast<size_t>(n));
      if (answered || !absl::StrContains(result.output, "[y/N]")) continue;
      answered = true;
      const std::string line = answer.value_or("") + "\n";
      EXPECT_EQ(write(terminal, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    EXPECT_EQ(answered, answer.has_value()) << result.output;
    int status;
    waitpid(child, &status, 0);
    close(terminal);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  std::unique_ptr<ServerProcess> server_;
  std::string metrics_;
};

}  // namespace csi_proxy::integration
