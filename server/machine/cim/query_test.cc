#include "server/machine/cim/query.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace csi_proxy::cim {
namespace {

// A word or a sign, or the content of a literal.
struct Token {
  bool is_literal = false;
  std::string text;
  friend bool operator==(const Token&, const Token&) = default;
};

// Reads WQL as documented (learn.microsoft.com/windows/win32/wmisdk/where-clause). A literal stands
// in single or double quotes. In a literal, a backslash makes the next character literal. Returns
// nullopt if a literal does not end.
std::optional<std::vector<Token>> Tokenize(const std::string& wql) {
  std::vector<Token> tokens;
  size_t i = 0;
  while (i < wql.size()) {
    const char c = wql[i];
    if (c == ' ') {
      ++i;
    } else if (c == '\'' || c == '"') {
      Token token{true, ""};
      for (++i; i < wql.size() && wql[i] != c; ++i) {
        if (wql[i] == '\\' && ++i == wql.size()) return std::nullopt;
        token.text.push_back(wql[i]);
      }
      if (i++ == wql.size()) return std::nullopt;
      tokens.push_back(token);
    } else {
      Token token;
      while (i < wql.size() && wql[i] != ' ' && wql[i] != '\'' && wql[i] != '"') {
        token.text.push_back(wql[i++]);
      }
      tokens.push_back(token);
    }
  }
  return tokens;
}

void ExpectOneLiteral(const std::string& text) {
  const std::string literal = WqlLiteral(Value::String(text));
  const auto tokens = Tokenize(literal);
  ASSERT_TRUE(tokens.has_value()) << literal.substr(0, 200);
  EXPECT_EQ(*tokens, std::vector<Token>({{true, text}}));
  // The literal must not change the rest of the query.
  const std::string wql =
      Query("C").Where("P", Value::String(text)).Where("Q", Value::Uint32(1)).ToWql();
  const auto all = Tokenize(wql);
  ASSERT_TRUE(all.has_value()) << wql.substr(0, 200);
  EXPECT_EQ(*all, std::vector<Token>({{false, "SELECT"},
                                      {false, "*"},
                                      {false, "FROM"},
                                      {false, "C"},
                                      {false, "WHERE"},
                                      {false, "P"},
                                      {false, "="},
                                      {true, text},
                                      {false, "AND"},
                                      {false, "Q"},
                                      {false, "="},
                                      {false, "1"}}));
}

TEST(WqlLiteralTest, HostileTextStaysOneLiteral) {
  for (
      const char* const text : {
          "",
          "plain",
          "'",
          "\"",
          "\\",
          "''",
          "\\'",
          "'\\",
          "\\\\",
          "\\\\'",
          "' OR ''='",
          "' OR 1=1 --",
          "x' OR Name LIKE '%",
          "x\\' OR Name LIKE '%",
          "x\" OR Name <> \"",
          "NULL",
          "TRUE AND FALSE",
          "ASSOCIATORS OF {x} WHERE ClassDefsOnly",
          "SELECT * FROM Win32_Process",
          "} WHERE AssocClass = X",
          "%_[a-z]",
          "line\r\nline\ttab",
          R"(\\server\share\)",
          R"({1}\\HOST\root/Microsoft/Windows/Storage:MSFT_Volume.ObjectId="{a}:VO:\\?\Volume{b}\")",
          "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x92\xBE",
          "\xEF\xBC\x87 \xE2\x80\x98 \xCA\xBC",
      }) {
    ExpectOneLiteral(text);
  }
  ExpectOneLiteral(std::string("a\0' OR 1=1", 10));
  ExpectOneLiteral(std::string(65536, '\''));
  ExpectOneLiteral(std::string(65536, '\\'));
  ExpectOneLiteral(std::string(65536, 'x'));
}

TEST(WqlLiteralTest, RandomTextStaysOneLiteral) {
  std::mt19937 random(7);
  constexpr char kAlphabet[] = "'\"\\ax=%{} \n";
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = kAlphabet[random() % (sizeof(kAlphabet) - 1)];
    ExpectOneLiteral(text);
  }
}

