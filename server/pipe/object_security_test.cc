#include "server/pipe/object_security.h"

#include <gtest/gtest.h>

#include <memory>

#include "server/names/win32_error.h"
#include "server/pipe/testing/leaky_clients.h"
#include "server/pipe/testing/npfs.h"

namespace csi_proxy::pipe {
namespace {

constexpr char kUsersSid[] = "S-1-5-32-545", kUserSid[] = "S-1-5-21-1-2-3-1001";
constexpr uint32_t kWriteDac = 0x40000, kWriteOwner = 0x80000;
constexpr uint32_t kGenericAll = 0x10000000, kGenericWrite = 0x40000000, kGenericRead = 0x80000000;

// The DACL of --pipe-sddl, and the owner and DACL that Windows then stores.
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

TEST(ObjectSecurityTest, PipeRightsExpandsGenericRights) {
  EXPECT_EQ(PipeRights(kGenericAll), 0x1f01ffu);
  EXPECT_EQ(PipeRights(kGenericRead | kGenericWrite), 0x12019fu);
  EXPECT_EQ(PipeRights(0x12019b), 0x12019bu);
}

TEST(ObjectSecurityTest, OwnedByAdministratorsAcceptsOnlySystemAndAdministrators) {
  EXPECT_TRUE(OwnedByAdministrators({.owner = kSystemSid}));
  EXPECT_TRUE(OwnedByAdministrators({.owner = kAdministratorsSid}));
  EXPECT_FALSE(OwnedByAdministrators({.owner = kUsersSid}));
  EXPECT_FALSE(OwnedByAdministrators({.owner = "S-1-5-32-5440"}));
  EXPECT_FALSE(OwnedByAdministrators({}));
}

TEST(ObjectSecurityTest, SameDaclComparesTheGrantedRights) {
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
  // With INHERIT_ONLY_ACE, the entry does not apply to the pipe itself.
  other.dacl[0].flags = 8;
  EXPECT_FALSE(SameDacl(kAsked, other));
  other = kKept;
  other.has_dacl = false;
  other.dacl.clear();
  EXPECT_FALSE(SameDacl(kAsked, other));
  EXPECT_FALSE(SameDacl(other, other));
}

TEST(ObjectSecurityTest, OnlyAdministratorsServeIsFalseIfOthersMayServeOrChangeThePipe) {
  EXPECT_TRUE(OnlyAdministratorsServe(kKept));
  // Windows' default DACL, as on the Go release's pipes, lets everyone read.
  EXPECT_TRUE(OnlyAdministratorsServe(With({.rights = 0x120089, .sid = kEveryoneSid})));
  EXPECT_TRUE(OnlyAdministratorsServe(With({.rights = 0x12019b, .sid = kUsersSid})));
  EXPECT_TRUE(OnlyAdministratorsServe(With({.type = kDeny, .rights = 0x1f01ff, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = kGenericWrite, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = 0x4, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = 0x40000, .sid = kUsersSid})));
  EXPECT_FALSE(OnlyAdministratorsServe(With({.rights = 0x80000, .sid = kUsersSid})));
  // The type is ACCESS_ALLOWED_CALLBACK_ACE_TYPE. Entries of this type are not parsed.
  EXPECT_FALSE(OnlyAdministratorsServe(With({.type = 9})));
  EXPECT_FALSE(OnlyAdministratorsServe({.owner = kSystemSid}));
}

TEST(ObjectSecurityTest, SddlForServerAddsTheUserAndKeepsANamedOwner) {
  EXPECT_EQ(SddlForServer("D:P(A;;GA;;;SY)", false, kSystemSid), "O:S-1-5-18D:P(A;;GA;;;SY)");
  EXPECT_EQ(SddlForServer("O:BAD:P(A;;GA;;;SY)", true, kSystemSid), "O:BAD:P(A;;GA;;;SY)");
  EXPECT_EQ(SddlForServer("D:P(A;;GA;;;SY)", false, kUserSid),
            "O:S-1-5-21-1-2-3-1001D:P(A;;GA;;;S-1-5-21-1-2-3-1001)(A;;GA;;;SY)");
  EXPECT_EQ(SddlForServer("O:BAG:DDD:P(A;;GA;;;SY)", true, "S-1-1"),
            "O:BAG:DDD:P(A;;GA;;;S-1-1)(A;;GA;;;SY)");
  EXPECT_EQ(SddlForServer("D:P", false, "S-1-1"), "O:S-1-1D:P(A;;GA;;;S-1-1)");
}

// Tests what each kind of user may do with a pipe that the service has made.
class PipeAccessTest : public testing::Test {
 protected:
  using Sids = std::vector<std::string>;

