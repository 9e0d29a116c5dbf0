// Tests which opens of an entry may coexist, and when a deleted entry goes.
#include "server/machine/access.h"
#include "server/simulator/win32/open_entries.h"
#include "server/simulator/win32/testing.h"

namespace csi_proxy::machine::simulator {
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
// learn.microsoft.com/openspecs/windows_protocols/ms-fsa/8c0e3f4f-0729-49f4-a14d-7f7add593819, both
// ways.
TEST(ConflictTest, EachSideMustShareWhatTheOtherAsksFor) {
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
    // An open for attributes alone conflicts with no other, even if the other shares nothing.
    EXPECT_FALSE(Conflict(asking, {right::kReadAttributes | right::kWriteAttributes, 0}));
    EXPECT_FALSE(Conflict({right::kSynchronize | right::kReadAttributes, 0}, asking));
  }
}

TEST_F(SharingTest, OtherProcessesCountAsOurOwnHandlesDo) {
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

TEST_F(SharingTest, MountCallsWantTheDirectoryForThemselves) {
  const std::string volume = NewVolume(1);
  const std::string path = "C:\\t\\a\\";
  for (const Access access : {Access::kRead, Access::kWriteAttributes, Access::kDelete}) {
    OpenedFile held = OpenA(access);
    ASSERT_THAT(held, IsOk());
    EXPECT_THAT(os_->SetMountPoint(path, volume), FailsWithWin32(win32_error::kSharingViolation));
    EXPECT_THAT(os_->DeleteMountPoint(path), FailsWithWin32(win32_error::kSharingViolation));
  }
  // Directories above the entry may be held open.
  OpenedFile parent = Open("C:\\", {"t"});
  EXPECT_THAT(os_->SetMountPoint(path, volume), IsOk());
  EXPECT_THAT(os_->DeleteMountPoint(path), IsOk());
}

TEST_F(SharingTest, MountCallsMayShareReadingAndWriting) {
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

TEST_F(SharingTest, WhoOnlyPeeksIsInNobodysWay) {
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
TEST_F(SharingTest, ThePosixWayANameGoesWithTheHandleThatDeletedIt) {
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

TEST_F(SharingTest, ThePlainWayANameStaysUntilTheLastHandleCloses) {
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

TEST_F(SharingTest, ADeletedEntryMayBeCalledDenied) {
  Change([](NodeState& state) { state.behaviour.delete_pending_is_denied = true; });
  OpenedFile file = OpenA(Access::kDelete);
  ASSERT_THAT((*file)->Delete(), IsOk());
  EXPECT_THAT(OpenA(), FailsWithWin32(win32_error::kAccessDenied));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
