#include "server/names/windows_path.h"

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
#include "server/names/unicode.h"

namespace csi_proxy {
namespace {

// The longest path that Windows' W functions accept, in UTF-16 units.
constexpr int64_t kMaxPath = 32767;
// The longest name of an entry on NTFS, in UTF-16 units.
constexpr int64_t kMaxComponent = 255;

// The number of bytes of a bad path that an error quotes.
constexpr size_t kQuotedLength = 128;

// The maximum number of paths that PathsText() lists, and the maximum bytes of each listed path.
constexpr size_t kPathsInText = 4;
constexpr size_t kLongestInText = 260;

bool IsSeparator(char c) { return c == '\\' || c == '/'; }

std::string Quote(absl::string_view text) {
  // Replaces the rest of a character that the cut has split.
  const std::string quoted = ReplaceInvalidUtf8(text.substr(0, kQuotedLength));
  return absl::StrCat("\"", absl::Utf8SafeCEscape(quoted),
                      text.size() > kQuotedLength ? "...\"" : "\"");
}

absl::Status Refuse(absl::string_view field, absl::string_view text, absl::string_view rule,
                    absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const std::string quoted = text.empty() ? "" : absl::StrCat(Quote(text), ": ");
  return absl::Status(code, absl::StrCat(field, ": ", quoted, rule));
}

// Returns true for a name that is a device in every directory, with any extension
// (learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions).
bool IsReservedName(absl::string_view component) {
  // Fast path: every reserved name begins with one of these letters.
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
    // Windows reserves the names with superscript 1, 2 and 3 too.
    if (rest == "\u00B9" || rest == "\u00B2" || rest == "\u00B3") return true;
  }
  return false;
}

// Returns the rule that the component breaks, or "". REQUIRES: `component` is UTF-8 and not empty.
absl::string_view BrokenNameRule(absl::string_view component) {
  if (component == "..") return "\"..\" is not allowed as a component";
  int64_t units = 0;
  for (const char c : component) {
    const auto byte = static_cast<unsigned char>(c);
    // A character has one byte that is no continuation byte. A character of 4 bytes has 2 units.
    units += ((byte & 0xC0) != 0x80 ? 1 : 0) + (byte >= 0xF0 ? 1 : 0);
    if (absl::ascii_iscntrl(byte)) return "a control character is not allowed";
    if (c == ':') return "\":\" is not allowed after the drive letter (alternate data stream)";
    if (absl::StrContains("<>\"|?*", c)) return "the characters <>\"|?* are not allowed";
  }
  if (units > kMaxComponent) return "a component is longer than 255 characters";
  if (component.back() == '.' || component.back() == ' ') {
    return "a component must not end with a dot or a space";
  }
  if (IsReservedName(component)) return "a reserved device name is not allowed";
  return "";
}

// Returns the rule that the text breaks, or "". Checks only the rules that hold for every kind of
// path.
absl::string_view BrokenTextRule(absl::string_view text) {
  if (text.empty()) return "the path is empty";
  const int64_t units = Utf16Length(text);
  if (units < 0) return "it is not valid UTF-8";
  if (units > kMaxPath) return "it is longer than 32767 characters";
  if (absl::StrContains(text, '\0')) return "a NUL character is not allowed";
  return "";
}

// The parts of a path's text. `broken_rule` is the rule that the text breaks, or "".
struct Parts {
  // 0 if the text names no drive.
  char drive = 0;
  std::vector<std::string> components;
  absl::string_view broken_rule;
};

// Splits at either separator up to the first component that breaks a rule. Drops empty and `.`
// components, because they have no meaning.
void SplitComponents(absl::string_view text, Parts* parts) {
  parts->components.reserve(std::count_if(text.begin(), text.end(), IsSeparator) + 1);
  while (!text.empty() && parts->broken_rule.empty()) {
    const size_t length = std::find_if(text.begin(), text.end(), IsSeparator) - text.begin();
    const absl::string_view component = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (component.empty() || component == ".") continue;
    parts->broken_rule = BrokenNameRule(component);
    parts->components.emplace_back(component);
  }
}

// Returns true for `\\?\`, `\\.\` and the NT form `\??\`, with either separator.
bool IsDeviceForm(absl::string_view text) {
  if (text.size() < 4 || !IsSeparator(text[0]) || !IsSeparator(text[3])) return false;
  if (IsSeparator(text[1])) return text[2] == '?' || text[2] == '.';
  return text[1] == '?' && text[2] == '?';
}

bool HasDrive(absl::string_view text) {
  return text.size() >= 2 && text[1] == ':' &&
         absl::ascii_isalpha(static_cast<unsigned char>(text[0]));
}

// Splits a path of a drive. kLenient drops a `\\?\` before the drive, and leaves the drive 0 for a
// text that begins with one separator.
Parts SplitPath(absl::string_view text, Spelling spelling) {
  Parts parts;
  parts.broken_rule = BrokenTextRule(text);
  if (!parts.broken_rule.empty()) return parts;
  const bool is_lenient = spelling == Spelling::kLenient;
  // Only a drive may follow the prefix: `\\?\UNC\` and `\\?\Volume{...}` stay refused.
  if (is_lenient && IsDeviceForm(text) && IsSeparator(text[1]) && text[2] == '?' &&
      HasDrive(text.substr(4))) {
    text.remove_prefix(4);
  }
  const bool is_rooted = IsSeparator(text[0]);
  if (IsDeviceForm(text)) {
    parts.broken_rule = "device paths are not allowed";
  } else if (is_rooted && text.size() >= 2 && IsSeparator(text[1])) {
    parts.broken_rule = "UNC paths are not allowed";
  } else if (is_rooted && is_lenient) {
    SplitComponents(text, &parts);
  } else if (!HasDrive(text)) {
    parts.broken_rule = "it is not absolute: it must begin with a drive, as in C:\\";
  } else if (text.size() < 3 || !IsSeparator(text[2])) {
    parts.broken_rule = "it is relative to the drive: a backslash must follow the colon";
  } else {
    parts.drive = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
    SplitComponents(text.substr(3), &parts);
  }
  return parts;
}

// Returns the rule that the host or share of a UNC path breaks, or "". `names` are its components.
absl::string_view BrokenShareRule(const std::vector<std::string>& names) {
  if (names.size() < 2) return "it has no share name: it must be \\\\host\\share";
  // A share name has at most 80 characters
  // (learn.microsoft.com/openspecs/windows_protocols/ms-dtyp, UNC). A DNS host name has at most
  // 255, the limit of a component.
  if (names[1].size() > 80) return "the share's name is longer than 80 bytes";
  if (absl::StrContains(names[0], ' ')) return "a space is not allowed in the host name";
  // `pipe` and `ipc$` are no directories, and `mailslot` is a device.
  for (absl::string_view special : {"pipe", "mailslot", "ipc$"}) {
    if (absl::EqualsIgnoreCase(names[1], special)) return "it is not a share of files";
  }
  return "";
}

// Splits a UNC path. The first two components of the result are the host and the share.
Parts SplitUnc(absl::string_view text) {
  Parts parts;
  parts.broken_rule = BrokenTextRule(text);
  if (!parts.broken_rule.empty()) return parts;
  if (IsDeviceForm(text)) {
    parts.broken_rule = "device paths are not allowed";
  } else if (text.size() < 3 || !IsSeparator(text[0]) || !IsSeparator(text[1]) ||
             IsSeparator(text[2])) {
    parts.broken_rule = "it is not a share: it must be \\\\host\\share";
  } else {
    SplitComponents(text.substr(2), &parts);
    if (parts.broken_rule.empty()) parts.broken_rule = BrokenShareRule(parts.components);
  }
  return parts;
}

}  // namespace

