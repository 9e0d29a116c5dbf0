#include "server/names/windows_path.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/names/hostile_paths.h"

namespace csi_proxy {
namespace {

WindowsPath Path(absl::string_view text) {
  const absl::StatusOr<WindowsPath> path = WindowsPath::Parse("path", text);
  EXPECT_TRUE(path.ok()) << path.status();
  return *path;
}

std::string Spelt(absl::string_view text) { return Path(text).ToString(); }

TEST(WindowsPathTest, EachPathHasOneNormalisedForm) {
  EXPECT_EQ(Spelt(R"(C:\a\b)"), R"(C:\a\b)");
  EXPECT_EQ(Spelt("c:/a//b/"), R"(C:\a\b)");
  EXPECT_EQ(Spelt(R"(C:\.\a\.\b\.)"), R"(C:\a\b)");
  EXPECT_EQ(Spelt("C:/"), R"(C:\)");
}

TEST(WindowsPathTest, ContainsComparesComponentsIgnoringCase) {
  const WindowsPath root = Path(R"(C:\var\lib\kubelet)");
  EXPECT_TRUE(root.Contains(root));
  EXPECT_TRUE(root.Contains(Path(R"(c:\VAR\lib\Kubelet\pods)")));
  EXPECT_FALSE(root.Contains(Path(R"(C:\var\lib\kubelet-evil)")));
  EXPECT_FALSE(root.Contains(Path(R"(C:\var\lib)")));
  EXPECT_FALSE(root.Contains(Path(R"(D:\var\lib\kubelet\pods)")));
  EXPECT_TRUE(Path("C:\\").Contains(root));
}

TEST(WindowsPathTest, ChildAppendsANameAndParentRemovesIt) {
  EXPECT_EQ(Path("C:\\a").Child("b").ToString(), R"(C:\a\b)");
  EXPECT_EQ(Path(R"(C:\a\b)").Parent().ToString(), "C:\\a");
  EXPECT_EQ(Path("C:\\").Parent().ToString(), "C:\\");
}

TEST(WindowsPathTest, EqualityIgnoresCaseBeyondAscii) {
  EXPECT_EQ(Path("C:\\ÄÖ\\ж\\σ"), Path("C:\\äö\\Ж\\Σ"));
  EXPECT_FALSE(Path("C:\\a") == Path("C:\\b"));
  EXPECT_FALSE(Path("C:\\a") == Path("C:\\a\\b"));
}

TEST(WindowsPathTest, LenientParsingAcceptsTheSpellingsOfDrivers) {
  const auto parse = [](absl::string_view text, const char* root) {
    const auto roots = std::make_shared<PathRoots>(std::vector<WindowsPath>{Path(root)});
    return ConfinedPath::Parse(roots, "path", text, Place::kWithinRoots, Spelling::kLenient);
  };
  for (const char* text :
       {R"(\var\lib\kubelet\a)", "/var/lib/kubelet/a/", R"(C:\var\lib\kubelet\a\)",
        R"(\\?\C:\var\lib\kubelet\a)", "c:/var/lib/kubelet/a"}) {
    const auto path = parse(text, R"(C:\var\lib\kubelet)");
    ASSERT_TRUE(path.ok()) << text << ": " << path.status();
    EXPECT_EQ(path->path.ToString(), R"(C:\var\lib\kubelet\a)") << text;
  }
  EXPECT_EQ(parse("\\a", "D:\\")->path.ToString(), "D:\\a");
  for (const char* text : {R"(\\?\UNC\h\s)", R"(\\h\s)", R"(\\.\C:\a)", R"(\??\C:\a)", "a\\b", "",
                           R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)", R"(\..\a)",
                           R"(\\?\C:a)", R"(\\?\C:\..\a)"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parse(text, "C:\\").status())) << text;
  }
}

