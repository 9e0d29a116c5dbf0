#include "server/simulator/wmi/wql.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::SizeIs;

absl::StatusOr<Statement> Parse(absl::string_view wql, cim::Namespace space = kStorage) {
  return ParseWql(space, wql);
}

Select Selected(absl::string_view wql) {
  const absl::StatusOr<Statement> statement = Parse(wql);
  EXPECT_THAT(statement, IsOk()) << wql;
  const Select* select = statement.ok() ? std::get_if<Select>(&*statement) : nullptr;
  EXPECT_NE(select, nullptr) << wql;
  return select == nullptr ? Select() : *select;
}

// Returns the value in a query's only condition.
Value Literal(absl::string_view wql) {
  const Select select = Selected(wql);
  EXPECT_THAT(select.where, SizeIs(1)) << wql;
  return select.where.size() == 1 ? select.where.front().value : Value();
}

TEST(WqlTest, AStarSelectsAllProperties) {
  const Select select = Selected("SELECT * FROM MSFT_Disk");
  EXPECT_STREQ(select.of->name, "MSFT_Disk");
  EXPECT_FALSE(select.columns.has_value());
  EXPECT_TRUE(select.where.empty());
}

TEST(WqlTest, WqlIgnoresCaseAndSpace) {
  const Select select =
      Selected("\t select number ,path\r\n from msft_disk where NUMBER=1 and ISOFFLINE = true ");
  ASSERT_TRUE(select.columns.has_value());
  ASSERT_THAT(*select.columns, SizeIs(2));
  EXPECT_STREQ(select.columns->back()->name, "Path");
  ASSERT_THAT(select.where, SizeIs(2));
  EXPECT_EQ(select.where[0].value, Value::Uint32(1));
  EXPECT_EQ(select.where[1].value, Value::Boolean(true));
}

TEST(WqlTest, SystemPropertiesAreNotReturnedAsColumns) {
  const Select select = Selected("SELECT __RELPATH, Number FROM MSFT_Disk");
  ASSERT_THAT(*select.columns, SizeIs(1));
  EXPECT_TRUE(Selected("SELECT __RELPATH FROM MSFT_Disk").columns->empty());
}

TEST(WqlTest, LiteralsHaveTheTypeOfTheProperty) {
  EXPECT_EQ(Literal("SELECT * FROM MSFT_Partition WHERE Size = 18446744073709551615"),
            Value::Uint64(18446744073709551615U));
  EXPECT_EQ(Literal("SELECT * FROM MSFT_Partition WHERE DriveLetter = 'C'"), Value::Char16('C'));
  EXPECT_EQ(Literal("SELECT * FROM MSFT_iSCSITargetPortal WHERE TargetPortalPortNumber = 65535"),
            Value::Uint16(65535));
  EXPECT_EQ(Literal("SELECT * FROM MSFT_Disk WHERE IsOffline = FALSE"), Value::Boolean(false));
  EXPECT_EQ(Literal("SELECT * FROM MSFT_Disk WHERE Path = \"it's\""), Value::String("it's"));
}

TEST(WqlTest, NumbersMayBeQuoted) {
  EXPECT_EQ(Literal("SELECT * FROM MSFT_Disk WHERE Number = '1'"), Value::Uint32(1));
  EXPECT_EQ(Literal("SELECT * FROM MSFT_iSCSITargetPortal WHERE TargetPortalPortNumber = '3260'"),
            Value::Uint16(3260));
}

TEST(WqlTest, ConditionsMayUseNotEqual) {
  const Select select =
      Selected("SELECT * FROM MSFT_Partition WHERE DiskNumber = '1' AND GptType <> '{e3c9e316}'");
  ASSERT_THAT(select.where, SizeIs(2));
  EXPECT_TRUE(select.where[0].is_equal);
  EXPECT_FALSE(select.where[1].is_equal);
  const auto matches = [&](const Value& type) {
    return Matches(select.where[1], cim::Object("MSFT_Partition", "", {{"GptType", type}}));
  };
  EXPECT_FALSE(matches(Value::String("{E3C9E316}"))) << "text has no case";
  EXPECT_TRUE(matches(Value::String("{ebd0a0a2}")));
  EXPECT_FALSE(matches(Value::Null(cim::Type::kString)));
}

