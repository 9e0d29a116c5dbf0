#include "client/ctl/catalog.h"

#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "api/released.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

const Catalog& TheCatalog() {
  static const Catalog* const kCatalog = new Catalog;
  return *kCatalog;
}

TEST(CatalogTest, TheCatalogContainsEveryReleasedMethod) {
  std::set<std::string> groups;
  for (const api::ReleasedVersion& version : api::kReleasedVersions) groups.insert(version.group);
  EXPECT_THAT(TheCatalog().Groups(), ElementsAreArray(groups));
  std::set<std::pair<std::string, std::string>> versions;
  size_t released = 0;
  for (const Method& method : TheCatalog().AllMethods()) {
    if (method.group == kSimulatedGroup) continue;
    versions.emplace(method.group, method.version);
    ++released;
  }
  EXPECT_EQ(versions.size(), std::size(api::kReleasedVersions));
  EXPECT_EQ(released, std::size(api::kReleasedRpcs));
}

TEST(CatalogTest, VersionsAreListedStableFirstThenNextGenerationThenBetasThenAlphas) {
  EXPECT_THAT(TheCatalog().Versions("volume"),
              ElementsAre("v1", "v2alpha1", "v1beta3", "v1beta2", "v1beta1", "v1alpha1"));
  EXPECT_THAT(TheCatalog().Versions("filesystem"),
              ElementsAre("v1", "v2alpha1", "v1beta2", "v1beta1", "v1alpha1"));
  EXPECT_THAT(TheCatalog().Versions("iscsi"), ElementsAre("v1alpha2", "v1alpha1"));
}

TEST(CatalogTest, SuccessorIsThePreferredVersionOfTheGroup) {
  EXPECT_EQ(TheCatalog().Successor("volume", "v1beta3"), "v1");
  EXPECT_EQ(TheCatalog().Successor("iscsi", "v1alpha1"), "v1alpha2");
  EXPECT_EQ(TheCatalog().Successor("volume", "v1"), "");
  EXPECT_EQ(TheCatalog().Successor("volume", "v2alpha1"), "") << "of the next generation";
  EXPECT_EQ(TheCatalog().Successor("system", "v1alpha1"), "") << "the only one";
  EXPECT_EQ(TheCatalog().Successor("volume", "v0"), "");
  EXPECT_EQ(TheCatalog().Successor("nonesuch", "v1"), "");
}

TEST(CatalogTest, FindReturnsTheMostPreferredVersionWithTheMethod) {
  const auto mount = TheCatalog().Find("volume", "MountVolume", "");
  ASSERT_TRUE(mount.ok()) << mount.status();
  EXPECT_EQ(mount->path(), "/v1.Volume/MountVolume");
  const auto link = TheCatalog().Find("filesystem", "LinkPath", "");
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_EQ(link->path(), "/v1beta1.Filesystem/LinkPath") << "later versions call it otherwise";
  const auto old = TheCatalog().Find("volume", "MountVolume", "v1alpha1");
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->path(), "/v1alpha1.Volume/MountVolume");
  const auto dump = TheCatalog().Find("sim", "dump-state", "");
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->path(), "/csi_proxy.simulated.Admin/DumpState");
}

TEST(CatalogTest, FindAcceptsEachSpellingOfEveryMethod) {
  for (const Method& method : TheCatalog().AllMethods()) {
    const std::string& name = method.descriptor->name();
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(toupper(c));
    for (const std::string& spelling : {name, KebabCase(name), upper, Plain(name)}) {
      const auto found = TheCatalog().Find(method.group, spelling, method.version);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->descriptor->name(), name) << spelling;
    }
  }
  EXPECT_TRUE(TheCatalog().Find("VOLUME", "mount_volume", "v1").ok());
}

TEST(CatalogTest, AnUnknownNameIsAnsweredWithTheExistingNames) {
  const auto group = TheCatalog().Find("volumes", "MountVolume", "").status();
  EXPECT_TRUE(absl::IsInvalidArgument(group));
  EXPECT_TRUE(absl::StrContains(group.message(), "did you mean volume?")) << group;
  EXPECT_TRUE(absl::StrContains(group.message(), "sim")) << group;

  const auto method = TheCatalog().Find("volume", "mount-volum", "").status();
  EXPECT_TRUE(absl::IsInvalidArgument(method));
  EXPECT_TRUE(absl::StrContains(method.message(), "did you mean MountVolume?")) << method;
  const absl::Status reading = TheCatalog().Find("smb", "list-smb-global-mapping", "").status();
  EXPECT_FALSE(absl::StrContains(reading.message(), "did you mean")) << reading;
  EXPECT_TRUE(absl::StrContains(method.message(), "FormatVolume")) << method;

  const auto version = TheCatalog().Find("volume", "MountVolume", "v3").status();
  EXPECT_TRUE(absl::IsInvalidArgument(version));
  EXPECT_TRUE(absl::StrContains(version.message(), "v1beta3")) << version;

  // The method exists, but not in that version.
  const auto late = TheCatalog().Find("volume", "GetClosestVolumeIDFromTargetPath", "v1").status();
  EXPECT_TRUE(absl::IsInvalidArgument(late));
  EXPECT_TRUE(absl::StrContains(late.message(), "volume v1")) << late;
  EXPECT_TRUE(absl::IsInvalidArgument(TheCatalog().Find("sim", "Reset", "v1").status()));
}

