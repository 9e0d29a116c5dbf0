#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/ctl/report/report.h"

namespace csi_proxy::ctl::report {
namespace {

// Values that firmware reports instead of a serial number, and accounts of every Windows.
constexpr absl::string_view kIdentifyNothing[] = {
    "none",          "null",          "default",        "default string",
    "unknown",       "system",        "not specified",  "to be filled by o.e.m.",
    "administrator", "guest",         "defaultaccount", "wdagutilityaccount",
    "public",        "containeruser", "default user",   "containeradministrator",
    "all users"};
constexpr size_t kOrdinaryWord = 8;
// A shorter value is masked only as a whole word, because it may occur in other words by chance.
constexpr size_t kShort = 8;

// Returns true for letters, digits and the bytes of UTF-8 characters beyond ASCII.
bool IsWord(char c) { return absl::ascii_isalnum(c) || static_cast<unsigned char>(c) >= 0x80; }
bool IsHex(char c) { return absl::ascii_isxdigit(c); }
bool IsDigit(char c) { return absl::ascii_isdigit(c); }

// Return the character before or at a position; NUL outside the text.
char Before(absl::string_view text, size_t at) { return at == 0 ? '\0' : text[at - 1]; }
char At(absl::string_view text, size_t at) { return at < text.size() ? text[at] : '\0'; }

bool StartsAt(absl::string_view text, size_t at, absl::string_view word) {
  return absl::StartsWithIgnoreCase(text.substr(at), word);
}

// Returns true if the text at `at` has the form, in which `d` is a digit and `h` a hexadecimal one.
bool HasForm(absl::string_view text, size_t at, absl::string_view form) {
  if (text.size() - at < form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i) {
    const char c = text[at + i];
    if (form[i] == 'd' ? !IsDigit(c) : form[i] == 'h' ? !IsHex(c) : c != form[i]) return false;
  }
  return true;
}

template <typename Predicate>
size_t Span(absl::string_view text, size_t at, Predicate is) {
  size_t end = at;
  while (end < text.size() && is(text[end])) ++end;
  return end - at;
}

// Returns true if `at` follows one of JSON's escapes of control characters: `\n`, `\r` or `\t`.
bool IsAfterEscape(absl::string_view text, size_t at) {
  return at >= 2 && text[at - 2] == '\\' && absl::StrContains("nrt", text.substr(at - 1, 1));
}

bool IsAlone(absl::string_view text, size_t at, size_t end) {
  const auto is = [](char c, absl::string_view set) {
    return c == '\0' || absl::StrContains(set, absl::string_view(&c, 1));
  };
  const char before = Before(text, at), after = At(text, end);
  const bool begins = is(before, "\n\t\"'=|,") || IsAfterEscape(text, at) ||
                      (before == ' ' && at >= 2 && is(text[at - 2], ":=|,"));
  return begins && is(after, "\n\r\t\"',;|");
}

// --- Return the length of the value at `at`, or 0. REQUIRES: no word ends directly before `at` ---

size_t Iqn(absl::string_view text, size_t at) {
  if (StartsAt(text, at, "iqn.") && HasForm(text, at + 4, "dddd-dd.")) {
    const size_t rest = Span(text, at + 12, [](char c) {
      return !absl::ascii_isspace(c) &&
             !absl::StrContains("\"'`,;|<>()\\", absl::string_view(&c, 1));
    });
    return rest == 0 ? 0 : 12 + rest;
  }
  if (!StartsAt(text, at, "eui.") && !StartsAt(text, at, "naa.")) return 0;
  const size_t digits = Span(text, at + 4, IsHex);
  return digits >= 12 && digits <= 32 && !IsWord(At(text, at + 4 + digits)) ? 4 + digits : 0;
}

// Finds SIDs of accounts. Windows' own SIDs are equal on all nodes and identify nothing.
size_t Sid(absl::string_view text, size_t at) {
  if (!StartsAt(text, at, "S-1-5-21-") && !StartsAt(text, at, "S-1-12-1-")) return 0;
  size_t length = 9 + Span(text, at + 9, [](char c) { return IsDigit(c) || c == '-'; });
  while (text[at + length - 1] == '-') --length;
  return length > 8 ? length : 0;
}

size_t VolumeGuid(absl::string_view text, size_t at) {
  constexpr absl::string_view kForm = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
  return at >= 7 && StartsAt(text, at - 7, "volume{") && HasForm(text, at, kForm) &&
                 At(text, at + kForm.size()) == '}'
             ? kForm.size()
             : 0;
}

size_t Ipv4(absl::string_view text, size_t at) {
  if (Before(text, at) == '.') return 0;
  size_t length = 0;
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && At(text, at + length++) != '.') return 0;
    const size_t digits = Span(text, at + length, IsDigit);
    int number = 256;
    if (digits == 0 || digits > 3 || !absl::SimpleAtoi(text.substr(at + length, digits), &number) ||
        number > 255) {
      return 0;
    }
    length += digits;
  }
  const char after = At(text, at + length);
  if (IsWord(after) || (after == '.' && IsDigit(At(text, at + length + 1)))) return 0;
  const absl::string_view address = text.substr(at, length);
  return absl::StartsWith(address, "127.") || address == "0.0.0.0" ? 0 : length;
}

