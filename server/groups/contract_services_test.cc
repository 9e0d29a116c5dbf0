// Tests promises to drivers in the groups filesystem and smb. Each test has the name of a promise.
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

class FilesystemContract : public HandlerTest {};
class SmbContract : public HandlerTest {};

TEST_F(FilesystemContract, MkdirOfAnExistingDirectorySucceeds) {
  EXPECT_TRUE(Mkdir(Below("a\\b")).ok());
  EXPECT_TRUE(Mkdir(Below("a\\b")).ok());
  EXPECT_TRUE(Mkdir(R"(C:\var\lib\kubelet)").ok());
}

TEST_F(FilesystemContract, RmdirOfANonEmptyDirectoryNeedsForce) {
  ASSERT_TRUE(Mkdir(Below("a\\b")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Rmdir(Below("a"))));
  EXPECT_TRUE(Exists(Below("a\\b")));
  EXPECT_TRUE(Rmdir(Below("a"), true).ok());
  EXPECT_FALSE(Exists(Below("a")));
}

TEST_F(FilesystemContract, RmdirOfAnAbsentPathWithForceSucceeds) {
  EXPECT_TRUE(Rmdir(Below("none"), true).ok());
  EXPECT_TRUE(absl::IsNotFound(Rmdir(Below("none"))));
}

TEST_F(FilesystemContract, RmdirOfALinkRemovesOnlyTheLink) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  for (const bool force : {false, true}) {
    ASSERT_TRUE(Link(Below("t"), Below("l")).ok());
    ASSERT_TRUE(Rmdir(Below("l"), force).ok());
    EXPECT_FALSE(Exists(Below("l")));
    EXPECT_TRUE(Exists(Below("t\\kept")));
  }
}

TEST_F(FilesystemContract, RmdirRefusesToRemoveALinkNamedPodsOrPlugins) {
  for (const char* name : {"plugins", "Pods"}) {
    ASSERT_TRUE(Rmdir(Below(name), true).ok());
    ASSERT_TRUE(Mkdir(Below("moved")).ok());
    ASSERT_TRUE(PlantLink(Below(name), Below("moved")).ok());
    const absl::Status refused = Rmdir(Below(name), true);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_TRUE(Exists(Below(name)));
    // In a deeper folder the name has no meaning.
    ASSERT_TRUE(PlantLink(Below("moved\\pods"), Below("moved")).ok());
    EXPECT_TRUE(Rmdir(Below("moved\\pods")).ok());
  }
}

// A driver may make a link to a working directory.
TEST_F(FilesystemContract, RmdirThroughALinkKeepsLinksNamedPodsOrPlugins) {
  ASSERT_TRUE(Rmdir(Below("pods"), true).ok());
  ASSERT_TRUE(Mkdir(Below("moved")).ok());
  ASSERT_TRUE(PlantLink(Below("pods"), Below("moved")).ok());
  ASSERT_TRUE(Link(R"(C:\var\lib\kubelet)", Below("alias")).ok());
  for (const bool force : {false, true}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Rmdir(Below("alias\\PODS"), force)));
  }
  EXPECT_TRUE(Exists(Below("pods")));
}

TEST_F(FilesystemContract, CallsThroughALinkKeepWorkingDirectoriesAndTheirContent) {
  deps_.roots = std::make_shared<const PathRoots>(
      std::vector<WindowsPath>{*WindowsPath::Parse("root", R"(C:\var\lib\kubelet)"),
                               *WindowsPath::Parse("root", Below("a\\inner"))});
  Remake();
  ASSERT_TRUE(Mkdir(Below("a\\inner\\kept")).ok());
  ASSERT_TRUE(Link(R"(C:\var\lib\kubelet)", Below("alias")).ok());
  for (const char* path : {"alias\\a", "alias\\a\\inner"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Rmdir(Below(path), true))) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(
        filesystem_->RmdirContents(context_, {.path = Below(path)}).status()))
        << path;
  }
  EXPECT_TRUE(Exists(Below("a\\inner\\kept")));
  EXPECT_TRUE(Rmdir(Below("alias\\a\\inner\\kept")).ok());
}

TEST_F(FilesystemContract, RmdirWithForceDoesNotFollowLinksInside) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  ASSERT_TRUE(Mkdir(Below("a")).ok());
  ASSERT_TRUE(Link(Below("t"), Below("a\\l")).ok());
  ASSERT_TRUE(Rmdir(Below("a"), true).ok());
  EXPECT_TRUE(Exists(Below("t\\kept")));
}

TEST_F(FilesystemContract, RmdirContentsDoesNotFollowLinks) {
  ASSERT_TRUE(Mkdir(Below("t\\kept")).ok());
  ASSERT_TRUE(Mkdir(Below("a\\b")).ok());
  ASSERT_TRUE(Link(Below("t"), Below("a\\l")).ok());
  ASSERT_TRUE(filesystem_->RmdirContents(context_, {.path = Below("a")}).ok());
  EXPECT_TRUE(Exists(Below("a")));
  EXPECT_FALSE(Exists(Below("a\\l")));
  EXPECT_TRUE(Exists(Below("t\\kept")));
}

