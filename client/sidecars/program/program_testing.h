// For tests: runs the program as containers do.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "integration/support/child_process.h"

namespace csi_proxy::sidecars {

class ProgramTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kLimit = absl::Seconds(20);

  ~ProgramTest() override {
    child_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  // Returns the path of a copy of the program with another name.
  std::string Named(const std::string& name) {
    std::string path = absl::StrCat(directory_, "/", name);
#ifdef _WIN32
    absl::StrAppend(&path, ".exe");
    std::filesystem::copy_file(CSI_PROXY_SIDECARS_BINARY, path);
#else
    std::filesystem::create_symlink(CSI_PROXY_SIDECARS_BINARY, path);
#endif
    return path;
  }

  void Launch(std::vector<std::string> command) {
    log_ = absl::StrCat(directory_, "/log", ++runs_);
    auto child = integration::ChildProcess::Start(std::move(command), log_);
    ASSERT_TRUE(child.ok()) << child.status();
    child_ = *std::move(child);
  }
  // Runs a command and returns its exit code.
  int Run(std::vector<std::string> command) {
    Launch(std::move(command));
    return child_ == nullptr ? -1 : child_->Wait(kLimit);
  }
  // Returns the output of the last program.
  std::string Output() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string directory_ = integration::NewTestDirectory();
  const std::string program_ = CSI_PROXY_SIDECARS_BINARY;
  std::unique_ptr<integration::ChildProcess> child_;

 private:
  int runs_ = 0;
  std::string log_;
};

}  // namespace csi_proxy::sidecars
