#include "server/pipe/object_security.h"

#include <gtest/gtest.h>

namespace csi_proxy::pipe {
namespace {

constexpr char kUsersSid[] = "S-1-5-32-545";
constexpr uint32_t kGenericAll = 0x10000000, kGenericWrite = 0x40000000, kGenericRead = 0x80000000;

// As --pipe-sddl has it, and as Windows keeps it.
const ObjectSecurity kAsked{.has_dacl = true,
                            .dacl = {{.rights = kGenericAll, .sid = kSystemSid},
                                     {.rights = kGenericAll, .sid = kAdministratorsSid}}};
const ObjectSecurity kKept{.owner = kAdministratorsSid,
                           .has_dacl = true,
                           .dacl = {{.rights = 0x1f01ff, .sid = kSystemSid},
                                    {.rights = 0x1f01ff, .sid = kAdministratorsSid}}};

ObjectSecurity With(AccessEntry entry) {
  ObjectSecurity security = kKept;
  security.dacl.push_back(std::move(entry));
  return security;
}

TEST(ObjectSecurityTest, GenericRightsAreTakenApart) {
  EXPECT_EQ(PipeRights(kGenericAll), 0x1f01ffu);
  EXPECT_EQ(PipeRights(kGenericRead | kGenericWrite), 0x12019fu);
  EXPECT_EQ(PipeRights(0x12019b), 0x12019bu);
}

TEST(ObjectSecurityTest, TheOwnerIsSystemOrTheAdministrators) {
  EXPECT_TRUE(OwnedByAdministrators({.owner = kSystemSid}));
  EXPECT_TRUE(OwnedByAdministrators({.owner = kAdministratorsSid}));
  EXPECT_FALSE(OwnedByAdministrators({.owner = kUsersSid}));
  EXPECT_FALSE(OwnedByAdministrators({.owner = "S-1-5-32-5440"}));
  EXPECT_FALSE(OwnedByAdministrators({}));
}

TEST(ObjectSecurityTest, DaclsAreTheSameByWhatTheyMean) {
  EXPECT_TRUE(SameDacl(kAsked, kKept));
  EXPECT_FALSE(SameDacl(kAsked, With({.rights = 0x120089, .sid = kEveryoneSid})));
  EXPECT_FALSE(SameDacl(With({.rights = 0x120089, .sid = kEveryoneSid}), kAsked));
  ObjectSecurity other = kKept;
  other.dacl[0].rights &= ~uint32_t{4};
  EXPECT_FALSE(SameDacl(kAsked, other));
  other = kKept;
  other.dacl[0].type = kDeny;
  EXPECT_FALSE(SameDacl(kAsked, other));
  other = kKept;
  // INHERIT_ONLY_ACE: it says nothing of the pipe itself.
  other.dacl[0].flags = 8;
  EXPECT_FALSE(SameDacl(kAsked, other));
  other = kKept;
  other.has_dacl = false;
  other.dacl.clear();
  EXPECT_FALSE(SameDacl(kAsked, other));
  EXPECT_FALSE(SameDacl(other, other));
}

TEST(ObjectSecurityTest, WhoElseMayServeThePipe) {
  EXPECT_TRUE(OnlyAdministratorsServe(kKept));
  // As Windows has it by default, and with it the Go release.
  EXPECT_TRUE(OnlyAdministratorsServe(With({.rights = 0x120089, .sid = kEveryoneSid})));
  EXPECT_TRUE(OnlyAdministratorsServe(With({.rights = 0x12019b, .sid = kUsersSid})));
  EXPECT_TRUE(OnlyAdministratorsServe(With({.type = kDeny, .rights = 0x1f01ff, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = kGenericWrite, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = 0x4, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = 0x40000, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = 0x80000, .sid = kUsersSid})));
  // ACCESS_ALLOWED_CALLBACK_ACE_TYPE, which is not looked into.
  EXPECT_FALSE(OnlyAdministratorsServe(With({.type = 9})));
  EXPECT_FALSE(OnlyAdministratorsServe({.owner = kSystemSid}));
}

}  // namespace
}  // namespace csi_proxy::pipe
