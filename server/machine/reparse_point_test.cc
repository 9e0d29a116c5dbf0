#include "server/machine/reparse_point.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/machine/little_endian.h"
#include "server/names/unicode.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::machine {
namespace {

using ::testing::HasSubstr;

constexpr char kVolume[] = R"(\\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\)";

Bytes Concat(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes Number16(size_t value) {
  Bytes bytes;
  AppendLittleEndian(static_cast<uint16_t>(value), &bytes);
  return bytes;
}

Bytes Number32(uint32_t value) {
  Bytes bytes;
  AppendLittleEndian(value, &bytes);
  return bytes;
}

// Returns a reparse point with `body` behind a header that has the right length.
Bytes Point(uint32_t tag, const Bytes& body) {
  return Concat({Number32(tag), Number16(body.size()), Number16(0), body});
}

// Returns a symbolic link with the substitute name `substitute` and an empty print name.
Bytes SymlinkOf(const Bytes& substitute, uint32_t flags = 0) {
  return Point(kReparseTagSymlink,
               Concat({Number16(0), Number16(substitute.size()), Number16(substitute.size()),
                       Number16(0), Number32(flags), substitute}));
}
Bytes SymlinkOf(absl::string_view substitute, uint32_t flags = 0) {
  return SymlinkOf(ToUtf16Le(substitute), flags);
}

// Returns the bytes that `mklink /J` writes.
Bytes JunctionOf(absl::string_view substitute, absl::string_view print) {
  const Bytes name = ToUtf16Le(substitute);
  const Bytes shown = ToUtf16Le(print);
  return Point(kReparseTagMountPoint,
               Concat({Number16(0), Number16(name.size()), Number16(name.size() + 2),
                       Number16(shown.size()), name, Number16(0), shown, Number16(0)}));
}

void ExpectMalformed(const Bytes& data, absl::string_view how) {
  const absl::Status status = ParseReparsePoint(data).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(how)));
}

// Offsets in the whole reparse point.
constexpr size_t kDataLength = 4;
constexpr size_t kSubstituteOffset = 8;
constexpr size_t kSubstituteLength = 10;
constexpr size_t kPrintOffset = 12;
constexpr size_t kPrintLength = 14;

Bytes With(Bytes data, size_t at, size_t value) {
  data[at] = static_cast<uint8_t>(value);
  data[at + 1] = static_cast<uint8_t>(value >> 8);
  return data;
}

TEST(ReparsePointTest, ParseReadsTheBytesOfASymbolicLink) {
  // `mklink /D x C:\a` writes these bytes: the print name first, no NUL after either name.
  const Bytes data = {
      0x0C, 0, 0,   0xA0, 0x24, 0, 0,    0,                  // tag, length, reserved
      8,    0, 16,  0,    0,    0, 8,    0, 0,   0, 0,   0,  // names, flags
      'C',  0, ':', 0,    '\\', 0, 'a',  0,                  // print
      '\\', 0, '?', 0,    '?',  0, '\\', 0, 'C', 0, ':', 0, '\\', 0, 'a', 0,
  };
  const ReparsePoint point = ParseReparsePoint(data).value();
  EXPECT_EQ(point.tag, kReparseTagSymlink);
  EXPECT_EQ(point.target, R"(C:\a)");
  EXPECT_FALSE(point.is_relative);
  EXPECT_FALSE(point.volume.has_value());
  EXPECT_EQ(MakeSymlink(WindowsPath::Parse("path", R"(C:\a)").value()).value(), data);
}

TEST(ReparsePointTest, ParseReadsJunctions) {
  const ReparsePoint point =
      ParseReparsePoint(JunctionOf(R"(\??\C:\var\lib)", R"(C:\var\lib)")).value();
  EXPECT_EQ(point.tag, kReparseTagMountPoint);
  EXPECT_EQ(point.target, R"(C:\var\lib)");
  EXPECT_FALSE(point.is_relative);
  EXPECT_FALSE(point.volume.has_value());
}

