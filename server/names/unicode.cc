#include "server/names/unicode.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace csi_proxy {
namespace {

// A range of lower-case letters, `step` code points apart. The upper case of a letter is the letter
// minus `distance`.
struct CaseRange {
  char32_t first, last;
  char32_t step;
  int32_t distance;
};

// The non-ASCII letters of Windows' upper-case table
// (learn.microsoft.com/openspecs/windows_protocols/ms-ucoderef, 3.1.5.3): the letters of one UTF-16
// unit whose Simple_Uppercase_Mapping in UnicodeData.txt is reversible, and the final sigma, which
// NTFS folds too. Sorted.
constexpr CaseRange kCaseRanges[] = {
    {0xE0, 0xF6, 1, 32},        {0xF8, 0xFE, 1, 32},         {0xFF, 0xFF, 1, -121},
    {0x101, 0x12F, 2, 1},       {0x133, 0x137, 2, 1},        {0x13A, 0x148, 2, 1},
    {0x14B, 0x177, 2, 1},       {0x17A, 0x17E, 2, 1},        {0x180, 0x180, 1, -195},
    {0x183, 0x185, 2, 1},       {0x188, 0x188, 1, 1},        {0x18C, 0x18C, 1, 1},
    {0x192, 0x192, 1, 1},       {0x195, 0x195, 1, -97},      {0x199, 0x199, 1, 1},
    {0x19A, 0x19A, 1, -163},    {0x19E, 0x19E, 1, -130},     {0x1A1, 0x1A5, 2, 1},
    {0x1A8, 0x1A8, 1, 1},       {0x1AD, 0x1AD, 1, 1},        {0x1B0, 0x1B0, 1, 1},
    {0x1B4, 0x1B6, 2, 1},       {0x1B9, 0x1B9, 1, 1},        {0x1BD, 0x1BD, 1, 1},
    {0x1BF, 0x1BF, 1, -56},     {0x1C6, 0x1C6, 1, 2},        {0x1C9, 0x1C9, 1, 2},
    {0x1CC, 0x1CC, 1, 2},       {0x1CE, 0x1DC, 2, 1},        {0x1DD, 0x1DD, 1, 79},
    {0x1DF, 0x1EF, 2, 1},       {0x1F3, 0x1F3, 1, 2},        {0x1F5, 0x1F5, 1, 1},
    {0x1F9, 0x21F, 2, 1},       {0x223, 0x233, 2, 1},        {0x23C, 0x23C, 1, 1},
    {0x23F, 0x240, 1, -10815},  {0x242, 0x242, 1, 1},        {0x247, 0x24F, 2, 1},
    {0x250, 0x250, 1, -10783},  {0x251, 0x251, 1, -10780},   {0x252, 0x252, 1, -10782},
    {0x253, 0x253, 1, 210},     {0x254, 0x254, 1, 206},      {0x256, 0x257, 1, 205},
    {0x259, 0x259, 1, 202},     {0x25B, 0x25B, 1, 203},      {0x25C, 0x25C, 1, -42319},
    {0x260, 0x260, 1, 205},     {0x261, 0x261, 1, -42315},   {0x263, 0x263, 1, 207},
    {0x265, 0x265, 1, -42280},  {0x266, 0x266, 1, -42308},   {0x268, 0x268, 1, 209},
    {0x269, 0x269, 1, 211},     {0x26A, 0x26A, 1, -42308},   {0x26B, 0x26B, 1, -10743},
    {0x26C, 0x26C, 1, -42305},  {0x26F, 0x26F, 1, 211},      {0x271, 0x271, 1, -10749},
    {0x272, 0x272, 1, 213},     {0x275, 0x275, 1, 214},      {0x27D, 0x27D, 1, -10727},
    {0x280, 0x280, 1, 218},     {0x282, 0x282, 1, -42307},   {0x283, 0x283, 1, 218},
    {0x287, 0x287, 1, -42282},  {0x288, 0x288, 1, 218},      {0x289, 0x289, 1, 69},
    {0x28A, 0x28B, 1, 217},     {0x28C, 0x28C, 1, 71},       {0x292, 0x292, 1, 219},
    {0x29D, 0x29D, 1, -42261},  {0x29E, 0x29E, 1, -42258},   {0x371, 0x373, 2, 1},
    {0x377, 0x377, 1, 1},       {0x37B, 0x37D, 1, -130},     {0x3AC, 0x3AC, 1, 38},
    {0x3AD, 0x3AF, 1, 37},      {0x3B1, 0x3C1, 1, 32},       {0x3C2, 0x3C2, 1, 31},
    {0x3C3, 0x3CB, 1, 32},      {0x3CC, 0x3CC, 1, 64},       {0x3CD, 0x3CE, 1, 63},
    {0x3D7, 0x3D7, 1, 8},       {0x3D9, 0x3EF, 2, 1},        {0x3F2, 0x3F2, 1, -7},
    {0x3F3, 0x3F3, 1, 116},     {0x3F8, 0x3F8, 1, 1},        {0x3FB, 0x3FB, 1, 1},
    {0x430, 0x44F, 1, 32},      {0x450, 0x45F, 1, 80},       {0x461, 0x481, 2, 1},
    {0x48B, 0x4BF, 2, 1},       {0x4C2, 0x4CE, 2, 1},        {0x4CF, 0x4CF, 1, 15},
    {0x4D1, 0x52F, 2, 1},       {0x561, 0x586, 1, 48},       {0x10D0, 0x10FA, 1, -3008},
    {0x10FD, 0x10FF, 1, -3008}, {0x13F8, 0x13FD, 1, 8},      {0x1D79, 0x1D79, 1, -35332},
    {0x1D7D, 0x1D7D, 1, -3814}, {0x1D8E, 0x1D8E, 1, -35384}, {0x1E01, 0x1E95, 2, 1},
    {0x1EA1, 0x1EFF, 2, 1},     {0x1F00, 0x1F07, 1, -8},     {0x1F10, 0x1F15, 1, -8},
    {0x1F20, 0x1F27, 1, -8},    {0x1F30, 0x1F37, 1, -8},     {0x1F40, 0x1F45, 1, -8},
    {0x1F51, 0x1F57, 2, -8},    {0x1F60, 0x1F67, 1, -8},     {0x1F70, 0x1F71, 1, -74},
    {0x1F72, 0x1F75, 1, -86},   {0x1F76, 0x1F77, 1, -100},   {0x1F78, 0x1F79, 1, -128},
    {0x1F7A, 0x1F7B, 1, -112},  {0x1F7C, 0x1F7D, 1, -126},   {0x1F80, 0x1F87, 1, -8},
    {0x1F90, 0x1F97, 1, -8},    {0x1FA0, 0x1FA7, 1, -8},     {0x1FB0, 0x1FB1, 1, -8},
    {0x1FB3, 0x1FB3, 1, -9},    {0x1FC3, 0x1FC3, 1, -9},     {0x1FD0, 0x1FD1, 1, -8},
    {0x1FE0, 0x1FE1, 1, -8},    {0x1FE5, 0x1FE5, 1, -7},     {0x1FF3, 0x1FF3, 1, -9},
    {0x214E, 0x214E, 1, 28},    {0x2170, 0x217F, 1, 16},     {0x2184, 0x2184, 1, 1},
    {0x24D0, 0x24E9, 1, 26},    {0x2C30, 0x2C5F, 1, 48},     {0x2C61, 0x2C61, 1, 1},
    {0x2C65, 0x2C65, 1, 10795}, {0x2C66, 0x2C66, 1, 10792},  {0x2C68, 0x2C6C, 2, 1},
    {0x2C73, 0x2C73, 1, 1},     {0x2C76, 0x2C76, 1, 1},      {0x2C81, 0x2CE3, 2, 1},
    {0x2CEC, 0x2CEE, 2, 1},     {0x2CF3, 0x2CF3, 1, 1},      {0x2D00, 0x2D25, 1, 7264},
    {0x2D27, 0x2D27, 1, 7264},  {0x2D2D, 0x2D2D, 1, 7264},   {0xA641, 0xA66D, 2, 1},
    {0xA681, 0xA69B, 2, 1},     {0xA723, 0xA72F, 2, 1},      {0xA733, 0xA76F, 2, 1},
    {0xA77A, 0xA77C, 2, 1},     {0xA77F, 0xA787, 2, 1},      {0xA78C, 0xA78C, 1, 1},
    {0xA791, 0xA793, 2, 1},     {0xA794, 0xA794, 1, -48},    {0xA797, 0xA7A9, 2, 1},
    {0xA7B5, 0xA7C3, 2, 1},     {0xA7C8, 0xA7CA, 2, 1},      {0xA7D1, 0xA7D1, 1, 1},
    {0xA7D7, 0xA7D9, 2, 1},     {0xA7F6, 0xA7F6, 1, 1},      {0xAB53, 0xAB53, 1, 928},
    {0xAB70, 0xABBF, 1, 38864}, {0xFF41, 0xFF5A, 1, 32},
};

constexpr char32_t kReplacement = 0xFFFD;

// Removes one code point from the front of `text`. If `text` does not begin with valid UTF-8,
// removes one byte and returns U+FFFD.
char32_t ConsumeCodePointOrByte(absl::string_view* text) {
  char32_t code_point;
  if (ConsumeCodePoint(text, &code_point)) return code_point;
  text->remove_prefix(1);
  return kReplacement;
}

// Calls `visit` with each UTF-16 unit of a code point.
template <typename Visit>
void ForEachUnit(char32_t c, Visit visit) {
  if (c < 0x10000) return visit(c);
  visit(0xD800 + ((c - 0x10000) >> 10));
  visit(0xDC00 + ((c - 0x10000) & 0x3FF));
}

// The code points of Unicode's categories Cc, Cf, Zl and Zp
// (unicode.org/Public/UCD/latest/ucd/extracted/DerivedGeneralCategory.txt). Sorted.
constexpr std::pair<char32_t, char32_t> kControls[] = {
    {0x0, 0x1F},        {0x7F, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},
    {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},
    {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
    {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A}, {0xE0001, 0xE0001}, {0xE0020, 0xE007F},
};

}  // namespace

bool IsControl(char32_t c) {
  const auto* const range =
      std::lower_bound(std::begin(kControls), std::end(kControls), c,
                       [](const auto& one, char32_t control) { return one.second < control; });
  return range != std::end(kControls) && range->first <= c;
}

bool ConsumeAnyCodePoint(absl::string_view* text, char32_t* code_point) {
  if (text->empty()) return false;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>((*text)[i]); };
  const unsigned char first = byte(0);
  size_t length;
  char32_t value, smallest;
  if (first < 0x80) {
    length = 1, value = first, smallest = 0;
  } else if (first >= 0xC2 && first < 0xE0) {
    length = 2, value = first & 0x1F, smallest = 0x80;
  } else if (first >= 0xE0 && first < 0xF0) {
    length = 3, value = first & 0x0F, smallest = 0x800;
  } else if (first >= 0xF0 && first < 0xF5) {
    length = 4, value = first & 0x07, smallest = 0x10000;
  } else {
    return false;
  }
  if (text->size() < length) return false;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return false;
    value = (value << 6) | (byte(i) & 0x3F);
  }
  if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return false;
  text->remove_prefix(length);
  *code_point = value;
  return true;
}

