// The part of Unicode that Windows file names need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace csi_proxy {

// As ConsumeCodePoint().
bool ConsumeAnyCodePoint(absl::string_view* text, char32_t* code_point);

// Reads one code point from the front of `text` and removes it. False, and `text` unchanged, when
// it does not begin with well-formed UTF-8 (shortest form, no surrogates, at most U+10FFFF).
inline bool ConsumeCodePoint(absl::string_view* text, char32_t* code_point) {
  // Paths are ASCII but for some names.
  if (text->empty() || static_cast<unsigned char>(text->front()) >= 0x80) {
    return ConsumeAnyCodePoint(text, code_point);
  }
  *code_point = static_cast<unsigned char>(text->front());
  text->remove_prefix(1);
  return true;
}

// The number of UTF-16 units `text` takes, or -1 when it is not UTF-8.
int64_t Utf16Length(absl::string_view text);

// Returns the upper case that Windows gives a letter in names of files, shares and users; any other
// code point maps to itself.
char32_t UpperCase(char32_t code_point);

void AppendUtf8(char32_t code_point, std::string* out);

// `text` with U+FFFD for every byte that is not part of UTF-8.
std::string ReplaceInvalidUtf8(absl::string_view text);

// Returns `text` as a part of one line of a log, which nothing in it can end, forge or disorder:
// U+FFFD for each byte that is not UTF-8, an escape of JSON for each control character (C0, DEL,
// C1), line or paragraph separator and bidirectional control, and a backslash before each of
// `quotes`, which are ASCII.
std::string EscapeForLog(absl::string_view text, absl::string_view quotes = "\"\\");

// Returns the first KiB of `text`, escaped. For text whose length a client chooses.
std::string ShortenForLog(absl::string_view text);

// Little-endian UTF-16 of UTF-8; U+FFFD, as in Windows, for every byte that is not UTF-8.
std::vector<uint8_t> ToUtf16Le(absl::string_view text);

// UTF-8 of little-endian UTF-16; nothing for an odd number of bytes or half a surrogate pair.
std::optional<std::string> FromUtf16Le(std::span<const uint8_t> bytes);

}  // namespace csi_proxy
