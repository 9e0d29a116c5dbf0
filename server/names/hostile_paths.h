// Hostile paths and the result that each must have, for the tests of the parser and the handlers,
// and for `csi-proxyctl selftest` on a node.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace csi_proxy {

struct HostilePath {
  std::string text;
  // The status code of a call that touches the path if `C:\var\lib\kubelet` is the working
  // directory. OK means that the path is harmless and must be accepted.
  absl::StatusCode code;
  // A part of the error's text: it names the broken rule.
  const char* rule;
  // False if the text is not UTF-8, so that no protobuf string can carry it.
  bool is_utf8 = true;
  // True if a lenient call accepts the path or refuses it by another rule: see OtherSpellings().
  bool is_other_spelling = false;
};

// Returns paths in spellings that only lenient calls parse, with the code of a lenient call. Some
// drivers use these spellings. A lenient call parses its path with Spelling::kLenient.
inline std::vector<HostilePath> OtherSpellings() {
  constexpr auto kOk = absl::StatusCode::kOk;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
  constexpr const char* kOutside = "outside the working directories";
  return {
      {"\\", kDenied, kOutside},
      {"/", kDenied, kOutside},
      {"\\var\\lib\\kubelet\\a", kOk, ""},
      {"/var/lib/kubelet/a", kOk, ""},
      {"/var/lib\\kubelet//a/", kOk, ""},
      {"\\VAR\\lib\\Kubelet\\A", kOk, ""},
      {"/var/lib/kubelet-evil/a", kDenied, kOutside},
      {"\\Windows", kDenied, kOutside},
      {"/var/lib/kubelet/../../../Windows", kInvalid, "\"..\" is not allowed"},
      {"\\..\\Windows", kInvalid, "\"..\" is not allowed"},
      {"\\var\\lib\\kubelet\\a:b", kInvalid, "\":\" is not allowed"},
      {"/var/lib/kubelet/nul", kInvalid, "reserved device name"},
      {R"(\\?\C:\var\lib\kubelet\a)", kOk, ""},
      {"//?/C:/Windows", kDenied, kOutside},
      {"\\/?\\C:\\Windows", kDenied, kOutside},
      {R"(\\?\C:\var\lib\kubelet\..\..\..\Windows)", kInvalid, "\"..\" is not allowed"},
  };
}

