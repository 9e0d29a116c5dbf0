#include "server/machine/windows/files_testing_windows.h"
// The headers below must follow files_testing_windows.h.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "server/base/fallbacks.h"

namespace csi_proxy::machine {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

TEST_F(FilesTest, GetAttributesReturnsTheKindOfAnEntry) {
  MakeFile("file");
  MakeDirectory("directory");
  for (const Access access : {Access::kRead, Access::kDelete, Access::kWriteAttributes}) {
    const auto file = *at().Open("file", access);
    EXPECT_FALSE(file->GetAttributes()->is_directory);
    EXPECT_FALSE(file->GetAttributes()->is_reparse_point);
    const auto directory = *at().Open("DIRECTORY", access);
    EXPECT_TRUE(directory->GetAttributes()->is_directory);
    EXPECT_FALSE(directory->GetAttributes()->is_reparse_point);
    EXPECT_EQ(directory->GetAttributes()->reparse_tag, 0u);
  }
  EXPECT_EQ(Code(at().Open("absent", Access::kRead)), ERROR_FILE_NOT_FOUND);
  const auto file = *at().Open("file", Access::kRead);
  EXPECT_EQ(Code(file->Open("a", Access::kRead)), ERROR_PATH_NOT_FOUND);
  EXPECT_EQ(Code(file->CreateDirectory("a")), ERROR_PATH_NOT_FOUND);
  EXPECT_EQ(Code(file->List()), ERROR_INVALID_PARAMETER);
}

TEST_F(FilesTest, OpenRootOpensDrivesAndVolumes) {
  const auto by_drive = os_->OpenRoot("C:\\");
  ASSERT_TRUE(by_drive.ok()) << by_drive.status();
  EXPECT_TRUE((*by_drive)->GetAttributes()->is_directory);
  EXPECT_THAT(*(*by_drive)->List(), IsSupersetOf({"windows"s, "users"s}));
  const auto by_volume = os_->OpenRoot(*os_->GetVolumeOfDrive('C'));
  ASSERT_TRUE(by_volume.ok()) << by_volume.status();
  // Under Wine a volume is a device, not a directory.
  if (!IsWine()) {
    EXPECT_THAT(*(*by_volume)->List(), UnorderedElementsAreArray(*(*by_drive)->List()));
  }

  EXPECT_EQ(Code(os_->OpenRoot("Q:\\")), ERROR_PATH_NOT_FOUND);
  EXPECT_EQ(Code(os_->OpenRoot(R"(\\?\Volume{12345678-0000-0000-0000-123456789012}\)")),
            ERROR_PATH_NOT_FOUND);
  for (const std::string& root :
       {""s, "C"s, "C:"s, "C:/"s, "1:\\"s, "C:\\a"s, "C:\\a\\"s, "C:\\\0"s, "\\\\?\\C:\\"s,
        "\\\\.\\C:\\"s, "\\\\host\\share\\"s, "\\\\?\\Volume{x}\\"s,
        R"(\\?\Volume{12345678-0000-0000-0000-123456789012})"s,
        R"(\\?\Volume{12345678-0000-0000-0000-123456789012}\a\)"s}) {
    EXPECT_EQ(Code(os_->OpenRoot(root)), ERROR_INVALID_NAME) << root;
  }
}

TEST_F(FilesTest, CreateDirectoryFailsIfTheEntryExists) {
  const auto made = at().CreateDirectory("a");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE((*made)->GetAttributes()->is_directory);
  EXPECT_EQ(Code((*made)->CreateDirectory("b")), 0);
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_THAT(*(*made)->List(), ElementsAre("b"));
  MakeFile("file");
  for (const char* name : {"a", "A", "file"}) {
    EXPECT_EQ(Code(at().CreateDirectory(name)), ERROR_ALREADY_EXISTS) << name;
  }
}

TEST_F(FilesTest, ListReturnsEveryNameOnEachCall) {
  EXPECT_THAT(Names(), IsEmpty());
  std::vector<std::string> names;
  // More names than fit into one answer.
  for (int i = 0; i < 1000; ++i) names.push_back(absl::StrCat("entry-", i, std::string(60, '-')));
  for (const std::string& name : names) MakeDirectory(name);
  for (int round = 0; round < 2; ++round) {
    const auto listed = at().List();
    ASSERT_TRUE(listed.ok()) << listed.status();
    EXPECT_THAT(*listed, UnorderedElementsAreArray(names));
  }
}

TEST_F(FilesTest, ListNextReturnsEntriesInBatchesWithTheirKinds) {
  MakeFile("file");
  for (int i = 0; i < 1000; ++i) MakeDirectory(absl::StrCat("entry-", i, std::string(60, '-')));
  size_t files = 0, directories = 0, rounds = 0;
  for (bool restart = true;; restart = false) {
    const auto some = at().ListNext(restart);
    ASSERT_TRUE(some.ok()) << some.status();
    if (some->empty()) break;
    ++rounds;
    for (const DirectoryEntry& entry : *some) {
      EXPECT_EQ(entry.is_directory, entry.name != "file") << entry.name;
      EXPECT_FALSE(entry.is_reparse_point) << entry.name;
      ++(entry.is_directory ? directories : files);
    }
  }
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(directories, 1000u);
  EXPECT_GT(rounds, 1u);
  EXPECT_THAT(*at().ListNext(false), IsEmpty());
  EXPECT_FALSE(at().ListNext(true)->empty());
  MakeDirectory("bare");
  EXPECT_THAT(*(*at().Open("bare", Access::kPeek))->ListNext(true), IsEmpty());
}

TEST_F(FilesTest, OpenBelowOpensANestedEntry) {
  MakeDirectory("a");
  ASSERT_EQ(Code((*at().Open("a", Access::kRead))->CreateDirectory("b")), 0);
  MakeFile("a\\b\\file");
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"a"}, {"a", "b"}, {"A", "B", "FILE"}}) {
    const auto entry = at().OpenBelow(names, Access::kPeek);
    ASSERT_TRUE(entry.ok()) << entry.status();
    EXPECT_EQ((*entry)->GetAttributes()->is_directory, names.size() < 3);
  }
  EXPECT_EQ(Code(at().OpenBelow({"a", "none"}, Access::kPeek)), ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(Code(at().OpenBelow({"none", "b"}, Access::kPeek)), ERROR_PATH_NOT_FOUND);
  EXPECT_EQ(Code(at().OpenBelow({"a", "b", "file", "x"}, Access::kPeek)), ERROR_PATH_NOT_FOUND);
  for (const char* name : {"", ".", "..", "a\\b", "a/b", "a:b"}) {
    EXPECT_EQ(Code(at().OpenBelow({"a", name}, Access::kPeek)), ERROR_INVALID_NAME) << name;
    EXPECT_EQ(Code(at().OpenBelow({name, "a"}, Access::kPeek)), ERROR_INVALID_NAME) << name;
  }
  const std::vector<std::string> deep(200, std::string(200, 'a'));
  EXPECT_EQ(Code(at().OpenBelow(deep, Access::kPeek)), ERROR_FILENAME_EXCED_RANGE);
}