TEST(WqlTest, ABackslashEscapesSpecialCharacters) {
  EXPECT_EQ(Literal(R"(SELECT * FROM MSFT_Disk WHERE Path = '\\\\?\\a \'b\' \"c\"')"),
            Value::String(R"(\\?\a 'b' "c")"));
}

TEST(WqlTest, MalformedLiteralsAreRefused) {
  for (const char* wql : {
           // Doubled quotes belong to SQL.
           R"(SELECT * FROM MSFT_Disk WHERE Path = 'it''s')",
           R"(SELECT * FROM MSFT_Disk WHERE Path = "a""b")",
           // The text has a backslash that escapes nothing, or a backslash that escapes the end.
           R"(SELECT * FROM MSFT_Disk WHERE Path = 'C:\temp')",
           R"(SELECT * FROM MSFT_Disk WHERE Path = 'C:\')",
           R"(SELECT * FROM MSFT_Disk WHERE Path = 'C:)",
           R"(SELECT * FROM MSFT_Disk WHERE Path = x)",
           // The value has another type, or is out of its range.
           R"(SELECT * FROM MSFT_Disk WHERE Path = 1)",
           R"(SELECT * FROM MSFT_Disk WHERE Number = '1)",
           R"(SELECT * FROM MSFT_Disk WHERE Number = '')",
           R"(SELECT * FROM MSFT_Disk WHERE Number = '1a')",
           R"(SELECT * FROM MSFT_Disk WHERE Number = "1")",
           R"(SELECT * FROM MSFT_Disk WHERE Number = -1)",
           R"(SELECT * FROM MSFT_Disk WHERE Number = 0x1)",
           R"(SELECT * FROM MSFT_Disk WHERE Number = 4294967296)",
           R"(SELECT * FROM MSFT_Disk WHERE Number = TRUE)",
           R"(SELECT * FROM MSFT_Disk WHERE Size = 18446744073709551616)",
           R"(SELECT * FROM MSFT_Disk WHERE IsOffline = 1)",
           R"(SELECT * FROM MSFT_Disk WHERE IsOffline = 'TRUE')",
           R"(SELECT * FROM MSFT_Partition WHERE DriveLetter = 'CD')",
           R"(SELECT * FROM MSFT_Partition WHERE DriveLetter = '')",
           R"(SELECT * FROM MSFT_Partition WHERE DriveLetter = 67)",
           R"(SELECT * FROM MSFT_Disk WHERE Path = NULL)",
       }) {
    EXPECT_THAT(Parse(wql), FailsWithHresult(cim::hresult::kInvalidQuery)) << wql;
  }
}

TEST(WqlTest, MalformedQueriesAreRefused) {
  for (const char* wql : {
           "",
           "SELECT",
           "SELECT *",
           "SELECT * FROM",
           "SELECT FROM MSFT_Disk",
           "SELECT Number Path FROM MSFT_Disk",
           "SELECT Number, FROM MSFT_Disk",
           "SELECT * MSFT_Disk",
           "SELECT * FROM MSFT_Disk WHERE",
           "SELECT * FROM MSFT_Disk WHERE Number",
           "SELECT * FROM MSFT_Disk WHERE Number =",
           "SELECT * FROM MSFT_Disk WHERE Number = 1 AND",
           "SELECT * FROM MSFT_Disk Number = 1",
           "SELECT * FROM MSFT_Disk WHERE Number = 1 OR Number = 2",
           "SELECT * FROM MSFT_Disk WHERE Number < 1",
           "SELECT * FROM MSFT_Disk WHERE Number <>",
           "SELECT * FROM MSFT_Disk WHERE Number = 1;",
           "SELECT * FROM MSFT_Disk, MSFT_Volume",
           "UPDATE MSFT_Disk",
           "DELETE FROM MSFT_Disk",
           // The properties do not exist, or cannot be compared.
           "SELECT Letter FROM MSFT_Disk",
           "SELECT * FROM MSFT_Disk WHERE Letter = 'C'",
           "SELECT * FROM MSFT_Partition WHERE AccessPaths = 'C:'",
       }) {
    EXPECT_THAT(Parse(wql), FailsWithHresult(cim::hresult::kInvalidQuery)) << wql;
  }
}

