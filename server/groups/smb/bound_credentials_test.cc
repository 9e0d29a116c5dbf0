// With bound credentials, only callers with the credentials of a mapping may use it.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

constexpr char kShare[] = R"(\\fileserver.example\data)";
constexpr char kUser[] = R"(EXAMPLE\storage)";

class BoundCredentialsTest : public HandlerTest {
 protected:
  BoundCredentialsTest() {
    deps_.bind_smb_credentials = true;
    Remake();
  }

  absl::Status Map(const std::string& password, const std::string& user = kUser) {
    return smb_
        ->NewSmbGlobalMapping(context_, {.remote_path = kShare,
                                         .local_path = Below(user == kUser ? "theirs" : "mine"),
                                         .username = user,
                                         .password = password})
        .status();
  }
  bool Linked(const std::string& name) {
    return filesystem_->PathExists(context_, {.path = Below(name)})->exists;
  }
  bool Mapped() const { return !node_->Snapshot().smb_mappings.empty(); }
};

TEST_F(BoundCredentialsTest, OtherCredentialsMayNotUseALiveMapping) {
  ASSERT_TRUE(Map("correct horse").ok());
  EXPECT_TRUE(Map("correct horse").ok());
  EXPECT_TRUE(Map("correct horse", R"(example\STORAGE)").ok()) << "Windows' users have no case";
  for (const auto& [password, user] :
       {std::pair{"correct hors", kUser}, {"", kUser}, {"correct horse", "other"}}) {
    const absl::Status refused = Map(password, user);
    EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), kShare)) << refused;
    EXPECT_FALSE(absl::StrContains(refused.message(), "horse")) << refused;
  }
  EXPECT_TRUE(Mapped()) << "others' mapping stays";
}

// The user may only open folders below the share's root.
TEST_F(BoundCredentialsTest, OtherCredentialsDoNotRemoveAMappingWhoseRootIsDenied) {
  Fail("win32.Reach", 0, 5, kShare);
  ASSERT_TRUE(Map("correct horse").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Map("pw", "other")));
  EXPECT_TRUE(Mapped());
}

TEST_F(BoundCredentialsTest, ARefusedCallMakesNoLink) {
  ASSERT_TRUE(Map("correct horse").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Map("pw", "other")));
  EXPECT_TRUE(Linked("theirs"));
  EXPECT_FALSE(Linked("mine"));
}

TEST_F(BoundCredentialsTest, AfterAMappingIsRemovedTheServerChecksTheCredentials) {
  ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", "other", Secret("pw")).ok());
  ASSERT_TRUE(Map("correct horse").ok());
  ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kShare}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("wrong")));
  EXPECT_TRUE(Map("pw", "other").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Map("correct horse")));
}

// Another process has made the mapping again, with credentials that this process does not know.
TEST_F(BoundCredentialsTest, TheServerChecksCredentialsIfAnotherProcessMadeTheMapping) {
  ASSERT_TRUE(Map("correct horse").ok());
  ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kShare}).ok());
  ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", kUser, Secret("battery")).ok());
  ASSERT_TRUE(
      deps_.host->smb().CreateMapping(context_, kShare, {kUser, Secret("battery")}, true).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("correct horse"))) << "the server says so";
}

// A mapping may disappear without a call, for example when the service LanmanWorkstation restarts.
TEST_F(BoundCredentialsTest, CredentialsOfAMappingThatDisappearedAreForgotten) {
  ASSERT_TRUE(Map("correct horse").ok());
  node_->core()->Change([](machine::simulator::NodeState& state) { state.smb_mappings.clear(); });
  ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", kUser, Secret("battery")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("wrong")));
  // A call that has ended, or another process, may have made the mapping since.
  ASSERT_TRUE(
      deps_.host->smb().CreateMapping(context_, kShare, {kUser, Secret("battery")}, true).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("correct horse"))) << "the server says so";
}

// The service forgets a removed mapping's password, so the server checks the password of the next
// call.
TEST_F(BoundCredentialsTest, CredentialsOfARemovedMappingAreForgotten) {
  ASSERT_TRUE(Map("correct horse").ok());
  ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", kUser, Secret("battery")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("wrong")));
  EXPECT_FALSE(Mapped());
  ASSERT_TRUE(
      deps_.host->smb().CreateMapping(context_, kShare, {kUser, Secret("battery")}, true).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("correct horse"))) << "the server says so";
}

TEST_F(BoundCredentialsTest, AFailedRemovalKeepsTheCredentialsOfTheMapping) {
  ASSERT_TRUE(Map("correct horse").ok());
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", 0);
  EXPECT_FALSE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kShare}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Map("wrong")));
  EXPECT_TRUE(Map("correct horse").ok());
}

// After a restart of the service, the credentials of a mapping are unknown.
TEST_F(BoundCredentialsTest, AMappingFromBeforeARestartIsMadeAgainWithThePassword) {
  ASSERT_TRUE(Map("correct horse").ok());
  Remake();
  EXPECT_TRUE(absl::IsFailedPrecondition(Map("wrong"))) << "the server says so";
  EXPECT_TRUE(Map("correct horse").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Map("wrong")));
}

TEST_F(BoundCredentialsTest, ABrokenMappingIsMadeAgainWithTheNewPassword) {
  ASSERT_TRUE(Map("correct horse").ok());
  ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", kUser, Secret("battery")).ok());
  EXPECT_TRUE(Map("battery").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Map("correct horse")));
}

TEST_F(BoundCredentialsTest, ByDefaultAnyCredentialsMayUseAMapping) {
  deps_.bind_smb_credentials = false;
  Remake();
  ASSERT_TRUE(Map("correct horse").ok());
  EXPECT_TRUE(Map("wrong").ok());
}

}  // namespace
}  // namespace csi_proxy::groups
