// The little of Unicode that Windows file names ask for.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace csi_proxy {

// Reads one code point from the front of `text` and removes it. False, and `text` unchanged, when
// it does not begin with well-formed UTF-8 (shortest form, no surrogates, at most U+10FFFF).
bool ConsumeCodePoint(absl::string_view* text, char32_t* code_point);

// The number of UTF-16 units `text` takes, or -1 when it is not UTF-8.
int64_t Utf16Length(absl::string_view text);

// Upper case by simple mapping, for the scripts in which names differ by case alone in practice:
// Latin, Greek, Cyrillic, Armenian, and the full-width Latin letters. Others map to themselves.
char32_t UpperCase(char32_t code_point);

void AppendUtf8(char32_t code_point, std::string* out);

}  // namespace csi_proxy
