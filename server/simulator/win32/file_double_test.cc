// Tests the double's files: names, sharing, deletion and reparse points.
#include "server/machine/access.h"
#include "server/machine/reparse_point.h"
#include "server/names/win32_error.h"
#include "server/simulator/win32/layouts_encode.h"
#include "server/simulator/win32/open_entries.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::Bytes;

constexpr char kC[] = "C:\\";

class FileDoubleTest : public Win32Test {
 protected:
  // Makes and returns `C:\t`, in which a test makes its entries.
  std::unique_ptr<File> TestDirectory() {
    OpenedFile root = os_->OpenRoot(kC);
    EXPECT_THAT(root, IsOk());
    OpenedFile made = (*root)->CreateDirectory("t");
    EXPECT_THAT(made, IsOk());
    return *std::move(made);
  }

  static Bytes Symlink(const std::string& target) { return *machine::MakeSymlink(Path(target)); }
};

TEST_F(FileDoubleTest, ANameMustBeOnePathComponent) {
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

TEST_F(FileDoubleTest, OpeningForDeletionConflictsWithOtherOpens) {
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
  // All handles are closed again.
  EXPECT_THAT(directory->Open("a", Access::kDelete), IsOk());
  EXPECT_THAT(Open(kSystemVolume, {"t"}, Access::kDelete),
              FailsWithWin32(win32_error::kSharingViolation));
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

TEST_F(FileDoubleTest, AWriteProtectedDiskRefusesDeletionsAndReparsePoints) {
  OpenedFile made = (*os_->OpenRoot(NewVolume(1)))->CreateDirectory("a");
  const std::string volume = os_->ListVolumes()->back();
  made->reset();
  Change([](NodeState& state) { (*FindDisk(state, 1))->read_only = true; });
  EXPECT_THAT((*Open(volume, {"a"}, Access::kDelete))->Delete(),
              FailsWithWin32(win32_error::kWriteProtect));
  EXPECT_THAT((*Open(volume, {"a"}, Access::kWriteAttributes))->WriteReparsePoint(Symlink("C:\\k")),
              FailsWithWin32(win32_error::kWriteProtect));
}

TEST_F(FileDoubleTest, InvalidReparsePointsAreRefused) {
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
TEST_F(FileDoubleTest, AFileWhoseEntryWasReplacedFails) {
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

}  // namespace
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint32_t kAll = share::kRead | share::kWrite | share::kDelete;

class SharingTest : public Win32Test {
 protected:
  void SetUp() override {
    Win32Test::SetUp();
    ASSERT_THAT(node_->MakeDirectory("C:\\t\\a"), IsOk());
  }
  OpenedFile OpenA(Access access = Access::kRead) { return Open("C:\\", {"t", "a"}, access); }
  // Makes another process open C:\t\a.
  void Other(uint32_t access, uint32_t share) {
    ASSERT_THAT(node_->SetOtherOpens({{"C:\\t\\a", access, share}}), IsOk());
  }
  void NoOther() { ASSERT_THAT(node_->SetOtherOpens({}), IsOk()); }
};

// Tests each row of the table of
// learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819, in
// both directions.
TEST(ConflictTest, EachOpenMustShareTheAccessOfTheOtherOpen) {
  const struct {
    uint32_t access;
    uint32_t share;
  } rights[] = {{right::kReadData, share::kRead},
                {right::kExecute, share::kRead},
                {right::kWriteData, share::kWrite},
                {right::kAppendData, share::kWrite},
                {right::kDelete, share::kDelete}};
  for (const auto& one : rights) {
    const OpenMode asking = {one.access, kAll};
    for (const auto& other : rights) {
      EXPECT_FALSE(Conflict(asking, {other.access, one.share}));
      EXPECT_TRUE(Conflict(asking, {other.access, kAll & ~one.share}));
      EXPECT_TRUE(Conflict({other.access, kAll & ~one.share}, asking));
    }
    // An open for attributes alone conflicts with no other open, although it shares nothing itself.
    EXPECT_FALSE(Conflict(asking, {right::kReadAttributes | right::kWriteAttributes, 0}));
    EXPECT_FALSE(Conflict({right::kSynchronize | right::kReadAttributes, 0}, asking));
  }
}

TEST_F(SharingTest, OpensOfOtherProcessesConflictAsOurHandlesDo) {
  Other(right::kReadData, kAll);
  for (const Access access : {Access::kRead, Access::kWriteAttributes}) {
    EXPECT_THAT(OpenA(access), IsOk());
  }
  EXPECT_THAT(OpenA(Access::kDelete), IsOk());
  Other(right::kReadData, share::kRead | share::kWrite);
  EXPECT_THAT(OpenA(), IsOk());
  EXPECT_THAT(OpenA(Access::kDelete), FailsWithWin32(win32_error::kSharingViolation));
  Other(right::kWriteData, 0);
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kSharingViolation));
  Other(right::kDelete, kAll);
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kSharingViolation)) << "we do not share that";
  NoOther();
  EXPECT_THAT(OpenA(Access::kDelete), IsOk());
}

