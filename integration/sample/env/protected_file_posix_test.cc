#include <sys/stat.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/env/protected_file.h"
#include "integration/sample/env/testing.h"
#include "server/base/testing_posix.h"

namespace csi_proxy::sample {
namespace {

using ::testing::HasSubstr;

constexpr char kField[] = "--env-directory";

class ProtectedFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  void ExpectRefused(const std::string& name, absl::StatusCode code, const char* text) const {
    const auto read = ReadProtectedFile(kField, directory_.path(), name);
    EXPECT_EQ(read.status().code(), code) << read.status();
    EXPECT_THAT(read.status().message(), HasSubstr(text));
  }

  const TemporaryDirectory directory_;
};

TEST_F(ProtectedFileTest, AProtectedFileIsReadUnchanged) {
  const std::string bytes("a\0b\n\xff", 5);
  WriteFile(Path("a"), bytes);
  const auto read = ReadProtectedFile(kField, directory_.path(), "a");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Reveal(), bytes);
  // A file need not be writable by its owner.
  WriteFile(Path("b"), "b", 0400);
  EXPECT_TRUE(ReadProtectedFile(kField, directory_.path(), "b").ok());
}

TEST_F(ProtectedFileTest, OnlyAPlainFileThatOnlyItsOwnerMayAccessIsRead) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  ExpectRefused("none", absl::StatusCode::kNotFound, "file none: does not exist");
  for (const mode_t mode : {0640, 0604, 0610, 0601, 0620, 0602}) {
    WriteFile(Path("open"), "x", mode);
    ExpectRefused("open", kRefused, "file open: has permissions for its group or for others");
  }
  WriteFile(Path("target"), "x");
  ASSERT_EQ(symlink("target", Path("link").c_str()), 0);
  ExpectRefused("link", kRefused, "file link: is a link");
  ASSERT_EQ(mkdir(Path("directory").c_str(), 0700), 0);
  ExpectRefused("directory", kRefused, "file directory: is not a regular file");
  // No process writes to the FIFO: opening it must not wait.
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  ExpectRefused("pipe", kRefused, "file pipe: is not a regular file");
}

TEST_F(ProtectedFileTest, AFileBeyondTheSizeLimitIsRefused) {
  WriteFile(Path("large"), std::string(kMaxProtectedFileBytes, 'x'));
  const auto read = ReadProtectedFile(kField, directory_.path(), "large");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size(), kMaxProtectedFileBytes);
  WriteFile(Path("large"), std::string(kMaxProtectedFileBytes + 1, 'x'));
  ExpectRefused("large", absl::StatusCode::kFailedPrecondition,
                "file large: has more than 262144 bytes");
}

TEST_F(ProtectedFileTest, ADirectoryThatOthersMayWriteToIsRefused) {
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  WriteFile(Path("a"), "x");
  for (const mode_t mode : {0770, 0707, 01777}) {
    ASSERT_EQ(chmod(directory_.path().c_str(), mode), 0);
    ExpectRefused("a", kRefused, "--env-directory: must belong to");
  }
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  EXPECT_TRUE(ReadProtectedFile(kField, directory_.path(), "a").ok());
  if (geteuid() == 0) {
    constexpr uid_t kNobody = 65534;
    ASSERT_EQ(chown(directory_.path().c_str(), kNobody, 0), 0);
    ExpectRefused("a", kRefused, "--env-directory: must belong to");
    ASSERT_EQ(chown(directory_.path().c_str(), 0, 0), 0);
    ASSERT_EQ(chown(Path("a").c_str(), kNobody, 0), 0);
    ExpectRefused("a", kRefused, "file a: belongs neither to the driver's user nor to root");
    ASSERT_EQ(chown(Path("a").c_str(), 0, 0), 0);
  }
  const TemporaryDirectory other;
  const std::string link = other.path() + "/link";
  ASSERT_EQ(symlink(directory_.path().c_str(), link.c_str()), 0);
  for (const std::string& path : {link, Path("a"), Path("none")}) {
    const auto read = ReadProtectedFile(kField, path, "a");
    EXPECT_EQ(read.status().code(), kRefused) << path;
    EXPECT_THAT(read.status().message(), HasSubstr("is not a directory that can be read"));
  }
}

TEST(CheckPlainFileNameTest, NamesThatLeaveTheDirectoryAreRefused) {
  for (const char* name : {"a", "db.json", "A-1_b.c", "a..b"}) {
    EXPECT_TRUE(CheckPlainFileName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string(".hidden"),
        std::string("a/b"), std::string("/etc/passwd"), std::string("../a"), std::string("a\\b"),
        std::string("C:a"), std::string("a b"), std::string("a\0b", 3), std::string("a\nb"),
        std::string("\xc3\xa4"), std::string(256, 'a')}) {
    EXPECT_EQ(CheckPlainFileName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace csi_proxy::sample
