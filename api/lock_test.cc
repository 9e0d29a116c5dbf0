#include "api/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "api/released.h"

namespace csi_proxy::api {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
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

TEST(ReleasedLock, AgreesWithTheApi) {
  EXPECT_THAT(Differences(RealLock(), ParsedLock(RealSources())), IsEmpty());
}

TEST(ReleasedLock, HoldsEveryVersionAndRpc) {
  const Lock lock = RealLock();
  EXPECT_EQ(lock.size(), std::size(kReleasedVersions));
  size_t rpcs = 0;
  for (const auto& [version, facts] : lock) {
    for (const auto& [key, value] : facts) rpcs += key.starts_with("rpc ");
  }
  EXPECT_EQ(rpcs, std::size(kReleasedRpcs));
}

TEST(ReleasedLock, IsWrittenAsTheToolWritesIt) {
  const absl::StatusOr<std::string> text =
      ReadFile(std::string(CSI_PROXY_API_DIR) + "/released.lock");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, FormatLock(RealLock()));
}

// An edit of a released file, and the line that must report it.
struct Mutation {
  std::string name;
  std::string path;
  std::string from;
  std::string to;
  std::string told;
};

void PrintTo(const Mutation& mutation, std::ostream* stream) { *stream << mutation.name; }

class MutationTest : public ::testing::TestWithParam<Mutation> {};

