// For tests.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace csi_proxy {

// A new directory, removed at the end with all it holds.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char pattern[] = "/tmp/csi-proxy-test-XXXXXX";
    path_ = mkdtemp(pattern);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace csi_proxy
