// Tests faults of shares that operators reported: broken mappings that show as OK, servers that
// refuse, and missing folders. If StageShare succeeds, the link must work.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/groups/locks.h"
#include "server/groups/testing.h"

namespace csi_proxy::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kScenario[] = R"(
  disk { number: 0 size_bytes: 68719476736 style: GPT
    partition { size_bytes: 60000000000 volume { file_system: "NTFS" drive_letter: "C"
      file { path: "var\\lib\\kubelet\\plugins" } } } }
  smb_server { name: "files.corp.example" user { name: "CORP\\svc" password: "one" }
    share { name: "a" file { path: "there" } file { path: "team" kind: LINK target: "\\\\other\\t" } }
    share { name: "b" } }
  smb_server { name: "nas.corp.example" no_privacy: true anonymous: true
    user { name: "CORP\\svc" password: "one" } share { name: "a" } }
)";
constexpr char kA[] = R"(\\files.corp.example\a)";
constexpr char kB[] = R"(\\files.corp.example\b)";

class ShareFaultsTest : public groups::HandlerTest {
 protected:
  ShareFaultsTest() : groups::HandlerTest(groups::Files::kSimulated, kScenario) {}

  absl::StatusOr<StageShareResponse> Stage(const std::string& name, const std::string& remote,
                                           const std::string& password = "one") {
    return storage_->StageShare(context_, {.remote_path = remote,
                                           .target_path = Below(name),
                                           .username = "CORP\\svc",
                                           .password = password});
  }
  absl::Status StageAsAnother(const std::string& name, const std::string& remote) {
    return storage_
        ->StageShare(context_, {.remote_path = remote,
                                .target_path = Below(name),
                                .username = "CORP\\other",
                                .password = "x"})
        .status();
  }
  absl::Status Map(const std::string& remote, const std::string& local = "") {
    return smb_
        ->NewSmbGlobalMapping(context_, {.remote_path = remote,
                                         .local_path = local,
                                         .username = "CORP\\svc",
                                         .password = "one"})
        .status();
  }
  void ExpectStaged(const absl::StatusOr<StageShareResponse>& staged, const std::string& name,
                    const std::vector<StorageStep>& steps) {
    ASSERT_TRUE(staged.ok()) << staged.status();
    EXPECT_EQ(staged->steps, steps);
    EXPECT_TRUE(Follows(name));
  }
  bool Follows(const std::string& name) {
    const auto link = filesystem_->IsSymlink(context_, {.path = Below(name)});
    return link.ok() && link->is_symlink;
  }
  // Expects a refusal with this code and these words.
  void ExpectRefused(const absl::Status& refused, absl::StatusCode code, const char* words) {
    EXPECT_EQ(refused.code(), code) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(words));
  }
  void ChangeMappings(const std::function<void(machine::simulator::SmbMappingState&)>& change) {
    node_->core()->Change([&](machine::simulator::NodeState& state) {
      for (auto& mapping : state.smb_mappings) change(mapping);
    });
  }
  std::vector<std::string> Mapped() const {
    std::vector<std::string> shares;
    for (const auto& mapping : node_->Snapshot().smb_mappings) {
      shares.push_back(absl::StrCat(mapping.local_path, mapping.remote_path));
    }
    return shares;
  }
};

constexpr StorageStep kLinked = StorageStep::kLinked;
constexpr StorageStep kMapped = StorageStep::kMapped;
constexpr StorageStep kUnmapped = StorageStep::kUnmapped;

