// Follows README.md's walk-through: adds a version to the real smb group with one proto file and
// two rows, and checks that each step ends as the README says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "api/lock.h"
#include "api/reference.h"

namespace csi_proxy::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kRows[] = R"(
rename_field { versions: ["v2alpha1"] message: "NewSmbGlobalMappingRequest" field: "link_path" hub_field: "local_path" }
drop_field { versions: ["v2alpha1"] message: "NewSmbGlobalMappingRequest" field: "domain" reason: "the user name carries it" }
)";

std::string Read(const std::string& name) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(CSI_PROXY_API_DIR, "/", name));
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

// The API with smb v2alpha1, made from v1 as the walk-through tells.
Sources WithNewVersion() {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  EXPECT_TRUE(sources.ok()) << sources.status();
  std::string text = (*sources)["smb/v1/api.proto"];
  EXPECT_EQ(absl::StrReplaceAll({{"package v1;", "package v2alpha1;"},
                                 {"string local_path = 2;", "string link_path = 2;"},
                                 {"string password = 4;",
                                  "string password = 4;\n  // The domain.\n  string domain = 5;"}},
                                &text),
            3);
  (*sources)["smb/v2alpha1/api.proto"] = std::move(text);
  return *std::move(sources);
}

// Pairing is where the generator's errors come from, and the reference pairs.
absl::StatusOr<std::string> Generate(Sources sources) {
  const absl::StatusOr<std::unique_ptr<Files>> files = Files::Parse(std::move(sources));
  if (!files.ok()) return files.status();
  return Reference(**files);
}

// Expects that the README quotes each line of `text` as it is.
void ExpectQuoted(absl::string_view text) {
  const std::string readme = Read("README.md");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    EXPECT_THAT(readme, HasSubstr(std::string(line)));
  }
}

TEST(WalkthroughTest, UnmappedFieldsAreNamedWithTheirRows) {
  const absl::Status status = Generate(WithNewVersion()).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("link_path"), HasSubstr("domain"), HasSubstr("local_path")));
  ExpectQuoted(status.message());
}

TEST(WalkthroughTest, TwoRowsAreAllItTakes) {
  Sources sources = WithNewVersion();
  sources["smb/conversions.textproto"] += kRows;
  ExpectQuoted(kRows);
  const absl::StatusOr<std::string> reference = Generate(sources);
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_THAT(*reference, HasSubstr("| smb | v1alpha1 | v1beta1 | v1beta2 | v1 | v2alpha1 |"));
  EXPECT_THAT(*reference, HasSubstr("| NewSmbGlobalMapping | yes | yes | yes | yes | yes |"));
  // No other group is touched.
  EXPECT_THAT(*reference, HasSubstr("| system | v1alpha1 |\n"));
}

TEST(WalkthroughTest, ARowThatMatchesNothingIsAnError) {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  ASSERT_TRUE(sources.ok()) << sources.status();
  (*sources)["smb/conversions.textproto"] +=
      "drop_field { versions: [\"v1\"] message: \"NewSmbGlobalMappingRequest\" "
      "field: \"nothing\" reason: \"x\" }";
  const absl::Status status = Generate(*std::move(sources)).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ExpectQuoted(status.message());
}

TEST(WalkthroughTest, TheLockTakesItAndHoldsItFromThenOn) {
  const absl::StatusOr<Lock> locked = ParseLock(Read("released.lock"));
  ASSERT_TRUE(locked.ok()) << locked.status();
  Sources sources = WithNewVersion();
  const Lock current = LockOf(**Files::Parse(sources));
  EXPECT_THAT(Differences(*locked, current),
              ElementsAre(HasSubstr("smb/v2alpha1: not in the lock")));
  const absl::StatusOr<Lock> added = AddVersions(*locked, current);
  ASSERT_TRUE(added.ok()) << added.status();
  EXPECT_THAT(Differences(*added, current), IsEmpty());

  ASSERT_EQ(absl::StrReplaceAll({{"string domain = 5;", "string domain = 6;"}},
                                &sources["smb/v2alpha1/api.proto"]),
            1);
  const absl::StatusOr<Lock> refused = AddVersions(*added, LockOf(**Files::Parse(sources)));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(WalkthroughTest, AHubFieldIsAskedForInEveryVersion) {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_EQ(absl::StrReplaceAll({{"string username = 3;", "string username = 3; bool lazy = 9;"}},
                                &(*sources)["smb/hub.proto"]),
            1);
  EXPECT_THAT(std::string(Generate(*sources).status().message()),
              HasSubstr("NewSmbGlobalMappingRequest.lazy of the hub; add a rename_field or "
                        "absent_field row"));
  (*sources)["smb/conversions.textproto"] +=
      "absent_field { versions: [\"v1alpha1\", \"v1beta1\", \"v1beta2\", \"v1\"] "
      "message: \"NewSmbGlobalMappingRequest\" hub_field: \"lazy\" reason: \"old drivers wait\" }";
  EXPECT_TRUE(Generate(*sources).ok());
}

TEST(WalkthroughTest, AHubMethodNeedsNoVersion) {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  ASSERT_TRUE(sources.ok()) << sources.status();
  std::string& hub = (*sources)["smb/hub.proto"];
  ASSERT_EQ(absl::StrReplaceAll({{"service Smb {",
                                  "message ListRequest {} message ListResponse {} service Smb { "
                                  "rpc List(ListRequest) returns (ListResponse);"}},
                                &hub),
            1);
  const absl::StatusOr<std::string> reference = Generate(*std::move(sources));
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_THAT(*reference, HasSubstr("| List | - | - | - | - |"));
}

// codegen/testdata/ is a folder like api/, with one group. Its build is codegen's garden_test.
TEST(WalkthroughTest, AGroupIsAFolder) {
  absl::StatusOr<Sources> sources = ReadSources(CSI_PROXY_API_DIR);
  ASSERT_TRUE(sources.ok()) << sources.status();
  const absl::StatusOr<Sources> garden =
      ReadSources(absl::StrCat(CSI_PROXY_API_DIR, "/../codegen/testdata"));
  ASSERT_TRUE(garden.ok()) << garden.status();
  sources->insert(garden->begin(), garden->end());

  const absl::StatusOr<std::string> reference = Generate(*sources);
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_THAT(*reference, HasSubstr("| garden | v1alpha1 | v1 |\n"));
  EXPECT_THAT(*reference, HasSubstr("| smb | v1alpha1 | v1beta1 | v1beta2 | v1 |\n"));
  const absl::StatusOr<Lock> locked = ParseLock(Read("released.lock"));
  ASSERT_TRUE(locked.ok()) << locked.status();
  EXPECT_THAT(Differences(*locked, LockOf(**Files::Parse(*sources))),
              ElementsAre(HasSubstr("garden/v1: not in the lock"),
                          HasSubstr("garden/v1alpha1: not in the lock")));
}

}  // namespace
}  // namespace csi_proxy::api
