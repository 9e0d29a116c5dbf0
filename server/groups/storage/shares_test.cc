// Tests StageShare, UnstageShare, and the log of RemoveSmbGlobalMapping.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/groups/locks.h"
#include "server/groups/smb/known_shares.h"
#include "server/groups/testing.h"

namespace csi_proxy::storage {
namespace {

using machine::simulator::NodeState;
using smb::LinkCount;
using smb::RemovalOutcome;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kShare[] = R"(\\fileserver.example\data)";
constexpr char kUser[] = R"(EXAMPLE\storage)";
constexpr char kPassword[] = "correct horse";

class ShareStagingTest : public groups::HandlerTest {
 protected:
  absl::StatusOr<StageShareResponse> Stage(const std::string& name,
                                           const std::string& remote = kShare,
                                           const std::string& password = kPassword,
                                           const std::string& user = kUser) {
    return storage_->StageShare(context_, {.remote_path = remote,
                                           .target_path = Below(name),
                                           .username = user,
                                           .password = password});
  }
  void Staged(const std::string& name, const std::string& remote = kShare) {
    const auto staged = Stage(name, remote);
    EXPECT_TRUE(staged.ok()) << staged.status();
  }
  UnstageShareResponse Unstage(const std::string& name, const std::string& remote = "") {
    const auto answer =
        storage_->UnstageShare(context_, {.target_path = Below(name), .remote_path = remote});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : UnstageShareResponse();
  }
  std::vector<std::string> Mapped() const {
    std::vector<std::string> shares;
    for (const auto& mapping : node_->Snapshot().smb_mappings) {
      shares.push_back(mapping.remote_path);
    }
    return shares;
  }
  uint64_t Count(RemovalOutcome outcome, LinkCount links) const {
    return deps_.shares->counts()[static_cast<size_t>(outcome)][static_cast<size_t>(links)];
  }
  bool IsFaultLeft() const { return !node_->Snapshot().faults.empty(); }
};

TEST_F(ShareStagingTest, StageShareMakesTheLinkAndTheMapping) {
  const auto staged = Stage(R"(new\a\globalmount)", "//FileServer.example/Data/reports/");
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_EQ(staged->share, kShare);
  EXPECT_THAT(staged->steps,
              ElementsAre(StorageStep::kMadeDirectory, StorageStep::kLinked, StorageStep::kMapped));
  EXPECT_THAT(Mapped(), ElementsAre(kShare));
  EXPECT_TRUE(Exists(Below(R"(new\a\globalmount)")));
  const auto again = Stage(R"(new\a\globalmount)", R"(\\fileserver.example\data\REPORTS)");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->steps, IsEmpty());
}

TEST_F(ShareStagingTest, OnlyAnEmptyDirectoryIsReplacedByTheLink) {
  ASSERT_TRUE(Mkdir(Below("empty")).ok());
  const auto staged = Stage("empty");
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, ElementsAre(StorageStep::kRemovedDirectory, StorageStep::kLinked,
                                         StorageStep::kMapped));
  Unstage("empty");

  ASSERT_TRUE(Mkdir(Below(R"(full\of)")).ok());
  ASSERT_TRUE(PlantFile(Below("file"), 1).ok());
  ASSERT_TRUE(PlantLink(Below("link"), Below("full")).ok());
  ASSERT_TRUE(PlantLink(Below("other"), R"(\\fileserver.example\scratch)").ok());
  const std::string id = Volume(1);
  ASSERT_TRUE(Mkdir(Below("mounted")).ok());
  ASSERT_TRUE(
      volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("mounted")}).ok());
  const auto everything = [&] {
    return machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  };
  const std::string before = everything();
  const struct {
    const char* name;
    absl::StatusCode code;
  } rows[] = {{"full", absl::StatusCode::kFailedPrecondition},
              {"file", absl::StatusCode::kFailedPrecondition},
              {"link", absl::StatusCode::kAlreadyExists},
              {"other", absl::StatusCode::kAlreadyExists},
              {"mounted", absl::StatusCode::kAlreadyExists}};
  for (const auto& row : rows) {
    const absl::Status refused = Stage(row.name).status();
    EXPECT_EQ(refused.code(), row.code) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("target_path: "));
    const absl::Status kept =
        storage_->UnstageShare(context_, {.target_path = Below(row.name), .remote_path = kShare})
            .status();
    EXPECT_TRUE(absl::IsFailedPrecondition(kept)) << row.name << ": " << kept;
    EXPECT_EQ(everything(), before) << row.name;
  }
}

