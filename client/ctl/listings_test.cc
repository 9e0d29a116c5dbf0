#include "client/ctl/listings.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/ctl/output.h"
#include "client/ctl/response_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

class ListingsTest : public ResponseTest {
 protected:
  std::vector<Method> AllMethods() {
    std::vector<Method> methods;
    for (const std::string& group : catalog_.Groups()) {
      for (const std::string& version : catalog_.Versions(group)) {
        for (Method& method : catalog_.Methods(group, version)) methods.push_back(method);
      }
    }
    return methods;
  }
};

constexpr char kDisks[] = R"(
  disks { number: 0 bus_type: "SAS" serial_number: "vol00000000000000001" page83: "systemdisk"
          path: "\\\\?\\scsi#disk&ven_msft" unique_id: "vol00000000000000001" adapter: "0"
          size_bytes: 68719476736 partition_style: GPT is_boot: true is_system: true
          is_online: true }
  disks { number: 3 bus_type: "Virtual" page83: "60022480a1b2c3d4e5f60718293a4b5c"
          size_bytes: 5368709120 offline_reason: "Policy" is_read_only: true }
  disks { number: 11 size_bytes: 1610612736 partition_style: MBR is_online: true })";

TEST_F(ListingsTest, DisksHaveWhatAPersonNeeds) {
  const std::string table = ToShortTable(*Response("storage", "ListDisks", kDisks));
  EXPECT_EQ(table,
            "DISK  BUS      SIZE     STYLE  USE      STATE                        "
            "SERIAL OR PAGE 83\n"
            "0     SAS      64 GiB   GPT    Windows  online                       "
            "vol00000000000000001\n"
            "3     Virtual  5 GiB    RAW    -        offline (Policy), read-only  "
            "60022480a1b2c3d4e5f60718293a4b5c\n"
            "11    -        1.5 GiB  MBR    -        online                       -\n");
  for (const absl::string_view line : absl::StrSplit(table, '\n')) EXPECT_LE(line.size(), 101);
}

TEST_F(ListingsTest, ADiskThatOnlyStartsWindowsIsItsBootLoaders) {
  EXPECT_TRUE(absl::StrContains(
      ToShortTable(*Response("storage", "ListDisks", "disks { is_system: true is_online: true }")),
      "  boot loader  online  "));
}

