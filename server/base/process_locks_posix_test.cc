#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/process_locks.h"

namespace csi_proxy {
namespace {

class LockDirectoryTest : public testing::Test {
 protected:
  ~LockDirectoryTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() /
      absl::StrCat("csi-proxy-locks-", absl::ToUnixNanos(absl::Now()));
};

TEST_F(LockDirectoryTest, OneThatOthersMayWriteIsRefused) {
  std::filesystem::create_directory(directory_);
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  EXPECT_TRUE(absl::IsPermissionDenied(NewProcessLocks(directory_).status()));
}

TEST_F(LockDirectoryTest, AFileInItsPlaceIsAnError) {
  std::ofstream(directory_) << "x";
  EXPECT_FALSE(NewProcessLocks(directory_).ok());
}

TEST_F(LockDirectoryTest, ALinkInItsPlaceIsAnError) {
  std::filesystem::create_directory_symlink("/tmp", directory_);
  EXPECT_FALSE(NewProcessLocks(directory_).ok());
}

}  // namespace
}  // namespace csi_proxy