TEST_F(ShareFaultsTest, AMappingThatDeniesAllAccessIsMadeAgain) {
  for (const char* remote : {kA, R"(\\files.corp.example\a\there)"}) {
    ASSERT_TRUE(Map(kA).ok());
    ChangeMappings([](auto& mapping) { mapping.denied = true; });
    ExpectStaged(Stage("s", remote), "s", {kUnmapped, kLinked, kMapped});
    // The links to the share do not work either.
    ChangeMappings([](auto& mapping) { mapping.denied = true; });
    ExpectStaged(Stage("t", remote), "t", {kUnmapped, kLinked, kMapped});
    EXPECT_TRUE(Follows("s"));
    ChangeMappings([](auto& mapping) { mapping.denied = true; });
    ASSERT_TRUE(Map(kA, Below("u")).ok());
    EXPECT_TRUE(Follows("u")) << "as the released call maps it";
    for (const char* name : {"s", "t", "u"}) {
      ASSERT_TRUE(storage_->UnstageShare(context_, {.target_path = Below(name)}).ok());
    }
  }
  EXPECT_THAT(warnings_, Contains(HasSubstr(absl::StrCat("the mapped ", kA, ": "))));
}

// If a user may only open folders below the share's root, the existing mapping stays.
TEST_F(ShareFaultsTest, AMappingThatWorksForASubfolderStays) {
  ExpectStaged(Stage("s", R"(\\files.corp.example\a\there)"), "s", {kLinked, kMapped});
  Fail("win32.Reach", 0, 5, kA);
  const auto staged = Stage("t", kA);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_THAT(staged->steps, ElementsAre(kLinked));
  // A mapping without working links looks broken, so it is made again, but only once.
  ASSERT_TRUE(storage_->UnstageShare(context_, {.target_path = Below("s")}).ok());
  EXPECT_THAT(Stage("s", kA)->steps, ElementsAre(kUnmapped, kLinked, kMapped));
  EXPECT_THAT(Stage("s", kA)->steps, IsEmpty());
}

// The user may read only a folder, and eight links to the root come before the link to the folder.
TEST_F(ShareFaultsTest, ManyLinksToADeniedRootDoNotHideAWorkingSubfolder) {
  Fail("win32.Reach", 0, 5, kA);
  ExpectStaged(Stage("z", R"(\\files.corp.example\a\there)"), "z", {kLinked, kMapped});
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(Stage(absl::StrCat("a", i), kA).ok());
  EXPECT_TRUE(StageAsAnother("b", kA).ok());
  EXPECT_TRUE(Follows("z"));
}

TEST_F(ShareFaultsTest, AMappingStaysIfNotAllLinkedFoldersWereTried) {
  ASSERT_TRUE(Map(kA).ok());
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(PlantLink(Below(absl::StrCat("l", i)), absl::StrCat(kA, "\\", i)).ok());
  }
  Fail("win32.Reach", 0, 5);
  EXPECT_TRUE(StageAsAnother("s", kA).ok());
  EXPECT_THAT(Mapped(), ElementsAre(kA));
  ASSERT_TRUE(Rmdir(Below("l8")).ok());
  // The links in an unreadable directory are unknown.
  Fail("win32.List", 1, 5);
  EXPECT_TRUE(StageAsAnother("s", kA).ok());
  EXPECT_THAT(Mapped(), ElementsAre(kA));
  ExpectRefused(StageAsAnother("s", kA), absl::StatusCode::kFailedPrecondition, "(1326)");
  EXPECT_THAT(Mapped(), IsEmpty());
}

// The server denied access through a mapping from the start. For another user or path the mapping
// is made again. After the removal of the mapping the denial is forgotten.
TEST_F(ShareFaultsTest, ADenialIsRememberedPerPathUserAndMapping) {
  const std::string there = R"(\\files.corp.example\a\there)";
  ASSERT_TRUE(node_->SetSmbPassword("files.corp.example", "CORP\\other", Secret("x")).ok());
  const auto map = [&](const std::string& user, const std::string& password) {
    Fail("win32.Reach", 0, 5, there);
    EXPECT_TRUE(smb_->NewSmbGlobalMapping(
                        context_, {.remote_path = there, .username = user, .password = password})
                    .ok());
    node_->ClearFaults();
    ChangeMappings([](auto& mapping) { mapping.denied = true; });
  };
  map("CORP\\svc", "one");
  ExpectRefused(Stage("s", there).status(), absl::StatusCode::kFailedPrecondition, "denies");
  ExpectStaged(Stage("s", kA), "s", {kUnmapped, kLinked, kMapped});
  ChangeMappings([](auto& mapping) { mapping.denied = true; });
  ExpectStaged(Stage("t", there), "t", {kUnmapped, kLinked, kMapped});
  ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kA}).ok());
  map("CORP\\other", "x");
  ExpectStaged(Stage("t", there), "t", {kUnmapped, kMapped});
}

