#include "server/base/windows_path.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/base/unicode.h"

namespace csi_proxy {
namespace {

// In UTF-16 units: the longest path the wide functions take, and the longest NTFS name.
constexpr int64_t kMaxPath = 32767;
constexpr int64_t kMaxComponent = 255;

// The length of a bad path that an error quotes.
constexpr size_t kQuotedLength = 128;

// The most paths that PathsText() lists, and the longest that it shows, in bytes.
constexpr size_t kPathsInText = 4;
constexpr size_t kLongestInText = 260;

bool IsSeparator(char c) { return c == '\\' || c == '/'; }

std::string Quote(absl::string_view text) {
  // The cut may split a character.
  const std::string quoted = ReplaceInvalidUtf8(text.substr(0, kQuotedLength));
  return absl::StrCat("\"", absl::Utf8SafeCEscape(quoted),
                      text.size() > kQuotedLength ? "...\"" : "\"");
}

absl::Status Refuse(absl::string_view field, absl::string_view text, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", Quote(text), ": ", rule));
}

// Returns true for a name that is a device in every directory, with any extension
// (learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions).
bool IsReservedName(absl::string_view component) {
  // Fast path: few names begin with one of these letters.
  if (!absl::StrContains("acnplACNPL", component[0])) return false;
  const absl::string_view stem =
      absl::StripTrailingAsciiWhitespace(component.substr(0, component.find('.')));
  if (stem.size() < 3 || stem.size() > 7) return false;
  static constexpr std::array<absl::string_view, 7> kNames = {"CON",    "PRN",    "AUX",    "NUL",
                                                              "CLOCK$", "CONIN$", "CONOUT$"};
  for (absl::string_view name : kNames) {
    if (absl::EqualsIgnoreCase(stem, name)) return true;
  }
  for (absl::string_view prefix : {"COM", "LPT"}) {
    if (!absl::StartsWithIgnoreCase(stem, prefix)) continue;
    const absl::string_view rest = stem.substr(prefix.size());
    if (rest.size() == 1 && absl::ascii_isdigit(static_cast<unsigned char>(rest[0]))) return true;
    // The superscript digits count as digits here.
    if (rest == "\u00B9" || rest == "\u00B2" || rest == "\u00B3") return true;
  }
  return false;
}

// Returns true for characters that no rule concerns.
bool IsPlain(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-'; }

// Returns the rule that the component breaks, or "" for an ordinary name.
absl::string_view BrokenRule(absl::string_view component) {
  if (component == "..") return "\"..\" is not allowed as a component";
  // Fast path: most names are plain, and decoding code points costs several times as much.
  absl::string_view rest = component;
  while (!rest.empty() && IsPlain(rest.front())) rest.remove_prefix(1);
  auto units = static_cast<int64_t>(component.size() - rest.size());
  while (!rest.empty()) {
    char32_t c;
    if (!ConsumeCodePoint(&rest, &c)) return "it is not valid UTF-8";
    units += c >= 0x10000 ? 2 : 1;
    if (c < 0x20 || c == 0x7F) return "a control character is not allowed";
    // Of the characters below, only `|` is above the digits.
    if (c >= 'A' && c != '|') continue;
    switch (c) {
      case ':':
        return "\":\" is not allowed after the drive letter (alternate data stream)";
      case '<':
      case '>':
      case '"':
      case '|':
      case '?':
      case '*':
        return "the characters <>\"|?* are not allowed";
      default:
        break;
    }
  }
  if (units > kMaxComponent) return "a component is longer than 255 characters";
  if (component.back() == '.' || component.back() == ' ') {
    return "a component must not end with a dot or a space";
  }
  if (IsReservedName(component)) return "a reserved device name is not allowed";
  return "";
}

// Splits at either separator. Drops empty and `.` components, which mean nothing.
absl::StatusOr<std::vector<std::string>> SplitComponents(absl::string_view field,
                                                         absl::string_view text,
                                                         absl::string_view rest) {
  std::vector<std::string> components;
  components.reserve(std::count_if(rest.begin(), rest.end(), IsSeparator) + 1);
  while (!rest.empty()) {
    const size_t length = std::find_if(rest.begin(), rest.end(), IsSeparator) - rest.begin();
    const absl::string_view component = rest.substr(0, length);
    rest.remove_prefix(std::min(length + 1, rest.size()));
    if (component.empty() || component == ".") continue;
    const absl::string_view rule = BrokenRule(component);
    if (!rule.empty()) return Refuse(field, text, rule);
    components.emplace_back(component);
  }
  return components;
}

// Checks the rules that hold for every kind of path.
absl::Status CheckText(absl::string_view field, absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(field, ": the path is empty"));
  const int64_t units = Utf16Length(text);
  if (units < 0) return Refuse(field, text, "it is not valid UTF-8");
  if (units > kMaxPath) return Refuse(field, text, "it is longer than 32767 characters");
  if (absl::StrContains(text, '\0')) return Refuse(field, text, "a NUL character is not allowed");
  return absl::OkStatus();
}

// Returns true for `\\?\`, `\\.\` and the NT form `\??\`, with either separator.
bool IsDeviceForm(absl::string_view text) {
  if (text.size() < 4 || !IsSeparator(text[0]) || !IsSeparator(text[3])) return false;
  if (IsSeparator(text[1])) return text[2] == '?' || text[2] == '.';
  return text[1] == '?' && text[2] == '?';
}

}  // namespace

absl::StatusOr<WindowsPath> WindowsPath::Parse(absl::string_view field, absl::string_view text) {
  ABSL_RETURN_IF_ERROR(CheckText(field, text));
  if (IsDeviceForm(text)) return Refuse(field, text, "device paths are not allowed");
  if (text.size() >= 2 && IsSeparator(text[0]) && IsSeparator(text[1])) {
    return Refuse(field, text, "UNC paths are not allowed");
  }
  const bool has_drive = text.size() >= 2 && text[1] == ':' &&
                         absl::ascii_isalpha(static_cast<unsigned char>(text[0]));
  if (!has_drive) {
    return Refuse(field, text, "it is not absolute: it must begin with a drive, as in C:\\");
  }
  if (text.size() < 3 || !IsSeparator(text[2])) {
    return Refuse(field, text, "it is relative to the drive: a backslash must follow the colon");
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<std::string> components,
                        SplitComponents(field, text, text.substr(3)));
  return WindowsPath(absl::ascii_toupper(static_cast<unsigned char>(text[0])),
                     std::move(components));
}

absl::StatusOr<WindowsPath> WindowsPath::ParseLenient(absl::string_view field,
                                                      absl::string_view text, char default_drive) {
  ABSL_RETURN_IF_ERROR(CheckText(field, text));
  // Only a drive may follow the prefix: `\\?\UNC\` and `\\?\Volume{...}` stay refused by Parse().
  if (IsDeviceForm(text) && IsSeparator(text[1]) && text[2] == '?' && text.size() > 5 &&
      text[5] == ':') {
    return Parse(field, text.substr(4));
  }
  if (IsSeparator(text[0]) && (text.size() == 1 || !IsSeparator(text[1])) && !IsDeviceForm(text)) {
    return Parse(field, absl::StrCat(std::string(1, default_drive), ":", text));
  }
  return Parse(field, text);
}

std::string WindowsPath::ToString() const {
  return absl::StrCat(std::string(1, drive_), ":\\", absl::StrJoin(components_, "\\"));
}

WindowsPath WindowsPath::Child(absl::string_view component) const {
  std::vector<std::string> components = components_;
  components.emplace_back(component);
  return WindowsPath(drive_, std::move(components));
}

WindowsPath WindowsPath::Parent() const {
  std::vector<std::string> components = components_;
  if (!components.empty()) components.pop_back();
  return WindowsPath(drive_, std::move(components));
}

bool WindowsPath::Contains(const WindowsPath& other) const {
  if (drive_ != other.drive_ || components_.size() > other.components_.size()) return false;
  return std::equal(components_.begin(), components_.end(), other.components_.begin(), EqualNames);
}

bool operator==(const WindowsPath& a, const WindowsPath& b) {
  return a.components_.size() == b.components_.size() && a.Contains(b);
}

bool EqualNames(absl::string_view a, absl::string_view b) {
  if (a == b) return true;
  if (a.empty() || b.empty()) return false;
  // A fast path for names that differ in their last, ASCII character.
  const unsigned char last_a = a.back(), last_b = b.back();
  if (last_a < 0x80 && last_b < 0x80 &&
      absl::ascii_toupper(last_a) != absl::ascii_toupper(last_b)) {
    return false;
  }
  char32_t from_a, from_b;
  while (!a.empty() && !b.empty()) {
    // The fast path: most names begin with the same ASCII characters.
    if (a.front() == b.front() && static_cast<unsigned char>(a.front()) < 0x80) {
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    if (!ConsumeCodePoint(&a, &from_a) || !ConsumeCodePoint(&b, &from_b)) return a == b;
    if (from_a != from_b && UpperCase(from_a) != UpperCase(from_b)) return false;
  }
  return a.empty() && b.empty();
}

std::string FoldName(absl::string_view name) {
  std::string folded(name);
  const auto other = std::find_if(folded.begin(), folded.end(), [](char& c) {
    if (static_cast<unsigned char>(c) >= 0x80) return true;
    c = absl::ascii_toupper(static_cast<unsigned char>(c));
    return false;
  });
  name.remove_prefix(other - folded.begin());
  folded.erase(other, folded.end());
  char32_t c;
  while (!name.empty()) {
    if (!ConsumeCodePoint(&name, &c)) {
      folded.append(name.data(), name.size());
      break;
    }
    AppendUtf8(UpperCase(c), &folded);
  }
  return folded;
}

std::string CanonicalUnc(absl::string_view path) { return absl::AsciiStrToLower(FoldName(path)); }

std::string PathsText(const std::vector<std::string>& paths) {
  std::vector<absl::string_view> shown;
  for (const std::string& path : paths) {
    if (shown.size() < kPathsInText && path.size() <= kLongestInText) shown.push_back(path);
  }
  std::string text = absl::StrJoin(shown, ", ");
  if (paths.size() > shown.size()) {
    absl::StrAppend(&text, shown.empty() ? "" : " and ", paths.size() - shown.size(), " more");
  }
  return text;
}

absl::StatusOr<std::shared_ptr<const PathRoots>> PathRoots::Parse(
    absl::string_view field, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": at least one directory is needed"));
  }
  std::vector<WindowsPath> roots;
  for (const std::string& text : texts) {
    ABSL_ASSIGN_OR_RETURN(WindowsPath path, WindowsPath::Parse(field, text));
    roots.push_back(std::move(path));
  }
  return std::make_shared<const PathRoots>(std::move(roots));
}

