// The cases of the Go release's own tests, in our words: integrationtests/ and the unit tests below
// pkg/ of github.com/kubernetes-csi/csi-proxy, for all groups but disk and volume.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

using machine::simulator::NodeState;

class UpstreamFilesystemCases : public HandlerTest {
 protected:
  absl::StatusOr<bool> IsSymlink(const std::string& path) {
    const auto answer = filesystem_->IsSymlink(context_, {.path = path});
    if (!answer.ok()) return answer.status();
    return answer->is_symlink;
  }
};

// `filesystem_test.go`: a driver's sequence of calls on a volume's directories.
TEST_F(UpstreamFilesystemCases, DirectoriesAndALinkBetweenThemComeAndGo) {
  const std::string staged = Below(R"(plugins\testplugin-1\stage\deep)");
  const std::string published = Below(R"(pods\1234\volumes)");
  EXPECT_FALSE(Exists(staged));
  ASSERT_TRUE(Mkdir(staged).ok());
  EXPECT_TRUE(Exists(staged));
  ASSERT_TRUE(Mkdir(published).ok());
  ASSERT_TRUE(Link(staged, published + R"(\link)").ok());
  EXPECT_TRUE(Exists(published + R"(\link)"));
  EXPECT_TRUE(Rmdir(Below(R"(pods\1234)"), true).ok());
  EXPECT_TRUE(Exists(staged)) << "only the link went";
  EXPECT_TRUE(Rmdir(Below(R"(plugins\testplugin-1)"), true).ok());
  EXPECT_FALSE(Exists(published));
  EXPECT_FALSE(Exists(staged));
}

TEST_F(UpstreamFilesystemCases, IsSymlinkOfEachKindOfEntry) {
  EXPECT_FALSE(IsSymlink(Below("absent")).ok());
  ASSERT_TRUE(Mkdir(Below("target")).ok());
  EXPECT_EQ(IsSymlink(Below("target")).value_or(true), false);
  ASSERT_TRUE(Link(Below("target"), Below("link")).ok());
  EXPECT_EQ(IsSymlink(Below("link")).value_or(false), true);
  ASSERT_TRUE(Rmdir(Below("target"), true).ok());
  const auto dangling = IsSymlink(Below("link"));
  ASSERT_TRUE(dangling.ok()) << dangling.status();
  EXPECT_FALSE(*dangling);
}

TEST_F(UpstreamFilesystemCases, RmdirContentsKeepsTheRootAndTheTargetsOfLinks) {
  ASSERT_TRUE(Mkdir(Below(R"(root\a\b)")).ok());
  ASSERT_TRUE(Mkdir(Below(R"(root\c)")).ok());
  ASSERT_TRUE(Mkdir(Below(R"(outside\kept)")).ok());
  ASSERT_TRUE(Link(Below("outside"), Below(R"(root\link)")).ok());
  ASSERT_TRUE(filesystem_->RmdirContents(context_, {.path = Below("root")}).ok());
  EXPECT_TRUE(Exists(Below("root")));
  for (const char* gone : {"a", "c", "link"}) EXPECT_FALSE(Exists(Below("root\\") + gone)) << gone;
  EXPECT_TRUE(Exists(Below(R"(outside\kept)")));
}

// `pkg/server/filesystem`: Mkdir and Rmdir refuse each of these. A forward slash, which the Go
// release refuses too, separates here as a backslash does.
TEST_F(UpstreamFilesystemCases, MkdirAndRmdirRefuseOtherPaths) {
  for (const std::string& path :
       {std::string(R"(C:\foo\bar)"), Below("pods:x"), Below("pods\\a:b"), Below("pods*"),
        Below("pods?"), Below("pods|"), Below("pods\\..\\x"), Below(".."), "\\\\" + Below("pods"),
        std::string(R"(\\server\share)"), std::string("pods"), std::string("var\\lib\\kubelet"),
        std::string(R"(\var\lib\kubelet\pods)")}) {
    EXPECT_FALSE(Mkdir(path).ok()) << path;
    EXPECT_FALSE(Rmdir(path).ok()) << path;
    EXPECT_FALSE(Rmdir(path, true).ok()) << path;
  }
  for (const char* path : {R"(pods\a\b)", R"(plugins\a\b)"}) {
    EXPECT_TRUE(Mkdir(Below(path)).ok()) << path;
    EXPECT_TRUE(Rmdir(Below(path)).ok()) << path;
  }
}

