#include "codegen/names.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace csi_proxy::codegen {

std::string NormalisedName(absl::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c != '_') result.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

std::string EnumeratorName(absl::string_view name) {
  std::string result = "k";
  for (absl::string_view word : absl::StrSplit(name, '_', absl::SkipEmpty())) {
    result.push_back(absl::ascii_toupper(static_cast<unsigned char>(word[0])));
    result += absl::AsciiStrToLower(word.substr(1));
  }
  return result;
}

bool IsCppKeyword(absl::string_view name) {
  static constexpr absl::string_view kKeywords[] = {
      "alignas",   "alignof",  "and",      "asm",      "auto",     "bool",     "break",
      "case",      "catch",    "char",     "class",    "concept",  "const",    "continue",
      "decltype",  "default",  "delete",   "do",       "double",   "else",     "enum",
      "explicit",  "export",   "extern",   "false",    "float",    "for",      "friend",
      "goto",      "if",       "inline",   "int",      "long",     "mutable",  "namespace",
      "new",       "noexcept", "not",      "nullptr",  "operator", "or",       "private",
      "protected", "public",   "register", "requires", "return",   "short",    "signed",
      "sizeof",    "static",   "struct",   "switch",   "template", "this",     "throw",
      "true",      "try",      "typedef",  "typename", "union",    "unsigned", "using",
      "virtual",   "void",     "volatile", "while",    "xor"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
}

}  // namespace csi_proxy::codegen