TEST(ReparsePointTest, ParseReadsVolumeMountPoints) {
  const ReparsePoint point =
      ParseReparsePoint(JunctionOf(R"(\??\Volume{01234567-89AB-CDEF-0123-456789ABCDEF}\)", ""))
          .value();
  EXPECT_EQ(point.target, R"(\\?\Volume{01234567-89AB-CDEF-0123-456789ABCDEF}\)");
  EXPECT_EQ(point.volume, VolumeId::Parse(kVolume).value());
}

TEST(ReparsePointTest, OnlyAMountPointToAVolumesRootHasAVolume) {
  const std::string name = R"(\??\Volume{01234567-89ab-cdef-0123-456789abcdef})";
  EXPECT_FALSE(ParseReparsePoint(JunctionOf(name, ""))->volume) << "the device, not its root";
  EXPECT_FALSE(ParseReparsePoint(JunctionOf(name + R"(\a)", ""))->volume);
  EXPECT_FALSE(ParseReparsePoint(JunctionOf(name + R"(\a\)", ""))->volume);
  EXPECT_FALSE(ParseReparsePoint(JunctionOf(R"(\??\Volume{01234567}\)", ""))->volume);
  const ReparsePoint link = ParseReparsePoint(SymlinkOf(name + "\\")).value();
  EXPECT_EQ(link.target, kVolume);
  EXPECT_FALSE(link.volume);
}

TEST(ReparsePointTest, TargetsAreSpelledAsInGo) {
  const std::pair<absl::string_view, absl::string_view> kSpellings[] = {
      {R"(\??\C:\a)", R"(C:\a)"},
      {R"(\??\C:\)", R"(C:\)"},
      {R"(\??\c:)", "c:"},
      {R"(\??\UNC\h\s)", R"(\\h\s)"},
      {R"(\??\UNC\h\s\a\)", R"(\\h\s\a\)"},
      {R"(\??\unc\h\s)", R"(\\h\s)"},
      {R"(\??\UNC)", R"(\\?\UNC)"},
      {R"(\??\UNCLE\h)", R"(\\?\UNCLE\h)"},
      {R"(\??\Volume{g}\)", R"(\\?\Volume{g}\)"},
      {R"(\??\GLOBALROOT\Device\X)", R"(\\?\GLOBALROOT\Device\X)"},
      {R"(\??\)", R"(\\?\)"},
      {R"(\??)", R"(\??)"},
      {R"(\Device\HarddiskVolume1\a)", R"(\Device\HarddiskVolume1\a)"},
      {R"(\??\C:\é文😀)", R"(C:\é文😀)"},
  };
  for (const auto& [name, target] : kSpellings) {
    EXPECT_EQ(ParseReparsePoint(SymlinkOf(name))->target, target);
    EXPECT_EQ(ParseReparsePoint(JunctionOf(name, ""))->target, target);
  }
}

TEST(ReparsePointTest, ParseReadsRelativeLinks) {
  for (const char* target : {"..\\a", "a", "..", "\\a", R"(\??\C:\a)"}) {
    const ReparsePoint point = ParseReparsePoint(SymlinkOf(target, 1)).value();
    EXPECT_TRUE(point.is_relative);
    EXPECT_EQ(point.target, target) << "as it stands";
  }
  EXPECT_FALSE(ParseReparsePoint(SymlinkOf("a", 0xFFFFFFFE))->is_relative);
  EXPECT_FALSE(ParseReparsePoint(JunctionOf(R"(\??\C:\a)", ""))->is_relative);
}

TEST(ReparsePointTest, TheTargetIsTheSubstituteNameAndNotThePrintName) {
  EXPECT_EQ(ParseReparsePoint(JunctionOf(R"(\??\C:\Windows)", R"(C:\harmless)"))->target,
            R"(C:\Windows)");
  // Windows does not read the print name, so the print name may be malformed.
  Bytes data = JunctionOf(R"(\??\C:\a)", "shown");
  data[data.size() - 4] = 0;
  data[data.size() - 3] = 0xD8;
  EXPECT_EQ(ParseReparsePoint(data)->target, R"(C:\a)");
}