TEST_F(ListingsTest, MountsHaveTheirPathsLast) {
  EXPECT_EQ(ToShortTable(*Response("storage", "ListMounts", R"(
              mounts { path: "C:\\k\\a" kind: MOUNTED_VOLUME target: "\\\\?\\Volume{1}\\" }
              mounts { path: "C:\\k\\longer" kind: SYMLINK state: DANGLING }
              incomplete: true)")),
            "STATE     KIND     PATH         TARGET\n"
            "alive     volume   C:\\k\\a       \\\\?\\Volume{1}\\\n"
            "dangling  symlink  C:\\k\\longer  -\n"
            "incomplete: the service did not look at everything\n");
}

TEST_F(ListingsTest, MappingsHaveTheNumberOfTheirLinks) {
  EXPECT_EQ(ToShortTable(*Response("storage", "ListSmbMappings", R"(
              mappings { remote_path: "\\\\h\\s" status: "Disconnected"
                         links: "C:\\k\\a" links: "C:\\k\\b" }
              mappings { remote_path: "\\\\h\\t" status: "OK" })")),
            "STATUS        LINKS  SHARE\n"
            "Disconnected  2      \\\\h\\s\n"
            "OK            0      \\\\h\\t\n");
  EXPECT_EQ(ToShortTable(*Response("storage", "ListSmbMappings", "")), "mappings  (none)\n");
}

TEST_F(ListingsTest, TextsOfTheServiceDoNotReachTheTerminalRaw) {
  const auto mounts = Response("storage", "ListMounts", R"(mounts { path: "a\033[2J\nb" })");
  EXPECT_TRUE(absl::StrContains(ToShortTable(*mounts), "  a\\x1b[2J\\x0ab  "));
  EXPECT_EQ(ToNames(*mounts), "a\\x1b[2J\\x0ab\n");
}

TEST_F(ListingsTest, OtherResponsesAreShownWhole) {
  const auto state = Response("disk", "GetDiskState", "is_online: true");
  EXPECT_EQ(ToShortTable(*state), ToTable(*state));
  const auto portals = Response("iscsi", "ListTargetPortals",
                                "target_portals { target_address: 'a' target_port: 3260 }");
  EXPECT_EQ(ToShortTable(*portals), ToTable(*portals));
}

TEST_F(ListingsTest, NamesAreALineEach) {
  EXPECT_EQ(ToNames(*Response("storage", "ListDisks", kDisks)), "0\n3\n11\n");
  EXPECT_EQ(ToNames(*Response("storage", "ListMounts",
                              R"(mounts { path: "C:\\a" } mounts { path: "C:\\b" })")),
            "C:\\a\nC:\\b\n");
  EXPECT_EQ(ToNames(*Response("storage", "ListSmbMappings",
                              R"(mappings { remote_path: "\\\\h\\s" links: "C:\\a" })")),
            "\\\\h\\s\n");
  EXPECT_EQ(ToNames(*Response("volume", "ListVolumesOnDisk",
                              R"(volume_ids: "\\\\?\\Volume{2}\\" volume_ids: "b")")),
            "\\\\?\\Volume{2}\\\nb\n");
  EXPECT_EQ(ToNames(*Response("disk", "ListDiskIDs",
                              "diskIDs { key: 10 value {} } diskIDs { key: 9 value {} }")),
            "9\n10\n");
  EXPECT_EQ(ToNames(*Response("iscsi", "ListTargetPortals",
                              "target_portals { target_address: '10.0.0.5' target_port: 3260 }"
                              "target_portals { target_address: 'fd00::5' target_port: 3261 }")),
            "10.0.0.5:3260\n[fd00::5]:3261\n");
  EXPECT_EQ(ToNames(*Response("volume", "ListVolumesOnDisk", "")), "");
}

TEST_F(ListingsTest, OnlyListsHaveNames) {
  std::set<std::string> with_names;
  for (const Method& method : AllMethods()) {
    if (HasNames(*method.descriptor->output_type())) with_names.insert(method.descriptor->name());
  }
  EXPECT_THAT(with_names,
              testing::ElementsAre("DiscoverTargetPortal", "GetTargetDisks", "ListDiskIDs",
                                   "ListDiskLocations", "ListDisks", "ListMounts",
                                   "ListSmbMappings", "ListTargetPortals", "ListVolumesOnDisk"));
}

// A field that is missing or has another type would leave its column empty, or show all columns.
TEST_F(ListingsTest, EveryListingReadsFieldsThatItsResponsesHave) {
  std::set<std::string> used;
  for (const Method& method : AllMethods()) {
    const pb::Descriptor& type = *method.descriptor->output_type();
    const absl::Span<const Listing> listings = Listings();
    const auto listing = std::find_if(listings.begin(), listings.end(), [&](const Listing& row) {
      return type.name() == row.response;
    });
    if (listing == listings.end()) continue;
    used.insert(type.name());
    std::shared_ptr<pb::Message> response = catalog_.New(&type);
    const pb::FieldDescriptor* const list = type.FindFieldByName(listing->list);
    ASSERT_NE(list, nullptr) << type.full_name();
    response->GetReflection()->AddMessage(response.get(), list);
    std::string missing;
    const Answer answer(response, &missing);
    ASSERT_EQ(answer.Each(listing->list).size(), 1);
    const Answer row = answer.Each(listing->list)[0];
    listing->name(row);
    for (const Column& column : listing->columns) column.text(row);
    EXPECT_EQ(missing, "");
  }
  EXPECT_EQ(used.size(), Listings().size());
}

}  // namespace
}  // namespace csi_proxy::ctl