TEST(HostilePathsTest, EachHostilePathHasItsStatusCode) {
  const PathRoots roots({Path(R"(C:\var\lib\kubelet)")});
  const std::vector<HostilePath> all = HostilePaths();
  EXPECT_GE(all.size(), 150u);
  for (const HostilePath& hostile : all) {
    const auto path = WindowsPath::Parse("path", hostile.text);
    const absl::Status status = path.ok() ? roots.Check("path", *path) : path.status();
    const std::string shown = absl::CHexEscape(hostile.text.substr(0, 80));
    EXPECT_EQ(status.code(), hostile.code) << shown << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), hostile.rule)) << shown << ": " << status;
    if (!status.ok()) {
      EXPECT_TRUE(absl::StartsWith(status.message(), "path: ")) << status;
      EXPECT_LT(status.message().size(), 1024u) << "an error does not repeat a hostile megabyte";
    }
  }
}

TEST(WindowsPathTest, ErrorsQuoteThePathAndNameTheViolatedRule) {
  const std::string long_name(256, 'a');
  const struct {
    std::string text, quoted, rule;
  } rows[] = {
      {R"(\\.\C:\a)", R"(\\\\.\\C:\\a)", "device paths are not allowed"},
      {R"(\\h\s)", R"(\\\\h\\s)", "UNC paths are not allowed"},
      {"a", "a", R"(it is not absolute: it must begin with a drive, as in C:\)"},
      {"1:\\a", R"(1:\\a)", R"(it is not absolute: it must begin with a drive, as in C:\)"},
      {"C:", "C:", "it is relative to the drive: a backslash must follow the colon"},
      {"C:a", "C:a", "it is relative to the drive: a backslash must follow the colon"},
      {R"(C:\..)", R"(C:\\..)", R"(".." is not allowed as a component)"},
      {"C:\\\x01", R"(C:\\\001)", "a control character is not allowed"},
      {"C:\\a\x7F", R"(C:\\a\177)", "a control character is not allowed"},
      {R"(C:\a:b)", R"(C:\\a:b)",
       R"(":" is not allowed after the drive letter (alternate data stream))"},
      {R"(C:\a*)", R"(C:\\a*)", R"(the characters <>"|?* are not allowed)"},
      {R"(C:\a.)", R"(C:\\a.)", "a component must not end with a dot or a space"},
      {R"(C:\a )", R"(C:\\a )", "a component must not end with a dot or a space"},
      {R"(C:\nul.txt)", R"(C:\\nul.txt)", "a reserved device name is not allowed"},
      {"C:\\" + long_name, R"(C:\\)" + std::string(125, 'a') + "...",
       "a component is longer than 255 characters"},
      {"C:\\\xFF", "C:\\\\\uFFFD", "it is not valid UTF-8"},
      {std::string(127, 'a') + "é", std::string(127, 'a') + "\uFFFD...",
       R"(it is not absolute: it must begin with a drive, as in C:\)"},
      {std::string("C:\\\0", 4), R"(C:\\\000)", "a NUL character is not allowed"},
      {"C:\\" + std::string(32765, '\\'), "", "it is longer than 32767 characters"},
  };
  for (const auto& [text, quoted, rule] : rows) {
    const absl::Status refused = WindowsPath::Parse("field", text).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    if (quoted.empty()) {
      EXPECT_TRUE(absl::EndsWith(refused.message(), "...\": " + rule)) << refused;
    } else {
      EXPECT_EQ(refused.message(), absl::StrCat("field: \"", quoted, "\": ", rule));
    }
  }
  const absl::Status empty = absl::InvalidArgumentError("field: the path is empty");
  EXPECT_EQ(WindowsPath::Parse("field", "").status(), empty);
  EXPECT_EQ(UncPath::Parse("field", "").status(), empty);
  // The longest component and the longest path are accepted.
  EXPECT_TRUE(WindowsPath::Parse("field", "C:\\" + long_name.substr(1)).ok());
  EXPECT_TRUE(WindowsPath::Parse("field", "C:\\" + std::string(32764, '\\')).ok());
}