TEST_F(ShareStagingTest, StageShareRestoresALostLinkOrMapping) {
  Staged("s");
  ASSERT_TRUE(Rmdir(Below("s")).ok());
  EXPECT_THAT(Stage("s")->steps, ElementsAre(StorageStep::kLinked));
  ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kShare}).ok());
  EXPECT_THAT(Stage("s")->steps, ElementsAre(StorageStep::kMapped));
  ASSERT_TRUE(node_->BreakMapping(kShare).ok());
  EXPECT_THAT(Stage("s")->steps, ElementsAre(StorageStep::kUnmapped, StorageStep::kMapped));
  node_->Reboot();
  EXPECT_THAT(Stage("s")->steps, ElementsAre(StorageStep::kMapped));
  EXPECT_TRUE(Exists(Below("s")));
}

TEST_F(ShareStagingTest, ARefusedStageShareLeavesNoLinkAndNoMapping) {
  for (const auto& [remote, password] : {std::pair{kShare, "wr0ng"},
                                         {R"(\\fileserver.example\none)", kPassword},
                                         {R"(\\nowhere.example\data)", kPassword}}) {
    const absl::Status refused = Stage("s", remote, password).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("wr0ng")));
    EXPECT_FALSE(Exists(Below("s"))) << remote;
    EXPECT_THAT(Mapped(), IsEmpty());
  }
  // An existing link stays, because another call made it.
  ASSERT_TRUE(PlantLink(Below("s"), absl::StrCat(kShare, "\\")).ok());
  EXPECT_FALSE(Stage("s", kShare, "wr0ng").ok());
  EXPECT_TRUE(Exists(Below("s")));
}

TEST_F(ShareStagingTest, ListSmbMappingsReportsTheLastFailureOfEachShare) {
  const auto failures = [this] {
    std::vector<std::string> lines;
    const auto listed = storage_->ListSmbMappings(context_, {});
    EXPECT_TRUE(listed.ok()) << listed.status();
    for (const ShareFailure& failure : listed->failures) {
      EXPECT_LT(failure.seconds_ago, 60);
      lines.push_back(absl::StrCat(failure.share, " ", failure.target_path, " ", failure.message));
    }
    return lines;
  };
  EXPECT_FALSE(Stage("a", kShare, "wrong").ok());
  EXPECT_FALSE(smb_->NewSmbGlobalMapping(context_, {.remote_path = R"(\\fileserver.example\none)",
                                                    .username = kUser,
                                                    .password = kPassword})
                   .ok());
  EXPECT_THAT(failures(), ElementsAre(AllOf(HasSubstr(absl::StrCat(kShare, " ", Below("a"), " ")),
                                            HasSubstr("1326"), Not(HasSubstr("wrong"))),
                                      testing::StartsWith(R"(\\fileserver.example\none  )")));
  Staged("a");
  EXPECT_EQ(failures().size(), 1u);
}

// Windows continues and maps the share after the call has ended.
TEST_F(ShareStagingTest, TheLinkStaysIfTheMappingMayStillBeMade) {
  Delay("wmi.Invoke/MSFT_SmbGlobalMapping.Create", absl::Milliseconds(500));
  const StageShareRequest request{
      .remote_path = kShare, .target_path = Below("s"), .username = kUser, .password = kPassword};
  const absl::Status late =
      storage_->StageShare(context_.WithTimeout(absl::Milliseconds(50)), request).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_TRUE(Exists(Below("s")));
  EXPECT_THAT(Unstage("s").steps, ElementsAre(StorageStep::kUnmapped, StorageStep::kUnlinked));
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareStagingTest, AShareMappedByEitherGroupIsRefusedToOtherCredentials) {
  deps_.bind_smb_credentials = true;
  Remake();
  Staged("theirs");
  const absl::Status refused = Stage("mine", kShare, "wr0ng").status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(kShare), HasSubstr("csi-proxyctl storage list-smb-mappings"),
                    Not(HasSubstr("theirs")), Not(HasSubstr("wr0ng")), Not(HasSubstr("horse"))));
  EXPECT_FALSE(Exists(Below("mine")));
  EXPECT_THAT(Mapped(), ElementsAre(kShare));
  // The smb group checks the credentials of mappings that StageShare made, and vice versa.
  smb::NewSmbGlobalMappingRequest request{
      .remote_path = kShare, .username = kUser, .password = "wr0ng"};
  EXPECT_TRUE(absl::IsPermissionDenied(smb_->NewSmbGlobalMapping(context_, request).status()));
  Unstage("theirs");
  request.password = kPassword;
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Stage("mine", kShare, "wr0ng").status()));
}