bool PathRoots::Contains(const WindowsPath& path) const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const WindowsPath& root) { return root.Contains(path); });
}

absl::Status PathRoots::Check(absl::string_view field, const WindowsPath& path) const {
  if (Contains(path)) return absl::OkStatus();
  std::vector<std::string> names;
  for (const WindowsPath& root : roots_) names.push_back(root.ToString());
  return absl::PermissionDeniedError(absl::StrCat(field, ": ", Quote(path.ToString()),
                                                  ": it is outside the working directories (",
                                                  absl::StrJoin(names, ", "), ")"));
}

absl::StatusOr<UncPath> UncPath::Parse(absl::string_view field, absl::string_view text) {
  ABSL_RETURN_IF_ERROR(CheckText(field, text));
  if (IsDeviceForm(text)) return Refuse(field, text, "device paths are not allowed");
  if (text.size() < 3 || !IsSeparator(text[0]) || !IsSeparator(text[1]) || IsSeparator(text[2])) {
    return Refuse(field, text, "it is not a share: it must be \\\\host\\share");
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<std::string> parts,
                        SplitComponents(field, text, text.substr(2)));
  if (parts.size() < 2) {
    return Refuse(field, text, "it has no share name: it must be \\\\host\\share");
  }
  std::string host = std::move(parts[0]);
  std::string share = std::move(parts[1]);
  // A share name has at most 80 characters
  // (learn.microsoft.com/openspecs/windows_protocols/ms-dtyp, UNC). A DNS host name has at most
  // 255, the limit of a component.
  if (share.size() > 80) return Refuse(field, text, "the share's name is longer than 80 bytes");
  if (absl::StrContains(host, ' ')) {
    return Refuse(field, text, "a space is not allowed in the host name");
  }
  // `pipe` and `ipc$` are no directories, and `mailslot` is a device.
  for (absl::string_view special : {"pipe", "mailslot", "ipc$"}) {
    if (absl::EqualsIgnoreCase(share, special)) {
      return Refuse(field, text, "it is not a share of files");
    }
  }
  parts.erase(parts.begin(), parts.begin() + 2);
  return UncPath(std::move(host), std::move(share), std::move(parts));
}

std::string UncPath::Share() const {
  return CanonicalUnc(absl::StrCat("\\\\", host_, "\\", share_));
}

std::string UncPath::ToString() const {
  std::string text = absl::StrCat("\\\\", host_, "\\", share_);
  for (const std::string& component : components_) absl::StrAppend(&text, "\\", component);
  return text;
}

}  // namespace csi_proxy