// `pkg/utils`.
TEST_F(UpstreamFilesystemCases, PathsWithANulAreRefused) {
  const std::string nul = Below(std::string("a\0b", 3));
  EXPECT_TRUE(absl::IsInvalidArgument(filesystem_->PathExists(context_, {.path = nul}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(IsSymlink(nul).status()));
}

TEST_F(UpstreamFilesystemCases, AMountedFolderIsOneItselfAndThroughALink) {
  const std::string volume = Volume(1);
  ASSERT_TRUE(Mkdir(Below("m")).ok());
  ASSERT_TRUE(
      volume_->MountVolume(context_, {.volume_id = volume, .target_path = Below("m")}).ok());
  ASSERT_TRUE(Link(Below("m"), Below("l")).ok());
  for (const char* path : {"m", "l"}) {
    EXPECT_EQ(IsSymlink(Below(path)).value_or(false), true) << path;
    const auto found = volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below(path)});
    ASSERT_TRUE(found.ok()) << path << found.status();
    EXPECT_EQ(found->volume_id, volume);
  }
  EXPECT_FALSE(volume_->GetVolumeIDFromTargetPath(context_, {.target_path = Below("absent")}).ok());
}

class UpstreamSmbCases : public HandlerTest {
 protected:
  absl::Status Map(const std::string& remote) {
    return smb_
        ->NewSmbGlobalMapping(
            context_,
            {.remote_path = remote, .username = R"(EXAMPLE\storage)", .password = "correct horse"})
        .status();
  }
  std::vector<std::string> Mapped() {
    std::vector<std::string> shares;
    for (const auto& mapping : node_->Snapshot().smb_mappings) {
      shares.push_back(mapping.remote_path);
    }
    return shares;
  }
};

// `smb_test.go`: without a local path, as the user `domain\user`; then the server's path works.
TEST_F(UpstreamSmbCases, AMappedShareCanBeUsedUntilItIsUnmapped) {
  const std::string share = R"(\\fileserver.example\data)";
  ASSERT_TRUE(Map(share).ok());
  const auto mapping = host_->smb().GetMapping(context_, share);
  ASSERT_TRUE(mapping.ok() && mapping->has_value());
  EXPECT_TRUE((*mapping)->is_connected);
  const auto reaches = [&] {
    const auto access = host_->smb().Reach(context_, *UncPath::Parse("path", share));
    return access.ok() && access->kind == host::SmbAccess::Kind::kReached;
  };
  EXPECT_TRUE(reaches());
  ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = share}).ok());
  EXPECT_TRUE(Mapped().empty());
  EXPECT_FALSE(reaches());
  EXPECT_FALSE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = share}).ok());
}

// `pkg/server/smb`.
TEST_F(UpstreamSmbCases, TheShareIsTheRootOfThePath) {
  for (const char* path : {"", "hostname", R"(\\hostname)", R"(\\hostname\)"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Map(path))) << path;
  }
  for (const char* path :
       {R"(\\fileserver.example\data)", R"(\\fileserver.example\data\)",
        R"(\\fileserver.example\data\reports)", R"(\\fileserver.example\data\reports\2026\)"}) {
    ASSERT_TRUE(Map(path).ok()) << path;
    EXPECT_EQ(Mapped(), std::vector<std::string>{R"(\\fileserver.example\data)"}) << path;
    ASSERT_TRUE(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = path}).ok()) << path;
  }
}

// `getRootMappingPath` accepts any number of backslashes before the host; NetApp Trident removes a
// mapping by a path with one.
TEST_F(UpstreamSmbCases, AMappingIsRemovedByAPathWithOneBackslash) {
  ASSERT_TRUE(Map(R"(\\fileserver.example\data)").ok());
  ASSERT_TRUE(
      smb_->RemoveSmbGlobalMapping(context_, {.remote_path = R"(\fileserver.example\data)"}).ok());
  EXPECT_TRUE(Mapped().empty());
  for (const char* path : {R"(\)", R"(\data)", R"(\\\fileserver.example\data)"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        smb_->RemoveSmbGlobalMapping(context_, {.remote_path = path}).status()))
        << path;
  }
}

class UpstreamSystemCases : public HandlerTest {
 protected:
  // Adds a service that starts and stops at once.
  void AddService(const std::string& name, const std::vector<std::string>& depends_on,
                  host::ServiceState state = host::ServiceState::kRunning) {
    machine::simulator::Service service;
    service.name = name;
    service.state = state;
    service.depends_on = depends_on;
    node_->core()->Change([&](NodeState& node) { node.services.push_back(service); });
  }
  system::ServiceStatus StatusOf(const std::string& name) {
    const auto service = system_->GetService(context_, {.name = name});
    EXPECT_TRUE(service.ok()) << service.status();
    return service.ok() ? service->status : system::ServiceStatus::kUnknown;
  }
};

