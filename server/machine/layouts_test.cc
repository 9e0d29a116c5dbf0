#include "server/machine/layouts.h"

#include <array>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::machine {
namespace {

using ::testing::HasSubstr;

Bytes ToBytes(absl::string_view text) { return Bytes(text.begin(), text.end()); }

DeviceIdentifier Ascii(absl::string_view text, Association association = Association::kDevice) {
  return {CodeSet::kAscii, IdentifierType::kVendorId, association, ToBytes(text)};
}

DeviceIdentifier Binary(Bytes bytes, Association association = Association::kDevice) {
  return {CodeSet::kBinary, IdentifierType::kFcphName, association, std::move(bytes)};
}

void ExpectMalformed(const absl::Status& status, absl::string_view how) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(how)));
}

// Returns the first `size` bytes.
Bytes Cut(const Bytes& bytes, size_t size) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
}

// A STORAGE_DEVICE_ID_DESCRIPTOR with two identifiers. The header of the second begins at kSecond.
constexpr size_t kSecond = 12 + 20;
Bytes TwoIdentifiers() {
  return {
      0x10, 0,   0,   0,    0x38, 0, 0, 0, 2, 0, 0,  0,              // Version, Size, count
      2,    0,   0,   0,    8,    0, 0, 0, 4, 0, 20, 0, 1, 0, 0, 0,  // ASCII, SCSI name, of a port
      'p',  'o', 'r', 't',                                           //
      1,    0,   0,   0,    3,    0, 0, 0, 8, 0, 0,  0, 0, 0, 0, 0,  // binary, FCPH, of the device
      0x60, 2,   0,   0xA0, 0x98, 0, 0, 1,
  };
}

absl::StatusOr<std::string> ParsePage83(const Bytes& descriptor) {
  const absl::StatusOr<DeviceIds> ids = ParseDeviceIds(descriptor);
  if (!ids.ok()) return ids.status();
  return ids->page83;
}

TEST(Page83Test, ParseReadsTheDocumentedBytes) {
  EXPECT_EQ(ParsePage83(TwoIdentifiers()).value(), "600200a098000001");
}

TEST(Page83Test, TheQueryRequestsDeviceIds) {
  EXPECT_EQ(DeviceIdQuery(), Bytes({2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Page83Test, ParseReturnsTheFirstIdentifierOfTheDevice) {
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("Google  pvc-1"), Binary({1})})).value(),
            "Google  pvc-1");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Binary({0xAB, 1}), Ascii("a")})).value(), "ab01");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("p", Association::kPort),
                                       Binary({1}, Association::kTarget), Ascii("d")}))
                .value(),
            "d");
}

TEST(Page83Test, ParseReturnsNothingWithoutAReadableIdentifierOfTheDevice) {
  EXPECT_EQ(ParsePage83(MakeDeviceIds({})).value(), "");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("p", Association::kPort)})).value(), "");
  DeviceIdentifier utf8 = Ascii("iqn.2024-01.com.example");
  utf8.code_set = CodeSet::kUtf8;
  EXPECT_EQ(ParsePage83(MakeDeviceIds({utf8})).value(), "");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({utf8, Ascii("a")})).value(), "a");
}

TEST(Page83Test, ParseRemovesTheTextsPadding) {
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii({"ab \0 \0", 6})})).value(), "ab");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii(" ab")})).value(), " ab");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Binary({0x20, 0})})).value(), "2000") << "not of bytes";
}

TEST(Page83Test, ParseSkipsEmptyIdentifiers) {
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("  "), Binary({}), Ascii("a")})).value(), "a");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("")})).value(), "");
}

TEST(Page83Test, ParseReturnsUnprintableTextAsHexadecimal) {
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("a\nb")})).value(), "610a62");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("\xFF\xFE ")})).value(), "fffe");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii("\x7F")})).value(), "7f");
  EXPECT_EQ(ParsePage83(MakeDeviceIds({Ascii({"a\0b", 3})})).value(), "610062");
}