// Other calls hold the locks of the server's broken mappings.
TEST_F(ShareFaultsTest, ACallDoesNotWaitForLockedMappingsOfTheSameServer) {
  std::vector<ResourceLocks::Lock> held;
  node_->core()->Change([](machine::simulator::NodeState& state) {
    for (int i = 0; i < 40; ++i) {
      auto& mapping = state.smb_mappings.emplace_back();
      mapping.remote_path = absl::StrCat(R"(\\files.corp.example\m)", i);
      mapping.username = "CORP\\old";
    }
  });
  for (const std::string& share : Mapped()) {
    held.push_back(*groups::LockShare(locks_, context_, share));
  }
  const StageShareRequest request{
      .remote_path = kA, .target_path = Below("s"), .username = "CORP\\svc", .password = "one"};
  const auto stage = [&] {
    return storage_->StageShare(context_.WithTimeout(absl::Seconds(20)), request).status();
  };
  ExpectRefused(stage(), absl::StatusCode::kFailedPrecondition, "Get-SmbConnection");
  held.clear();
  EXPECT_TRUE(stage().ok());
}

TEST_F(ShareFaultsTest, AFolderThatTheUserMayNotReadIsRefused) {
  machine::simulator::FaultRule denied;
  denied.operation = "win32.Reach";
  denied.resource = R"(\\files.corp.example\a\there)";
  denied.code = absl::StatusCode::kInternal;
  denied.error.code = 5;
  ASSERT_TRUE(node_->InjectFault(denied).ok());
  ExpectRefused(Stage("s", denied.resource).status(), absl::StatusCode::kFailedPrecondition,
                "remote_path: the server denies the user access to");
  EXPECT_FALSE(Exists(Below("s")));
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareFaultsTest, AMissingFolderOfAShareIsNotFound) {
  const std::string none = R"(\\files.corp.example\a\none)";
  ExpectRefused(Stage("s", none).status(), absl::StatusCode::kNotFound,
                R"(remote_path: share \\files.corp.example\a exists, but not its folder)");
  EXPECT_FALSE(Exists(Below("s")));
  EXPECT_THAT(Mapped(), IsEmpty());
  ExpectStaged(Stage("t", kA), "t", {kLinked, kMapped});
  ExpectRefused(Stage("s", none).status(), absl::StatusCode::kNotFound,
                "exists, but not its folder");
  EXPECT_FALSE(Exists(Below("s")));
  EXPECT_THAT(Mapped(), ElementsAre(kA)) << "the other link's";
  EXPECT_TRUE(Map(none).ok()) << "as the Go release";
  EXPECT_THAT(warnings_.back(), HasSubstr(none));
}

TEST_F(ShareFaultsTest, TheErrorForADfsLinkSaysToNameTheShare) {
  ExpectRefused(Stage("s", R"(\\files.corp.example\a\team)").status(),
                absl::StatusCode::kFailedPrecondition, "cannot follow a DFS link: name the share");
  ExpectRefused(Stage("s", R"(\\files.corp.example\a\team\x)").status(),
                absl::StatusCode::kFailedPrecondition, "cannot follow a DFS link");
  EXPECT_FALSE(Exists(Below("s")));
}