TEST_F(FilesTest, APeekDoesNotPreventDeletion) {
  MakeDirectory("directory");
  const auto peeking = at().Open("directory", Access::kPeek);
  ASSERT_TRUE(peeking.ok()) << peeking.status();
  EXPECT_EQ(DeleteEntry("directory"), 0);
  MakeDirectory("other");
  const auto reading = at().Open("other", Access::kRead);
  EXPECT_EQ(DeleteEntry("other"), ERROR_SHARING_VIOLATION);
}

TEST_F(FilesTest, DeleteRemovesFilesAndEmptyDirectories) {
  MakeFile("file");
  MakeDirectory("directory");
  EXPECT_EQ(DeleteEntry("file"), 0);
  EXPECT_EQ(DeleteEntry("directory"), 0);
  EXPECT_THAT(Names(), IsEmpty());

  MakeFile("file");
  for (const Access access : {Access::kRead, Access::kWriteAttributes}) {
    EXPECT_EQ(Code((*at().Open("file", access))->Delete()), ERROR_ACCESS_DENIED);
  }
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(FilesTest, DeleteRemovesReadOnlyEntries) {
  MakeFile("file");
  MakeDirectory("directory");
  constexpr DWORD kReadOnly = FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN;
  for (const char* name : {"file", "directory"}) {
    ASSERT_TRUE(SetFileAttributesW(Path(name).c_str(), kReadOnly));
    EXPECT_EQ(DeleteEntry(name), 0) << name;
  }
  EXPECT_THAT(Names(), IsEmpty());

  // The call for file systems that do not support the newer call deletes read-only files, too.
  MakeFile("file");
  ASSERT_TRUE(SetFileAttributesW(Path("file").c_str(), FILE_ATTRIBUTE_READONLY));
  win32::UniqueHandle file;
  ASSERT_EQ(Other("file", AccessMask(Access::kDelete), kShare, &file), 0u);
  EXPECT_EQ(Code(DeletePlainly(file.get())), 0);
  file.Reset();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FilesTest, DeletionsByTheOlderCallCountAsAFallback) {
  MakeFile("other");
  win32::UniqueHandle other;
  ASSERT_EQ(Other("other", AccessMask(Access::kDelete), kShare, &other), 0u);
  FILE_DISPOSITION_INFO_EX disposition{.Flags = kDeleteFlags};
  constexpr auto kNewer = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);
  // Wine 8 does not support the newer call.
  const bool is_known =
      SetFileInformationByHandle(other.get(), kNewer, &disposition, sizeof(disposition)) != 0;
  MakeFile("file");
  // Adds both fallbacks, because the tests may run on any file system.
  const auto taken = [] {
    return FallbackCount(Fallback::kPlainDeletion) +
           FallbackCount(Fallback::kPlainDeletionElsewhere);
  };
  const uint64_t before = taken();
  EXPECT_EQ(DeleteEntry("file"), 0);
  EXPECT_EQ(taken() - before, is_known ? 0u : 1u);
}