// Compares names with marks: a field must be marked if it is named like a secret, and only then.
TEST(CatalogTest, FieldsAreMarkedAsSecretIfNamedPasswordOrSecret) {
  std::set<std::string> secrets;
  for (const Method& method : TheCatalog().AllMethods()) {
    for (const pb::Descriptor* type :
         {method.descriptor->input_type(), method.descriptor->output_type()}) {
      for (int i = 0; i < type->field_count(); ++i) {
        const pb::FieldDescriptor& field = *type->field(i);
        const std::string plain = Plain(field.name());
        const bool looks_secret =
            absl::StrContains(plain, "password") || absl::StrContains(plain, "secret");
        EXPECT_EQ(TheCatalog().IsSecret(method.group, field), looks_secret) << field.full_name();
        if (looks_secret) {
          secrets.insert(method.group + "." + plain);
          EXPECT_TRUE(TheCatalog().HoldsSecret(method.group, *type));
        }
      }
    }
  }
  EXPECT_THAT(secrets, ElementsAre("iscsi.chapsecret", "iscsi.mutualchapsecret", "sim.password",
                                   "smb.password", "storage.chapsecret", "storage.password"));
}

TEST(CatalogTest, EveryReleasedMethodIsDocumented) {
  for (const Method& method : TheCatalog().AllMethods()) {
    // The admin service's methods need no comment, because their names say everything.
    if (method.group == kSimulatedGroup) continue;
    EXPECT_NE(Comment(*method.descriptor), "") << method.path();
  }
}

TEST(CatalogTest, TheHubMarksCallsThatChangeNothing) {
  const Catalog catalog;
  const auto changes_nothing = [&](const char* group, const char* name, const char* version) {
    return catalog.ChangesNothing(catalog.Find(group, name, version).value());
  };
  EXPECT_TRUE(changes_nothing("storage", "ListDisks", ""));
  EXPECT_TRUE(changes_nothing("disk", "ListDiskLocations", "v1alpha1"));
  EXPECT_TRUE(changes_nothing("sim", "DumpState", ""));
  EXPECT_FALSE(changes_nothing("volume", "FormatVolume", ""));
  EXPECT_FALSE(changes_nothing("disk", "Rescan", ""));
  EXPECT_FALSE(changes_nothing("sim", "Reset", ""));
  const Method renamed = catalog.Find("volume", "DismountVolume", "").value();
  EXPECT_EQ(catalog.Hub(renamed), nullptr);
  EXPECT_FALSE(catalog.ChangesNothing(renamed));
}

TEST(CatalogTest, FieldsOfARequestHaveDistinctPlainNames) {
  for (const Method& method : TheCatalog().AllMethods()) {
    std::set<std::string> names;
    const pb::Descriptor* const type = method.descriptor->input_type();
    for (int i = 0; i < type->field_count(); ++i) {
      EXPECT_TRUE(names.insert(Plain(type->field(i)->name())).second) << type->full_name();
    }
  }
}

TEST(NamesTest, KebabCaseSplitsWordsAndAcronyms) {
  EXPECT_EQ(KebabCase("ListVolumesOnDisk"), "list-volumes-on-disk");
  EXPECT_EQ(KebabCase("GetVolumeIDFromTargetPath"), "get-volume-id-from-target-path");
  EXPECT_EQ(KebabCase("GetBIOSSerialNumber"), "get-bios-serial-number");
  EXPECT_EQ(KebabCase("ListDiskIDs"), "list-disk-ids");
  EXPECT_EQ(KebabCase("diskID"), "disk-id");
  EXPECT_EQ(KebabCase("LUNID"), "lunid");
  EXPECT_EQ(KebabCase("disk_number"), "disk-number");
  EXPECT_EQ(KebabCase(""), "");
}

TEST(NamesTest, DidYouMeanSuggestsOnlyASimilarName) {
  EXPECT_EQ(DidYouMean("pth", {"path", "force"}), "; did you mean path?");
  EXPECT_EQ(DidYouMean("zzzzzz", {"path", "force"}), "");
  EXPECT_EQ(DidYouMean("path", {}), "");
}

}  // namespace
}  // namespace csi_proxy::ctl