// Windows restores a persistent mapping with saved credentials, then refuses other shares.
TEST_F(ShareFaultsTest, AfterARebootOnlyAPersistentMappingBlocksOtherShares) {
  ExpectStaged(Stage("a", kA), "a", {kLinked, kMapped});
  node_->Reboot();
  EXPECT_FALSE(Follows("a"));
  ExpectStaged(Stage("b", kB), "b", {kLinked, kMapped});
  ExpectStaged(Stage("a", kA), "a", {kMapped});
  // Another program, or an older release, made the mapping persistent.
  ChangeMappings([](auto& mapping) { mapping.persistent = mapping.remote_path == kA; });
  node_->Reboot();
  EXPECT_TRUE(Follows("a"));
  ExpectRefused(Stage("b", kB).status(), absl::StatusCode::kFailedPrecondition,
                "csi-proxyctl storage list-smb-mappings");
  ASSERT_TRUE(storage_->UnstageShare(context_, {.target_path = Below("a")}).ok());
  ExpectStaged(Stage("b", kB), "b", {kMapped});
}

TEST_F(ShareFaultsTest, ADeadMappingIsRemovedForAnotherShareOfItsServer) {
  ExpectStaged(Stage("a", kA), "a", {kLinked, kMapped});
  // A dead mapping of another server stays.
  static constexpr char kElsewhere[] = R"(\\gone.corp.example\a)";
  node_->core()->Change([](machine::simulator::NodeState& state) {
    auto& mapping = state.smb_mappings.emplace_back();
    mapping.remote_path = kElsewhere;
    mapping.username = "CORP\\svc";
  });
  ASSERT_TRUE(node_->SetSmbPassword("files.corp.example", "CORP\\svc", Secret("two")).ok());
  ExpectStaged(Stage("b", kB, "two"), "b", {kLinked, kMapped});
  EXPECT_THAT(Mapped(), ElementsAre(kElsewhere, kB));
  EXPECT_THAT(share_lines_, ElementsAre(HasSubstr("was removed although links lead to the share")));
  ExpectStaged(Stage("a", kA, "two"), "a", {kMapped});
  // A working mapping of the server is not removed for another user's call.
  ExpectRefused(StageAsAnother("c", R"(\\files.corp.example\c)"), absl::StatusCode::kNotFound,
                "check the share's name");
  ASSERT_TRUE(storage_->UnstageShare(context_, {.target_path = Below("b")}).ok());
  ExpectRefused(StageAsAnother("b", kB), absl::StatusCode::kFailedPrecondition,
                "Get-SmbConnection");
  EXPECT_TRUE(Follows("a"));
}

TEST_F(ShareFaultsTest, TheMappingOfAShareThatMayReturnStays) {
  ExpectStaged(Stage("a", kA), "a", {kLinked, kMapped});
  const auto rename = [&](const char* from, const char* to) {
    node_->core()->Change([&](machine::simulator::NodeState& state) {
      for (auto& share : state.smb_servers[0].shares) {
        if (share.name == from) share.name = to;
      }
    });
  };
  rename("a", "away");
  ExpectRefused(StageAsAnother("b", kB), absl::StatusCode::kFailedPrecondition,
                "Get-SmbConnection");
  rename("away", "a");
  EXPECT_THAT(Mapped(), ElementsAre(kA));
  EXPECT_TRUE(Follows("a"));
  // Links to other shares do not keep a mapping.
  ASSERT_TRUE(Rmdir(Below("a")).ok());
  ASSERT_TRUE(PlantLink(Below("other"), R"(\\nas.corp.example\a)").ok());
  rename("a", "away");
  // The links in an unreadable directory are unknown.
  Fail("win32.List", 1, 5);
  EXPECT_FALSE(StageAsAnother("b", kB).ok());
  EXPECT_THAT(Mapped(), ElementsAre(kA));
  EXPECT_FALSE(StageAsAnother("b", kB).ok());
  EXPECT_THAT(Mapped(), IsEmpty());
}