TEST_F(FilesTest, AFailedDeletionKeepsTheEntrysAttributes) {
  MakeDirectory("a");
  ASSERT_EQ(Code((*at().Open("a", Access::kRead))->CreateDirectory("b")), 0);
  ASSERT_TRUE(SetFileAttributesW(Path("a").c_str(), FILE_ATTRIBUTE_HIDDEN));
  EXPECT_EQ(DeleteEntry("a"), ERROR_DIR_NOT_EMPTY);
  EXPECT_NE(GetFileAttributesW(Path("a").c_str()) & FILE_ATTRIBUTE_HIDDEN, 0u);
  EXPECT_THAT(*(*at().Open("a", Access::kRead))->List(), ElementsAre("b"));

  MakeFile("file");
  ASSERT_TRUE(SetFileAttributesW(Path("file").c_str(), FILE_ATTRIBUTE_READONLY));
  const DWORD attributes = GetFileAttributesW(Path("file").c_str());
  ASSERT_NE(attributes & FILE_ATTRIBUTE_READONLY, 0u);
  win32::UniqueHandle file;
  ASSERT_EQ(Other("file", AccessMask(Access::kWriteAttributes), kShare, &file), 0u);
  EXPECT_EQ(Code(DeletePlainly(file.get())), ERROR_ACCESS_DENIED);
  EXPECT_EQ(GetFileAttributesW(Path("file").c_str()), attributes);
}

TEST_F(FilesTest, EntriesBeyondMaxPathCanBeCreatedAndReached) {
  const std::string name(200, 'n');
  std::vector<std::unique_ptr<File>> chain;
  for (int depth = 0; depth < 10; ++depth) {
    File& parent = chain.empty() ? at() : *chain.back();
    auto made = parent.CreateDirectory(name);
    ASSERT_TRUE(made.ok()) << depth << ": " << made.status();
    chain.push_back(*std::move(made));
  }
  EXPECT_TRUE(chain.back()->GetAttributes()->is_directory);
  std::string path = path_.substr(4);
  for (size_t depth = 0; depth < chain.size(); ++depth) absl::StrAppend(&path, "\\", name);
  EXPECT_EQ(Code(os_->Reach(path)), 0);
  chain.clear();
  // The fixture deletes the directories.
}