// The caller could use the link to read with the other caller's credentials.
TEST_F(ShareStagingTest, ARefusedCallMakesNoTemporaryLink) {
  deps_.bind_smb_credentials = true;
  Remake();
  Staged("theirs");
  Fail("win32.WriteReparsePoint", 1);
  EXPECT_TRUE(absl::IsPermissionDenied(Stage("mine", kShare, "wr0ng").status()));
  EXPECT_TRUE(IsFaultLeft());
  node_->ClearFaults();
  // The service has restarted: the mapping's credentials are unknown, so it is removed first.
  Remake();
  Fail("win32.WriteReparsePoint", 1);
  EXPECT_FALSE(Stage("mine", kShare, "wr0ng").ok());
  EXPECT_FALSE(IsFaultLeft());
  EXPECT_THAT(Mapped(), IsEmpty());
}

// The refusal does not name another tenant's objects and does not wait for a walk of all links.
TEST_F(ShareStagingTest, ARefusalNamesNoObjectOfAnotherTenant) {
  ASSERT_TRUE(node_->SetSmbPassword("fileserver.example", "other", Secret("pw")).ok());
  Staged("theirs");
  Fail("win32.List", 1);
  const absl::Status refused =
      Stage("mine", R"(\\fileserver.example\scratch)", "pw", "other").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("1219"), Not(HasSubstr(R"(\data)")), Not(HasSubstr("theirs"))));
  EXPECT_FALSE(Exists(Below("mine")));
  EXPECT_TRUE(IsFaultLeft()) << "no directory was listed";
}

// The two tenants write the name of one share in different cases.
TEST_F(ShareStagingTest, ShareNamesAreComparedCaseInsensitively) {
  deps_.bind_smb_credentials = true;
  Remake();
  for (const auto& [name, other] : {std::pair{"dATa2", "Data2"},
                                    {"dätä", "DÄTÄ"},
                                    {"dätä2", "dÄtä2"},
                                    {"σίγμα", "ςΊγΜΑ"},
                                    {"ǎἀⅷ", "ǍἈⅧ"}}) {
    const std::string theirs = absl::StrCat(R"(\\fileserver.example\)", name);
    const std::string mine = absl::StrCat(R"(\\FILESERVER.example\)", other);
    SCOPED_TRACE(mine);
    node_->core()->Change([name = name](NodeState& state) {
      state.smb_servers[0].shares.push_back(state.smb_servers[0].shares[0]);
      state.smb_servers[0].shares.back().name = name;
    });
    Staged("theirs", theirs);
    EXPECT_TRUE(absl::IsPermissionDenied(Stage("mine", mine, "wr0ng").status()));
    const auto answer = Unstage("mine", mine);
    EXPECT_THAT(answer.steps, IsEmpty());
    EXPECT_THAT(answer.other_links, ElementsAre(Below("theirs")));
    // Another program may have made the mapping in the other spelling.
    node_->core()->Change([&](NodeState& state) { state.smb_mappings[0].remote_path = mine; });
    const auto listed = storage_->ListSmbMappings(context_, {});
    ASSERT_TRUE(listed.ok() && listed->mappings.size() == 1) << listed.status();
    EXPECT_THAT(listed->mappings[0].links, ElementsAre(Below("theirs")));
    EXPECT_THAT(Unstage("theirs", theirs).steps,
                ElementsAre(StorageStep::kUnmapped, StorageStep::kUnlinked));
  }
}