TEST(ReparsePointTest, TagsOtherThanSymlinkAndMountPointAreRefused) {
  // The tags of deduplication, WIM mounts, app execution links, cloud files and WSL links, and 0.
  for (const uint32_t tag : {0x80000013u, 0x80000008u, 0x8000001Bu, 0x9000001Au, 0xA000001Du, 0u}) {
    for (const size_t size : {0u, 1u, 64u}) {
      const absl::Status status = ParseReparsePoint(Point(tag, Bytes(size))).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    }
  }
  EXPECT_THAT(std::string(ParseReparsePoint(Point(0x80000013, {})).status().message()),
              HasSubstr("0x80000013"));
}

TEST(ReparsePointTest, ParseRefusesEveryTruncation) {
  for (const Bytes& whole : {SymlinkOf(R"(\??\C:\a)"), JunctionOf(R"(\??\C:\a)", R"(C:\a)")}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      ExpectMalformed(cut, "cut short");
    }
    // The data is cut, and the length field is lowered to match. A junction needs no last NUL.
    const size_t needed = whole.size() - (whole[0] == 3 ? 2 : 0);
    for (size_t size = 8; size < needed; ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      ExpectMalformed(With(cut, kDataLength, size - 8), "malformed reparse point");
    }
  }
}

TEST(ReparsePointTest, ParseReadsNoByteBeyondTheLength) {
  const Bytes link = SymlinkOf(R"(\??\C:\a)");
  EXPECT_EQ(ParseReparsePoint(Concat({link, Bytes(100, 0xEE)}))->target, R"(C:\a)");
  ExpectMalformed(With(link, kDataLength, link.size() - 8 - 2), "outside");
  ExpectMalformed(With(link, kDataLength, link.size() - 8 + 1), "cut short");
  ExpectMalformed(With(link, kDataLength, 0xFFFF), "cut short");
  ExpectMalformed(With(link, kDataLength, 0), "cut short");
}

TEST(ReparsePointTest, ParseRefusesNamesOutsideTheData) {
  for (const Bytes& data : {SymlinkOf(R"(\??\C:\a)"), JunctionOf(R"(\??\C:\a)", R"(C:\a)")}) {
    for (const size_t value : {40u, 0x7FFEu, 0xFFFEu, 0xFFFFu}) {
      ExpectMalformed(With(data, kSubstituteOffset, value), "outside");
      ExpectMalformed(With(data, kSubstituteLength, value), "outside");
      ExpectMalformed(With(data, kPrintOffset, value), "outside");
      ExpectMalformed(With(data, kPrintLength, value), "outside");
    }
    // The sum of offset and length overflows 16 bits.
    ExpectMalformed(With(With(data, kSubstituteOffset, 0xFFFE), kSubstituteLength, 6), "outside");
  }
}

TEST(ReparsePointTest, ParseRefusesNamesOfOddLength) {
  const Bytes data = SymlinkOf(R"(\??\C:\a)");
  for (const size_t length : {1u, 3u, 15u}) {
    ExpectMalformed(With(data, kSubstituteLength, length), "not UTF-16");
  }
  ExpectMalformed(With(With(data, kSubstituteOffset, 1), kSubstituteLength, 14), "within");
}

TEST(ReparsePointTest, ParseRefusesUnpairedSurrogates) {
  const Bytes prefix = ToUtf16Le(R"(\??\C:\)");
  for (const Bytes& units :
       {Number16(0xD800), Number16(0xDBFF), Number16(0xDC00), Number16(0xDFFF),
        Concat({Number16(0xD800), Number16('a')}), Concat({Number16(0xDC00), Number16(0xD800)}),
        Concat({Number16(0xD800), Number16(0xD800), Number16(0xDC00)})}) {
    ExpectMalformed(SymlinkOf(Concat({prefix, units})), "not UTF-16");
  }
  EXPECT_EQ(
      ParseReparsePoint(SymlinkOf(Concat({prefix, Number16(0xD83D), Number16(0xDE00)})))->target,
      R"(C:\😀)");
}

TEST(ReparsePointTest, ParseRefusesEmptyNamesAndNuls) {
  ExpectMalformed(SymlinkOf(""), "no substitute name");
  ExpectMalformed(JunctionOf("", "shown"), "no substitute name");
  ExpectMalformed(SymlinkOf(absl::string_view("\\??\\C:\\a\0b", 10)), "NUL");
  ExpectMalformed(SymlinkOf(absl::string_view("\\??\\C:\\a\0", 9)), "NUL");
}