TEST_F(FilesTest, EntriesWithUnusualNamesCanBeCreatedAndOpened) {
  const std::vector<std::string> names = {
      "größe", "体积",     "\U0001F4BE",       "Мега Ω",       "a..b",
      "...a",  " leading", "{}[]()&^%$#@!~`'", "$RECYCLE.BIN", std::string(255, 'x')};
  for (const std::string& name : names) {
    const auto made = at().CreateDirectory(name);
    ASSERT_TRUE(made.ok()) << name << ": " << made.status();
  }
  EXPECT_THAT(Names(), UnorderedElementsAreArray(names));
  for (const std::string& name : names) {
    const auto opened = at().Open(name, Access::kRead);
    EXPECT_TRUE(opened.ok()) << name << ": " << opened.status();
  }
}

TEST_F(FilesTest, InvalidEntryNamesAreRefused) {
  MakeDirectory("a");
  ASSERT_EQ(Code((*at().Open("a", Access::kRead))->CreateDirectory("b")), 0);
  MakeFile("file");
  const auto a = *at().Open("a", Access::kRead);
  for (const std::string& name : {""s,
                                  "."s,
                                  ".."s,
                                  "..\\file"s,
                                  "../file"s,
                                  "\\"s,
                                  "/"s,
                                  "b\\"s,
                                  "b/"s,
                                  "b\\."s,
                                  ".\\b"s,
                                  "C:\\"s,
                                  "C:"s,
                                  "\\??\\C:\\"s,
                                  "b\0"s,
                                  "b\0c"s,
                                  "\0"s,
                                  "b::$INDEX_ALLOCATION"s,
                                  "b:c"s,
                                  "\xFF"s,
                                  std::string(256, 'b'),
                                  std::string(32769, 'b')}) {
    for (const Access access : {Access::kRead, Access::kDelete, Access::kWriteAttributes}) {
      EXPECT_EQ(Code(a->Open(name, access)), ERROR_INVALID_NAME) << name;
    }
    EXPECT_EQ(Code(a->CreateDirectory(name)), ERROR_INVALID_NAME) << name;
  }
  for (const std::string& name : {"*"s, "?"s, "b*"s, "<"s, "a|b"s, "a\"b"s}) {
    EXPECT_EQ(Code(a->Open(name, Access::kRead)), ERROR_INVALID_NAME) << name;
    EXPECT_EQ(Code(a->CreateDirectory(name)), ERROR_INVALID_NAME) << name;
  }
  EXPECT_THAT(*a->List(), ElementsAre("b"));
  EXPECT_THAT(Names(), UnorderedElementsAre("a", "file"));
}

TEST_F(FilesTest, AnOpenEntryCannotBeRenamedOrDeletedByAnotherHandle) {
  MakeFile("file");
  MakeDirectory("directory");
  for (const Access access : {Access::kRead, Access::kDelete, Access::kWriteAttributes}) {
    const auto file = *at().Open("file", access);
    const auto directory = *at().Open("directory", access);
    for (const char* name : {"file", "directory"}) {
      EXPECT_FALSE(MoveFileExW(Path(name).c_str(), Path("moved").c_str(), 0)) << name;
      EXPECT_EQ(GetLastError(), DWORD{ERROR_SHARING_VIOLATION}) << name;
      EXPECT_EQ(DeleteEntry(name), ERROR_SHARING_VIOLATION) << name;
    }
    EXPECT_FALSE(DeleteFileW(Path("file").c_str()));
    EXPECT_EQ(GetLastError(), DWORD{ERROR_SHARING_VIOLATION});
    EXPECT_FALSE(RemoveDirectoryW(Path("directory").c_str()));
    EXPECT_EQ(GetLastError(), DWORD{ERROR_SHARING_VIOLATION});
  }
  // After our handles are closed, other programs can rename and delete.
  EXPECT_TRUE(MoveFileExW(Path("file").c_str(), Path("moved").c_str(), 0));
  EXPECT_TRUE(RemoveDirectoryW(Path("directory").c_str()));
}

