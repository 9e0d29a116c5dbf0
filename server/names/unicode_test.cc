#include "server/names/unicode.h"

#include <utility>

#include "gtest/gtest.h"

namespace csi_proxy {
namespace {

TEST(UnicodeTest, EveryCodePointSurvivesARoundTripThroughUtf8) {
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

TEST(UnicodeTest, InvalidUtf8HasNoUtf16Length) {
  for (const char* text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF9\x80\x80\x80", "\x81\x80\x80\x80",
        "\xC1\xBF\xBF\xBF", "\xC3", "\xE2\x82", "\xC3(", "\xFF"}) {
    EXPECT_EQ(Utf16Length(text), -1) << text;
  }
}

TEST(UnicodeTest, Utf16LengthCountsUnits) {
  EXPECT_EQ(Utf16Length(""), 0);
  EXPECT_EQ(Utf16Length("aé文"), 3);
  EXPECT_EQ(Utf16Length("😀"), 2);
}

TEST(UnicodeTest, UpperCaseIsIdempotentAndMatchesNtfs) {
  for (char32_t c = 0; c < 0x20000; ++c) ASSERT_EQ(UpperCase(UpperCase(c)), UpperCase(c)) << +c;
  EXPECT_EQ(UpperCase(U'ÿ'), U'Ÿ');
  EXPECT_EQ(UpperCase(U'я'), U'Я');
  const std::pair<char32_t, char32_t> single[] = {
      {U'ς', U'Σ'}, {U'ά', U'Ά'}, {U'ό', U'Ό'}, {U'ύ', U'Ύ'}, {U'ώ', U'Ώ'}};
  for (const auto& [lower, upper] : single) EXPECT_EQ(UpperCase(lower), upper) << +lower;
  EXPECT_EQ(UpperCase(U'÷'), U'÷');
  EXPECT_EQ(UpperCase(U'ı'), U'ı') << "as NTFS has it";
}

// The edges of the ranges, with UnicodeData.txt's Simple_Uppercase_Mapping.
TEST(UnicodeTest, UpperCaseMatchesUnicodeDataAtTheEdgesOfRanges) {
  const std::pair<char32_t, char32_t> rows[] = {
      {0x60, 0x60},     {0x61, 0x41},     {0x7A, 0x5A},     {0x7B, 0x7B},     {0xDF, 0xDF},
      {0xE0, 0xC0},     {0xF6, 0xD6},     {0xF7, 0xF7},     {0xF8, 0xD8},     {0xFE, 0xDE},
      {0xFF, 0x178},    {0x100, 0x100},   {0x101, 0x100},   {0x12E, 0x12E},   {0x12F, 0x12E},
      {0x130, 0x130},   {0x132, 0x132},   {0x133, 0x132},   {0x136, 0x136},   {0x137, 0x136},
      {0x138, 0x138},   {0x139, 0x139},   {0x13A, 0x139},   {0x147, 0x147},   {0x148, 0x147},
      {0x149, 0x149},   {0x14A, 0x14A},   {0x14B, 0x14A},   {0x176, 0x176},   {0x177, 0x176},
      {0x178, 0x178},   {0x179, 0x179},   {0x17A, 0x179},   {0x17D, 0x17D},   {0x17E, 0x17D},
      {0x3AC, 0x386},   {0x3AD, 0x388},   {0x3AF, 0x38A},   {0x3B0, 0x3B0},   {0x3B1, 0x391},
      {0x3C1, 0x3A1},   {0x3C2, 0x3A3},   {0x3C3, 0x3A3},   {0x3CB, 0x3AB},   {0x3CC, 0x38C},
      {0x3CD, 0x38E},   {0x3CE, 0x38F},   {0x42F, 0x42F},   {0x430, 0x410},   {0x44F, 0x42F},
      {0x450, 0x400},   {0x45F, 0x40F},   {0x460, 0x460},   {0x461, 0x460},   {0x480, 0x480},
      {0x481, 0x480},   {0x482, 0x482},   {0x489, 0x489},   {0x48A, 0x48A},   {0x48B, 0x48A},
      {0x4BE, 0x4BE},   {0x4BF, 0x4BE},   {0x4C0, 0x4C0},   {0x4D0, 0x4D0},   {0x4D1, 0x4D0},
      {0x52E, 0x52E},   {0x52F, 0x52E},   {0x530, 0x530},   {0x560, 0x560},   {0x561, 0x531},
      {0x586, 0x556},   {0x587, 0x587},   {0x1DFF, 0x1DFF}, {0x1E00, 0x1E00}, {0x1E01, 0x1E00},
      {0x1E94, 0x1E94}, {0x1E95, 0x1E94}, {0x1E96, 0x1E96}, {0x1E9F, 0x1E9F}, {0x1EA0, 0x1EA0},
      {0x1EA1, 0x1EA0}, {0x1EFE, 0x1EFE}, {0x1EFF, 0x1EFE}, {0xFF40, 0xFF40}, {0xFF41, 0xFF21},
      {0xFF5A, 0xFF3A}, {0xFF5B, 0xFF5B}};
  for (const auto& [lower, upper] : rows) EXPECT_EQ(UpperCase(lower), upper) << +lower;
}

TEST(UnicodeTest, EveryCodePointSurvivesARoundTripThroughUtf16) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(c, &text);
    const std::vector<uint8_t> bytes = ToUtf16Le(text);
    ASSERT_EQ(bytes.size(), 2 * static_cast<size_t>(Utf16Length(text)));
    ASSERT_EQ(FromUtf16Le(bytes), text);
  }
}