// While a call waits for a lock, WMI or a server, runs a function, until the function returns true.
struct AtWaits final : SlotHolder {
  explicit AtWaits(std::function<bool()> function) : act(std::move(function)) {}
  void Lend() override {
    if (act != nullptr && act()) act = nullptr;
  }
  std::function<bool()> act;
};

TEST_F(ShareStagingTest, UnstageShareChecksTheTargetAgainUnderTheSharesLock) {
  std::optional<ResourceLocks::Lock> held = *groups::LockShare(locks_, context_, kShare);
  AtWaits staged([&] {
    EXPECT_TRUE(PlantLink(Below("s"), kShare).ok());
    EXPECT_TRUE(
        deps_.host->smb().CreateMapping(context_, kShare, {kUser, Secret(kPassword)}, true).ok());
    held.reset();
    return true;
  });
  const auto answer = storage_->UnstageShare(context_.With(&staged),
                                             {.target_path = Below("s"), .remote_path = kShare});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->steps, ElementsAre(StorageStep::kUnmapped, StorageStep::kUnlinked));
  EXPECT_FALSE(Exists(Below("s"))) << "a link without its mapping";
}

TEST_F(ShareStagingTest, StageShareChecksTheTargetAgainUnderThePathsLock) {
  const ConfinedPath target{*WindowsPath::Parse("target", Below("s")), deps_.roots};
  std::optional<ResourceLocks::Lock> held = *groups::LockPath(locks_, context_, target);
  AtWaits linked([&] {
    EXPECT_TRUE(PlantLink(Below("s"), R"(\\fileserver.example\scratch)").ok());
    held.reset();
    return true;
  });
  const StageShareRequest request{
      .remote_path = kShare, .target_path = Below("s"), .username = kUser, .password = kPassword};
  EXPECT_TRUE(
      absl::IsAlreadyExists(storage_->StageShare(context_.With(&linked), request).status()));
  EXPECT_EQ(linked.act, nullptr) << "the link came after the first look";
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareStagingTest, AFailedCallKeepsALinkThatAnotherCallMade) {
  AtWaits replaced([&] {
    if (!Rmdir(Below("s")).ok()) return false;
    EXPECT_TRUE(PlantLink(Below("s"), R"(\\fileserver.example\scratch)").ok());
    return true;
  });
  const StageShareRequest request{
      .remote_path = kShare, .target_path = Below("s"), .username = kUser, .password = "wr0ng"};
  EXPECT_TRUE(
      absl::IsFailedPrecondition(storage_->StageShare(context_.With(&replaced), request).status()));
  EXPECT_TRUE(Exists(Below("s")));
}

// The caller has left. The removal of the new mapping waits without a slot, for a limited time.
TEST_F(ShareStagingTest, UndoingANewMappingYieldsTheSlotAndIsLimitedInTime) {
  const smb::NewSmbGlobalMappingRequest request{
      .remote_path = kShare, .local_path = Below("new"), .username = kUser, .password = kPassword};
  absl::Notification gone;
  Fail("win32.WriteReparsePoint", 1);
  bool was_lent = false;
  AtWaits look([&] {
    was_lent = !IsFaultLeft();
    if (was_lent) gone.Notify();
    return was_lent;
  });
  const CallContext context(absl::InfiniteFuture(), &gone, nullptr, "", &look);
  EXPECT_FALSE(smb_->NewSmbGlobalMapping(context, request).ok());
  EXPECT_TRUE(was_lent);
  EXPECT_THAT(Mapped(), IsEmpty());
  Fail("win32.WriteReparsePoint", 1);
  Delay("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", absl::Seconds(30));
  EXPECT_THAT(std::string(smb_->NewSmbGlobalMapping(context_, request).status().message()),
              HasSubstr("could not be removed"));
}

TEST_F(ShareStagingTest, UndoingANewLinkYieldsTheSlot) {
  const ConfinedPath target{*WindowsPath::Parse("target", Below("s")), deps_.roots};
  std::optional<ResourceLocks::Lock> held;
  int waits = 0;
  AtWaits other([&] {
    if (!Exists(Below("s"))) return false;
    ++waits;
    // The call maps the share at the first wait, and looks for its mapping at the second.
    if (waits == 2) held = *groups::LockPath(locks_, context_, target);
    if (waits == 3) held.reset();
    return waits == 3;
  });
  const StageShareRequest request{
      .remote_path = kShare, .target_path = Below("s"), .username = kUser, .password = "wr0ng"};
  EXPECT_TRUE(
      absl::IsFailedPrecondition(storage_->StageShare(context_.With(&other), request).status()));
  EXPECT_EQ(waits, 3);
  EXPECT_FALSE(Exists(Below("s")));
}

