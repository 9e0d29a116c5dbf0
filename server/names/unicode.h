// The parts of Unicode that Windows' file names and our logs need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace csi_proxy {

// ConsumeCodePoint() without its fast path.
bool ConsumeAnyCodePoint(absl::string_view* text, char32_t* code_point);

// Removes the first code point of `text`. Returns false, and leaves `text` alone, if it does not
// begin with well-formed UTF-8 (shortest form, no surrogates, at most U+10FFFF).
inline bool ConsumeCodePoint(absl::string_view* text, char32_t* code_point) {
  // Fast path: most paths are ASCII.
  if (text->empty() || static_cast<unsigned char>(text->front()) >= 0x80) {
    return ConsumeAnyCodePoint(text, code_point);
  }
  *code_point = static_cast<unsigned char>(text->front());
  text->remove_prefix(1);
  return true;
}

// Returns the number of UTF-16 units of `text`, or -1 if it is not UTF-8.
int64_t Utf16Length(absl::string_view text);

// Returns the upper case that Windows gives a letter in names of files, shares and users; other
// code points are returned unchanged.
char32_t UpperCase(char32_t code_point);

// Returns true for controls, format characters (bidirectional controls, zero width, byte order
// mark), and separators of lines and paragraphs: they are invisible, or a terminal or viewer may
// act on them.
bool IsControl(char32_t code_point);

void AppendUtf8(char32_t code_point, std::string* out);

// Returns `text` with every byte that is not UTF-8 replaced by U+FFFD.
std::string ReplaceInvalidUtf8(absl::string_view text);

// Returns `text` escaped so that it cannot end, forge or disorder a line of a log: every byte that
// is not UTF-8 becomes U+FFFD; a character that is IsControl() becomes JSON escapes; each of
// `quotes` gets a backslash. REQUIRES: `quotes` is ASCII.
std::string EscapeForLog(absl::string_view text, absl::string_view quotes = "\"\\");

// Returns the first KiB of `text`, escaped, and `...` if `text` is longer. For text of a length
// that a client chooses.
std::string ShortenForLog(absl::string_view text);

// Converts UTF-8 to little-endian UTF-16; bytes that are not UTF-8 become U+FFFD.
std::vector<uint8_t> ToUtf16Le(absl::string_view text);

// Converts little-endian UTF-16; nullopt for an odd number of bytes or half a surrogate pair.
std::optional<std::string> FromUtf16Le(std::span<const uint8_t> bytes);

// Returns the text without a leading UTF-8 byte order mark, which Windows PowerShell 5.1 writes.
// Returns INVALID_ARGUMENT for a UTF-16 byte order mark, because no program here reads UTF-16.
inline absl::StatusOr<absl::string_view> WithoutByteOrderMark(absl::string_view text) {
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    return absl::InvalidArgumentError("is UTF-16: save it as UTF-8");
  }
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

}  // namespace csi_proxy