  void Make(const ObjectSecurity& ours, Sids sids) {
    server_ = std::make_unique<Npfs::Process>(npfs_, ours, Npfs::Process::Token{.sids = sids});
    ASSERT_TRUE(server_->Create(kTestPipe, Creation::kFirst).ok());
    EXPECT_TRUE(server_->Create(kTestPipe, Creation::kFurther).ok());
  }
  bool Opens(const Sids& sids, uint32_t rights) {
    const absl::StatusOr<Npfs::Client> client = npfs_->Open(kTestPipe, sids, rights);
    if (client.ok()) npfs_->Close(*client);
    EXPECT_TRUE(client.ok() || HasWin32Code(client.status(), win32_error::kAccessDenied));
    // The client has used an instance, so the next client needs a new one.
    EXPECT_TRUE(server_->Create(kTestPipe, Creation::kFurther).ok());
    return client.ok();
  }
  bool Serves(Sids sids, Creation creation = Creation::kFurther) {
    Npfs::Process other(npfs_, {}, {.sids = std::move(sids)});
    return other.Create(kTestPipe, creation).ok();
  }

  const std::shared_ptr<Npfs> npfs_ = std::make_shared<Npfs>();
  std::unique_ptr<Npfs::Process> server_;
};

TEST_F(PipeAccessTest, ReleasedClientsOfAdministratorsAndSystemCanOpenThePipe) {
  Make(kOurs, {kAdministratorsSid, kSystemSid});
  for (const Sids& sids : {kPodSids, Sids{kSystemSid}}) {
    // go-winio's DialPipe, the C++ client, and .NET's PipeDirection.InOut request these rights.
    EXPECT_TRUE(Opens(sids, kGenericRead | kGenericWrite));
    // .NET with PipeAccessRights.ReadWrite uses the first rights, and a reading client the second.
    EXPECT_TRUE(Opens(sids, 0x2019b));
    EXPECT_TRUE(Opens(sids, kGenericRead));
  }
  EXPECT_FALSE(Opens({kUserSid}, kGenericRead));
}

TEST_F(PipeAccessTest, AnAdministratorCanNeitherServeThePipeNorChangeItsDacl) {
  Make(kOurs, {kAdministratorsSid, kSystemSid});
  for (const uint32_t right : {kWriteDac, kWriteOwner, uint32_t{0x10000}}) {
    EXPECT_FALSE(Opens(kPodSids, kGenericRead | right)) << right;
    EXPECT_TRUE(Opens({kSystemSid}, kGenericRead | right)) << right;
  }
  EXPECT_FALSE(Serves(kPodSids));
  EXPECT_FALSE(Serves(kPodSids, Creation::kInheriting));
  EXPECT_FALSE(Serves(kPodSids, Creation::kFirst));
  EXPECT_TRUE(Serves({kSystemSid}));
}

// `--pipe-sddl` may name any owner.
TEST_F(PipeAccessTest, AnOwnerCannotChangeThePipesDacl) {
  ObjectSecurity administrators = kOurs;
  administrators.owner = kAdministratorsSid;
  Make(administrators, {kAdministratorsSid, kSystemSid});
  EXPECT_FALSE(Opens(kPodSids, kWriteDac));
  EXPECT_TRUE(Opens(kPodSids, kGenericRead | kGenericWrite));
}

TEST_F(PipeAccessTest, InConsoleModeTheUserCanServeThePipeAndAnAdministratorCannot) {
  ObjectSecurity users = kOurs;
  users.owner = kUserSid;
  users.dacl.insert(users.dacl.begin(), {.rights = kGenericAll, .sid = kUserSid});
  Make(users, {kAdministratorsSid, kUserSid});
  EXPECT_TRUE(Serves({kAdministratorsSid, kUserSid}));
  EXPECT_FALSE(Serves(kPodSids));
  EXPECT_TRUE(Opens(kPodSids, kGenericRead | kGenericWrite));
  EXPECT_FALSE(Opens(kPodSids, kWriteDac));
}

}  // namespace
}  // namespace csi_proxy::pipe
