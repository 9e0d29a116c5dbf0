#include "server/machine/windows/names.h"

#include <gtest/gtest.h>

#include <random>

#include "server/names/win32_error.h"

namespace csi_proxy::machine {
namespace {

using std::string_literals::operator""s;

TEST(NamesTest, EntryNamesSurviveARoundTrip) {
  const std::u16string names[] = {u"a",
                                  u"A file, with spaces.txt",
                                  u"...",
                                  u"..a",
                                  u"a. ",
                                  u"CON",
                                  u"aux.txt",
                                  u"*?<>\"|\x01",
                                  u"größe-Ωмега-体积",
                                  u"\U0001F4BE",
                                  u"\xD800",
                                  u"a\xDC00z",
                                  u"\xDC00\xD800",
                                  u"\xD800\U00010000",
                                  u"\xFFFF\xFFFD",
                                  std::u16string(255, u'\x4F53')};
  for (const std::u16string& name : names) {
    const std::string text = EntryNameFromUtf16(name);
    const auto again = EntryNameToUtf16(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(*again, name) << text;
  }
  EXPECT_EQ(EntryNameFromUtf16(u"体\U0001F4BE"), "体\U0001F4BE");
  EXPECT_EQ(EntryNameFromUtf16(u"\xD83D"), "\xED\xA0\xBD");
}

TEST(NamesTest, EachEntryNameHasExactlyOneEncoding) {
  std::mt19937 random(1);
  // Returns mostly surrogates, so that two halves often meet.
  const auto unit = [&] {
    return static_cast<char16_t>(random() % 4 == 0 ? 0x3B + random() % 0xD7C0
                                                   : 0xD800 + random() % 0x800);
  };
  for (int round = 0; round < 20000; ++round) {
    std::u16string name;
    for (size_t i = 1 + random() % 6; i > 0; --i) name.push_back(unit());
    if (name.find(u'\\') != std::u16string::npos) continue;
    const auto again = EntryNameToUtf16(EntryNameFromUtf16(name));
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*again, name);
  }
  // A decoded name must encode to the original.
  for (int round = 0; round < 200000; ++round) {
    std::string text;
    const char bytes[] = {'\xED', '\xA0', '\xBF', '\xB0', '\x80', '\xF0', '\x9F', 'a', '\xC3'};
    for (size_t i = 1 + random() % 7; i > 0; --i) text.push_back(bytes[random() % sizeof(bytes)]);
    const auto name = EntryNameToUtf16(text);
    if (!name.ok()) continue;
    ASSERT_EQ(EntryNameFromUtf16(*name), text);
  }
}

TEST(NamesTest, InvalidEntryNamesAreRefused) {
  const std::string names[] = {"",
                               ".",
                               "..",
                               "a\\b",
                               "\\",
                               "a/b",
                               "/",
                               "..\\a",
                               "a\0b"s,
                               "\0"s,
                               "a:b",
                               "a::$DATA",
                               ":",
                               "\x80",
                               "a\xC3",
                               "\xC0\xAE",
                               "\xED\xA0",
                               "\xED\xA0\xBD\xED\xB2\xBE",
                               "\xF4\x90\x80\x80",
                               std::string(256, 'a'),
                               std::string(40000, 'a')};
  for (const std::string& name : names) {
    const auto refused = EntryNameToUtf16(name);
    EXPECT_EQ(Win32CodeOf(refused.status()), win32_error::kInvalidName) << name;
  }
}

TEST(NamesTest, VerbatimPathAddsThePrefixForDrivesAndServers) {
  EXPECT_EQ(VerbatimPath(R"(C:\a\..\b.)"), R"(\\?\C:\a\..\b.)");
  EXPECT_EQ(VerbatimPath(R"(\\host\share\a)"), R"(\\?\UNC\host\share\a)");
  EXPECT_EQ(VerbatimPath(R"(\\.\pipe\a)"), R"(\\?\UNC\.\pipe\a)") << "a server, not a device";
  EXPECT_EQ(VerbatimPath(R"(\\?\Volume{x}\a)"), R"(\\?\Volume{x}\a)");
}

}  // namespace
}  // namespace csi_proxy::machine