TEST_P(MutationTest, IsCaught) {
  const Mutation& mutation = GetParam();
  Sources sources = RealSources();
  std::string& text = sources[mutation.path];
  ASSERT_EQ(absl::StrReplaceAll({{mutation.from, mutation.to}}, &text), 1)
      << "the edit must fit one place of " << mutation.path;
  const Lock current = ParsedLock(std::move(sources));
  EXPECT_THAT(Differences(RealLock(), current), Contains(mutation.told));
  const absl::StatusOr<Lock> added = AddVersions(RealLock(), current);
  EXPECT_EQ(added.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(added.status().message(), HasSubstr(mutation.told));
}

INSTANTIATE_TEST_SUITE_P(
    All, MutationTest,
    ::testing::Values(
        Mutation{
            "FieldNumber", "disk/v1beta1/api.proto", "int64 diskSize = 1;", "int64 diskSize = 2;",
            "disk/v1beta1: removed: field DiskStatsResponse.1 (int64 diskSize, json diskSize)"},
        Mutation{"FieldType", "disk/v1beta1/api.proto", "int64 diskSize = 1;",
                 "uint64 diskSize = 1;",
                 "disk/v1beta1: changed: field DiskStatsResponse.1 from (int64 diskSize, json "
                 "diskSize) to (uint64 diskSize, json diskSize)"},
        // Changes the JSON form and the accessors, but not the wire.
        Mutation{"FieldName", "disk/v1beta1/api.proto", "int64 diskSize = 1;",
                 "int64 disk_size = 1;",
                 "disk/v1beta1: changed: field DiskStatsResponse.1 from (int64 diskSize, json "
                 "diskSize) to (int64 disk_size, json diskSize)"},
        Mutation{"FieldJsonName", "disk/v1beta1/api.proto", "int64 diskSize = 1;",
                 "int64 diskSize = 1 [json_name = \"size\"];",
                 "disk/v1beta1: changed: field DiskStatsResponse.1 from (int64 diskSize, json "
                 "diskSize) to (int64 diskSize, json size)"},
        Mutation{"FieldAdded", "disk/v1beta1/api.proto", "int64 diskSize = 1;",
                 "int64 diskSize = 1; int64 used = 2;",
                 "disk/v1beta1: added: field DiskStatsResponse.2 (int64 used, json used)"},
        Mutation{"FieldRemoved", "disk/v1beta1/api.proto", "int64 diskSize = 1;", "",
                 "disk/v1beta1: removed: field DiskStatsResponse.1 (int64 diskSize, json "
                 "diskSize)"},
        Mutation{"FieldMadeOptional", "disk/v1beta1/api.proto", "int64 diskSize = 1;",
                 "optional int64 diskSize = 1;",
                 "disk/v1beta1: changed: field DiskStatsResponse.1 from (int64 diskSize, json "
                 "diskSize) to (optional int64 diskSize, json diskSize)"},
        Mutation{"FieldMadeOneof", "disk/v1beta1/api.proto", "int64 diskSize = 1;",
                 "oneof size { int64 diskSize = 1; }",
                 "disk/v1beta1: changed: field DiskStatsResponse.1 from (int64 diskSize, json "
                 "diskSize) to (int64 diskSize, json diskSize, oneof size)"},
        Mutation{"FieldMadeRepeated", "volume/v1/api.proto", "repeated string volume_ids = 1;",
                 "string volume_ids = 1;",
                 "volume/v1: changed: field ListVolumesOnDiskResponse.1 from (repeated string "
                 "volume_ids, json volumeIds) to (string volume_ids, json volumeIds)"},
        Mutation{
            "MapKey", "disk/v1/api.proto", "map<uint32, DiskIDs> diskIDs = 1;",
            "map<string, DiskIDs> diskIDs = 1;",
            "disk/v1: changed: field ListDiskIDsResponse.1 from (map<uint32, DiskIDs> diskIDs, "
            "json diskIDs) to (map<string, DiskIDs> diskIDs, json diskIDs)"},
        Mutation{
            "MapValue", "disk/v1/api.proto", "map<uint32, DiskIDs> diskIDs = 1;",
            "map<uint32, DiskLocation> diskIDs = 1;",
            "disk/v1: changed: field ListDiskIDsResponse.1 from (map<uint32, DiskIDs> diskIDs, "
            "json diskIDs) to (map<uint32, DiskLocation> diskIDs, json diskIDs)"},
        Mutation{"RpcRemoved", "disk/v1/api.proto",
                 "rpc Rescan(RescanRequest) returns (RescanResponse);", "",
                 "disk/v1: removed: rpc /v1.Disk/Rescan (RescanRequest -> RescanResponse)"},
        Mutation{"RpcRenamed", "disk/v1/api.proto",
                 "rpc Rescan(RescanRequest) returns (RescanResponse);",
                 "rpc Scan(RescanRequest) returns (RescanResponse);",
                 "disk/v1: added: rpc /v1.Disk/Scan (RescanRequest -> RescanResponse)"},
        Mutation{"RpcResponse", "disk/v1/api.proto",
                 "rpc Rescan(RescanRequest) returns (RescanResponse);",
                 "rpc Rescan(RescanRequest) returns (PartitionDiskResponse);",
                 "disk/v1: changed: rpc /v1.Disk/Rescan from (RescanRequest -> RescanResponse) to "
                 "(RescanRequest -> PartitionDiskResponse)"},
        Mutation{"RpcStreams", "disk/v1/api.proto",
                 "rpc Rescan(RescanRequest) returns (RescanResponse);",
                 "rpc Rescan(RescanRequest) returns (stream RescanResponse);",
                 "disk/v1: changed: rpc /v1.Disk/Rescan from (RescanRequest -> RescanResponse) to "
                 "(RescanRequest -> stream RescanResponse)"},
        Mutation{"RpcAdded", "disk/v1/api.proto", "service Disk {",
                 "service Disk { rpc Again(RescanRequest) returns (RescanResponse);",
                 "disk/v1: added: rpc /v1.Disk/Again (RescanRequest -> RescanResponse)"},
        Mutation{"ServiceRenamed", "disk/v1/api.proto", "service Disk {", "service Disks {",
                 "disk/v1: removed: service v1.Disk (7 methods)"},
        Mutation{"PackageRenamed", "smb/v1/api.proto", "package v1;", "package smb.v1;",
                 "smb/v1: changed: package from (v1) to (smb.v1)"},
        Mutation{"EnumNumber", "system/v1alpha1/api.proto", "PAUSED = 7;", "PAUSED = 8;",
                 "system/v1alpha1: changed: value ServiceStatus.PAUSED from (7) to (8)"},
        Mutation{"EnumValueRemoved", "system/v1alpha1/api.proto", "PAUSED = 7;", "",
                 "system/v1alpha1: removed: value ServiceStatus.PAUSED (7)"},
        Mutation{"MessageAdded", "disk/v1/api.proto", "service Disk {",
                 "message Extra {} service Disk {", "disk/v1: added: message Extra (0 fields)"}),
    [](const auto& info) { return info.param.name; });

TEST(DifferencesTest, CommentsAndOrderDoNotMatter) {
  const Lock before = ParsedLock({{"g/v1/api.proto",
                                   "syntax = \"proto3\"; package v1;\n"
                                   "message A { string a = 1; int32 b = 2; } message B {}"}});
  const Lock after = ParsedLock({{"g/v1/api.proto",
                                  "syntax = \"proto3\"; package v1; // New words.\n"
                                  "message B {} message A { int32 b = 2; string a = 1; }"}});
  EXPECT_THAT(Differences(before, after), IsEmpty());
}

TEST(DifferencesTest, TellsRemovedVersions) {
  Sources sources = RealSources();
  ASSERT_EQ(sources.erase("smb/v1beta1/api.proto"), 1u);
  const Lock current = ParsedLock(std::move(sources));
  EXPECT_THAT(Differences(RealLock(), current),
              ElementsAre("smb/v1beta1: removed: the whole version"));
  EXPECT_FALSE(AddVersions(RealLock(), current).ok());
}

TEST(DifferencesTest, TellsHowToLockANewVersion) {
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

TEST(FactsOfTest, TellsNestedTypes) {
  const Lock lock =
      ParsedLock({{"g/v1/api.proto",
                   "syntax = \"proto3\"; package v1;\n"
                   "message A { message In { enum E { Z = 0; } E e = 1; } map<int32, In> m = 3;\n"
                   "            repeated int32 n = 4 [packed = false]; }"}});
  EXPECT_THAT(
      lock.at("g/v1"),
      UnorderedElementsAre(
          std::pair("package", "v1"), std::pair("syntax", "proto3"),
          std::pair("message A", "2 fields"), std::pair("field A.3", "map<int32, A.In> m, json m"),
          std::pair("field A.4", "repeated int32 n, json n, not packed"),
          std::pair("message A.In", "1 fields"), std::pair("field A.In.1", "A.In.E e, json e"),
          std::pair("enum A.In.E", "1 values"), std::pair("value A.In.E.Z", "0")));
}

TEST(ParseLockTest, RefusesLinesItDoesNotUnderstand) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseLock(text).status().message());
  };
  EXPECT_THAT(error("[a/v1]\nnonsense\n"), HasSubstr("released.lock:2: neither"));
  EXPECT_THAT(error("field A.1 = string a\n"), HasSubstr("released.lock:1: this stands before"));
  EXPECT_THAT(error("[a/v1]\nx = 1\nx = 2\n"), HasSubstr("released.lock:3: said twice"));
  EXPECT_THAT(error("[a/v1]\n[a/v1]\n"), HasSubstr("released.lock:2: a second section"));
}

}  // namespace
}  // namespace csi_proxy::api