int64_t Utf16Length(absl::string_view text) {
  // Fast path: most names are ASCII.
  const auto other = std::find_if(text.begin(), text.end(),
                                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  int64_t units = other - text.begin();
  text.remove_prefix(static_cast<size_t>(units));
  char32_t code_point;
  while (!text.empty()) {
    if (!ConsumeCodePoint(&text, &code_point)) return -1;
    units += code_point >= 0x10000 ? 2 : 1;
  }
  return units;
}

char32_t UpperCase(char32_t c) {
  // Fast path: nearly all names are ASCII.
  if (c < 0x80) return c >= U'a' && c <= U'z' ? c - 32 : c;
  const CaseRange* const range =
      std::lower_bound(std::begin(kCaseRanges), std::end(kCaseRanges), c,
                       [](const CaseRange& one, char32_t letter) { return one.last < letter; });
  if (range == std::end(kCaseRanges) || c < range->first || (c - range->first) % range->step != 0) {
    return c;
  }
  return c - range->distance;
}

void AppendUtf8(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (c >> 6)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (c >> 12)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (c >> 18)));
    out->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

std::string ReplaceInvalidUtf8(absl::string_view text) {
  std::string valid;
  while (!text.empty()) AppendUtf8(ConsumeCodePointOrByte(&text), &valid);
  return valid;
}