// `system_test.go`.
TEST_F(UpstreamSystemCases, TheSerialNumberIsTheFirmwares) {
  const auto serial = system_->GetBIOSSerialNumber(context_, {});
  ASSERT_TRUE(serial.ok()) << serial.status();
  EXPECT_EQ(serial->serial_number, node_->Snapshot().bios_serial_number);
}

TEST_F(UpstreamSystemCases, AServiceIsToldOfStoppedAndStarted) {
  const auto service = system_->GetService(context_, {.name = "MSiSCSI"});
  ASSERT_TRUE(service.ok()) << service.status();
  EXPECT_EQ(service->display_name, "Microsoft iSCSI Initiator Service");
  EXPECT_EQ(service->status, system::ServiceStatus::kRunning);
  EXPECT_EQ(service->start_type, system::StartType::kManual);
  ASSERT_TRUE(system_->StopService(context_, {.name = "MSiSCSI"}).ok());
  EXPECT_EQ(StatusOf("MSiSCSI"), system::ServiceStatus::kStopped);
  ASSERT_TRUE(system_->StartService(context_, {.name = "MSiSCSI"}).ok());
  EXPECT_EQ(StatusOf("MSiSCSI"), system::ServiceStatus::kRunning);
}

// `pkg/os/system`: C depends on B, B on A; stopping A stops C, then B, then A.
TEST_F(UpstreamSystemCases, DependentsStopFirstAndStoppedOnesAreLeftAlone) {
  AddService("A", {});
  AddService("B", {"A"});
  AddService("C", {"B"});
  AddService("Idle", {"A"}, host::ServiceState::kStopped);
  const auto order = host_->system().ListActiveDependents(context_, "A");
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_EQ(*order, (std::vector<std::string>{"C", "B"}));
  EXPECT_FALSE(system_->StopService(context_, {.name = "A"}).ok());
  EXPECT_EQ(StatusOf("C"), system::ServiceStatus::kRunning);
  // A stop of the stopped service would fail.
  machine::simulator::FaultRule rule;
  rule.operation = "win32.StopService";
  rule.resource = "Idle";
  rule.code = absl::StatusCode::kInternal;
  rule.error = machine::simulator::KnownError(5);
  ASSERT_TRUE(node_->InjectFault(rule).ok());
  ASSERT_TRUE(system_->StopService(context_, {.name = "A", .force = true}).ok());
  for (const char* name : {"A", "B", "C", "Idle"}) {
    EXPECT_EQ(StatusOf(name), system::ServiceStatus::kStopped) << name;
  }
}

TEST_F(UpstreamSystemCases, AServiceThatDoesNotGetThereIsAnErrorInTime) {
  node_->core()->Change([](NodeState& state) {
    for (auto& service : state.services) {
      service.start_latency = absl::Hours(1);
      if (service.name == "MSiSCSI") service.state = host::ServiceState::kStopped;
    }
  });
  const absl::Time start = absl::Now();
  const absl::Status late =
      system_->StartService(context_.WithTimeout(absl::Milliseconds(100)), {.name = "MSiSCSI"})
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_TRUE(absl::StrContains(late.message(), "still starting")) << late;
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  // A service that Windows refuses to start fails at once.
  EXPECT_TRUE(
      absl::IsFailedPrecondition(system_->StartService(context_, {.name = "defragsvc"}).status()));
}