TEST(UnicodeTest, Utf16IsWrittenLittleEndian) {
  EXPECT_EQ(ToUtf16Le("a文😀"), std::vector<uint8_t>({0x61, 0, 0x87, 0x65, 0x3D, 0xD8, 0x00, 0xDE}));
  EXPECT_EQ(ToUtf16Le(""), std::vector<uint8_t>());
}

TEST(UnicodeTest, InvalidUtf8IsReplaced) {
  EXPECT_EQ(ReplaceInvalidUtf8("é文😀"), "é文😀");
  EXPECT_EQ(ReplaceInvalidUtf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE2\x82"), "\uFFFD\uFFFD");
  EXPECT_EQ(ToUtf16Le("\xFFz"), std::vector<uint8_t>({0xFD, 0xFF, 'z', 0}));
}

TEST(UnicodeTest, EscapeForLogEscapesControlAndDirectionCharacters) {
  const std::pair<const char*, const char*> kTexts[] = {
      {R"(C:\a "é文😀")", R"(C:\\a \"é文😀\")"},
      {"a\r\n\tb", R"(a\r\n\tb)"},
      {"\x1b[2K\x7f", R"(\u001b[2K\u007f)"},
      {"\u0080\u0085\u009b\u009f\u00a0", "\\u0080\\u0085\\u009b\\u009f\u00a0"},
      {"\u2027\u2028\u2029\u202a\u202e\u202f", "\u2027\\u2028\\u2029\\u202a\\u202e\u202f"},
      {"\U000E0020", "\\udb40\\udc20"},
      {"a\xff\xc2", "a\uFFFD\uFFFD"},
  };
  for (const auto& [text, escaped] : kTexts) EXPECT_EQ(EscapeForLog(text), escaped);
  EXPECT_EQ(EscapeForLog("\\\"\n", ""), "\\\"\\n");
  EXPECT_EQ(ShortenForLog("\n"), "\\n");
  EXPECT_EQ(ShortenForLog(std::string(9999, 'x')), std::string(1024, 'x') + "...");
}

TEST(UnicodeTest, InvalidUtf16IsRefused) {
  const std::vector<uint8_t> kNone[] = {
      {0x61},                          // half a unit
      {0x61, 0, 0x62},                 //
      {0x00, 0xD8},                    // a high surrogate at the end
      {0xFF, 0xDB, 0x61, 0},           // before a letter
      {0x00, 0xD8, 0x00, 0xD8},        // before another high surrogate
      {0x00, 0xDC},                    // a low surrogate alone
      {0x61, 0, 0xFF, 0xDF, 0x61, 0},  //
      {0x00, 0xD8, 0x00, 0xDC, 0x00, 0xDC},
  };
  for (const auto& bytes : kNone) EXPECT_EQ(FromUtf16Le(bytes), std::nullopt);
  EXPECT_EQ(FromUtf16Le({}), "");
}

}  // namespace
}  // namespace csi_proxy