TEST(ReparsePointTest, ParseReadsTheTargetsOfMadeLinks) {
  for (const char* path : {R"(C:\)", R"(C:\a)", R"(z:\a b\é文😀)", R"(D:\Volume{x}\UNC)"}) {
    const WindowsPath target = WindowsPath::Parse("path", path).value();
    const ReparsePoint point = ParseReparsePoint(MakeSymlink(target).value()).value();
    EXPECT_EQ(point.tag, kReparseTagSymlink);
    EXPECT_EQ(point.target, target.ToString());
    EXPECT_FALSE(point.is_relative);
  }
  const std::pair<const char*, const char*> kShares[] = {
      {R"(\\host\share\a\B)", R"(\\host\share\a\B\)"},
      {R"(\\host\share\a\)", R"(\\host\share\a\)"},
      {R"(\\Host\share)", R"(\\Host\share\)"},
      {R"(\\h\é\)", R"(\\h\é\)"},
  };
  for (const auto& [path, target] : kShares) {
    const UncPath parsed = UncPath::Parse("path", path).value();
    const ReparsePoint point = ParseReparsePoint(MakeSymlink(parsed).value()).value();
    EXPECT_EQ(point.target, target);
    EXPECT_FALSE(point.is_relative);
  }
}

TEST(ReparsePointTest, MakeSymlinkWritesTheBytesOfAUncLink) {
  const Bytes print = ToUtf16Le(R"(\\h\s\)");
  const Bytes substitute = ToUtf16Le(R"(\??\UNC\h\s\)");
  EXPECT_EQ(MakeSymlink(UncPath::Parse("path", R"(\\h\s)").value()).value(),
            Point(kReparseTagSymlink,
                  Concat({Number16(print.size()), Number16(substitute.size()), Number16(0),
                          Number16(print.size()), Number32(0), print, substitute})));
}

TEST(ReparsePointTest, MakeMountPointWritesTheBytesThatNtfsRequires) {
  const VolumeId volume = VolumeId::Parse(kVolume).value();
  const Bytes data = MakeMountPoint(volume);
  EXPECT_EQ(data, JunctionOf(R"(\??\Volume{01234567-89ab-cdef-0123-456789abcdef}\)", ""));
  // NTFS requires this order of a mount point's names, a NUL after each name, and no further bytes.
  EXPECT_EQ(data.size(), 8 + 8 + 2 * (49 + 1) + 2u);
  const ReparsePoint point = ParseReparsePoint(data).value();
  EXPECT_EQ(point.tag, kReparseTagMountPoint);
  EXPECT_EQ(point.volume, volume);
  EXPECT_EQ(point.target, kVolume);
}

TEST(ReparsePointTest, MakeJunctionWritesBothNames) {
  const Bytes data = MakeJunction(WindowsPath::Parse("path", R"(C:\var\lib)").value()).value();
  EXPECT_EQ(data, JunctionOf(R"(\??\C:\var\lib)", R"(C:\var\lib)"));
}

TEST(ReparsePointTest, LinksThatAreTooLongForWindowsAreRefused) {
  const auto path_of = [](size_t length) {
    std::string path = "C:";
    while (length - path.size() > 201) path.append(1, '\\').append(100, 'd');
    const size_t left = length - path.size();
    path.append(1, '\\').append(left / 2, 'e').append(1, '\\').append(left - left / 2 - 2, 'f');
    return WindowsPath::Parse("path", path).value();
  };
  const Bytes longest = MakeSymlink(path_of(4089)).value();
  EXPECT_EQ(longest.size(), kMaxReparseData);
  EXPECT_EQ(ParseReparsePoint(longest)->target, path_of(4089).ToString());
  for (const size_t length : {4090u, 16384u, 32767u}) {
    const absl::Status status = MakeSymlink(path_of(length)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("too long"));
  }
}

TEST(ReparseHeaderTest, MakeReparseHeaderWritesTheTagWithoutData) {
  EXPECT_EQ(MakeReparseHeader(kReparseTagMountPoint), (Bytes{0x03, 0, 0, 0xA0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace csi_proxy::machine
