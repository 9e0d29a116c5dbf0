#include "client/ctl/output.h"

#include "client/ctl/response_testing.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

class OutputTest : public ResponseTest {};

TEST_F(OutputTest, JsonHasTheFieldsOwnNamesAndTheEmptyOnes) {
  EXPECT_EQ(ToJson(*Response("disk", "GetDiskState", "")).value(), "{\n \"is_online\": false\n}\n");
  EXPECT_EQ(ToJson(*Response("disk", "ListDiskLocations",
                             "disk_locations { key: 2 value { Adapter: '0' LUNID: '7' } }"))
                .value(),
            "{\n \"disk_locations\": {\n  \"2\": {\n   \"Adapter\": \"0\",\n   \"Bus\": \"\",\n   "
            "\"Target\": \"\",\n   \"LUNID\": \"7\"\n  }\n }\n}\n");
  EXPECT_EQ(ToJson(*Response("disk", "Rescan", "")).value(), "{}\n");
}

TEST_F(OutputTest, PlainFieldsAreRowsOfNameAndValue) {
  EXPECT_EQ(
      ToTable(*Response("volume", "GetVolumeStats", "total_bytes: 10737418240 used_bytes: 5")),
      "total_bytes  10737418240\n"
      "used_bytes   5\n");
  EXPECT_EQ(
      ToTable(*Response("system", "GetService",
                        "display_name: 'iSCSI Initiator' start_type: MANUAL status: RUNNING")),
      "display_name  iSCSI Initiator\n"
      "start_type    MANUAL\n"
      "status        RUNNING\n");
  EXPECT_EQ(ToTable(*Response("disk", "Rescan", "")), "ok\n");
}

TEST_F(OutputTest, MapsAreTablesOrderedByNumber) {
  EXPECT_EQ(ToTable(*Response("disk", "ListDiskIDs",
                              "diskIDs { key: 10 value { page83: 'naa.6' serial_number: 'vol1' } }"
                              "diskIDs { key: 9 value { serial_number: 'vol 22' } }")),
            "diskIDs  page83  serial_number\n"
            "9                vol 22\n"
            "10       naa.6   vol1\n");
}

TEST_F(OutputTest, ListsKeepTheServicesOrder) {
  EXPECT_EQ(ToTable(*Response("iscsi", "ListTargetPortals",
                              "target_portals { target_address: '10.0.0.12' target_port: 3260 }"
                              "target_portals { target_address: '10.0.0.5' target_port: 3261 }")),
            "target_address  target_port\n"
            "10.0.0.12       3260\n"
            "10.0.0.5        3261\n");
  EXPECT_EQ(ToTable(*Response("volume", "ListVolumesOnDisk", "volume_ids: 'b' volume_ids: 'a'")),
            "volume_ids  b\n"
            "volume_ids  a\n");
  EXPECT_EQ(ToTable(*Response("volume", "ListVolumesOnDisk", "")), "volume_ids  (none)\n");
  EXPECT_EQ(ToTable(*Response("disk", "ListDiskIDs", "")), "diskIDs  (none)\n");
}

// People copy volume ids from the table, so backslashes must not be escaped.
TEST_F(OutputTest, PathsAreShownAsTheyAreAndControlCharactersAreNot) {
  EXPECT_EQ(ToTable(*Response("volume", "GetVolumeIDFromTargetPath",
                              R"(volume_id: "\\\\?\\Volume{1}\\ \033[2J\n")")),
            "volume_id  \\\\?\\Volume{1}\\ \\x1b[2J\\x0a\n");
  EXPECT_EQ(Printable("a\"'\\é\x7f"), "a\"'\\é\\x7f");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\u009b31m");
  EXPECT_EQ(Printable("\xC2"), "\xC2");
}

TEST_F(OutputTest, ALineOfJsonIsOne) {
  EXPECT_EQ(ToJsonLine(*Response("disk", "GetDiskState", "is_online: true")).value(),
            "{\"is_online\":true}\n");
}

TEST(SizeTextTest, TheUnitIsOneThatPeopleRead) {
  EXPECT_EQ(SizeText(0), "0 bytes");
  EXPECT_EQ(SizeText(1023), "1023 bytes");
  EXPECT_EQ(SizeText(1024), "1 KiB");
  EXPECT_EQ(SizeText(100 << 20), "100 MiB");
  EXPECT_EQ(SizeText(1 << 30), "1 GiB");
  EXPECT_EQ(SizeText(1610612736), "1.5 GiB");
  EXPECT_EQ(SizeText(uint64_t{4} << 40), "4096 GiB");
}

// Every response of a released method can be shown.
TEST_F(OutputTest, EveryReleasedResponseHasATableAndJson) {
  for (const std::string& group : catalog_.Groups()) {
    for (const std::string& version : catalog_.Versions(group)) {
      for (const Method& method : catalog_.Methods(group, version)) {
        const pb::Descriptor& type = *method.descriptor->output_type();
        const auto response = catalog_.New(&type);
        const std::string table = ToTable(*response);
        const auto json = ToJson(*response);
        ASSERT_TRUE(json.ok()) << json.status();
        for (int i = 0; i < type.field_count(); ++i) {
          EXPECT_NE(table.find(type.field(i)->name()), std::string::npos) << type.full_name();
          const bool message = type.field(i)->message_type() != nullptr;
          if (message && !type.field(i)->is_repeated()) continue;
          EXPECT_NE(json->find(type.field(i)->name()), std::string::npos) << type.full_name();
        }
        EXPECT_EQ(table.find('?'), std::string::npos) << "a type without a text: " << table;
      }
    }
  }
}

}  // namespace
}  // namespace csi_proxy::ctl
