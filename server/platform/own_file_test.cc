#include "server/platform/own_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#ifndef _WIN32
#include <sys/resource.h>
#include <sys/stat.h>
#endif

namespace csi_proxy {
namespace {

namespace fs = std::filesystem;

class OwnFileTest : public testing::Test {
 protected:
  OwnFileTest() { Clear(); }
  ~OwnFileTest() override { fs::remove_all(directory_); }

  void Clear() {
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "place");
    std::ofstream(victim_) << "keep these bytes";
  }
  std::string VictimsBytes() const {
    std::ifstream file(victim_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // An entry that a driver can put at `path_`. Entries that the system cannot make are skipped.
  struct Obstacle {
    const char* name;
    std::function<void(std::error_code&)> plant;
  };
  std::vector<Obstacle> Obstacles() {
    std::vector<Obstacle> all = {
        {"link", [this](auto& error) { fs::create_symlink(victim_, path_, error); }},
        {"link to nothing",
         [this](auto& error) { fs::create_symlink(directory_ / "new", path_, error); }},
        {"link to a directory",
         [this](auto& error) { fs::create_directory_symlink(directory_, path_, error); }},
        {"hard link", [this](auto& error) { fs::create_hard_link(victim_, path_, error); }},
        {"directory", [this](auto& error) { fs::create_directory(path_, error); }},
        {"file", [this](auto&) { std::ofstream(path_) << "another's"; }},
    };
#ifndef _WIN32
    all.push_back({"FIFO", [this](auto&) { mkfifo(path_.c_str(), 0666); }});
#endif
    std::erase_if(all, [this](const Obstacle& obstacle) {
      std::error_code error;
      obstacle.plant(error);
      Clear();
      return static_cast<bool>(error);
    });
    return all;
  }
  void ExpectUntouched(const char* what) {
    EXPECT_EQ(VictimsBytes(), "keep these bytes") << what;
    EXPECT_FALSE(fs::exists(directory_ / "new")) << what;
    EXPECT_NE(fs::symlink_status(path_).type(), fs::file_type::not_found) << what;
  }

  const fs::path directory_ =
      fs::temp_directory_path() / absl::StrCat("csi-proxy-own-file-", std::random_device()());
  const fs::path victim_ = directory_ / "victim";
  const fs::path path_ = directory_ / "place" / "file";
};

TEST_F(OwnFileTest, MakeCreatesTheFileAndRemoveDeletesIt) {
  const auto file = OwnFile::Make(path_.string());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->in_place().value());
  EXPECT_TRUE(fs::is_regular_file(path_));
#ifndef _WIN32
  rlimit descriptors;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = descriptors.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(file->in_place().value_or(false));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  // `place` becomes a link to itself, so the path cannot be checked.
  fs::rename(directory_ / "place", directory_ / "away");
  fs::create_symlink("place", directory_ / "place");
  EXPECT_FALSE(file->in_place().ok());
  EXPECT_FALSE(file->Remove().ok());
  fs::remove(directory_ / "place");
  fs::rename(directory_ / "away", directory_ / "place");
#endif
  EXPECT_TRUE(file->Remove().ok());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_FALSE(file->in_place().value());
  EXPECT_TRUE(file->Remove().ok());

  ASSERT_TRUE(OwnFile::Make(path_.string()).ok());
  EXPECT_TRUE(RemoveEmptyFile(path_.string()).ok());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_TRUE(RemoveEmptyFile(path_.string()).ok());
  EXPECT_TRUE(RemoveEmptyFile((directory_ / "none" / "file").string()).ok());
  EXPECT_TRUE(absl::IsNotFound(OwnFile::Make((directory_ / "none" / "file").string()).status()));
}

TEST_F(OwnFileTest, AnExistingEntryIsNotChanged) {
  for (const Obstacle& obstacle : Obstacles()) {
    std::error_code error;
    obstacle.plant(error);
    EXPECT_TRUE(absl::IsAlreadyExists(OwnFile::Make(path_.string()).status())) << obstacle.name;
    ExpectUntouched(obstacle.name);
    EXPECT_TRUE(absl::IsFailedPrecondition(RemoveEmptyFile(path_.string()))) << obstacle.name;
    ExpectUntouched(obstacle.name);
    Clear();
  }
}

TEST_F(OwnFileTest, AnEntryThatReplacedTheFileIsNotChanged) {
  for (const Obstacle& obstacle : Obstacles()) {
    const auto file = OwnFile::Make(path_.string());
    ASSERT_TRUE(file.ok()) << file.status();
    // The file is kept, so that the obstacle cannot get the file's number.
    fs::rename(path_, directory_ / "elsewhere");
    std::error_code error;
    obstacle.plant(error);
    EXPECT_FALSE(file->in_place().value()) << obstacle.name;
    EXPECT_TRUE(file->Remove().ok()) << obstacle.name;
    ExpectUntouched(obstacle.name);
    Clear();
  }
}

TEST_F(OwnFileTest, LinksAboveTheFileAreNotFollowed) {
  std::error_code error;
  fs::create_directory_symlink(directory_ / "place", directory_ / "link", error);
  if (error) GTEST_SKIP() << "the system makes no links: " << error.message();
  fs::create_directory(directory_ / "place" / "below");
  for (const fs::path& path : {directory_ / "link" / "file", directory_ / "link/below/file"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(OwnFile::Make(path.string()).status())) << path;
    EXPECT_FALSE(fs::exists(path)) << path;
    std::ofstream(path).flush();
    EXPECT_TRUE(absl::IsFailedPrecondition(RemoveEmptyFile(path.string()))) << path;
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckDirectoriesOf(path.string()))) << path;
    EXPECT_TRUE(fs::exists(path)) << path;
  }
}

}  // namespace
}  // namespace csi_proxy