smb::NewSmbGlobalMappingRequest Mapping(const std::string& remote, const std::string& local) {
  return {.remote_path = remote,
          .local_path = local,
          .username = R"(EXAMPLE\storage)",
          .password = "correct horse"};
}

TEST_F(SmbContract, TheSharesRootIsMappedInLowerCase) {
  ASSERT_TRUE(
      smb_->NewSmbGlobalMapping(context_, Mapping("//FileServer.example/Data/reports", "")).ok());
  const auto mappings = node_->Snapshot().smb_mappings;
  ASSERT_EQ(mappings.size(), 1u);
  EXPECT_EQ(mappings[0].remote_path, R"(\\fileserver.example\data)");
}

TEST_F(SmbContract, AHealthyMappingIsReused) {
  const auto request = Mapping(R"(\\fileserver.example\data)", "");
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create");
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok()) << "nothing is made anew";
}

TEST_F(SmbContract, ABrokenMappingIsReplacedAfterAChangeOfPassword) {
  auto request = Mapping(R"(\\fileserver.example\data)", "");
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  ASSERT_TRUE(
      node_->SetSmbPassword("fileserver.example", R"(EXAMPLE\storage)", Secret("battery")).ok());
  EXPECT_FALSE(smb_->NewSmbGlobalMapping(context_, request).ok()) << "the old password";
  request.password = "battery";
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
}

// A removal would take the share from other pods for a moment
// (github.com/kubernetes/kubernetes/issues/93805).
TEST_F(SmbContract, AWorkingMappingIsKeptEvenIfWindowsReportsItAsDisconnected) {
  const auto request = Mapping(R"(\\fileserver.example\data)", "");
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  node_->core()->Change(
      [](machine::simulator::NodeState& state) { state.smb_mappings[0].idle = true; });
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove");
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create");
  const auto again = smb_->NewSmbGlobalMapping(context_, request);
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(node_->Snapshot().faults.size(), 2u) << "neither removed nor made anew";
}

TEST_F(SmbContract, AnUnreachableMappingIsReplacedEvenIfItsStateIsOk) {
  const auto request = Mapping(R"(\\fileserver.example\data)", "");
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  Fail("win32.Reach", 1, 1326);
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create", 1, 0x80041001);
  EXPECT_FALSE(smb_->NewSmbGlobalMapping(context_, request).ok());
  EXPECT_TRUE(node_->Snapshot().smb_mappings.empty()) << "it was removed";
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
}

TEST_F(SmbContract, AFailedMappingReturnsTheStatusCodeOfItsCause) {
  const auto code = [&](smb::NewSmbGlobalMappingRequest request) {
    return smb_->NewSmbGlobalMapping(context_, request).status().code();
  };
  auto request = Mapping(R"(\\fileserver.example\data)", "");
  request.password = "wrong";
  EXPECT_EQ(code(request), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(Mapping(R"(\\fileserver.example\none)", "")), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(Mapping(R"(\\nowhere.example\data)", "")), absl::StatusCode::kNotFound);
  // WMI may also report the error as the method's return value.
  const struct {
    uint32_t error;
    absl::StatusCode code;
  } rows[] = {{5, absl::StatusCode::kFailedPrecondition},
              {53, absl::StatusCode::kNotFound},
              {86, absl::StatusCode::kFailedPrecondition},
              {1219, absl::StatusCode::kFailedPrecondition},
              {1331, absl::StatusCode::kFailedPrecondition}};
  for (const auto& row : rows) {
    Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Create", 1, row.error);
    EXPECT_EQ(code(Mapping(R"(\\fileserver.example\data)", "")), row.code) << row.error;
  }
}

// The mappings with other credentials are other tenants', so the error must not name them.
TEST_F(SmbContract, OnlyTheLogNamesMappingsWithOtherCredentials) {
  deps_.require_privacy = false;
  Remake();
  const auto map = [&](const char* remote, const char* user, const char* password) {
    return smb_
        ->NewSmbGlobalMapping(context_,
                              {.remote_path = remote, .username = user, .password = password})
        .status();
  };
  ASSERT_TRUE(map(R"(\\oldnas.example\public)", "guest", "guest-password").ok());
  ASSERT_TRUE(map(R"(\\fileserver.example\data)", R"(EXAMPLE\storage)", "correct horse").ok());
  const absl::Status refused = map(R"(\\fileserver.example\scratch)", "other", "pw");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "csi-proxyctl storage list-smb")) << refused;
  EXPECT_FALSE(absl::StrContains(refused.message(), R"(\data)")) << refused;
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(absl::EndsWith(warnings_[0], R"(, by \\fileserver.example\data)")) << warnings_[0];
}

