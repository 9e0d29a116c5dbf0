#include "server/base/unicode.h"

#include <algorithm>

namespace csi_proxy {
namespace {

// Letters whose lower case lies `distance` above their upper case.
struct ShiftedRange {
  char32_t first_lower, last_lower;
  char32_t distance;
};

constexpr ShiftedRange kShifted[] = {
    {0xE0, 0xF6, 32},   {0xF8, 0xFE, 32},   {0x3AD, 0x3AF, 37},
    {0x3B1, 0x3C1, 32}, {0x3C3, 0x3CB, 32}, {0x430, 0x44F, 32},
    {0x450, 0x45F, 80}, {0x561, 0x586, 48}, {0xFF41, 0xFF5A, 32},
};

// Blocks in which upper and lower case alternate; `odd_lower` tells which comes second.
struct AlternatingRange {
  char32_t first, last;
  bool odd_lower;
};

constexpr AlternatingRange kAlternating[] = {
    {0x100, 0x12F, true},   {0x132, 0x137, true},   {0x139, 0x148, false}, {0x14A, 0x177, true},
    {0x179, 0x17E, false},  {0x460, 0x481, true},   {0x48A, 0x4BF, true},  {0x4D0, 0x52F, true},
    {0x1E00, 0x1E95, true}, {0x1EA0, 0x1EFF, true},
};

constexpr char32_t kReplacement = 0xFFFD;

// Reads one code point from the front of `text`, which is not empty, or else one byte.
char32_t ConsumeCodePointOrByte(absl::string_view* text) {
  char32_t code_point;
  if (ConsumeCodePoint(text, &code_point)) return code_point;
  text->remove_prefix(1);
  return kReplacement;
}

}  // namespace

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
  // All of it is ASCII, but for some names.
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
  // Names are ASCII nearly always.
  if (c < 0x80) return c >= U'a' && c <= U'z' ? c - 32 : c;
  for (const ShiftedRange& range : kShifted) {
    if (c >= range.first_lower && c <= range.last_lower) return c - range.distance;
  }
  for (const AlternatingRange& range : kAlternating) {
    if (c < range.first || c > range.last) continue;
    return ((c & 1) == 1) == range.odd_lower ? c - 1 : c;
  }
  switch (c) {
    case 0xFF:
      return 0x178;
    case 0x3AC:
      return 0x386;
    case 0x3C2:
      return 0x3A3;  // final sigma
    case 0x3CC:
      return 0x38C;
    case 0x3CD:
      return 0x38E;
    case 0x3CE:
      return 0x38F;
    default:
      return c;
  }
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

std::vector<uint8_t> ToUtf16Le(absl::string_view text) {
  std::vector<uint8_t> bytes;
  const auto append_unit = [&](char32_t unit) {
    bytes.push_back(static_cast<uint8_t>(unit));
    bytes.push_back(static_cast<uint8_t>(unit >> 8));
  };
  while (!text.empty()) {
    const char32_t c = ConsumeCodePointOrByte(&text);
    if (c < 0x10000) {
      append_unit(c);
    } else {
      append_unit(0xD800 + ((c - 0x10000) >> 10));
      append_unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    }
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
