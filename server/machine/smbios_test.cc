#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/machine/layouts.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::machine {
namespace {

using ::testing::HasSubstr;

// Returns RawSMBIOSData of `structures`.
Bytes Table(const std::vector<Bytes>& structures) {
  Bytes table;
  for (const Bytes& one : structures) table.insert(table.end(), one.begin(), one.end());
  Bytes data = {0, 3, 2, 0, static_cast<uint8_t>(table.size()), 0, 0, 0};
  data.insert(data.end(), table.begin(), table.end());
  return data;
}

// Returns a structure: header, fields, and strings with all their NULs.
Bytes Structure(uint8_t type, Bytes fields, absl::string_view strings) {
  Bytes structure = {type, static_cast<uint8_t>(4 + fields.size()), 0, 0};
  structure.insert(structure.end(), fields.begin(), fields.end());
  structure.insert(structure.end(), strings.begin(), strings.end());
  return structure;
}

constexpr absl::string_view kNoStrings("\0\0", 2);
Bytes EndOfTable() { return Structure(127, {}, kNoStrings); }

void ExpectMalformed(const Bytes& data, absl::string_view how) {
  const absl::Status status = ParseSystemSerialNumber(data).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(how)));
}

TEST(SmbiosTest, ParseReturnsTheSerialNumberOfTheSystemStructure) {
  const Bytes bios = Structure(0, {1, 0, 0, 0, 0}, {"Vendor\0\0", 8});
  EXPECT_EQ(
      ParseSystemSerialNumber(
          Table({bios, Structure(1, {1, 2, 0, 3}, {"A\0B\0VMware-42 1d\0\0", 18}), EndOfTable()}))
          .value(),
      "VMware-42 1d");
  EXPECT_EQ(ParseSystemSerialNumber(
                Table({Structure(1, {0, 0, 0, 1, 9, 9}, {"S1\0\0", 4}), EndOfTable()}))
                .value(),
            "S1");
  EXPECT_EQ(ParseSystemSerialNumber(Table({Structure(1, {0, 0, 0, 1}, {"first\0\0", 7}),
                                           Structure(1, {0, 0, 0, 1}, {"second\0\0", 8})}))
                .value(),
            "first");
}

TEST(SmbiosTest, ParseReadsATableOfMakeSmbiosTable) {
  EXPECT_EQ(ParseSystemSerialNumber(MakeSmbiosTable("VMware-42 1d a3")).value(), "VMware-42 1d a3");
  EXPECT_EQ(ParseSystemSerialNumber(MakeSmbiosTable("")).value(), "");
}

TEST(SmbiosTest, TheSerialNumberIsEmptyIfTheStructureHasNone) {
  EXPECT_EQ(ParseSystemSerialNumber(Table({Structure(1, {0, 0, 0, 0}, kNoStrings)})).value(), "");
  EXPECT_EQ(ParseSystemSerialNumber(Table({Structure(1, {1, 0, 0, 0}, {"Maker\0\0", 7})})).value(),
            "");
}

TEST(SmbiosTest, InvalidUtf8IsReplaced) {
  EXPECT_EQ(
      ParseSystemSerialNumber(Table({Structure(1, {0, 0, 0, 1}, {"a\xFF\xC3\0\0", 5})})).value(),
      "a\uFFFD\uFFFD");
  EXPECT_EQ(
      ParseSystemSerialNumber(Table({Structure(1, {0, 0, 0, 1}, {"\xC3\xA9\0\0", 4})})).value(),
      "\u00E9");
}

TEST(SmbiosTest, ATableWithoutASystemStructureIsNotFound) {
  for (const Bytes& data :
       {Table({}), Table({EndOfTable()}), Table({Structure(2, {1}, {"x\0\0", 3})}),
        Table({EndOfTable(), Structure(1, {0, 0, 0, 1}, {"late\0\0", 6})})}) {
    EXPECT_EQ(ParseSystemSerialNumber(data).status().code(), absl::StatusCode::kNotFound);
  }
}

TEST(SmbiosTest, ParseRefusesEveryTruncation) {
  const Bytes whole = MakeSmbiosTable("serial");
  for (size_t size = 0; size < whole.size(); ++size) {
    ExpectMalformed(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)),
                    "cut short");
  }
  // The data is cut, and the length field is lowered to match.
  const Bytes one = Table({Structure(1, {0, 0, 0, 1}, {"serial\0\0", 8})});
  for (size_t size = 9; size < one.size(); ++size) {
    Bytes cut(one.begin(), one.begin() + static_cast<ptrdiff_t>(size));
    cut[4] = static_cast<uint8_t>(size - 8);
    ExpectMalformed(cut, "malformed SMBIOS table");
  }
}

TEST(SmbiosTest, ParseReadsNoByteBeyondTheTablesLength) {
  Bytes data = Table({Structure(2, {}, kNoStrings), Structure(1, {0, 0, 0, 1}, {"x\0\0", 3})});
  data[4] = 6;
  EXPECT_EQ(ParseSystemSerialNumber(data).status().code(), absl::StatusCode::kNotFound);
  data[5] = 1;
  ExpectMalformed(data, "cut short");
  data[7] = 0xFF;
  ExpectMalformed(data, "cut short");
}

TEST(SmbiosTest, ParseRefusesWrongLengths) {
  for (const uint8_t length : {0, 3, 200, 255}) {
    Bytes data = Table({Structure(2, {1, 2}, kNoStrings), EndOfTable()});
    data[9] = length;
    ExpectMalformed(data, "a structure runs past the end");
  }
  for (const Bytes& fields : {Bytes{}, Bytes{1}, Bytes{1, 2, 0}}) {
    ExpectMalformed(Table({Structure(1, fields, {"a\0b\0\0", 5})}), "is cut short");
  }
}

TEST(SmbiosTest, ParseRefusesUnterminatedStrings) {
  ExpectMalformed(Table({Structure(1, {0, 0, 0, 1}, "serial")}), "do not end");
  ExpectMalformed(Table({Structure(1, {0, 0, 0, 1}, {"serial\0", 7})}), "do not end");
  ExpectMalformed(Table({Structure(1, {0, 0, 0, 1}, "")}), "do not end");
}

TEST(SmbiosTest, ParseRefusesTheNumberOfAMissingString) {
  ExpectMalformed(Table({Structure(1, {0, 0, 0, 1}, kNoStrings)}), "string 1 of 0");
  ExpectMalformed(Table({Structure(1, {0, 0, 0, 3}, {"a\0b\0\0", 5})}), "string 3 of 2");
  ExpectMalformed(Table({Structure(1, {0, 0, 0, 255}, {"a\0b\0\0", 5})}), "string 255 of 2");
}

}  // namespace
}  // namespace csi_proxy::machine