TEST(WqlTest, ClassesOfOtherNamespacesAreUnknown) {
  EXPECT_THAT(Parse("SELECT * FROM MSFT_Nothing"), FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(Parse("SELECT * FROM Win32_BIOS"), FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(Parse("SELECT * FROM Win32_BIOS", kCimV2), IsOk());
}

TEST(WqlTest, ErrorsDoNotQuoteTheQuery) {
  const std::string secret = "hunter2";
  EXPECT_EQ(std::string(Parse("SELECT * FROM MSFT_Disk WHERE Path = '" + secret).status().message())
                .find(secret),
            std::string::npos);
}

constexpr cim::Association kVolumes = {"MSFT_PartitionToVolume", "MSFT_Volume", "Volume",
                                       "Partition"};

TEST(WqlTest, AssociatorsParsesAPathWithSpecialCharacters) {
  // The path contains every special character: braces, quotes, backslashes, spaces.
  const std::string path =
      MakePath(*FindClass(kStorage, "MSFT_Partition"),
               {{"ObjectId", Value::String(R"({1}\\H\root.ObjectId="{a} WHERE }:\\?\\"')")}});
  const absl::StatusOr<Statement> statement = Parse(kVolumes.ToWql(path));
  ASSERT_THAT(statement, IsOk());
  const auto& associators = std::get<AssociatorsOf>(*statement);
  EXPECT_EQ(associators.of.instance, path);
  EXPECT_STREQ(associators.association->name, "MSFT_PartitionToVolume");
  EXPECT_STREQ(associators.result->name, "MSFT_Volume");
  EXPECT_STREQ(associators.result_role->name, "Volume");
  EXPECT_STREQ(associators.role->name, "Partition");
}

TEST(WqlTest, TheClausesOfAssociatorsMayBeInAnyOrder) {
  EXPECT_THAT(Parse("associators of {MSFT_Partition.ObjectId=\"x\"} where role=Partition "
                    "ResultRole = Volume AssocClass=MSFT_PartitionToVolume ResultClass "
                    "= MSFT_Volume"),
              IsOk());
}

TEST(WqlTest, MalformedAssociatorsAreRefused) {
  const std::string path = "MSFT_Partition.ObjectId=\"x\"";
  const std::string good = kVolumes.ToWql(path);
  ASSERT_THAT(Parse(good), IsOk());
  const std::string clauses = good.substr(good.find('}'));
  for (const std::string& wql : {
           // Each clause must come exactly once, with no other words.
           "ASSOCIATORS OF {" + path + "}",
           "ASSOCIATORS OF {" + path + "} WHERE",
           "ASSOCIATORS OF {" + path + "} WHERE ResultClass = MSFT_Volume",
           good + " Role = Partition",
           good + " KeysOnly",
           "ASSOCIATORS OF {" + path +
               "} WHERE AssocClass = MSFT_PartitionToVolume AND ResultClass = MSFT_Volume AND "
               "ResultRole = Volume AND Role = Partition",
           absl::StrCat("ASSOCIATORS {", path, clauses),
           absl::StrCat("ASSOCIATORS OF ", path, clauses),
           "ASSOCIATORS OF {" + path + " WHERE",
           "ASSOCIATORS OF {MSFT_Partition" + clauses,
           // The roles belong to the other side or another class, or are missing.
           cim::Association{"MSFT_PartitionToVolume", "MSFT_Volume", "Partition", "Volume"}.ToWql(
               path),
           kVolumes.ToWql("MSFT_Disk.ObjectId=\"x\""),
           cim::Association{"MSFT_PartitionToVolume", "MSFT_Volume", "Volumes", "Partition"}.ToWql(
               path),
           cim::Association{"MSFT_Disk", "MSFT_Volume", "Volume", "Partition"}.ToWql(path),
       }) {
    EXPECT_THAT(Parse(wql), FailsWithHresult(cim::hresult::kInvalidQuery)) << wql;
  }
  EXPECT_THAT(Parse(cim::Association{"MSFT_X", "MSFT_Volume", "Volume", "Partition"}.ToWql(path)),
              FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(Parse(kVolumes.ToWql("MSFT_X.ObjectId=\"x\"")),
              FailsWithHresult(cim::hresult::kInvalidClass));
  EXPECT_THAT(Parse(kVolumes.ToWql("MSFT_Partition.Size=1")),
              FailsWithHresult(cim::hresult::kInvalidObjectPath));
}

TEST(WqlTest, MatchesComparesTextIgnoringCase) {
  const cim::Object disk("MSFT_Disk", "",
                         {{"Path", Value::String("\\\\?\\A")},
                          {"Number", Value::Uint32(7)},
                          {"SerialNumber", Value::Null(cim::Type::kString)}});
  const auto matches = [&](const cim::Query& query) {
    return Matches(Selected(query.ToWql()).where.front(), disk);
  };
  EXPECT_TRUE(matches(Query("MSFT_Disk").Where("Path", Value::String("\\\\?\\a"))));
  EXPECT_FALSE(matches(Query("MSFT_Disk").Where("Path", Value::String("\\\\?\\ab"))));
  EXPECT_TRUE(matches(Query("MSFT_Disk").Where("Number", Value::Uint32(7))));
  EXPECT_FALSE(matches(Query("MSFT_Disk").Where("Number", Value::Uint32(8))));
  // Null equals nothing, not even an empty text.
  EXPECT_FALSE(matches(Query("MSFT_Disk").Where("SerialNumber", Value::String(""))));
}

TEST(WqlTest, Char16IsComparedCaseSensitively) {
  const cim::Object partition("MSFT_Partition", "", {{"DriveLetter", Value::Char16('C')}});
  const auto matches = [&](absl::string_view wql) {
    return Matches(Selected(wql).where.front(), partition);
  };
  EXPECT_TRUE(matches("SELECT * FROM MSFT_Partition WHERE DriveLetter = 'C'"));
  EXPECT_FALSE(matches("SELECT * FROM MSFT_Partition WHERE DriveLetter = 'c'"));
}

TEST(ObjectPathTest, ParsePathReadsThePathsOfMakePath) {
  const Class& bios = *FindClass(kCimV2, "Win32_BIOS");
  const cim::Properties keys = {{"Name", Value::String(R"(a "b" \c\)")},
                                {"SoftwareElementID", Value::String("")},
                                {"SoftwareElementState", Value::Uint16(3)},
                                {"TargetOperatingSystem", Value::Uint16(0)}};
  const std::string text = MakePath(bios, keys);
  EXPECT_EQ(text, R"(Win32_BIOS.Name="a \"b\" \\c\\",SoftwareElementID="",SoftwareElementState=3,)"
                  R"(TargetOperatingSystem=0)");
  const absl::StatusOr<ObjectPath> path = ParsePath(kCimV2, text);
  ASSERT_THAT(path, IsOk());
  EXPECT_EQ(path->of, &bios);
  EXPECT_EQ(path->instance, text);
  // Keys may be in any order and case.
  const auto other =
      ParsePath(kCimV2, R"(win32_bios.TARGETOPERATINGSYSTEM=0,SoftwareElementState=3,)"
                        R"(SoftwareElementID="",Name="a \"b\" \\c\\")");
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->instance, text);
}