TEST(DeviceIdsTest, ParseReturnsTheEuiOfAnNvmeNamespace) {
  const auto eui = [](size_t size, Association association = Association::kDevice) {
    DeviceIdentifier id = Binary(Bytes(size, 0xE1), association);
    id.type = IdentifierType::kEui64;
    return id;
  };
  const auto ids = ParseDeviceIds(
      MakeDeviceIds({eui(8, Association::kPort), Ascii("name"), eui(12), eui(16), eui(8)}));
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(ids->page83, "name");
  EXPECT_EQ(ids->eui, "e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1") << "neither 8 nor 16 bytes is not one";
  EXPECT_EQ(ids->nvme_namespace_id, 0u);
  const auto alone = ParseDeviceIds(MakeDeviceIds({eui(8)}));
  EXPECT_EQ(alone->page83, "e1e1e1e1e1e1e1e1");
  EXPECT_EQ(alone->eui, "e1e1e1e1e1e1e1e1");
  EXPECT_EQ(ParseDeviceIds(MakeDeviceIds({Binary(Bytes(8, 1))}))->eui, "") << "another type";
}

uint32_t NamespaceIn(const std::string& name,
                     IdentifierType type = IdentifierType::kScsiNameString) {
  DeviceIdentifier id = Ascii(name);
  id.code_set = CodeSet::kUtf8;
  id.type = type;
  return ParseDeviceIds(MakeDeviceIds({id}))->nvme_namespace_id;
}

TEST(DeviceIdsTest, ParseFindsTheNamespaceInTheNameOfAnOldNvmeDevice) {
  const std::string model = "1AF4" + std::string(40, 'M');
  const std::string serial(20, 'S');
  EXPECT_EQ(NamespaceIn(model + "0001" + serial), 1u);
  EXPECT_EQ(NamespaceIn(model + "00aF" + serial), 0xAFu);
  EXPECT_EQ(NamespaceIn(model + "0x1F" + serial), 0u);
  EXPECT_EQ(NamespaceIn(model + " 01 " + serial), 0u);
  EXPECT_EQ(NamespaceIn(model + "0001S" + serial), 0u) << "a name of another length";
  EXPECT_EQ(NamespaceIn(model + "0001" + serial, IdentifierType::kVendorId), 0u);
  // EC2's names have the fields in the reverse order.
  const std::string volume = "vol0aac41d8e2b7f5c93";
  const std::string ec2 = "Amazon Elastic Block Store              ";
  EXPECT_EQ(NamespaceIn(volume + "00aF" + ec2 + "1D0F"), 0xAFu);
  EXPECT_EQ(NamespaceIn(volume + "0x1F" + ec2 + "1D0F"), 0u);
  EXPECT_EQ(NamespaceIn(volume + "0001" + ec2 + "1D0G"), 0u) << "no vendor at either end";
}

TEST(ScsiAddressTest, ParseReadsAScsiAddress) {
  const Bytes answer = MakeScsiAddress({.port = 3, .path = 2, .target = 1, .lun = 61});
  EXPECT_EQ(MakeScsiAddress(ParseScsiAddress(answer).value()), answer);
  EXPECT_FALSE(ParseScsiAddress(Bytes(7)).ok());
}

TEST(DeviceIdsTest, AMalformedEndDoesNotInvalidateTheNameBeforeIt) {
  const Bytes whole = MakeDeviceIds({Ascii("name"), Binary({1, 2, 3, 4})});
  for (size_t size = 12 + 20; size < whole.size(); ++size) {
    const auto ids = ParseDeviceIds(Cut(whole, size));
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(ids->page83, "name");
  }
}

TEST(IsDirtyTest, ParseReadsOnlyTheDirtyFlag) {
  EXPECT_EQ(ParseIsDirty({1, 0, 0, 0}).value(), true);
  EXPECT_EQ(ParseIsDirty({0, 0, 0, 0}).value(), false);
  EXPECT_EQ(ParseIsDirty({0xFE, 0xFF, 0, 0}).value(), false) << "other flags";
  EXPECT_EQ(ParseIsDirty(MakeIsDirty(true)).value(), true);
  ExpectMalformed(ParseIsDirty({1, 0, 0}).status(), "FSCTL_IS_VOLUME_DIRTY");
}

TEST(Page83Test, ParseRefusesEveryTruncation) {
  const Bytes whole = TwoIdentifiers();
  for (size_t size = 0; size < whole.size(); ++size) {
    ExpectMalformed(ParsePage83(Cut(whole, size)).status(), "STORAGE_DEVICE_ID_DESCRIPTOR");
  }
  Bytes longer = whole;
  longer.resize(4096);
  EXPECT_EQ(ParsePage83(longer).value(), "600200a098000001") << "in a buffer that is larger";
}