absl::StatusOr<WindowsPath> WindowsPath::Parse(absl::string_view field, absl::string_view text) {
  Parts parts = SplitPath(text, Spelling::kStrict);
  if (!parts.broken_rule.empty()) return Refuse(field, text, parts.broken_rule);
  return WindowsPath(parts.drive, std::move(parts.components));
}

bool WindowsPath::IsName(absl::string_view text) {
  const bool is_one = std::none_of(text.begin(), text.end(), IsSeparator) && text != ".";
  return is_one && BrokenTextRule(text).empty() && BrokenNameRule(text).empty();
}

absl::StatusOr<WindowsPath> WindowsPath::Join(absl::string_view field,
                                              absl::string_view relative) const {
  Parts parts;
  parts.broken_rule = BrokenTextRule(relative);
  if (parts.broken_rule.empty()) SplitComponents(relative, &parts);
  WindowsPath path = *this;
  path.components_.insert(path.components_.end(), std::make_move_iterator(parts.components.begin()),
                          std::make_move_iterator(parts.components.end()));
  if (parts.broken_rule.empty()) parts.broken_rule = BrokenTextRule(path.ToString());
  if (!parts.broken_rule.empty()) return Refuse(field, path.ToString(), parts.broken_rule);
  return path;
}

WindowsPath WindowsPath::Root() const { return WindowsPath(drive_, {}); }

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
    const absl::string_view rest_a = a, rest_b = b;
    if (!ConsumeCodePoint(&a, &from_a) || !ConsumeCodePoint(&b, &from_b)) return rest_a == rest_b;
    if (from_a != from_b && UpperCase(from_a) != UpperCase(from_b)) return false;
  }
  return a.empty() && b.empty();
}