TEST_F(ShareFaultsTest, AnAdministratorsDriveLetterIsNotRemoved) {
  node_->core()->Change([](machine::simulator::NodeState& state) {
    auto& mapping = state.smb_mappings.emplace_back();
    mapping.remote_path = kA;
    mapping.username = "CORP\\svc";
    mapping.local_path = "X:";
    state.smb_mappings.push_back(mapping);
    state.smb_mappings.back().local_path.clear();
  });
  ExpectStaged(Stage("s", kA), "s", {kLinked});
  ASSERT_TRUE(storage_->UnstageShare(context_, {.target_path = Below("s")}).ok());
  EXPECT_THAT(Mapped(), ElementsAre(absl::StrCat("X:", kA)));
  // Even a broken mapping is not removed for another share.
  ASSERT_TRUE(node_->SetSmbPassword("files.corp.example", "CORP\\svc", Secret("two")).ok());
  ExpectRefused(Stage("b", kB, "two").status(), absl::StatusCode::kFailedPrecondition,
                "Get-SmbConnection");
  EXPECT_THAT(Mapped(), ElementsAre(absl::StrCat("X:", kA)));
}

TEST_F(ShareFaultsTest, TheErrorForAServerWithoutEncryptionNamesTheFlag) {
  const std::string remote = R"(\\nas.corp.example\a)";
  const absl::Status refused = Stage("s", remote).status();
  ExpectRefused(refused, absl::StatusCode::kFailedPrecondition, "Network access is denied (65)");
  ExpectRefused(refused, absl::StatusCode::kFailedPrecondition, "-require-privacy=false");
  deps_.require_privacy = false;
  Remake();
  ExpectStaged(Stage("s", remote), "s", {kLinked, kMapped});
}

TEST_F(ShareFaultsTest, TheErrorForAnInvalidHostShowsItsCorrectForm) {
  const std::pair<const char*, const char*> rows[] = {
      {R"(\\host:8445\s)", "the host contains a port"},
      {R"(//host:445/s)", "the host contains a port"},
      {R"(\\[fe80::1]\s)", "fe80--1.ipv6-literal.net"},
      {R"(\\fe80::1\s)", "fe80--1.ipv6-literal.net"},
      {R"(\\host@8445\s)", "use WebDAV"},
      {R"(\\host@SSL\DavWWWRoot\s)", "use WebDAV"},
  };
  for (const auto& [remote, words] : rows) {
    ExpectRefused(Map(remote), absl::StatusCode::kInvalidArgument, words);
    ExpectRefused(Stage("s", remote).status(), absl::StatusCode::kInvalidArgument, words);
  }
  ExpectRefused(Map(R"(\\fe80--1s4.ipv6-literal.net\s)"), absl::StatusCode::kNotFound, "(53)");
}

TEST_F(ShareFaultsTest, TheErrorNamesTheStoppedService) {
  node_->core()->Change([](machine::simulator::NodeState& state) {
    state.services.emplace_back().name = "LanmanWorkstation";
  });
  ExpectRefused(Map(kA), absl::StatusCode::kFailedPrecondition,
                "start the node's service LanmanWorkstation");
  ASSERT_TRUE(system_->StartService(context_, {.name = "LanmanWorkstation"}).ok());
  EXPECT_TRUE(Map(kA).ok());
}

TEST_F(ShareFaultsTest, AnAnonymousShareIsMappedWithoutAUser) {
  deps_.require_privacy = false;
  Remake();
  const auto anonymous = [&](const std::string& remote, const std::string& password = "") {
    return smb_->NewSmbGlobalMapping(context_, {.remote_path = remote, .password = password})
        .status();
  };
  EXPECT_TRUE(anonymous(R"(\\nas.corp.example\a)").ok());
  EXPECT_EQ(node_->Snapshot().smb_mappings[0].username, "");
  ExpectRefused(anonymous(kA), absl::StatusCode::kFailedPrecondition, "(1326)");
  ExpectRefused(anonymous(kB, "x"), absl::StatusCode::kInvalidArgument, "username: ");
}

}  // namespace
}  // namespace csi_proxy::storage
