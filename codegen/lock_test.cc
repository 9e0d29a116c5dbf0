#include "codegen/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "api/released.h"

namespace csi_proxy::api {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Sources RealSources() {
  const absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  EXPECT_TRUE(sources.ok()) << sources.status();
  return sources.value_or(Sources());
}

Lock ParsedLock(Sources sources) {
  const absl::StatusOr<std::unique_ptr<Files>> files = Files::Parse(std::move(sources));
  EXPECT_TRUE(files.ok()) << files.status();
  return files.ok() ? LockOf(**files) : Lock();
}

Lock RealLock() {
  const absl::StatusOr<std::string> text =
      ReadFile(std::string(CSI_PROXY_API_DIR) + "/released.lock");
  EXPECT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<Lock> lock = ParseLock(text.value_or(""));
  EXPECT_TRUE(lock.ok()) << lock.status();
  return lock.value_or(Lock());
}

TEST(ReleasedLock, TheLockMatchesTheApi) {
  EXPECT_THAT(Differences(RealLock(), ParsedLock(RealSources())), IsEmpty());
}

TEST(ReleasedLock, TheLockContainsEveryVersion) {
  EXPECT_EQ(RealLock().size(), std::size(kReleasedVersions));
}

TEST(ReleasedLock, TheLockIsExactlyAsTheToolWritesIt) {
  const absl::StatusOr<std::string> text =
      ReadFile(std::string(CSI_PROXY_API_DIR) + "/released.lock");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, FormatLock(RealLock()));
}

// Each edit of a released file must change the fingerprint.
TEST(ReleasedLock, EveryEditOfAReleasedFileIsDetected) {
  constexpr char kField[] = "int64 diskSize = 1;";
  constexpr char kRpc[] = "rpc Rescan(RescanRequest) returns (RescanResponse);";
  const struct {
    std::string version, from, to;
  } edits[] = {
      {"disk/v1beta1", kField, "int64 diskSize = 2;"},
      {"disk/v1beta1", kField, "uint64 diskSize = 1;"},
      // The wire form stays; the JSON form and the accessors change.
      {"disk/v1beta1", kField, "int64 disk_size = 1;"},
      {"disk/v1beta1", kField, "int64 diskSize = 1 [json_name = \"size\"];"},
      {"disk/v1beta1", kField, "int64 diskSize = 1; int64 used = 2;"},
      {"disk/v1beta1", kField, ""},
      {"disk/v1beta1", kField, "optional int64 diskSize = 1;"},
      {"disk/v1beta1", kField, "oneof size { int64 diskSize = 1; }"},
      {"volume/v1", "repeated string volume_ids = 1;", "string volume_ids = 1;"},
      {"disk/v1", "map<uint32, DiskIDs> diskIDs = 1;", "map<string, DiskIDs> diskIDs = 1;"},
      {"disk/v1", "map<uint32, DiskIDs> diskIDs = 1;", "map<uint32, DiskLocation> diskIDs = 1;"},
      {"disk/v1", kRpc, ""},
      {"disk/v1", kRpc, "rpc Scan(RescanRequest) returns (RescanResponse);"},
      {"disk/v1", kRpc, "rpc Rescan(RescanRequest) returns (PartitionDiskResponse);"},
      {"disk/v1", kRpc, "rpc Rescan(RescanRequest) returns (stream RescanResponse);"},
      {"disk/v1", "service Disk {",
       "service Disk { rpc X(RescanRequest) returns (RescanResponse);"},
      {"disk/v1", "service Disk {", "service Disks {"},
      {"smb/v1", "package v1;", "package smb.v1;"},
      {"system/v1alpha1", "PAUSED = 7;", "PAUSED = 8;"},
      {"system/v1alpha1", "PAUSED = 7;", ""},
      {"disk/v1", "service Disk {", "message Extra {} service Disk {"}};
  for (const auto& [version, from, to] : edits) {
    Sources sources = RealSources();
    std::string& text = sources[version + "/api.proto"];
    ASSERT_EQ(absl::StrReplaceAll({{from, to}}, &text), 1) << version << ": " << from;
    const Lock current = ParsedLock(std::move(sources));
    EXPECT_THAT(Differences(RealLock(), current), ElementsAre(HasSubstr(version + ": changed")))
        << to;
    EXPECT_EQ(AddVersions(RealLock(), current).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST(DifferencesTest, CommentsAndOrderAreIgnored) {
  const Lock before = ParsedLock({{"g/v1/api.proto",
                                   "syntax = \"proto3\"; package v1;\n"
                                   "message A { string a = 1; int32 b = 2; } message B {}"}});
  const Lock after = ParsedLock({{"g/v1/api.proto",
                                  "syntax = \"proto3\"; package v1; // New words.\n"
                                  "message B {} message A { int32 b = 2; string a = 1; }"}});
  EXPECT_THAT(Differences(before, after), IsEmpty());
}

TEST(DifferencesTest, RemovedVersionsAreReported) {
  Sources sources = RealSources();
  ASSERT_EQ(sources.erase("smb/v1beta1/api.proto"), 1u);
  const Lock current = ParsedLock(std::move(sources));
  EXPECT_THAT(Differences(RealLock(), current), ElementsAre("smb/v1beta1: removed"));
  EXPECT_FALSE(AddVersions(RealLock(), current).ok());
}

TEST(DifferencesTest, TheReportSaysHowToLockANewVersion) {
  Sources sources = RealSources();
  sources["smb/v3alpha1/api.proto"] =
      absl::StrReplaceAll(sources["smb/v1/api.proto"], {{"package v1;", "package v3alpha1;"}});
  const Lock current = ParsedLock(std::move(sources));
  EXPECT_THAT(
      Differences(RealLock(), current),
      ElementsAre(AllOf(HasSubstr("smb/v3alpha1: not in the lock"), HasSubstr("lock_tool --add"))));
  const absl::StatusOr<Lock> added = AddVersions(RealLock(), current);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_EQ(added->size(), std::size(kReleasedVersions) + 1);
  EXPECT_THAT(Differences(*added, current), IsEmpty());
}

TEST(FactsOfTest, FactsIncludeNestedTypes) {
  const absl::StatusOr<std::unique_ptr<Files>> files =
      Files::Parse({{"g/v1/api.proto",
                     "syntax = \"proto3\"; package v1;\n"
                     "message A { message In { enum E { Z = 0; } E e = 1; } map<int32, In> m = 3;\n"
                     "            repeated int32 n = 4 [packed = false]; }"}});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(
      FactsOf(*(*files)->groups()[0].versions[0].file),
      UnorderedElementsAre(
          std::pair("package", "v1"), std::pair("syntax", "proto3"),
          std::pair("message A", "2 fields"), std::pair("field A.3", "map<int32, A.In> m, json m"),
          std::pair("field A.4", "repeated int32 n, json n, not packed"),
          std::pair("message A.In", "1 fields"), std::pair("field A.In.1", "A.In.E e, json e"),
          std::pair("enum A.In.E", "1 values"), std::pair("value A.In.E.Z", "0")));
}

TEST(ParseLockTest, MalformedAndRepeatedLinesAreRefused) {
  for (const char* text : {"\nnonsense\n", "\na/v1 1 2\n", "a/v1 1\na/v1 1\n"}) {
    EXPECT_THAT(ParseLock(text).status().message(), HasSubstr("released.lock:2: is not one"));
  }
}

}  // namespace
}  // namespace csi_proxy::api