TEST(Page83Test, ParseIgnoresTheSizeThatTheAnswerClaims) {
  for (const uint8_t size : {0, 1, 16, 0xFF}) {
    Bytes descriptor = TwoIdentifiers();
    descriptor[4] = descriptor[7] = size;
    EXPECT_EQ(ParsePage83(descriptor).value(), "600200a098000001");
  }
}

TEST(Page83Test, ParseRefusesAnIdentifierBeyondTheEnd) {
  for (const uint8_t size : {9, 0xFF}) {
    Bytes descriptor = TwoIdentifiers();
    descriptor[kSecond + 8] = size;
    ExpectMalformed(ParsePage83(descriptor).status(), "runs past the end");
  }
}

TEST(Page83Test, ParseRefusesWrongOffsets) {
  // NextOffset is unsigned, so it cannot point back. These values point into the same identifier.
  for (const uint8_t offset : {1, 15, 16, 19}) {
    Bytes descriptor = TwoIdentifiers();
    descriptor[12 + 10] = offset;
    ExpectMalformed(ParsePage83(descriptor).status(), "overlaps");
  }
  Bytes descriptor = TwoIdentifiers();
  descriptor[12 + 10] = 20 + 24;
  ExpectMalformed(ParsePage83(descriptor).status(), "runs past the end");
  descriptor[12 + 10] = 20 + 25;
  ExpectMalformed(ParsePage83(descriptor).status(), "past the end");
  descriptor[12 + 10] = descriptor[12 + 11] = 0xFF;
  ExpectMalformed(ParsePage83(descriptor).status(), "past the end");
}

TEST(Page83Test, ParseStopsAtAZeroOffset) {
  Bytes descriptor = TwoIdentifiers();
  descriptor[12 + 10] = 0;
  EXPECT_EQ(ParsePage83(descriptor).value(), "");
  descriptor = TwoIdentifiers();
  descriptor[kSecond] = 7;  // an unknown code set
  for (size_t i = 8; i < 12; ++i) descriptor[i] = 0xFF;
  EXPECT_EQ(ParsePage83(descriptor).value(), "");
}

TEST(Page83Test, ParseStopsAtTheCount) {
  Bytes descriptor = TwoIdentifiers();
  descriptor[8] = 1;
  descriptor[12 + 10] = 1;
  EXPECT_EQ(ParsePage83(descriptor).value(), "");
}

TEST(Page83Test, MakeDeviceIdsWritesTheDocumentedBytes) {
  const Bytes made = MakeDeviceIds({
      {.code_set = CodeSet::kAscii,
       .type = static_cast<IdentifierType>(8),
       .association = Association::kPort,
       .bytes = ToBytes("port")},
      Binary({0x60, 2, 0, 0xA0, 0x98, 0, 0, 1}),
  });
  EXPECT_EQ(made, TwoIdentifiers());
}