inline std::vector<HostilePath> HostilePaths() {
  using std::string_literals::operator""s;
  constexpr auto kOk = absl::StatusCode::kOk;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
  const std::string root = R"(C:\var\lib\kubelet)";
  std::vector<HostilePath> all;
  const auto add = [&](std::string text, absl::StatusCode code, const char* rule) {
    all.push_back({std::move(text), code, rule});
  };
  const auto below = [&](const std::string& rest, absl::StatusCode code, const char* rule) {
    add(root + "\\" + rest, code, rule);
  };

  // Empty and relative paths.
  add("", kInvalid, "the path is empty");
  for (const char* text : {"a", "var\\lib\\kubelet", ".", "..", "..\\..\\Windows", "C", "1:\\a",
                           " C:\\a", "file:///C:/var", "~", "$HOME", "%TEMP%"}) {
    add(text, kInvalid, "not absolute");
  }
  for (const char* text : {"\\", "/", "\\var\\lib\\kubelet", "/var/lib/kubelet"}) {
    add(text, kInvalid, "not absolute");
    all.back().is_other_spelling = true;
  }
  for (const char* text : {"C:", "C:a", "C:..", "C:var\\lib\\kubelet", "c:.", "C:..\\Windows"}) {
    add(text, kInvalid, "relative to the drive");
  }
  // Servers.
  for (const char* text :
       {"\\\\server\\share", "//server/share", "\\/server\\share", "/\\server/share",
        "\\\\localhost\\C$\\var\\lib\\kubelet", "\\\\127.0.0.1\\c$\\Windows", "\\\\", "//", "\\\\?",
        "\\\\a", "\\\\server@SSL\\share", "\\\\::1\\c$"}) {
    add(text, kInvalid, "UNC");
  }
  // Devices, and the prefixes that turn Windows' own checks off.
  for (const char* text :
       {R"(\\?\UNC\server\share)", R"(\\.\PhysicalDrive0)", R"(\\.\C:)",
        R"(\\.\pipe\csi-proxy-disk-v1)", R"(\\?\GLOBALROOT\Device\HarddiskVolume1\)",
        R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)", R"(\??\C:\Windows)",
        "//./C:/Windows", "/\\.\\C:\\Windows", R"(\\.\GLOBALROOT\Device\Null)", "/?\?/C:/Windows",
        R"(\\?\)", R"(\\.\)"}) {
    add(text, kInvalid, "device paths");
  }
  for (const char* text : {R"(\\?\C:\var\lib\kubelet\a)", "//?/C:/Windows", "\\/?\\C:\\Windows",
                           R"(\\?\C:\var\lib\kubelet\..\..\..\Windows)"}) {
    add(text, kInvalid, "device paths");
    all.back().is_other_spelling = true;
  }
  // Climbing, in every position and with every separator.
  for (const char* rest : {"..", "..\\", "..\\..", "..\\kubelet-evil", "a\\..", "a\\..\\b",
                           "a\\..\\..\\..\\..\\Windows", "a/../b", "a/..\\b", "a\\../b", "a\\\\..",
                           ".\\..", "a\\.\\..\\b", "..\\kubelet\\a", "../../../Windows/System32"}) {
    below(rest, kInvalid, "\"..\" is not allowed");
  }
  add(R"(C:\..)", kInvalid, "\"..\"");
  add(R"(C:\..\var\lib\kubelet)", kInvalid, "\"..\"");
  add(R"(C:/var/lib/kubelet/../../../Windows)", kInvalid, "\"..\"");
  // Dots that are part of a name, and components without meaning.
  for (const char* rest : {"a..b", "..a", "...a", "a...b", "a..b\\c..d", ".a", ".hidden\\x", ".",
                           "a\\.\\b", ".\\a", "a.b.c"}) {
    below(rest, kOk, "");
  }
  // Trailing dots and spaces: Windows drops them, so the path would name another file.
  for (const char* rest : {"a.", "a ", "a...", "a. .", "a. ", "a\\b.\\c", "a \\b", "...", ". ",
                           "..  ", ".. ", " ", "a\\ ", "kubelet.", ". ."}) {
    below(rest, kInvalid, "end with a dot or a space");
  }
  add(R"(C:\var\lib\kubelet.\a)", kInvalid, "end with a dot");
  add(R"(C:\var \lib\kubelet\a)", kInvalid, "end with a dot or a space");
  // A colon after the drive: alternate data streams and further drives.
  for (const char* rest : {"a:b", "a:b:$DATA", "a::$INDEX_ALLOCATION", ":", "a:", "C:\\Windows",
                           "a\\C:\\b", "::$DATA", "a:$I30:$INDEX_ALLOCATION\\b", "con:"}) {
    below(rest, kInvalid, "\":\" is not allowed");
  }
  add(root + "::$INDEX_ALLOCATION\\a", kInvalid, "\":\" is not allowed");
  // Device names, which are reserved in every directory.
  for (const char* rest :
       {"CON",    "con",       "Con.txt",       "NUL",       "nul.tar.gz", "PRN",
        "AUX",    "aux.c",     "COM1",          "com9.log",  "COM0",       "LPT1",
        "lpt9",   "COM\u00B9", "COM\u00B2.txt", "LPT\u00B3", "CONIN$",     "conout$",
        "CLOCK$", "a\\nul\\b", "NUL .txt",      "Con .x",    "nul\\.\\a"}) {
    below(rest, kInvalid, "reserved device name");
  }
  for (const char* rest : {"CONSOLE", "COM", "COM10", "COMA", "LPT", "NULL", "xCON", "AUX1", "CON1",
                           "a.con", "PRNT"}) {
    below(rest, kOk, "");
  }
  // Wildcards, redirections, quotes.
  for (const char* rest :
       {"a*", "?", "a?b", "*.*", "a<b", "a>b", "a|b", "\"a\"", "a\"b", "<", "|"}) {
    below(rest, kInvalid, "characters <>\"|?*");
  }
  // Text that a shell would run, but that Windows takes for an ordinary name.
  for (const char* rest : {"$(calc)", "`calc`", "a;calc", "a&calc", "a'b", "%windir%", "a$b", "{x}",
                           "-Force", "a,b", "(x)", "@{a}", "#", "~", "PROGRA~1", "!x!", "^x"}) {
    below(rest, kOk, "");
  }
  // Control characters.
  for (const char* rest : {"a\nb", "a\rb", "a\tb", "\x01", "a\x1F", "\x7F", "a\x08", "\x1B[2J"}) {
    below(rest, kInvalid, "control character");
  }
  all.push_back({root + "\\a\0b"s, kInvalid, "NUL"});
  all.push_back({"C:\\var\\lib\\kubelet\\a\0..\\..\\Windows"s, kInvalid, "NUL"});
  all.push_back({"\0"s, kInvalid, "NUL"});
  // Bytes that are not text.
  for (const char* rest :
       {"\xFF", "\xC0\xAE\xC0\xAE", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC3",
        "a\x80", "\xC1\x9C", "\xF8\x88\x80\x80\x80", "\xEF\xBF"}) {
    all.push_back({root + "\\" + rest, kInvalid, "UTF-8", false});
  }
  // Look-alikes of separators and dots are ordinary characters of a name.
  for (const char* rest :
       {"\uFF0E\uFF0E\\a", "a\u2215b", "a\u2216b", "\uFF0F", "\uFF3C", "\u2024\u2024", "a\u202Eb",
        "\u200B", "\uFEFFa", "\u00A0a", "caf\u00E9", "\u6587\u4EF6", "\U0001F600"}) {
    below(rest, kOk, "");
  }
  // Paths outside the working directories.
  for (const char* text :
       {R"(C:\)", R"(C:\Windows)", R"(C:\var)", R"(C:\var\lib)", R"(D:\var\lib\kubelet\a)",
        R"(C:\var\lib\kubelet-evil)", R"(C:\var\lib\kubelet-evil\a)", R"(C:\var\lib\kubelet2)",
        R"(C:\var\lib\kubele)", R"(C:\var\lib\kubelet.evil\a)", R"(C:\var\lib\kubeletevil)",
        R"(C:\VAR\LIB\KUBELET-EVIL\a)", R"(c:/windows/system32)", R"(Z:\a)",
        R"(C:\var\lib\containerd)", R"(C:\var\kubelet\lib)", R"(C:\kubelet\var\lib)",
        R"(C:\\var\lib\kubelet_)", R"(C:\var\\lib\\kubelet-evil\\a)"}) {
    add(text, kDenied, "outside the working directories");
  }
  // A dotless i or a Kelvin sign does not equal the ASCII letter: another directory.
  add("C:\\var\\l\u0131b\\kubelet\\a", kDenied, "outside the working directories");
  add("C:\\var\\lib\\\u212Aubelet\\a", kDenied, "outside the working directories");
  // Other spellings of the working directory.
  for (const char* text :
       {R"(c:\VAR\Lib\KUBELET\a)", "C:/var/lib/kubelet/a", R"(C:\var/lib\kubelet/a)",
        R"(C:\\var\\lib\\\kubelet\\a)", R"(C:\var\lib\kubelet\a\)", R"(C:\.\var\.\lib\kubelet\a)",
        "C:/var/lib/kubelet//a//"}) {
    add(text, kOk, "");
  }
  // Lengths, in UTF-16 units.
  const auto long_path = [&](size_t length) {
    std::string text = root;
    while (text.size() + 101 <= length) text.append(1, '\\').append(100, 'd');
    if (text.size() + 1 < length) text.append(1, '\\').append(length - text.size(), 'e');
    return text;
  };
  for (const size_t length : {259u, 260u, 261u, 1024u, 32'766u, 32'767u})
    add(long_path(length), kOk, "");
  add(long_path(32'768), kInvalid, "longer than 32767");
  add(long_path(65'536), kInvalid, "longer than 32767");
  below(std::string(255, 'n'), kOk, "");
  below(std::string(256, 'n'), kInvalid, "longer than 255");
  below(std::string(200'000, 'n'), kInvalid, "longer than 32767");
  std::string emoji;
  for (int i = 0; i < 127; ++i) emoji += "\U0001F600";
  below(emoji, kOk, "");
  below(emoji + "\U0001F600", kInvalid, "longer than 255");
  return all;
}

}  // namespace csi_proxy
