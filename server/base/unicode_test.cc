#include "server/base/unicode.h"

#include <utility>

#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

TEST(UnicodeTest, EveryCodePointComesBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(c, &text);
    absl::string_view rest = text;
    char32_t back = 0;
    ASSERT_TRUE(ConsumeCodePoint(&rest, &back)) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(back, c);
    ASSERT_TRUE(rest.empty());
  }
}

TEST(UnicodeTest, RefusesWhatIsNoUtf8) {
  for (const char* text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xC3(", "\xFF"}) {
    EXPECT_EQ(Utf16Length(text), -1) << text;
  }
}

TEST(UnicodeTest, CountsUtf16Units) {
  EXPECT_EQ(Utf16Length(""), 0);
  EXPECT_EQ(Utf16Length("aé文"), 3);
  EXPECT_EQ(Utf16Length("😀"), 2);
}

TEST(UnicodeTest, UpperCaseIsStable) {
  for (char32_t c = 0; c < 0x20000; ++c) ASSERT_EQ(UpperCase(UpperCase(c)), UpperCase(c)) << +c;
  EXPECT_EQ(UpperCase(U'ÿ'), U'Ÿ');
  EXPECT_EQ(UpperCase(U'я'), U'Я');
  const std::pair<char32_t, char32_t> single[] = {
      {U'ς', U'Σ'}, {U'ά', U'Ά'}, {U'ό', U'Ό'}, {U'ύ', U'Ύ'}, {U'ώ', U'Ώ'}};
  for (const auto& [lower, upper] : single) EXPECT_EQ(UpperCase(lower), upper) << +lower;
  EXPECT_EQ(UpperCase(U'÷'), U'÷');
  EXPECT_EQ(UpperCase(U'ı'), U'ı') << "as NTFS has it";
}

TEST(UnicodeTest, EveryCodePointComesBackFromUtf16) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(c, &text);
    const std::vector<uint8_t> bytes = ToUtf16Le(text);
    ASSERT_EQ(bytes.size(), 2 * static_cast<size_t>(Utf16Length(text)));
    ASSERT_EQ(FromUtf16Le(bytes), text);
  }
}

TEST(UnicodeTest, WritesUtf16LeastSignificantByteFirst) {
  EXPECT_EQ(ToUtf16Le("a文😀"), std::vector<uint8_t>({0x61, 0, 0x87, 0x65, 0x3D, 0xD8, 0x00, 0xDE}));
  EXPECT_EQ(ToUtf16Le(""), std::vector<uint8_t>());
}

TEST(UnicodeTest, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(ReplaceInvalidUtf8("é文😀"), "é文😀");
  EXPECT_EQ(ReplaceInvalidUtf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE2\x82"), "\uFFFD\uFFFD");
  EXPECT_EQ(ToUtf16Le("\xFFz"), std::vector<uint8_t>({0xFD, 0xFF, 'z', 0}));
}

TEST(UnicodeTest, RefusesWhatIsNoUtf16) {
  const std::vector<uint8_t> kNone[] = {
      {0x61},                          // half a unit
      {0x61, 0, 0x62},                 //
      {0x00, 0xD8},                    // a high surrogate at the end
      {0xFF, 0xDB, 0x61, 0},           // before a letter
      {0x00, 0xD8, 0x00, 0xD8},        // before another
      {0x00, 0xDC},                    // a low surrogate alone
      {0x61, 0, 0xFF, 0xDF, 0x61, 0},  //
      {0x00, 0xD8, 0x00, 0xDC, 0x00, 0xDC},
  };
  for (const auto& bytes : kNone) EXPECT_EQ(FromUtf16Le(bytes), std::nullopt);
  EXPECT_EQ(FromUtf16Le({}), "");
}

}  // namespace
}  // namespace csi_proxy