bool IsKubeletsFolder(absl::string_view name) {
  return EqualNames(name, "plugins") || EqualNames(name, "pods");
}

bool IsPodsDirectory(const std::vector<std::string>& names) {
  const auto pods = std::find_if(names.begin(), names.end(), IsKubeletsFolder);
  if (pods != names.end() && EqualNames(*pods, "plugins")) return false;
  // The number of names below `pods`. The first of them is the name of the pod's directory.
  const auto size = names.end() - pods - 1;
  if (size <= 1) return false;
  if (!EqualNames(pods[2], "volumes")) return true;
  return size > (size > 2 && EqualNames(pods[3], "kubernetes.io~csi") ? 4 : 3);
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

std::string PathRoots::OutsideRule() const {
  std::vector<std::string> names;
  for (const WindowsPath& root : roots_) names.push_back(root.ToString());
  return absl::StrCat("it is outside the working directories (", absl::StrJoin(names, ", "), ")");
}

absl::Status PathRoots::Check(absl::string_view field, const WindowsPath& path) const {
  if (Contains(path)) return absl::OkStatus();
  return Refuse(field, path.ToString(), OutsideRule(), absl::StatusCode::kPermissionDenied);
}

absl::StatusOr<ConfinedPath> ConfinedPath::Parse(const std::shared_ptr<const PathRoots>& roots,
                                                 absl::string_view field, absl::string_view text,
                                                 Place place, Spelling spelling) {
  Parts parts = SplitPath(text, spelling);
  const bool is_path = parts.broken_rule.empty();
  WindowsPath path(parts.drive, std::move(parts.components));
  const auto contains_path = [&](const WindowsPath& root) {
    if (parts.drive == 0) path.drive_ = root.drive_;
    return root.Contains(path);
  };
  const auto is_in_path = [&](const WindowsPath& root) { return path.Contains(root); };
  const std::vector<WindowsPath>& all = roots->roots();
  std::string rule(parts.broken_rule);
  if (is_path && std::none_of(all.begin(), all.end(), contains_path)) {
    if (parts.drive == 0 && !all.empty()) path.drive_ = all.front().drive_;
    rule = roots->OutsideRule();
  } else if (is_path && place == Place::kBelowRoots &&
             std::any_of(all.begin(), all.end(), is_in_path)) {
    rule = "it is a working directory itself";
  }
  if (rule.empty()) return ConfinedPath{std::move(path), roots};
  return is_path ? Refuse(field, path.ToString(), rule, absl::StatusCode::kPermissionDenied)
                 : Refuse(field, text, rule);
}

absl::StatusOr<UncPath> UncPath::Parse(absl::string_view field, absl::string_view text) {
  Parts parts = SplitUnc(text);
  if (!parts.broken_rule.empty()) return Refuse(field, text, parts.broken_rule);
  UncPath path;
  path.host_ = std::move(parts.components[0]);
  path.share_ = std::move(parts.components[1]);
  parts.components.erase(parts.components.begin(), parts.components.begin() + 2);
  path.components_ = std::move(parts.components);
  return path;
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