size_t Ipv6(absl::string_view text, size_t at) {
  const char before = Before(text, at);
  if (before == ':' || before == '.') return 0;
  size_t length = Span(text, at, [](char c) { return IsHex(c) || c == ':'; });
  const absl::string_view address = text.substr(at, length);
  const std::vector<absl::string_view> groups = absl::StrSplit(address, ':');
  const bool shortened = absl::StrContains(address, "::");
  if (groups.size() < 3 || groups.size() > 9 || (!shortened && groups.size() != 8)) return 0;
  if (std::any_of(groups.begin(), groups.end(), [](auto group) { return group.size() > 4; })) {
    return 0;
  }
  if (address == "::" || address == "::1") return 0;
  if (At(text, at + length) == '%') length += 1 + Span(text, at + length + 1, IsWord);
  // The last four bytes may be written in decimal, with dots.
  if (At(text, at + length) == '.') {
    length += Span(text, at + length, [](char c) { return IsDigit(c) || c == '.'; });
  }
  return IsWord(At(text, at + length)) ? 0 : length;
}

size_t Mac(absl::string_view text, size_t at) {
  constexpr absl::string_view kForm = "hh-hh-hh-hh-hh-hh";
  const char before = Before(text, at), after = At(text, at + kForm.size());
  if (before == '-' || !HasForm(text, at, kForm)) return 0;
  return IsWord(after) || after == '-' ? 0 : kForm.size();
}

struct Form {
  const char* kind;
  size_t (*find)(absl::string_view text, size_t at);
};
// The redactor looks for these names before known values, which may be part of such a name.
constexpr Form kNames[] = {{"iqn", &Iqn}, {"sid", &Sid}, {"volume", &VolumeGuid}};
constexpr Form kAddresses[] = {{"ip", &Ipv4}, {"ip", &Ipv6}, {"mac", &Mac}};

}  // namespace

const std::string& Redactor::Mask(absl::string_view kind, absl::string_view value) {
  std::string& mask = masks_[absl::AsciiStrToLower(value)];
  if (mask.empty()) mask = absl::StrCat("<", kind, "-", ++counts_[std::string(kind)], ">");
  return mask;
}

void Redactor::AddSecret(absl::string_view kind, absl::string_view value) {
  const std::string text = absl::AsciiStrToLower(absl::StripAsciiWhitespace(value));
  if (text.size() < 3 || masks_.contains(text)) return;
  if (text.find_first_not_of('0') == std::string::npos) return;
  for (const absl::string_view nothing : kIdentifyNothing) {
    if (text == nothing) return;
  }
  const std::string mask = Mask(kind, text);
  const bool is_name = kind == "host" || kind == "user";
  const bool is_ordinary = is_name && text.size() <= kOrdinaryWord &&
                           std::all_of(text.begin(), text.end(), absl::ascii_isalpha);
  // The value as ConvertTo-Json writes it.
  const std::string json =
      absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"&", "\\u0026"}, {"'", "\\u0027"}});
  for (const std::string& form : std::set<std::string>{text, json}) {
    known_.push_back({form, mask, is_name || text.size() < kShort, is_ordinary});
  }
  std::stable_sort(known_.begin(), known_.end(),
                   [](const Known& a, const Known& b) { return a.form.size() > b.form.size(); });
}

size_t Redactor::FindKnown(absl::string_view text, size_t at, std::string* mask) const {
  for (const Known& known : known_) {
    if (!StartsAt(text, at, known.form)) continue;
    const size_t end = at + known.form.size();
    const char before = Before(text, at);
    if (known.is_word && ((IsWord(before) && !IsAfterEscape(text, at)) || IsWord(At(text, end)))) {
      continue;
    }
    const bool is_named = before == '\\' || before == '@' || At(text, end) == '\\';
    if (known.is_ordinary && !is_named && !IsAlone(text, at, end)) continue;
    *mask = known.mask;
    return known.form.size();
  }
  return 0;
}

std::string Redactor::Apply(absl::string_view text) {
  std::string masked;
  for (size_t at = 0; at < text.size();) {
    std::string mask;
    size_t length = 0;
    const auto find = [&](const auto& forms) {
      for (const Form& form : forms) {
        if (length == 0 && !IsWord(Before(text, at)) && (length = form.find(text, at)) > 0) {
          mask = Mask(form.kind, text.substr(at, length));
        }
      }
    };
    find(kNames);
    if (length == 0) length = FindKnown(text, at, &mask);
    if (length == 0) find(kAddresses);
    masked.append(length == 0 ? std::string(1, text[at]) : mask);
    at += std::max<size_t>(length, 1);
  }
  return masked;
}

}  // namespace csi_proxy::ctl::report
