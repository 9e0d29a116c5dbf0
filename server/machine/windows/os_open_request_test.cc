// Checks the requests instead of their effects, because Wine ignores OBJ_DONT_REPARSE and other
// flags.
#include <gtest/gtest.h>

#include "server/machine/windows/os_files_windows.h"

namespace csi_proxy::machine {
namespace {

TEST(OpenRequestTest, EachAccessUsesTheDocumentedFlags) {
  const OpenRequest read = EntryRequest(Access::kRead);
  // SYNCHRONIZE | FILE_READ_ATTRIBUTES | FILE_LIST_DIRECTORY
  EXPECT_EQ(read.access, 0x00100081u);
  // OBJ_DONT_REPARSE | OBJ_CASE_INSENSITIVE
  EXPECT_EQ(read.attributes, 0x1040u);
  // FILE_SHARE_READ | FILE_SHARE_WRITE
  EXPECT_EQ(read.share, 0x3u);
  // FILE_OPEN
  EXPECT_EQ(read.disposition, 1u);
  // FILE_OPEN_REPARSE_POINT | FILE_OPEN_FOR_BACKUP_INTENT | FILE_COMPLETE_IF_OPLOCKED |
  // FILE_SYNCHRONOUS_IO_NONALERT
  EXPECT_EQ(read.options, 0x204120u);

  // kDelete adds DELETE | FILE_WRITE_ATTRIBUTES, and kWriteAttributes adds FILE_WRITE_ATTRIBUTES.
  EXPECT_EQ(EntryRequest(Access::kDelete).access, 0x00110181u);
  EXPECT_EQ(EntryRequest(Access::kWriteAttributes).access, 0x00100181u);
  for (const Access access : {Access::kDelete, Access::kWriteAttributes}) {
    EXPECT_EQ(EntryRequest(access).attributes, read.attributes);
    EXPECT_EQ(EntryRequest(access).share, read.share);
    EXPECT_EQ(EntryRequest(access).disposition, read.disposition);
    EXPECT_EQ(EntryRequest(access).options, read.options);
  }

  // kPeek adds FILE_SHARE_DELETE.
  const OpenRequest peek = EntryRequest(Access::kPeek);
  EXPECT_EQ(peek.access, read.access);
  EXPECT_EQ(peek.share, 0x7u);
  EXPECT_EQ(peek.options, read.options);

  const OpenRequest made = NewDirectoryRequest();
  EXPECT_EQ(made.access, 0x00100181u);
  EXPECT_EQ(made.attributes, 0x1040u);
  EXPECT_EQ(made.share, 0x3u);
  // FILE_CREATE
  EXPECT_EQ(made.disposition, 2u);
  // Adds FILE_DIRECTORY_FILE.
  EXPECT_EQ(made.options, 0x204121u);

  const OpenRequest root = RootRequest();
  EXPECT_EQ(root.access, 0x00100081u);
  EXPECT_EQ(root.attributes, 0x40u);
  EXPECT_EQ(root.share, 0x3u);
  EXPECT_EQ(root.disposition, 1u);
  EXPECT_EQ(root.options, 0x204121u);

  // DELETE | POSIX_SEMANTICS | IGNORE_READONLY_ATTRIBUTE
  EXPECT_EQ(kDeleteFlags, 0x13u);
}

TEST(OpenErrorTest, ADeletePendingEntryHasItsOwnError) {
  // STATUS_DELETE_PENDING, STATUS_ACCESS_DENIED, STATUS_SHARING_VIOLATION
  EXPECT_EQ(OpenError(static_cast<NTSTATUS>(0xC0000056)), ERROR_DELETE_PENDING);
  EXPECT_EQ(OpenError(static_cast<NTSTATUS>(0xC0000022)), ERROR_ACCESS_DENIED);
  EXPECT_EQ(OpenError(static_cast<NTSTATUS>(0xC0000043)), ERROR_SHARING_VIOLATION);
}

}  // namespace
}  // namespace csi_proxy::machine