TEST(ObjectPathTest, APathOfAClassHasNoInstance) {
  const auto path = ParsePath(kStorage, "MSFT_iSCSITarget");
  ASSERT_THAT(path, IsOk());
  EXPECT_TRUE(path->instance.empty());
}

TEST(ObjectPathTest, MalformedPathsAreRefused) {
  for (const char* text :
       {"", ".", "MSFT_Disk.", "MSFT_Disk.ObjectId", "MSFT_Disk.ObjectId=", "MSFT_Disk.ObjectId=1",
        "MSFT_Disk.ObjectId=\"x", "MSFT_Disk.ObjectId=\"x\"y", "MSFT_Disk.ObjectId=\"x\",",
        "MSFT_Disk.ObjectId=\"x\",ObjectId=\"x\"", "MSFT_Disk.Number=1", "MSFT_Disk=\"x\"",
        "MSFT_Disk.ObjectId=\"x\" ", " MSFT_Disk", "MSFT_Disk.ObjectId=\"a\\b\"",
        "MSFT_Disk.ObjectId=\"a\"b\"", "\\\\.\\root:MSFT_Disk",
        "MSFT_PartitionToVolume.Volume=\"x\""}) {
    EXPECT_THAT(ParsePath(kStorage, text), FailsWithHresult(cim::hresult::kInvalidObjectPath))
        << text;
  }
  EXPECT_THAT(ParsePath(kStorage, "MSFT_X.ObjectId=\"x\""),
              FailsWithHresult(cim::hresult::kInvalidClass));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
