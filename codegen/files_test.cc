#include "codegen/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/released.h"

namespace csi_proxy::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

TEST(FilesTest, AParseErrorNamesFileAndLine) {
  const absl::StatusOr<std::unique_ptr<Files>> files =
      Files::Parse({{"g/v1/api.proto", "syntax = \"proto3\";\nmessage A { strin a = 1; }"}});
  ASSERT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(files.status().message(), HasSubstr("g/v1/api.proto:2:"));
}

TEST(FilesTest, VersionsAreSortedByAge) {
  std::vector<std::string> versions = {"v2alpha1", "v1",       "v1beta10", "v1alpha2",
                                       "v1beta2",  "v1alpha1", "v10",      "v2"};
  std::sort(versions.begin(), versions.end(), IsOlder);
  EXPECT_THAT(versions, ElementsAre("v1alpha1", "v1alpha2", "v1beta2", "v1beta10", "v1", "v2alpha1",
                                    "v2", "v10"));
}

// Collects the names of declarations without a comment.
class Undocumented {
 public:
  void File(const pb::FileDescriptor& file) {
    for (int i = 0; i < file.service_count(); ++i) {
      const pb::ServiceDescriptor& service = *file.service(i);
      Check(service);
      for (int j = 0; j < service.method_count(); ++j) Check(*service.method(j));
    }
    for (int i = 0; i < file.message_type_count(); ++i) {
      const pb::Descriptor& message = *file.message_type(i);
      Check(message);
      for (int j = 0; j < message.field_count(); ++j) Check(*message.field(j));
    }
    for (int i = 0; i < file.enum_type_count(); ++i) {
      const pb::EnumDescriptor& type = *file.enum_type(i);
      Check(type);
      for (int j = 0; j < type.value_count(); ++j) Check(*type.value(j));
    }
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  template <typename Descriptor>
  void Check(const Descriptor& descriptor) {
    pb::SourceLocation location;
    if (descriptor.GetSourceLocation(&location) && !location.leading_comments.empty()) return;
    names_.push_back(FileOf(descriptor).name() + ": " + descriptor.full_name());
  }
  template <typename Descriptor>
  static const pb::FileDescriptor& FileOf(const Descriptor& descriptor) {
    return *descriptor.file();
  }
  static const pb::FileDescriptor& FileOf(const pb::MethodDescriptor& method) {
    return *method.service()->file();
  }
  static const pb::FileDescriptor& FileOf(const pb::EnumValueDescriptor& value) {
    return *value.type()->file();
  }

  std::vector<std::string> names_;
};

TEST(ReleasedVersions, EverythingInTheReleasedVersionsHasAComment) {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  ASSERT_TRUE(sources.ok()) << sources.status();
  const absl::StatusOr<std::unique_ptr<Files>> files = Files::Parse(*std::move(sources));
  ASSERT_TRUE(files.ok()) << files.status();
  Undocumented undocumented;
  size_t versions = 0;
  for (const Group& group : (*files)->groups()) {
    for (const Version& version : group.versions) {
      undocumented.File(*version.file);
      ++versions;
    }
  }
  EXPECT_EQ(versions, std::size(kReleasedVersions));
  EXPECT_THAT(undocumented.names(), IsEmpty());
}

TEST(ReleasedVersions, EachReleasedVersionHasItsOwnCSharpAndJavaNamespace) {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  ASSERT_TRUE(sources.ok()) << sources.status();
  const absl::StatusOr<std::unique_ptr<Files>> files = Files::Parse(*std::move(sources));
  ASSERT_TRUE(files.ok()) << files.status();
  std::set<std::string> names = {""};
  for (const Group& group : (*files)->groups()) {
    for (const Version& version : group.versions) {
      const pb::FileOptions& options = version.file->options();
      EXPECT_TRUE(names.insert(options.csharp_namespace()).second) << version.file->name();
      EXPECT_TRUE(names.insert(options.java_package()).second) << version.file->name();
    }
  }
}

// Table headers are `| disk | v1alpha1 | v1 |`, rows `| GetDiskStats | DiskStats | yes |`.
TEST(ReleasedVersions, TheReadmeListsEveryReleasedMethod) {
  std::ifstream readme(absl::StrCat(CSI_PROXY_API_DIR, "/README.md"));
  std::vector<std::string> named;
  std::string service;
  std::vector<std::string> versions;
  bool in_tables = false;
  for (std::string line; std::getline(readme, line);) {
    if (absl::StartsWith(line, "## ")) in_tables = line == "## Versions";
    std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (!in_tables || cells.size() < 4) continue;
    for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
    if (cells[2] == "v1alpha1") {
      service = cells[1];
      service[0] = absl::ascii_toupper(service[0]);
      versions = cells;
      continue;
    }
    ASSERT_EQ(cells.size(), versions.size()) << line;
    for (size_t i = 2; i + 1 < cells.size(); ++i) {
      if (cells[i] == "-" || cells[i] == "---") continue;
      named.push_back(absl::StrCat("/", versions[i], ".", service, "/",
                                   cells[i] == "yes" ? cells[1] : cells[i]));
    }
  }
  EXPECT_THAT(named, UnorderedElementsAreArray(kReleasedRpcs));
}

TEST(ReadSourcesTest, TheErrorNamesAMissingDirectory) {
  EXPECT_THAT(std::string(ReadSources("/nowhere/api").status().message()),
              HasSubstr("/nowhere/api"));
}

}  // namespace
}  // namespace csi_proxy::api
