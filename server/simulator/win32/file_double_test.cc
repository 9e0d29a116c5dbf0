#include "server/base/win32_error.h"
#include "server/machine/reparse_point.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::Bytes;
using machine::FileAttributes;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr char kC[] = "C:\\";

class FileDoubleTest : public Win32Test {
 protected:
  // Returns `C:\t`, for the entries that a test makes.
  std::unique_ptr<File> TestDirectory() {
    OpenedFile root = os_->OpenRoot(kC);
    EXPECT_THAT(root, IsOk());
    OpenedFile made = (*root)->CreateDirectory("t");
    EXPECT_THAT(made, IsOk());
    return *std::move(made);
  }

  static Bytes Symlink(const std::string& target) { return *machine::MakeSymlink(Path(target)); }
};

TEST_F(FileDoubleTest, OpensRoots) {
  EXPECT_THAT(os_->OpenRoot(kC), IsOk());
  EXPECT_THAT(os_->OpenRoot("c:\\"), IsOk());
  EXPECT_THAT(os_->OpenRoot(kSystemVolume), IsOk());
  EXPECT_THAT(os_->OpenRoot("Q:\\"), FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(os_->OpenRoot(kNoVolume), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(os_->OpenRoot(NewVolume(1, false)), FailsWithWin32(win32_error::kUnrecognizedVolume));
  const std::string device(kSystemVolume, sizeof(kSystemVolume) - 2);
  for (const std::string& name : {std::string(), std::string("C:"), std::string("C:\\k"), device}) {
    EXPECT_THAT(os_->OpenRoot(name), FailsWithWin32(win32_error::kInvalidName)) << name;
  }
}

TEST_F(FileDoubleTest, OpensOneEntryByItsName) {
  OpenedFile directory = Open(kC, {"WINDOWS", "System32", "drivers", "etc"});
  ASSERT_THAT(directory, IsOk());
  EXPECT_THAT((*directory)->List(), Yields(std::vector<std::string>{"hosts"}));
  OpenedFile file = (*directory)->Open("HOSTS", Access::kRead);
  ASSERT_THAT(file, IsOk());
  EXPECT_FALSE((*file)->GetAttributes()->is_directory);
  EXPECT_THAT((*file)->Open("a", Access::kRead), FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT((*file)->CreateDirectory("a"), FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT((*file)->List(), FailsWithWin32(win32_error::kInvalidParameter));
  EXPECT_THAT((*directory)->Open("nobody", Access::kRead),
              FailsWithWin32(win32_error::kFileNotFound));
}

TEST_F(FileDoubleTest, ANameIsOneComponent) {
  const std::unique_ptr<File> directory = TestDirectory();
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a\\b"), std::string("a/b"),
        std::string("a:b"), std::string("*"), std::string("a\nb"), std::string("\xff"),
        std::string(256, 'a')}) {
    EXPECT_THAT(directory->Open(name, Access::kRead), FailsWithWin32(win32_error::kInvalidName))
        << name;
    EXPECT_THAT(directory->CreateDirectory(name), FailsWithWin32(win32_error::kInvalidName))
        << name;
  }
  EXPECT_THAT(directory->CreateDirectory(std::string(255, 'a')), IsOk());
}

TEST_F(FileDoubleTest, OpensAnEntryFurtherDownUnlessALinkIsOnTheWay) {
  const std::unique_ptr<File> directory = TestDirectory();
  for (const char* path : {"C:\\t\\a\\b", "C:\\t\\mount"}) {
    ASSERT_THAT(node_->MakeDirectory(path), IsOk());
  }
  ASSERT_THAT(node_->WriteFile("C:\\t\\a\\file", 5, false), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\link", "C:\\t\\a"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\mount\\", NewVolume(1)), IsOk());
  const auto open = [&](const std::vector<std::string>& names) {
    return directory->OpenBelow(names, Access::kPeek);
  };
  EXPECT_THAT(open({"a"}), IsOk());
  EXPECT_THAT(open({"A", "B"}), IsOk());
  EXPECT_THAT(open({"link"}), IsOk());
  EXPECT_TRUE((*open({"link"}))->GetAttributes()->is_reparse_point);
  for (const char* link : {"link", "mount"}) {
    EXPECT_THAT(open({link, "b"}), FailsWithWin32(win32_error::kReparsePointEncountered));
    EXPECT_THAT(open({link, "none", "x"}), FailsWithWin32(win32_error::kReparsePointEncountered));
  }
  EXPECT_THAT(open({"a", "none"}), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(open({"none", "a"}), FailsWithWin32(win32_error::kPathNotFound));
  EXPECT_THAT(open({"a", "file", "x"}), FailsWithWin32(win32_error::kPathNotFound));
  for (const char* name : {"", "..", "a\\b"}) {
    EXPECT_THAT(open({"a", name}), FailsWithWin32(win32_error::kInvalidName)) << name;
  }
}

TEST_F(FileDoubleTest, TellsWhatEntriesAre) {
  const auto attributes = [&](const char* name) {
    return *(*Open(kC, {"t", name}))->GetAttributes();
  };
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\directory"), IsOk());
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\mount"), IsOk());
  ASSERT_THAT(node_->WriteFile("C:\\t\\file", 5, false), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\link", "C:\\k"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\mount\\", NewVolume(1)), IsOk());

  EXPECT_TRUE(attributes("directory").is_directory);
  EXPECT_FALSE(attributes("directory").is_reparse_point);
  EXPECT_FALSE(attributes("file").is_directory);
  EXPECT_TRUE(attributes("link").is_directory);
  EXPECT_TRUE(attributes("link").is_reparse_point);
  EXPECT_EQ(attributes("link").reparse_tag, machine::kReparseTagSymlink);
  EXPECT_TRUE(attributes("mount").is_directory);
  EXPECT_TRUE(attributes("mount").is_reparse_point);
  EXPECT_EQ(attributes("mount").reparse_tag, machine::kReparseTagMountPoint);
  EXPECT_THAT(*(*Open(kC, {"t"}))->List(),
              UnorderedElementsAre("directory", "mount", "file", "link"));
}

// A listing returns a few entries at a time, with their kinds; entries that come and go between the
// calls neither hide nor repeat others.
TEST_F(FileDoubleTest, ListsSomeAtATime) {
  ASSERT_THAT(node_->WriteFile("C:\\t\\a", 1, false), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\b", "C:\\k"), IsOk());
  for (int i = 100; i < 999; ++i) {
    ASSERT_THAT(node_->MakeDirectory(absl::StrCat("C:\\t\\c", i)), IsOk());
  }
  OpenedFile directory = Open(kC, {"t"});
  ASSERT_THAT(directory, IsOk());
  auto some = (*directory)->ListNext(true);
  ASSERT_THAT(some, IsOk());
  ASSERT_GT(some->size(), 2u);
  EXPECT_LT(some->size(), 901u);
  EXPECT_FALSE((*some)[0].is_directory);
  EXPECT_FALSE((*some)[0].is_reparse_point);
  EXPECT_TRUE((*some)[1].is_directory);
  EXPECT_TRUE((*some)[1].is_reparse_point);
  EXPECT_TRUE((*some)[2].is_directory);
  EXPECT_FALSE((*some)[2].is_reparse_point);
  ASSERT_THAT(node_->RemoveFolder("C:\\t\\b"), IsOk());
  size_t all = 0;
  for (; !some->empty(); some = (*directory)->ListNext(false)) {
    ASSERT_THAT(some, IsOk());
    all += some->size();
  }
  EXPECT_EQ(all, 901u);
  EXPECT_THAT(*(*directory)->ListNext(false), IsEmpty());
  EXPECT_THAT(*(*directory)->ListNext(true), Not(IsEmpty()));
  EXPECT_THAT((*Open(kC, {"t", "a"}))->ListNext(true),
              FailsWithWin32(win32_error::kInvalidParameter));
}

// A reparse point is opened as itself: it contains no entry of its target.
TEST_F(FileDoubleTest, LeadsNowhereByItself) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\mount"), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\link", "C:\\k"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\mount\\", volume), IsOk());
  ASSERT_THAT((*os_->OpenRoot(volume))->CreateDirectory("inside"), IsOk());
  for (const char* name : {"link", "mount"}) {
    OpenedFile point = Open(kC, {"t", name});
    ASSERT_THAT(point, IsOk());
    EXPECT_THAT(*(*point)->List(), IsEmpty());
    EXPECT_THAT((*point)->Open("config", Access::kRead),
                FailsWithWin32(win32_error::kFileNotFound));
    EXPECT_THAT((*point)->CreateDirectory("a"), FailsWithWin32(win32_error::kBadPathName));
  }
}

TEST_F(FileDoubleTest, MakesDirectoriesWhereThereIsRoom) {
  const std::unique_ptr<File> directory = TestDirectory();
  EXPECT_THAT(directory->CreateDirectory("a"), IsOk());
  EXPECT_THAT(directory->CreateDirectory("A"), FailsWithWin32(win32_error::kAlreadyExists));
  EXPECT_THAT(*directory->List(), UnorderedElementsAre("a"));

  OpenedFile root = os_->OpenRoot(NewVolume(3));
  Change([](NodeState& state) { (*FindDisk(state, 3))->read_only = true; });
  EXPECT_THAT((*root)->CreateDirectory("a"), FailsWithWin32(win32_error::kWriteProtect));

  const auto space = os_->GetSpace(kSystemVolume);
  ASSERT_THAT(node_->WriteFile("C:\\large", space->free_bytes - 8 * kKiB, false), IsOk());
  int made = 0;
  OpenedFile next = directory->CreateDirectory("0");
  while (next.ok()) next = directory->CreateDirectory(std::to_string(++made));
  EXPECT_THAT(next, FailsWithWin32(win32_error::kDiskFull));
  EXPECT_LT(made, 9);
}

TEST_F(FileDoubleTest, NobodyDeletesWhatIsOpen) {
  const std::unique_ptr<File> directory = TestDirectory();
  { OpenedFile made = directory->CreateDirectory("a"); }
  for (const Access first : {Access::kRead, Access::kWriteAttributes, Access::kDelete}) {
    for (const Access second : {Access::kRead, Access::kWriteAttributes, Access::kDelete}) {
      OpenedFile held = directory->Open("a", first);
      ASSERT_THAT(held, IsOk());
      OpenedFile other = directory->Open("a", second);
      if (first == Access::kDelete || second == Access::kDelete) {
        EXPECT_THAT(other, FailsWithWin32(win32_error::kSharingViolation));
      } else {
        EXPECT_THAT(other, IsOk());
      }
    }
  }
  // All of them are closed again.
  EXPECT_THAT(directory->Open("a", Access::kDelete), IsOk());
  EXPECT_THAT(Open(kSystemVolume, {"t"}, Access::kDelete),
              FailsWithWin32(win32_error::kSharingViolation));
}

TEST_F(FileDoubleTest, DeletesFilesAndEmptyDirectories) {
  ASSERT_THAT(node_->WriteFile("C:\\t\\file", 5, true), IsOk());
  EXPECT_THAT((*Open(kC, {"t"}, Access::kDelete))->Delete(),
              FailsWithWin32(win32_error::kDirNotEmpty));
  for (const Access access : {Access::kRead, Access::kWriteAttributes}) {
    EXPECT_THAT((*Open(kC, {"t", "file"}, access))->Delete(),
                FailsWithWin32(win32_error::kAccessDenied));
  }
  EXPECT_THAT((*Open(kC, {"t", "file"}, Access::kDelete))->Delete(), IsOk());
  EXPECT_THAT(Open(kC, {"t", "file"}), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT((*Open(kC, {"t"}, Access::kDelete))->Delete(), IsOk());
  EXPECT_THAT(Open(kC, {"t"}), FailsWithWin32(win32_error::kFileNotFound));
}

TEST_F(FileDoubleTest, ADeletedEntryKeepsItsNameUntilItIsClosed) {
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\a"), IsOk());
  OpenedFile parent = Open(kC, {"t"}, Access::kDelete);
  {
    OpenedFile child = (*parent)->Open("a", Access::kDelete);
    ASSERT_THAT((*child)->Delete(), IsOk());
    EXPECT_THAT((*parent)->Open("a", Access::kRead), FailsWithWin32(win32_error::kDeletePending));
    EXPECT_THAT((*parent)->CreateDirectory("a"), FailsWithWin32(win32_error::kDeletePending));
    EXPECT_THAT((*child)->CreateDirectory("b"), FailsWithWin32(win32_error::kDeletePending));
    EXPECT_THAT((*parent)->Delete(), FailsWithWin32(win32_error::kDirNotEmpty));
  }
  EXPECT_THAT((*parent)->Open("a", Access::kRead), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT((*parent)->Delete(), IsOk());
}

TEST_F(FileDoubleTest, DeletesReparsePointsAndNothingBehindThem) {
  const std::string volume = NewVolume(1);
  { OpenedFile made = (*os_->OpenRoot(volume))->CreateDirectory("inside"); }
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\mount"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\mount\\", volume), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\link", "C:\\k"), IsOk());
  EXPECT_THAT((*Open(kC, {"t", "mount"}, Access::kDelete))->Delete(), IsOk());
  EXPECT_THAT((*Open(kC, {"t", "link"}, Access::kDelete))->Delete(), IsOk());
  EXPECT_THAT(*(*Open(kC, {"t"}))->List(), IsEmpty());
  EXPECT_THAT(Open(volume, {"inside"}), IsOk());
  EXPECT_THAT(Open(kC, {"k", "config"}), IsOk());
}

TEST_F(FileDoubleTest, NothingIsDeletedFromAWriteProtectedDisk) {
  OpenedFile made = (*os_->OpenRoot(NewVolume(1)))->CreateDirectory("a");
  const std::string volume = os_->ListVolumes()->back();
  made->reset();
  Change([](NodeState& state) { (*FindDisk(state, 1))->read_only = true; });
  EXPECT_THAT((*Open(volume, {"a"}, Access::kDelete))->Delete(),
              FailsWithWin32(win32_error::kWriteProtect));
  EXPECT_THAT((*Open(volume, {"a"}, Access::kWriteAttributes))->WriteReparsePoint(Symlink("C:\\k")),
              FailsWithWin32(win32_error::kWriteProtect));
}

TEST_F(FileDoubleTest, ReadsReparsePoints) {
  const std::string volume = NewVolume(1);
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\mount"), IsOk());
  ASSERT_THAT(os_->SetMountPoint("C:\\t\\mount\\", volume), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\drive", "C:\\k"), IsOk());
  ASSERT_THAT(node_->MakeLink("C:\\t\\share", "\\\\fileserver.example\\data\\x\\"), IsOk());
  const auto read = [&](const char* name) {
    return *machine::ParseReparsePoint(*(*Open(kC, {"t", name}))->ReadReparsePoint());
  };
  EXPECT_EQ(read("mount").volume->ToString(), volume);
  EXPECT_EQ(read("drive").tag, machine::kReparseTagSymlink);
  EXPECT_EQ(read("drive").target, "C:\\k");
  EXPECT_EQ(read("share").target, "\\\\fileserver.example\\data\\x\\");
  EXPECT_THAT((*Open(kC, {"k"}))->ReadReparsePoint(),
              FailsWithWin32(win32_error::kNotAReparsePoint));
}

TEST_F(FileDoubleTest, WritesReparsePoints) {
  const std::unique_ptr<File> directory = TestDirectory();
  const Bytes to_share =
      *machine::MakeSymlink(*UncPath::Parse("t", "\\\\fileserver.example\\data"));
  const Bytes to_volume = machine::MakeMountPoint(*VolumeId::Parse(NewVolume(1)));
  const std::pair<const char*, Bytes> points[] = {
      {"drive", Symlink("C:\\k")}, {"share", to_share}, {"volume", to_volume}};
  for (const auto& [name, data] : points) {
    OpenedFile made = directory->CreateDirectory(name);
    EXPECT_THAT((*made)->WriteReparsePoint(data), IsOk()) << name;
    // The data is visible while the link is open, and to later opens.
    EXPECT_THAT((*made)->ReadReparsePoint(), Yields(data)) << name;
    made->reset();
    EXPECT_THAT((*directory->Open(name, Access::kRead))->ReadReparsePoint(), Yields(data)) << name;
  }
  // A target of the same kind may replace this one, another kind may not.
  OpenedFile link = directory->Open("drive", Access::kWriteAttributes);
  EXPECT_THAT((*link)->WriteReparsePoint(to_share), IsOk());
  EXPECT_THAT((*link)->ReadReparsePoint(), Yields(to_share));
  EXPECT_THAT((*link)->WriteReparsePoint(to_volume),
              FailsWithWin32(win32_error::kReparseTagMismatch));
  OpenedFile mount = directory->Open("volume", Access::kWriteAttributes);
  EXPECT_THAT((*mount)->WriteReparsePoint(to_share),
              FailsWithWin32(win32_error::kReparseTagMismatch));
}

TEST_F(FileDoubleTest, RefusesReparsePoints) {
  const Bytes data = Symlink("C:\\k");
  ASSERT_THAT(node_->WriteFile("C:\\t\\full\\file", 5, false), IsOk());
  ASSERT_THAT(node_->MakeDirectory("C:\\t\\empty"), IsOk());
  const auto write = [&](const std::vector<std::string>& names, Access access, const Bytes& bytes) {
    return (*Open(kC, names, access))->WriteReparsePoint(bytes);
  };
  EXPECT_THAT(write({"t", "full"}, Access::kWriteAttributes, data),
              FailsWithWin32(win32_error::kDirNotEmpty));
  EXPECT_THAT(write({"t", "full", "file"}, Access::kWriteAttributes, data),
              FailsWithWin32(win32_error::kDirectory));
  EXPECT_THAT(write({"t", "empty"}, Access::kRead, data),
              FailsWithWin32(win32_error::kAccessDenied));
  EXPECT_THAT(write({"t", "empty"}, Access::kDelete, data),
              FailsWithWin32(win32_error::kAccessDenied));

  Bytes longer = data;
  longer.push_back(0);
  Bytes outside = data;
  outside[8] = 0xF0;
  for (const Bytes& malformed : {Bytes(), longer, outside, Bytes(data.begin(), data.end() - 1)}) {
    EXPECT_THAT(write({"t", "empty"}, Access::kWriteAttributes, malformed),
                FailsWithWin32(win32_error::kInvalidReparseData));
  }
  Bytes other_tag = data;
  other_tag[0] = 0x13;
  // A volume's name without the backslash makes no mount point.
  Bytes junction = machine::MakeMountPoint(*VolumeId::Parse(kSystemVolume));
  junction[16 + junction[10] - 2] = 'x';
  Bytes relative = data;
  relative[16] = 1;
  for (const Bytes& unknown : {other_tag, relative, junction}) {
    EXPECT_THAT(write({"t", "empty"}, Access::kWriteAttributes, unknown),
                FailsWithWin32(win32_error::kNotSupported));
  }
  EXPECT_FALSE((*Open(kC, {"t", "empty"}))->GetAttributes()->is_reparse_point);
}

// A file whose entry is removed in spite of OpenEntries must never show another entry.
TEST_F(FileDoubleTest, AFileIsNeverAnotherEntry) {
  const std::string volume = NewVolume(1);
  { OpenedFile made = (*os_->OpenRoot(volume))->CreateDirectory("a"); }
  OpenedFile file = Open(volume, {"a"}, Access::kDelete);
  ASSERT_THAT(host_->volume().Format(context_, *VolumeId::Parse(volume), {}), IsOk());
  { OpenedFile made = (*os_->OpenRoot(volume))->CreateDirectory("a"); }
  EXPECT_THAT((*file)->GetAttributes(), FailsWithWin32(win32_error::kAccessDenied));
  EXPECT_THAT((*file)->Delete(), FailsWithWin32(win32_error::kAccessDenied));
  file->reset();
  EXPECT_THAT(Open(volume, {"a"}), IsOk());

  ASSERT_THAT(node_->MakeDirectory("C:\\t"), IsOk());
  OpenedFile kept = Open(kC, {"t"});
  ASSERT_THAT(host_->filesystem().Remove(context_, Anywhere("C:\\t"), true), IsOk());
  ASSERT_THAT(node_->MakeDirectory("C:\\t"), IsOk());
  EXPECT_THAT((*kept)->CreateDirectory("a"), FailsWithWin32(win32_error::kAccessDenied));
  node_->Reset();
  ASSERT_THAT(node_->MakeDirectory("C:\\t"), IsOk());
  EXPECT_THAT((*kept)->CreateDirectory("a"), FailsWithWin32(win32_error::kAccessDenied));
}

TEST_F(FileDoubleTest, AFileIsDeadWhileItsVolumeIsGone) {
  const std::string volume = NewVolume(1);
  OpenedFile root = os_->OpenRoot(volume);
  OpenedFile made = (*root)->CreateDirectory("a");
  ASSERT_THAT((*Open(volume, {"a"}))->GetAttributes(), IsOk());
  made->reset();
  OpenedFile deleted = Open(volume, {"a"}, Access::kDelete);
  ASSERT_THAT((*deleted)->Delete(), IsOk());
  ASSERT_THAT(host_->disk().SetOnline(context_, 1, false), IsOk());
  EXPECT_THAT((*root)->List(), FailsWithWin32(win32_error::kNotReady));
  deleted->reset();
  ASSERT_THAT(host_->disk().SetOnline(context_, 1, true), IsOk());
  EXPECT_THAT((*root)->List(), Yields(std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