TEST_F(SharingTest, MountCallsFailIfTheDirectoryIsOpen) {
  const std::string volume = NewVolume(1);
  const std::string path = "C:\\t\\a\\";
  for (const Access access : {Access::kRead, Access::kWriteAttributes, Access::kDelete}) {
    OpenedFile held = OpenA(access);
    ASSERT_THAT(held, IsOk());
    EXPECT_THAT(os_->SetMountPoint(path, volume), FailsWithWin32(win32_error::kSharingViolation));
    EXPECT_THAT(os_->DeleteMountPoint(path), FailsWithWin32(win32_error::kSharingViolation));
  }
  // Open directories above the entry do not conflict.
  OpenedFile parent = Open("C:\\", {"t"});
  EXPECT_THAT(os_->SetMountPoint(path, volume), IsOk());
  EXPECT_THAT(os_->DeleteMountPoint(path), IsOk());
}

TEST_F(SharingTest, MountCallsCanBeConfiguredToShareReadingAndWriting) {
  Change([](NodeState& state) { state.behaviour.mount_calls_share = true; });
  const std::string volume = NewVolume(1);
  const std::string path = "C:\\t\\a\\";
  {
    OpenedFile held = OpenA();
    EXPECT_THAT(os_->SetMountPoint(path, volume), IsOk());
    EXPECT_THAT(os_->DeleteMountPoint(path), IsOk());
  }
  OpenedFile held = OpenA(Access::kDelete);
  EXPECT_THAT(os_->SetMountPoint(path, volume), FailsWithWin32(win32_error::kSharingViolation));
  EXPECT_THAT(os_->DeleteMountPoint(path), FailsWithWin32(win32_error::kSharingViolation));
}

TEST_F(SharingTest, APeekConflictsWithNoOtherOpen) {
  OpenedFile peeking = OpenA(Access::kPeek);
  ASSERT_THAT(peeking, IsOk());
  OpenedFile deleting = OpenA(Access::kDelete);
  ASSERT_THAT(deleting, IsOk());
  EXPECT_THAT(OpenA(Access::kPeek), IsOk());
  EXPECT_THAT(OpenA(Access::kRead), FailsWithWin32(win32_error::kSharingViolation));
  EXPECT_THAT((*deleting)->Delete(), IsOk());
}

// learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex:
// "the link is removed from the visible namespace as soon as the POSIX delete handle has been
// closed".
TEST_F(SharingTest, PosixDeletionRemovesTheNameWhenTheDeletingHandleCloses) {
  Other(right::kReadData, kAll);
  OpenedFile file = OpenA(Access::kDelete);
  ASSERT_THAT((*file)->Delete(), IsOk());
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kDeletePending));
  EXPECT_THAT((*Open("C:\\", {"t"}))->CreateDirectory("a"),
              FailsWithWin32(win32_error::kDeletePending));
  file->reset();
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT((*Open("C:\\", {"t"}))->CreateDirectory("a"), IsOk());
}

TEST_F(SharingTest, PlainDeletionRemovesTheNameWhenTheLastHandleCloses) {
  Change([](NodeState& state) { state.behaviour.plain_deletion = true; });
  Other(right::kReadData, kAll);
  { ASSERT_THAT((*OpenA(Access::kDelete))->Delete(), IsOk()); }
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kDeletePending));
  OpenedFile parent = Open("C:\\", {"t"}, Access::kDelete);
  EXPECT_THAT(*(*parent)->List(), ElementsAre("a"));
  EXPECT_THAT((*parent)->Delete(), FailsWithWin32(win32_error::kDirNotEmpty));
  NoOther();
  EXPECT_THAT((*parent)->Open("a", Access::kRead), FailsWithWin32(win32_error::kFileNotFound));
  EXPECT_THAT(*(*parent)->List(), IsEmpty());
  EXPECT_THAT((*parent)->Delete(), IsOk());
}

TEST_F(SharingTest, OpeningADeletedEntryCanBeConfiguredToBeDenied) {
  Change([](NodeState& state) { state.behaviour.delete_pending_is_denied = true; });
  OpenedFile file = OpenA(Access::kDelete);
  ASSERT_THAT((*file)->Delete(), IsOk());
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kAccessDenied));
}

}  // namespace

}  // namespace csi_proxy::machine::simulator
