#include "service_installer/folder_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service_installer/testing.h"

namespace csi_proxy::service_installer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using Entries = std::vector<AccessEntry>;

constexpr char kSystem[] = "S-1-5-18";
constexpr char kAdministrators[] = "S-1-5-32-544";
constexpr char kUsers[] = "S-1-5-32-545";
constexpr char kAuthenticated[] = "S-1-5-11";
constexpr char kCreatorOwner[] = "S-1-3-0";
constexpr char kTrustedInstaller[] =
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464";
constexpr char kSomebody[] = "S-1-5-21-1-2-3-1001";

constexpr uint32_t kFull = 0x1f01ff;
constexpr uint32_t kReadExecute = 0x1200a9;
constexpr uint32_t kModify = 0x1301bf;

ObjectAccess Owned(Entries entries, std::string owner = kSystem) {
  return {.owner = std::move(owner), .entries = std::move(entries)};
}

// The access list of C:\Program Files on Windows Server, from icacls.
const Entries kProgramFiles = {{.rights = kFull, .sid = kTrustedInstaller},
                               {.rights = kFull, .sid = kTrustedInstaller, .inherit_only = true},
                               {.rights = kModify, .sid = kSystem},
                               {.rights = kModify, .sid = kAdministrators},
                               {.rights = kReadExecute, .sid = kUsers},
                               {.rights = kFull, .sid = kCreatorOwner, .inherit_only = true},
                               {.rights = kReadExecute, .sid = "S-1-15-2-1"}};
// The access list of a folder created in C:\ on Windows Server: users may add folders and files.
const Entries kBelowRoot = {{.rights = kFull, .sid = kSystem},
                            {.rights = kFull, .sid = kAdministrators},
                            {.rights = kReadExecute, .sid = kUsers},
                            {.rights = 0x4, .sid = kUsers},
                            {.rights = 0x2, .sid = kUsers},
                            {.rights = kFull, .sid = kCreatorOwner, .inherit_only = true}};

TEST(FolderAccessTest, ProgramFilesIsSafe) {
  EXPECT_THAT(ChangesOf(Owned(kProgramFiles, kTrustedInstaller), {}), IsEmpty());
  EXPECT_THAT(ReplacementsOf(Owned(kProgramFiles, kTrustedInstaller), {}), IsEmpty());
}

TEST(FolderAccessTest, AFolderInTheRootOfADriveIsNotSafe) {
  const ObjectAccess access = Owned(kBelowRoot, kAdministrators);
  EXPECT_THAT(ChangesOf(access, {}), testing::ElementsAre(Change{kUsers, "add folders"},
                                                          Change{kUsers, "add or change files"}));
  // No other account can replace the folder.
  EXPECT_THAT(ReplacementsOf(access, {}), IsEmpty());
}

TEST(FolderAccessTest, EachRightToChangeMakesAFolderUnsafe) {
  for (const uint32_t right :
       {0x2u, 0x4u, 0x40u, 0x100u, 0x10000u, 0x40000u, 0x80000u, 0x10000000u, 0x40000000u}) {
    const ObjectAccess access = Owned({{.rights = right | kReadExecute, .sid = kAuthenticated}});
    EXPECT_EQ(ChangesOf(access, {}).size(), 1u) << std::hex << right;
  }
  // Rights to read data, attributes and the access list, to execute or traverse, and to wait.
  for (const uint32_t right :
       {0x1u, 0x8u, 0x20u, 0x80u, 0x20000u, 0x100000u, 0x20000000u, 0x80000000u}) {
    const ObjectAccess access = Owned({{.rights = right, .sid = kAuthenticated}});
    EXPECT_THAT(ChangesOf(access, {}), IsEmpty()) << std::hex << right;
  }
}

TEST(FolderAccessTest, InheritOnlyEntriesMakeAFolderUnsafe) {
  const ObjectAccess access =
      Owned({{.rights = kModify, .sid = kAuthenticated, .inherit_only = true}});
  EXPECT_THAT(ChangesOf(access, {}), Contains(Change{kAuthenticated, "add or change files"}));
  EXPECT_THAT(ReplacementsOf(access, {}), IsEmpty()) << "it says nothing of the folder itself";
}

TEST(FolderAccessTest, AForeignOwnerOrAMissingAccessListMakesAFolderUnsafe) {
  EXPECT_THAT(ChangesOf(Owned({}, kSomebody), {}),
              Contains(Change{kSomebody, "change its access list, as its owner"}));
  EXPECT_THAT(ReplacementsOf(Owned({}, kSomebody), {}), testing::SizeIs(1));
  EXPECT_THAT(ChangesOf({.owner = kSystem, .entries = std::nullopt}, {}),
              Contains(Change{"S-1-1-0", "do everything: it has no access list"}));
  EXPECT_THAT(ChangesOf(Owned({}), {}), IsEmpty()) << "an empty list lets nobody in";
}

TEST(FolderAccessTest, TheInstallersUserIsTrusted) {
  const ObjectAccess access = Owned({{.rights = kFull, .sid = kSomebody}}, kSomebody);
  EXPECT_THAT(ChangesOf(access, {}), testing::Not(IsEmpty()));
  EXPECT_THAT(ChangesOf(access, {kSomebody}), IsEmpty());
}

TEST(FolderAccessTest, DenyEntriesDoNotMakeAFolderSafe) {
  const ObjectAccess access = Owned(
      {{.allows = false, .rights = kFull, .sid = kUsers}, {.rights = kModify, .sid = kUsers}});
  EXPECT_THAT(ChangesOf(access, {}), testing::Not(IsEmpty()));
  EXPECT_THAT(ChangesOf(Owned({{.allows = false, .rights = kFull, .sid = kUsers}}), {}), IsEmpty());
}

// 0x1200a9 is the right to read and execute.
TEST(FolderAccessTest, TheInstallersAccessListsAreProtectedAndOwnedByAdministrators) {
  for (const FolderUse use : {FolderUse::kPrograms, FolderUse::kLogs}) {
    EXPECT_THAT(ProtectedSddl(use), HasSubstr("O:BAD:P("));
    EXPECT_THAT(ProtectedSddl(use), HasSubstr("(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"));
  }
  EXPECT_STREQ(ProtectedSddl(FolderUse::kLogs), "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)");
  const std::string programs = ProtectedSddl(FolderUse::kPrograms);
  EXPECT_EQ(programs.substr(programs.rfind('(')), "(A;OICI;0x1200a9;;;BU)");
}

class CheckFolderTest : public testing::Test {
 protected:
  FakeFolders folders_;
};

TEST_F(CheckFolderTest, ParentFoldersMayAllowUsersToAddEntries) {
  folders_.unsafe = {"/srv", "/"};
  EXPECT_TRUE(CheckFolder(folders_, "/srv/csi-proxy").ok());
}

}  // namespace
}  // namespace csi_proxy::service_installer