TEST(WqlLiteralTest, EachTypeHasItsLiteral) {
  EXPECT_EQ(WqlLiteral(Value::Boolean(true)), "TRUE");
  EXPECT_EQ(WqlLiteral(Value::Boolean(false)), "FALSE");
  EXPECT_EQ(WqlLiteral(Value::Unsigned(Type::kUint8, 255)), "255");
  EXPECT_EQ(WqlLiteral(Value::Uint16(3260)), "3260");
  EXPECT_EQ(WqlLiteral(Value::Uint32(~0u)), "4294967295");
  EXPECT_EQ(WqlLiteral(Value::Uint64(~uint64_t{0})), "18446744073709551615");
  EXPECT_EQ(WqlLiteral(Value::Signed(Type::kSint64, std::numeric_limits<int64_t>::min())),
            "-9223372036854775808");
  EXPECT_EQ(WqlLiteral(Value::Signed(Type::kSint8, -1)), "-1");
  EXPECT_EQ(WqlLiteral(Value::Real(Type::kReal64, 1.5)), "1.5");
  EXPECT_EQ(WqlLiteral(Value::String("it's")), R"('it\'s')");
  EXPECT_EQ(WqlLiteral(Value::Text(Type::kDatetime, "2026")), "'2026'");
  EXPECT_EQ(WqlLiteral(Value::Text(Type::kReference, R"(A.B="c")")), R"('A.B=\"c\"')");
}

// WQL compares a char16 with quoted text. 0, WMI's value for no drive letter, becomes an empty
// literal.
TEST(WqlLiteralTest, CharactersAreQuotedAndNulBecomesAnEmptyLiteral) {
  EXPECT_EQ(WqlLiteral(Value::Char16(u'D')), "'D'");
  EXPECT_EQ(WqlLiteral(Value::Char16(u'd')), "'d'");
  EXPECT_EQ(WqlLiteral(Value::Char16(u'\'')), R"('\'')");
  EXPECT_EQ(WqlLiteral(Value::Char16(u'\\')), R"('\\')");
  EXPECT_EQ(WqlLiteral(Value::Char16(u'\u20AC')), "'\xE2\x82\xAC'");
  EXPECT_EQ(WqlLiteral(Value::Char16(0)), "''");
}

TEST(WqlLiteralTest, ValuesWithoutALiteralBecomeNull) {
  EXPECT_EQ(WqlLiteral(Value()), "NULL");
  EXPECT_EQ(WqlLiteral(Value::Null(Type::kUint32)), "NULL");
  EXPECT_EQ(WqlLiteral(Value::Array(Type::kString, {Value::String("x")})), "NULL");
  EXPECT_EQ(WqlLiteral(Value::Embedded(Object())), "NULL");
}

TEST(QueryTest, ConditionsAreJoinedByAnd) {
  EXPECT_EQ(Query("MSFT_Disk").ToWql(), "SELECT * FROM MSFT_Disk");
  Query query("MSFT_Partition");
  query.Where("DiskNumber", Value::Uint32(1));
  EXPECT_EQ(query.ToWql(), "SELECT * FROM MSFT_Partition WHERE DiskNumber = 1");
  query.Where("IsHidden", Value::Boolean(false)).Where("GptType", Value::String("{a}"));
  EXPECT_EQ(query.ToWql(),
            "SELECT * FROM MSFT_Partition WHERE DiskNumber = 1 AND IsHidden = FALSE AND GptType = "
            "'{a}'");
}

TEST(AssociationTest, AnAssociationNamesClassesAndRoles) {
  constexpr Association kPartitions = {"MSFT_PartitionToVolume", "MSFT_Partition", "Partition",
                                       "Volume"};
  EXPECT_EQ(kPartitions.ToWql(R"(MSFT_Volume.ObjectId="{1}\\\\H:VO:\\\\?\\Volume{a}\\")"),
            R"(ASSOCIATORS OF {MSFT_Volume.ObjectId="{1}\\\\H:VO:\\\\?\\Volume{a}\\"} )"
            "WHERE AssocClass = MSFT_PartitionToVolume ResultClass = MSFT_Partition "
            "ResultRole = Partition Role = Volume");
}

}  // namespace
}  // namespace csi_proxy::cim