// csi-driver-smb reads the link and uses its first two components as host and share. containerd
// cannot follow a link to a share without a trailing backslash.
TEST_F(SmbContract, ALinkToASharesRootEndsInABackslashAndIsReused) {
  const std::string target = R"(\\fileserver.example\data\)";
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(
        smb_->NewSmbGlobalMapping(context_, Mapping("//fileserver.example/data", Below("s"))).ok());
    const auto link = deps_.host->filesystem().ReadLink(
        context_, {*WindowsPath::Parse("p", Below("s")), deps_.roots});
    ASSERT_TRUE(link.ok());
    EXPECT_EQ(link->target, target);
    EXPECT_TRUE(link->target_exists);
  }
  ASSERT_TRUE(Link(Below("s"), Below("published")).ok());
  EXPECT_TRUE(filesystem_->IsSymlink(context_, {.path = Below("published")})->is_symlink);
}

TEST_F(SmbContract, AnExistingLinkToTheSameShareIsAccepted) {
  const auto request = Mapping("//fileserver.example/data/reports", Below("s"));
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
  const auto link = deps_.host->filesystem().ReadLink(
      context_, {*WindowsPath::Parse("p", Below("s")), deps_.roots});
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->target, R"(\\fileserver.example\data\reports\)") << "the server's path";
  const auto other = Mapping("//fileserver.example/data", Below("s"));
  EXPECT_TRUE(absl::IsAlreadyExists(smb_->NewSmbGlobalMapping(context_, other).status()));
}

TEST_F(SmbContract, PrivacyIsRequiredUnlessSwitchedOff) {
  smb::NewSmbGlobalMappingRequest request{.remote_path = R"(\\oldnas.example\public)",
                                          .username = "guest",
                                          .password = "guest-password"};
  EXPECT_TRUE(absl::IsFailedPrecondition(smb_->NewSmbGlobalMapping(context_, request).status()));
  deps_.require_privacy = false;
  Remake();
  EXPECT_TRUE(smb_->NewSmbGlobalMapping(context_, request).ok());
}

TEST_F(SmbContract, ConcurrentCallsForOneShareMakeOneMapping) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&, i] {
      const auto answer = smb_->NewSmbGlobalMapping(
          context_, Mapping(i % 2 ? "//fileserver.example/DATA" : R"(\\FILESERVER.example\data)",
                            Below(absl::StrCat("s", i))));
      EXPECT_TRUE(answer.ok()) << answer.status();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(node_->Snapshot().smb_mappings.size(), 1u);
}

TEST_F(SmbContract, AFailedLinkRemovesTheMappingOnlyIfTheCallMadeIt) {
  ASSERT_TRUE(Mkdir(Below("taken")).ok());
  const auto request = Mapping("//fileserver.example/data", Below("taken"));
  EXPECT_TRUE(absl::IsAlreadyExists(smb_->NewSmbGlobalMapping(context_, request).status()));
  EXPECT_TRUE(node_->Snapshot().smb_mappings.empty());
  ASSERT_TRUE(smb_->NewSmbGlobalMapping(context_, Mapping(request.remote_path, "")).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(smb_->NewSmbGlobalMapping(context_, request).status()));
  EXPECT_EQ(node_->Snapshot().smb_mappings.size(), 1u);
}

// The Go release accepts any number of backslashes before the host. NetApp Trident removes a
// mapping by a path with one backslash.
TEST_F(SmbContract, APathWithOneLeadingBackslashRemovesAMapping) {
  ASSERT_TRUE(
      smb_->NewSmbGlobalMapping(context_, Mapping(R"(\\fileserver.example\data)", "")).ok());
  const auto remove = [&](const char* path) {
    return smb_->RemoveSmbGlobalMapping(context_, {.remote_path = path}).status();
  };
  EXPECT_TRUE(remove(R"(\fileserver.example\data)").ok());
  EXPECT_TRUE(node_->Snapshot().smb_mappings.empty());
  for (const char* path : {R"(\)", R"(\data)", R"(\\\fileserver.example\data)"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(remove(path))) << path;
  }
}

TEST_F(SmbContract, TheErrorNamesAMappingThatCannotBeUndone) {
  const std::string taken = Below("taken");
  ASSERT_TRUE(Mkdir(taken).ok());
  const smb::NewSmbGlobalMappingRequest request{.remote_path = R"(\\fileserver.example\data)",
                                                .local_path = taken,
                                                .username = R"(EXAMPLE\storage)",
                                                .password = "correct horse"};
  const std::string why =
      absl::StrCat("local_path: ", taken, " exists and is not a link to ", request.remote_path);
  EXPECT_EQ(smb_->NewSmbGlobalMapping(context_, request).status(), absl::AlreadyExistsError(why));
  Fail("wmi.Invoke/MSFT_SmbGlobalMapping.Remove", 1, 31);
  const absl::Status failed = smb_->NewSmbGlobalMapping(context_, request).status();
  EXPECT_TRUE(absl::IsAlreadyExists(failed)) << failed;
  EXPECT_TRUE(absl::StartsWith(failed.message(),
                               absl::StrCat(why, " (and the new mapping of ", request.remote_path,
                                            " could not be removed: removing the mapping of ")))
      << failed;
  EXPECT_TRUE(absl::StrContains(failed.message(), "(31)")) << failed;
}

}  // namespace
}  // namespace csi_proxy::groups
