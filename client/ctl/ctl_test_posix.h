// For tests: the program as people run it, against the service as they run that.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {

struct Result {
  int exit_code;
  std::string output;  // and errors
};

class CtlTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Runs csi-proxyctl with arguments as a shell reads them.
  Result Ctl(const std::string& arguments) {
    const std::string command = absl::StrCat("CSI_PROXY_SOCKET_DIR=", server_->directory(), " ",
                                             CSI_PROXYCTL_BINARY, " ", arguments, " 2>&1");
    FILE* const pipe = popen(command.c_str(), "r");
    Result result;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) result.output.append(buffer, n);
    const int status = pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  std::unique_ptr<ServerProcess> server_;
};

}  // namespace csi_proxy::integration