TEST(DeviceNumberTest, ParseReadsTheNumberAndRefusesTruncation) {
  const Bytes answer = {7, 0, 0, 0, 2, 1, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
  const DeviceNumber number = ParseDeviceNumber(answer).value();
  EXPECT_EQ(number.device_type, 7u);
  EXPECT_EQ(number.device_number, 0x102u);
  EXPECT_EQ(number.partition_number, 0xFFFFFFFFu);
  EXPECT_EQ(MakeDeviceNumber(number), answer);
  for (size_t size = 0; size < answer.size(); ++size) {
    ExpectMalformed(ParseDeviceNumber(Cut(answer, size)).status(), "STORAGE_DEVICE_NUMBER");
  }
}

TEST(LengthTest, ParseReadsALengthAndRefusesInvalidOnes) {
  const Bytes answer = {0, 0, 0, 0x40, 1, 0, 0, 0};
  EXPECT_EQ(ParseLength(answer).value(), 0x140000000u);
  EXPECT_EQ(MakeLength(0x140000000), answer);
  for (size_t size = 0; size < answer.size(); ++size) {
    ExpectMalformed(ParseLength(Cut(answer, size)).status(), "cut short");
  }
  EXPECT_EQ(ParseLength(MakeLength(INT64_MAX)).value(), uint64_t{INT64_MAX});
  ExpectMalformed(ParseLength(MakeLength(uint64_t{1} << 63)).status(), "negative");
  ExpectMalformed(ParseLength(MakeLength(UINT64_MAX)).status(), "negative");
}

TEST(DiskAttributesTest, ParseReadsEachAttribute) {
  for (const bool is_offline : {false, true}) {
    for (const bool is_read_only : {false, true}) {
      const DiskAttributes attributes =
          ParseDiskAttributes(
              MakeDiskAttributes({.is_offline = is_offline, .is_read_only = is_read_only}))
              .value();
      EXPECT_EQ(attributes.is_offline, is_offline);
      EXPECT_EQ(attributes.is_read_only, is_read_only);
    }
  }
  const Bytes answer = {16, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  EXPECT_FALSE(ParseDiskAttributes(answer)->is_offline) << "bits of later versions mean nothing";
  EXPECT_TRUE(ParseDiskAttributes(answer)->is_read_only);
  for (size_t size = 0; size < answer.size(); ++size) {
    ExpectMalformed(ParseDiskAttributes(Cut(answer, size)).status(), "GET_DISK_ATTRIBUTES");
  }
}

TEST(SetDiskAttributesTest, TheRequestClearsOnlyTheReadOnlyFlag) {
  EXPECT_EQ(ClearReadOnlyRequest(),
            Bytes({40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
                   0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const DiskAttributesChange change = ParseSetDiskAttributes(ClearReadOnlyRequest()).value();
  EXPECT_TRUE(change.persist);
  EXPECT_FALSE(change.attributes.is_read_only);
  EXPECT_FALSE(change.attributes.is_offline);
  EXPECT_TRUE(change.mask.is_read_only);
  EXPECT_FALSE(change.mask.is_offline);
}

TEST(SetDiskAttributesTest, TheParserOfTheDoubleRefusesMalformedRequests) {
  const Bytes request = ClearReadOnlyRequest();
  for (size_t size = 0; size < request.size(); ++size) {
    EXPECT_EQ(ParseSetDiskAttributes(Cut(request, size)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  // The bytes belong to Version, Persist, Reserved1, Attributes, AttributesMask and Reserved2.
  for (const size_t at : {0u, 4u, 5u, 7u, 8u, 15u, 16u, 24u, 39u}) {
    Bytes other = request;
    other[at] ^= 0x10;
    EXPECT_EQ(ParseSetDiskAttributes(other).status().code(), absl::StatusCode::kInvalidArgument)
        << at;
  }
}

TEST(PropertyQueryTest, TheParserOfTheDoubleReadsTheQuery) {
  const PropertyQuery query = ParsePropertyQuery(DeviceIdQuery()).value();
  EXPECT_EQ(query.property_id, 2u);
  EXPECT_EQ(query.query_type, 0u);
  for (size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(ParsePropertyQuery(Cut(DeviceIdQuery(), size)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

constexpr std::array<uint8_t, 16> kBasicDataType = {0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44,
                                                    0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7};
constexpr std::array<uint8_t, 16> kReservedType = {0x16, 0xE3, 0xC9, 0xE3, 0x5C, 0x0B, 0xB8, 0x4D,
                                                   0x81, 0x7D, 0xF9, 0x2D, 0xF0, 0x02, 0x15, 0xAE};

TEST(DriveLayoutTest, OnGptDisksOnlyVisibleBasicDataPartitionsHaveVolumes) {
  const Bytes answer = MakeDriveLayout(
      LayoutStyle::kGpt,
      {{.number = 1, .offset = 1 << 20, .length = 16 << 20, .gpt_type = kReservedType},
       {.number = 2, .offset = 17 << 20, .length = 1 << 30, .gpt_type = kBasicDataType},
       {.number = 3, .gpt_type = kBasicDataType, .gpt_attributes = 0x4000000000000000},
       // NO_DRIVE_LETTER, which does not hide a volume, and READ_ONLY.
       {.number = 4, .gpt_type = kBasicDataType, .gpt_attributes = 0x9000000000000000}});
  // sizeof(DRIVE_LAYOUT_INFORMATION_EX) is 192 bytes: a header of 48, and one entry of 144.
  EXPECT_EQ(answer.size(), 48u + 4 * 144u);
  const std::vector<PartitionEntry> partitions = ParseDriveLayout(answer).value();
  ASSERT_EQ(partitions.size(), 4u);
  const bool expected[] = {false, true, false, true};
  for (size_t i = 0; i < partitions.size(); ++i) {
    EXPECT_EQ(partitions[i].number, i + 1);
    EXPECT_EQ(partitions[i].holds_volume, expected[i]) << i;
    EXPECT_EQ(partitions[i].is_read_only, i == 3);
    EXPECT_EQ(partitions[i].is_reserved, i == 0);
  }
  EXPECT_EQ(partitions[1].offset, uint64_t{17} << 20);
  for (size_t size = 0; size < answer.size(); ++size) {
    ExpectMalformed(ParseDriveLayout(Cut(answer, size)).status(), "DRIVE_LAYOUT_INFORMATION_EX");
  }
}

TEST(DriveLayoutTest, OnMbrDisksUnusedEntriesAreSkipped) {
  const std::vector<PartitionEntry> partitions =
      ParseDriveLayout(MakeDriveLayout(LayoutStyle::kMbr,
                                       {{.number = 1, .mbr_type = 7, .mbr_recognised = true},
                                        {},
                                        {.number = 2, .mbr_type = 0x83},
                                        {.number = 0, .mbr_type = 0x0F, .mbr_recognised = true},
                                        {.number = 0, .mbr_type = 0x05, .mbr_recognised = true}}))
          .value();
  ASSERT_EQ(partitions.size(), 4u);
  EXPECT_TRUE(partitions[0].holds_volume);
  for (size_t i = 1; i < 4; ++i) EXPECT_FALSE(partitions[i].holds_volume) << i;
}

TEST(DriveLayoutTest, ARawDiskHasNoPartitions) {
  EXPECT_TRUE(ParseDriveLayout(MakeDriveLayout(LayoutStyle::kRaw, {{}})).value().empty());
  EXPECT_TRUE(ParseDriveLayout(MakeDriveLayout(LayoutStyle::kRaw, {})).value().empty());
}

TEST(DiskExtentsTest, ExtentsAreReturnedInTheOrderOfTheVolume) {
  const Bytes answer = {
      2, 0, 0, 0, 0xEE, 0xEE, 0xEE, 0xEE,  // padding
      3, 0, 0, 0, 0xEE, 0xEE, 0xEE, 0xEE, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,  //
      1, 0, 0, 0, 0,    0,    0,    0,    0, 2, 0,    0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
  };
  const std::vector<DiskExtent> extents = ParseDiskExtents(answer).value();
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_EQ(extents[0].disk_number, 3u);
  EXPECT_EQ(extents[0].offset, 0x100000u);
  EXPECT_EQ(extents[0].length, uint64_t{1} << 32);
  EXPECT_EQ(extents[1].disk_number, 1u);
  EXPECT_EQ(extents[1].offset, 0x200u);
  EXPECT_EQ(extents[1].length, 5u);
  EXPECT_EQ(MakeDiskExtents(extents).size(), answer.size());
  for (size_t size = 0; size < answer.size(); ++size) {
    ExpectMalformed(ParseDiskExtents(Cut(answer, size)).status(), "VOLUME_DISK_EXTENTS");
  }
}

TEST(DiskExtentsTest, ParseRefusesWrongCounts) {
  ExpectMalformed(ParseDiskExtents(MakeDiskExtents({})).status(), "on no disk");
  Bytes answer = MakeDiskExtents({{.disk_number = 1, .offset = 2, .length = 3}});
  answer[0] = 2;
  ExpectMalformed(ParseDiskExtents(answer).status(), "it holds 1 extents instead of 2");
  answer[0] = answer[1] = answer[2] = answer[3] = 0xFF;
  ExpectMalformed(ParseDiskExtents(answer).status(), "it holds 1 extents instead of 4294967295");
}

TEST(DiskExtentsTest, ParseRefusesNegativeNumbers) {
  constexpr uint64_t kNegative = uint64_t{1} << 63;
  for (const DiskExtent& extent :
       {DiskExtent{.disk_number = 0, .offset = kNegative, .length = 1},
        DiskExtent{.disk_number = 0, .offset = 0, .length = UINT64_MAX}}) {
    ExpectMalformed(ParseDiskExtents(MakeDiskExtents({extent})).status(), "negative");
  }
}

}  // namespace
}  // namespace csi_proxy::machine