TEST(WindowsPathTest, NamesAreComparedByBytesAfterTheFirstInvalidByte) {
  EXPECT_TRUE(EqualNames("a\xFF", "a\xFF"));
  EXPECT_FALSE(EqualNames("a\xFF", "A\xFE"));
  EXPECT_FALSE(EqualNames("a\xFF", "\xFF"));
  EXPECT_FALSE(EqualNames("a", "ab"));
  EXPECT_FALSE(EqualNames("ab", "a"));
  EXPECT_EQ(FoldName("aé\xFFz"), "AÉ\xFFz");
}

TEST(PathRootsTest, ParseNeedsOneOrMoreDirectories) {
  EXPECT_EQ(PathRoots::Parse("f", {}).status(),
            absl::InvalidArgumentError("f: at least one directory is needed"));
  EXPECT_EQ(PathRoots::Parse("f", {"C:\\a", "b"}).status(), WindowsPath::Parse("f", "b").status());
  const auto roots = PathRoots::Parse("f", {"C:\\a", "d:/b"});
  ASSERT_TRUE(roots.ok()) << roots.status();
  EXPECT_EQ((*roots)->roots(), (std::vector<WindowsPath>{Path("C:\\a"), Path("D:\\b")}));
}

TEST(PathRootsTest, TheErrorNamesFieldPathAndRoots) {
  const PathRoots roots({Path("C:\\a"), Path("D:\\b")});
  EXPECT_TRUE(roots.Check("f", Path("D:\\B\\c")).ok());
  const absl::Status status = roots.Check("f", Path("E:\\"));
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_EQ(status.message(), R"(f: "E:\\": it is outside the working directories (C:\a, D:\b))");
}

TEST(UncPathTest, ParseSeparatesTheShareAndNormalisesSlashes) {
  const auto path = UncPath::Parse("remote_path", "//Host.Example/Data//Reports/");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(path->Share(), R"(\\host.example\data)");
  EXPECT_EQ(path->ToString(), R"(\\Host.Example\Data\Reports)");
}

TEST(UncPathTest, ErrorsNameTheViolatedRule) {
  for (const auto& [text, rule] :
       {std::pair(R"(\\.\pipe\x)", "device paths are not allowed"),
        {"C:\\a", "it is not a share: it must be \\\\host\\share"},
        {R"(\\host)", "it has no share name: it must be \\\\host\\share"},
        {R"(\\ho st\share)", "a space is not allowed in the host name"},
        {R"(\\host\pipe)", "it is not a share of files"}}) {
    const absl::Status status = UncPath::Parse("remote_path", text).status();
    EXPECT_TRUE(absl::StrContains(status.message(), rule)) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), "remote_path: ")) << status;
  }
  const std::string long_name(81, 's');
  EXPECT_TRUE(absl::StrContains(UncPath::Parse("p", "\\\\h\\" + long_name).status().message(),
                                "the share's name is longer than 80 bytes"));
  EXPECT_TRUE(UncPath::Parse("p", "\\\\h\\" + long_name.substr(1)).ok());
}

TEST(UncPathTest, MalformedPathsOfSharesAreRefused) {
  for (const char* text :
       {"", "\\\\", "\\\\host", "\\\\host\\", "host\\share", "C:\\a", R"(\\?\UNC\h\s)",
        R"(\\.\pipe\x)", R"(\\host\share\..\other)", R"(\\host\pipe\x)", R"(\\host\IPC$)",
        R"(\\\host\share)", R"(\\ho st\share)", R"(\\host\sh*re)", R"(\\host\share\a:b)",
        R"(\\..\share)", R"(\\host\..)", "\\\\host\\share\n", R"(\\host\mailslot\x)"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(UncPath::Parse("remote_path", text).status())) << text;
  }
  EXPECT_FALSE(UncPath::Parse("remote_path", "\\\\h\\" + std::string(81, 's')).ok());
}

}  // namespace
}  // namespace csi_proxy