class UpstreamIscsiCases : public HandlerTest {
 protected:
  absl::Status Connect(const std::string& name,
                       iscsi::AuthenticationType type = iscsi::AuthenticationType::kNone,
                       const std::string& secret = "") {
    iscsi::ConnectTargetRequest request;
    request.target_portal = portal_;
    request.iqn = Iqn(name);
    request.auth_type = type;
    if (!secret.empty()) request.chap_username = "node-1";
    request.chap_secret = secret;
    return iscsi_->ConnectTarget(context_, request).status();
  }
  static std::string Iqn(const std::string& name) { return "iqn.2026-01.example.storage:" + name; }
  // Returns the listed portals as `address:port`.
  std::vector<std::string> Portals() {
    std::vector<std::string> all;
    const auto listed = iscsi_->ListTargetPortals(context_, {});
    EXPECT_TRUE(listed.ok()) << listed.status();
    for (const auto& portal : listed->target_portals) {
      all.push_back(portal.target_address + ":" + std::to_string(portal.target_port));
    }
    return all;
  }
  // Brings the single disk of a target online, partitions it and takes it offline.
  void UseTheOneDiskOf(const std::string& name) {
    const auto disks =
        iscsi_->GetTargetDisks(context_, {.target_portal = portal_, .iqn = Iqn(name)});
    ASSERT_TRUE(disks.ok()) << disks.status();
    ASSERT_EQ(disks->disk_numbers.size(), 1u);
    const uint32_t disk = disks->disk_numbers[0];
    EXPECT_TRUE(disk_->SetDiskState(context_, {.disk_number = disk, .is_online = true}).ok());
    EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = disk}).ok());
    EXPECT_TRUE(disk_->SetDiskState(context_, {.disk_number = disk, .is_online = false}).ok());
    EXPECT_TRUE(
        iscsi_->DisconnectTarget(context_, {.target_portal = portal_, .iqn = Iqn(name)}).ok());
  }

  const iscsi::TargetPortal portal_{.target_address = "10.0.0.5", .target_port = 3260};
};

// `iscsi_test.go`.
TEST_F(UpstreamIscsiCases, PortalsAreAddedListedAndRemoved) {
  EXPECT_TRUE(Portals().empty());
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal_}).ok());
  EXPECT_EQ(Portals(), std::vector<std::string>{"10.0.0.5:3260"});
  // Two portals, as in the test of `pkg/server/iscsi`.
  node_->core()->Change([](NodeState& state) {
    auto second = state.iscsi_portals[0];
    second.portal.address = "10.0.0.6";
    second.registered = true;
    second.targets.clear();
    state.iscsi_portals.push_back(second);
  });
  EXPECT_EQ(Portals(), (std::vector<std::string>{"10.0.0.5:3260", "10.0.0.6:3260"}));
  ASSERT_TRUE(iscsi_
                  ->RemoveTargetPortal(
                      context_, {.target_portal = {.target_address = "10.0.0.6", .target_port = 0}})
                  .ok())
      << "port 0 is 3260";
  ASSERT_TRUE(iscsi_->RemoveTargetPortal(context_, {.target_portal = portal_}).ok());
  EXPECT_TRUE(Portals().empty());
}

TEST_F(UpstreamIscsiCases, ATargetIsFoundConnectedAndUsed) {
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal_}).ok());
  const auto found = iscsi_->DiscoverTargetPortal(context_, {.target_portal = portal_});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->iqns, (std::vector<std::string>{Iqn("open"), Iqn("chap"), Iqn("mutual")}));
  node_->core()->Change(
      [](NodeState& state) { state.iscsi_portals[0].targets[0].disks.resize(1); });
  ASSERT_TRUE(Connect("open").ok());
  UseTheOneDiskOf("open");
}

TEST_F(UpstreamIscsiCases, ChapWantsTheRightSecret) {
  using enum iscsi::AuthenticationType;
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal_}).ok());
  EXPECT_FALSE(Connect("chap", kOneWayChap, "wrong-secret-1").ok());
  EXPECT_FALSE(Connect("chap").ok());
  ASSERT_TRUE(Connect("chap", kOneWayChap, "one-way-secret").ok());
  UseTheOneDiskOf("chap");
}

TEST_F(UpstreamIscsiCases, MutualChapWantsBothSecrets) {
  using enum iscsi::AuthenticationType;
  ASSERT_TRUE(iscsi_->AddTargetPortal(context_, {.target_portal = portal_}).ok());
  EXPECT_FALSE(Connect("mutual", kMutualChap, "one-way-secret").ok()) << "none of the node's own";
  ASSERT_TRUE(iscsi_->SetMutualChapSecret(context_, {.mutual_chap_secret = "wrong-secret-1"}).ok());
  EXPECT_FALSE(Connect("mutual", kMutualChap, "one-way-secret").ok());
  ASSERT_TRUE(iscsi_->SetMutualChapSecret(context_, {.mutual_chap_secret = "mutual-secret1"}).ok());
  EXPECT_FALSE(Connect("mutual", kMutualChap, "wrong-secret-1").ok());
  ASSERT_TRUE(Connect("mutual", kMutualChap, "one-way-secret").ok());
  UseTheOneDiskOf("mutual");
}

}  // namespace
}  // namespace csi_proxy::groups