std::string EscapeForLog(absl::string_view text, absl::string_view quotes) {
  const auto is_plain = [&](char c) {
    return c >= 0x20 && c < 0x7F && quotes.find(c) == absl::string_view::npos;
  };
  std::string escaped;
  while (true) {
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    escaped.append(text.begin(), special);
    text.remove_prefix(static_cast<size_t>(special - text.begin()));
    if (text.empty()) return escaped;
    const char32_t c = ConsumeCodePointOrByte(&text);
    if (c == '\n' || c == '\r' || c == '\t') {
      escaped += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (IsControl(c)) {
      ForEachUnit(c, [&](uint32_t unit) {
        absl::StrAppend(&escaped, "\\u", absl::Hex(unit, absl::kZeroPad4));
      });
    } else {
      if (c < 0x80) escaped += '\\';
      AppendUtf8(c, &escaped);
    }
  }
}

std::string ShortenForLog(absl::string_view text) {
  constexpr size_t kMost = 1024;
  std::string shortened = EscapeForLog(text.substr(0, kMost));
  if (text.size() > kMost) shortened += "...";
  return shortened;
}

std::vector<uint8_t> ToUtf16Le(absl::string_view text) {
  std::vector<uint8_t> bytes;
  while (!text.empty()) {
    ForEachUnit(ConsumeCodePointOrByte(&text), [&](uint32_t unit) {
      bytes.push_back(static_cast<uint8_t>(unit));
      bytes.push_back(static_cast<uint8_t>(unit >> 8));
    });
  }
  return bytes;
}

std::optional<std::string> FromUtf16Le(std::span<const uint8_t> bytes) {
  if (bytes.size() % 2 != 0) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const auto unit = [&](size_t at) -> char32_t { return bytes[at] | bytes[at + 1] << 8; };
    char32_t c = unit(i);
    if (c >= 0xD800 && c <= 0xDFFF) {
      if (c >= 0xDC00 || i + 2 == bytes.size()) return std::nullopt;
      i += 2;
      const char32_t low = unit(i);
      if (low < 0xDC00 || low > 0xDFFF) return std::nullopt;
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(c, &text);
  }
  return text;
}

}  // namespace csi_proxy