TEST_F(ShareStagingTest, UnstageShareRemovesTheMappingWithTheLastLink) {
  Staged("a");
  Staged("b", absl::StrCat(kShare, R"(\reports)"));
  Staged("c", R"(\\fileserver.example\scratch)");
  // A pod's link to the staged link is dangling afterwards.
  ASSERT_TRUE(Link(Below("b"), Below("published")).ok());
  const auto first = Unstage("a");
  EXPECT_EQ(first.share, kShare);
  EXPECT_THAT(first.steps, ElementsAre(StorageStep::kUnlinked));
  EXPECT_THAT(first.other_links, ElementsAre(Below("b")));
  EXPECT_FALSE(first.incomplete);
  EXPECT_THAT(share_lines_,
              ElementsAre(AllOf(HasSubstr(kShare), HasSubstr("was kept"), HasSubstr(Below("b")))));
  EXPECT_EQ(Count(RemovalOutcome::kKept, LinkCount::kOne), 1u);
  const auto last = Unstage("b");
  EXPECT_THAT(last.steps, ElementsAre(StorageStep::kUnmapped, StorageStep::kUnlinked));
  EXPECT_THAT(last.other_links, IsEmpty());
  EXPECT_THAT(Mapped(), ElementsAre(R"(\\fileserver.example\scratch)"));
  EXPECT_FALSE(Exists(Below("b")));
  EXPECT_EQ(Count(RemovalOutcome::kRemoved, LinkCount::kNone), 1u);
  EXPECT_EQ(share_lines_.size(), 1u);
  const auto again = Unstage("b");
  EXPECT_THAT(again.steps, IsEmpty());
  EXPECT_EQ(again.share, "");
}

TEST_F(ShareStagingTest, UnstageShareAcceptsTheShareOnlyIfTheLinkLeadsToIt) {
  Staged("s");
  const absl::Status other =
      storage_
          ->UnstageShare(context_, {.target_path = Below("s"),
                                    .remote_path = R"(\\fileserver.example\scratch)"})
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  ASSERT_TRUE(Rmdir(Below("s")).ok());
  EXPECT_THAT(Unstage("s").steps, IsEmpty());
  EXPECT_THAT(Mapped(), ElementsAre(kShare)) << "nothing tells whose it is";
  Staged("other");
  EXPECT_THAT(Unstage("s", kShare).other_links, ElementsAre(Below("other")));
  ASSERT_TRUE(Rmdir(Below("other")).ok());
  EXPECT_THAT(Unstage("s", "//fileserver.example/DATA/").steps,
              ElementsAre(StorageStep::kUnmapped));
  EXPECT_THAT(Mapped(), IsEmpty());
}

// A mapping may have a drive letter: -LocalPath of
// learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping.
TEST_F(ShareStagingTest, ADriveLetterKeepsTheMapping) {
  Staged("s");
  node_->core()->Change(
      [](machine::simulator::NodeState& state) { state.smb_mappings.front().local_path = "G:"; });
  const auto answer = Unstage("s");
  EXPECT_THAT(answer.steps, ElementsAre(StorageStep::kUnlinked));
  EXPECT_THAT(answer.other_links, ElementsAre("G:"));
  EXPECT_THAT(Mapped(), ElementsAre(kShare));
}