TEST_F(FilesTest, AnOpenEntryCanStillBeReadAndWritten) {
  MakeFile("file");
  constexpr DWORD kAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  win32::UniqueHandle other;
  for (const Access access : {Access::kRead, Access::kWriteAttributes}) {
    const auto held = *at().Open("file", access);
    EXPECT_EQ(
        Other("file", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &other),
        0u);
    const auto again = at().Open("file", access);
    EXPECT_TRUE(again.ok()) << again.status();
    other.Reset();
  }
  // Our open fails while another program has the file open exclusively or for deletion.
  ASSERT_EQ(Other("file", GENERIC_READ, 0, &other), 0u);
  EXPECT_EQ(Code(at().Open("file", Access::kRead)), ERROR_SHARING_VIOLATION);
  ASSERT_EQ(Other("file", DELETE, kAll, &other), DWORD{ERROR_SHARING_VIOLATION});
  ASSERT_EQ(Other("file", DELETE, kAll, &other), 0u);
  EXPECT_EQ(Code(at().Open("file", Access::kRead)), ERROR_SHARING_VIOLATION);
  other.Reset();
  EXPECT_EQ(Code(at().Open("file", Access::kRead)), 0);
}

TEST_F(FilesTest, APlainEntryHasNoReparsePoint) {
  MakeFile("file");
  MakeDirectory("directory");
  for (const char* name : {"file", "directory"}) {
    EXPECT_EQ(Code((*at().Open(name, Access::kRead))->ReadReparsePoint()),
              ERROR_NOT_A_REPARSE_POINT);
  }
}

TEST_F(FilesTest, WriteReparsePointMakesASymbolicLink) {
  // A symbolic link with a target relative to its directory, `a`, and the same print name
  // (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer).
  const Bytes link = {0x0C, 0, 0, 0xA0, 16, 0, 0, 0, 0,   0, 2,   0,
                      2,    0, 2, 0,    1,  0, 0, 0, 'a', 0, 'a', 0};
  MakeDirectory("a");
  const auto made = *at().CreateDirectory("link");
  const absl::Status written = made->WriteReparsePoint(link);
  if (IsWine()) {
    // Wine has no symbolic links.
    EXPECT_EQ(Code(written), ERROR_NOT_SUPPORTED);
    return;
  }
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_EQ(Code((*at().Open("a", Access::kRead))->CreateDirectory("b")), 0);
  EXPECT_EQ(Code(at().OpenBelow({"a", "b"}, Access::kPeek)), 0);
  EXPECT_EQ(Code(at().OpenBelow({"link", "b"}, Access::kPeek)),
            win32_error::kReparsePointEncountered);
  EXPECT_EQ(Code(at().OpenBelow({"link", "none"}, Access::kPeek)),
            win32_error::kReparsePointEncountered);
  EXPECT_TRUE(made->GetAttributes()->is_directory);
  EXPECT_TRUE(made->GetAttributes()->is_reparse_point);
  EXPECT_EQ(made->GetAttributes()->reparse_tag, 0xA000000Cu);
  EXPECT_EQ(*made->ReadReparsePoint(), link);
  EXPECT_NE(Code(made->Open("b", Access::kRead)), 0) << "never followed";
}

TEST_F(FilesTest, NoHandleLeaks) {
  MakeFile("file");
  MakeDirectory("directory");
  const auto use = [&] {
    for (const char* name : {"file", "directory", "absent", "a\\b"}) {
      const auto file = at().Open(name, Access::kRead);
      if (!file.ok()) continue;
      EXPECT_EQ(Code((*file)->GetAttributes()), 0);
      EXPECT_EQ(Code((*file)->ReadReparsePoint()), ERROR_NOT_A_REPARSE_POINT);
    }
    EXPECT_EQ(Code(at().List()), 0);
    EXPECT_EQ(Code(os_->OpenRoot("C:\\")), 0);
    MakeDirectory("made");
    EXPECT_EQ(Code(at().CreateDirectory("made")), ERROR_ALREADY_EXISTS);
    EXPECT_EQ(DeleteEntry("made"), 0);
  };
  use();
  const HandleWatch watch;
  for (int round = 0; round < 1000; ++round) use();
  EXPECT_LT(watch.Growth(), 100);
}

}  // namespace
}  // namespace csi_proxy::machine
