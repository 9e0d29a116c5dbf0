#include "server/machine/windows/names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/names/unicode.h"
#include "server/names/win32_error.h"

namespace csi_proxy::machine {
namespace {

// The longest name of an entry on NTFS, ReFS and FAT, in UTF-16 units.
constexpr size_t kMaxUnits = 255;

bool IsHigh(char32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLow(char32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Removes an encoded half of a surrogate pair, three bytes, from the front of `text`. Returns false
// if `text` does not begin with such a half. See ConsumeCodePoint().
bool ConsumeSurrogate(absl::string_view* text, char32_t* unit) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>((*text)[i]); };
  if (text->size() < 3 || byte(0) != 0xED || byte(1) < 0xA0 || byte(1) > 0xBF || byte(2) < 0x80 ||
      byte(2) > 0xBF) {
    return false;
  }
  *unit = 0xD000 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  text->remove_prefix(3);
  return true;
}

absl::Status Refused(const char* why) { return Win32Status(win32_error::kInvalidName, why); }

}  // namespace

absl::StatusOr<std::u16string> EntryNameToUtf16(absl::string_view name) {
  // A separator or `..` would name an entry of another directory, and a colon would name a stream.
  // An empty name or `.` would name the directory itself. A NUL would end the name.
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(absl::string_view("\\/:\0", 4)) != absl::string_view::npos) {
    return Refused("not the name of one entry");
  }
  std::u16string units;
  while (!name.empty()) {
    char32_t c;
    if (ConsumeCodePoint(&name, &c)) {
      if (c >= 0x10000) {
        units.push_back(static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10)));
        c = 0xDC00 + ((c - 0x10000) & 0x3FF);
      }
    } else if (!ConsumeSurrogate(&name, &c) ||
               // Two halves of one pair, encoded apart, would spell a character in a second way.
               (IsLow(c) && !units.empty() && IsHigh(units.back()))) {
      return Refused("a name that is not UTF-8");
    }
    units.push_back(static_cast<char16_t>(c));
    if (units.size() > kMaxUnits) return Refused("a name over 255 characters");
  }
  return units;
}

std::string EntryNameFromUtf16(std::u16string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    char32_t c = name[i];
    if (IsHigh(c) && i + 1 < name.size() && IsLow(name[i + 1])) {
      c = 0x10000 + ((c - 0xD800) << 10) + (name[++i] - 0xDC00);
    }
    AppendUtf8(c, &text);
  }
  return text;
}

std::string VerbatimPath(absl::string_view path) {
  if (absl::StartsWith(path, "\\\\?\\")) return std::string(path);
  if (absl::StartsWith(path, "\\\\")) return absl::StrCat("\\\\?\\UNC", path.substr(1));
  return absl::StrCat("\\\\?\\", path);
}

}  // namespace csi_proxy::machine