TEST_F(ShareStagingTest, UnstageShareWithoutATargetRemovesAMappingWithoutLinks) {
  Staged("s");
  const auto unmap = [&] {
    return storage_->UnstageShare(context_, {.target_path = "", .remote_path = kShare});
  };
  EXPECT_THAT(unmap()->other_links, ElementsAre(Below("s")));
  EXPECT_THAT(Mapped(), ElementsAre(kShare));
  ASSERT_TRUE(Rmdir(Below("s")).ok());
  EXPECT_THAT(unmap()->steps, ElementsAre(StorageStep::kUnmapped));
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareStagingTest, APodsNestedDirectoriesDoNotKeepTheMapping) {
  Staged("s");
  std::string deep = Below(R"(pods\uid)");
  for (int i = 0; i < 70; ++i) absl::StrAppend(&deep, "\\d");
  ASSERT_TRUE(node_->MakeDirectory(deep).ok());
  const auto answer = Unstage("s");
  EXPECT_FALSE(answer.incomplete);
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareStagingTest, UnstageShareKeepsTheMappingIfTheListOfLinksIsIncomplete) {
  Staged("s");
  Fail("win32.List", 0);
  const auto answer = Unstage("s");
  EXPECT_TRUE(answer.incomplete);
  EXPECT_THAT(answer.steps, ElementsAre(StorageStep::kUnlinked));
  EXPECT_THAT(Mapped(), ElementsAre(kShare));
  EXPECT_THAT(share_lines_, ElementsAre(HasSubstr("some links could not be read")));
  EXPECT_EQ(Count(RemovalOutcome::kKept, LinkCount::kUnknown), 1u);
}

TEST_F(ShareStagingTest, UnstageShareDoesNotContactTheServer) {
  Staged("s");
  Staged("t");
  ASSERT_TRUE(node_->SetServerReachable("fileserver.example", false).ok());
  Fail("win32.Reach", 1);
  Unstage("s");
  Unstage("t");
  EXPECT_TRUE(IsFaultLeft());
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareStagingTest, UnstageShareFindsTheLinkByAnotherNameOfItsDirectory) {
  ASSERT_TRUE(PlantLink(Below("alias"), Below("plugins")).ok());
  Staged(R"(plugins\s)");
  const auto answer = Unstage(R"(alias\s)");
  EXPECT_THAT(answer.steps, ElementsAre(StorageStep::kUnlinked, StorageStep::kUnmapped));
  EXPECT_THAT(answer.other_links, IsEmpty());
  EXPECT_THAT(Mapped(), IsEmpty());
}

// Another tenant's call keeps the lock while it waits for the server.
TEST_F(ShareStagingTest, UnstageShareRemovesTheLinkEvenIfTheShareIsLocked) {
  Staged("s");
  const auto lock = groups::LockShare(locks_, context_, kShare);
  const auto unstaged =
      storage_->UnstageShare(context_.WithTimeout(absl::Seconds(1)), {.target_path = Below("s")});
  ASSERT_TRUE(unstaged.ok()) << unstaged.status();
  EXPECT_THAT(unstaged->steps, ElementsAre(StorageStep::kUnlinked));
  EXPECT_THAT(unstaged->warnings, ElementsAre(HasSubstr("another call holds")));
  EXPECT_EQ(Count(RemovalOutcome::kKept, LinkCount::kUnknown), 1u);
  EXPECT_THAT(Mapped(), ElementsAre(kShare));
}

TEST_F(ShareStagingTest, RemoveSmbGlobalMappingLogsTheLinksToTheShare) {
  const auto remove = [&] {
    const auto removed = smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kShare});
    EXPECT_TRUE(removed.ok()) << removed.status();
  };
  Staged("a");
  Staged("b");
  remove();
  EXPECT_THAT(share_lines_,
              ElementsAre(AllOf(HasSubstr(kShare),
                                HasSubstr("was removed although links lead to the share"),
                                HasSubstr(Below("a")), HasSubstr(Below("b")))));
  EXPECT_EQ(Count(RemovalOutcome::kRemoved, LinkCount::kSeveral), 1u);
  Staged("a");
  ASSERT_TRUE(Rmdir(Below("b")).ok());
  remove();
  EXPECT_EQ(Count(RemovalOutcome::kRemoved, LinkCount::kOne), 1u);
  Staged("a");
  ASSERT_TRUE(Rmdir(Below("a")).ok());
  remove();
  EXPECT_EQ(Count(RemovalOutcome::kRemoved, LinkCount::kNone), 1u);
  EXPECT_EQ(share_lines_.size(), 2u);
  Staged("a");
  Fail("win32.List", 0);
  remove();
  EXPECT_EQ(Count(RemovalOutcome::kRemoved, LinkCount::kUnknown), 1u);
  EXPECT_EQ(share_lines_.size(), 3u);
}

}  // namespace
}  // namespace csi_proxy::storage
