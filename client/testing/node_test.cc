// Tests this library in the way that a driver's tests use it.
#include "csi_proxy/testing/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/smb/v1/client.h"
#include "csi_proxy/storage/v1alpha1/client.h"

namespace csi_proxy {
namespace {

using simulated_node::Disk;
using simulated_node::FileKind;
using simulated_node::PartitionStyle;
using simulated_node::State;
using testing::HasSubstr;

constexpr char kStaging[] = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\ebs\globalmount)";
constexpr char kTarget[] = R"(C:\var\lib\kubelet\pods\p1\volumes\kubernetes.io~csi\pvc-1)";
constexpr char kShare[] = R"(\\fileserver.example\data)";

NodeOptions Quiet() {
  NodeOptions options;
  options.log = [](Severity, absl::string_view) {};
  return options;
}

SimulatedNode NewNode(absl::string_view scenario = "") {
  return SimulatedNode::Create(scenario, Quiet()).value();
}

// Makes the calls of a driver that uses the storage group.
class Driver {
 public:
  explicit Driver(const std::shared_ptr<Connection>& node) : files_(node), storage_(node) {}

  absl::Status Stage(uint32_t disk, const std::string& staging) {
    storage::v1alpha1::StageVolumeRequest stage;
    stage.mutable_disk()->set_number(absl::StrCat(disk));
    stage.set_target_path(staging);
    return storage_.StageVolume(stage).status();
  }
  absl::Status Publish(const std::string& staging, const std::string& target) {
    filesystem::v1::CreateSymlinkRequest link;
    link.set_source_path(staging);
    link.set_target_path(target);
    return files_.CreateSymlink(link).status();
  }
  absl::Status Remove(const std::string& path) {
    filesystem::v1::RmdirRequest remove;
    remove.set_path(path);
    remove.set_force(true);
    return files_.Rmdir(remove).status();
  }
  absl::Status Unstage(const std::string& staging) {
    storage::v1alpha1::UnstageVolumeRequest unstage;
    unstage.set_target_path(staging);
    return storage_.UnstageVolume(unstage).status();
  }

 private:
  filesystem::v1::Client files_;
  storage::v1alpha1::Client storage_;
};

TEST(SimulatedNodeTest, ADriverCanPublishAndUnpublishAVolumeTwice) {
  const SimulatedNode node = NewNode();
  Driver driver(Connect(node.client_options()).value());
  const uint32_t disk = node.AttachDisk({.size_bytes = 10ull << 30, .serial_number = "v1"}).value();
  std::string id;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(node.MakeDirectory("/var/lib/kubelet/pods/p1/volumes/kubernetes.io~csi").ok());
    const absl::Status staged = driver.Stage(disk, kStaging);
    ASSERT_TRUE(staged.ok()) << staged;
    const absl::Status published = driver.Publish(kStaging, kTarget);
    ASSERT_TRUE(published.ok()) << published;

    const State state = node.state();
    ASSERT_NE(state.FindDisk(disk), nullptr);
    EXPECT_EQ(state.FindDisk(disk)->style, PartitionStyle::kGpt);
    ASSERT_EQ(state.FindDisk(disk)->partitions.size(), 2u);
    // The second round must find the same volume.
    if (round == 0) id = state.FindDisk(disk)->partitions[1].volume->id;
    EXPECT_EQ(state.MountedAt(kStaging), id);
    EXPECT_EQ(state.MountedAt(kTarget), id);
    EXPECT_EQ(state.At(kTarget)->target, kStaging);
    EXPECT_EQ(state.FindVolume(id)->file_system, "NTFS");

    ASSERT_TRUE(driver.Remove(kTarget).ok());
    const absl::Status unstaged = driver.Unstage(kStaging);
    ASSERT_TRUE(unstaged.ok()) << unstaged;
    const State after = node.state();
    EXPECT_FALSE(after.At(kTarget).has_value());
    EXPECT_FALSE(after.At(kStaging).has_value());
    EXPECT_TRUE(after.FindDisk(disk)->offline);
    EXPECT_EQ(after.FindVolume(id), nullptr);
  }
}

TEST(SimulatedNodeTest, NodesOfParallelTestsAreIndependent) {
  std::vector<std::thread> tests;
  for (int i = 0; i < 4; ++i) {
    tests.emplace_back([i] {
      const SimulatedNode node = NewNode();
      Driver driver(Connect(node.client_options()).value());
      const uint64_t size = (i + 1ull) << 30;
      const uint32_t disk = node.AttachDisk({.size_bytes = size}).value();
      if (i % 2 == 1) {
        ASSERT_TRUE(node.InjectFault({.operation = "storage.StageVolume",
                                      .code = absl::StatusCode::kAborted})
                        .ok());
        EXPECT_TRUE(absl::IsAborted(driver.Stage(disk, kStaging)));
        ASSERT_TRUE(node.ClearFaults().ok());
      }
      const absl::Status staged = driver.Stage(disk, kStaging);
      EXPECT_TRUE(staged.ok()) << staged;
      EXPECT_EQ(node.state().FindDisk(disk)->size_bytes, size);
    });
  }
  for (std::thread& test : tests) test.join();
}

TEST(SimulatedNodeTest, AnAttachedDiskHasTheGivenProperties) {
  const SimulatedNode node = NewNode();
  const Disk described = {
      .number = 40,
      .size_bytes = 8ull << 30,
      .location = "Integrated : Adapter 3 : Port 0 : Target 0 : LUN 7",
      .page83 = "page",
      .serial_number = "serial",
      .style = PartitionStyle::kGpt,
      .offline = true,
      .read_only = true,
      .awaits_rescan = true,
      .partitions = {{.number = 1,
                      .offset_bytes = 1 << 20,
                      .size_bytes = 4ull << 30,
                      .volume = simulated_node::Volume{
                          .id = R"(\\?\Volume{00000000-c511-4c0d-9000-0000000000aa}\)",
                          .file_system = "NTFS",
                          .files = {{.path = "a"},
                                    {.path = R"(a\b.txt)",
                                     .kind = FileKind::kFile,
                                     .size_bytes = 5,
                                     .read_only = true}}}}}};
  EXPECT_EQ(node.AttachDisk(described).value(), 40u);
  const State state = node.state();
  const Disk* const disk = state.FindDisk(40);
  ASSERT_NE(disk, nullptr);
  EXPECT_EQ(disk->size_bytes, described.size_bytes);
  EXPECT_EQ(disk->location, described.location);
  EXPECT_EQ(disk->page83, "page");
  EXPECT_EQ(disk->serial_number, "serial");
  EXPECT_TRUE(disk->offline && disk->read_only && disk->awaits_rescan);
  ASSERT_EQ(disk->partitions.size(), 1u);
  EXPECT_EQ(disk->partitions[0].size_bytes, 4ull << 30);
  const simulated_node::Volume& volume = *disk->partitions[0].volume;
  EXPECT_EQ(volume.id, described.partitions[0].volume->id);
  ASSERT_EQ(volume.files.size(), 2u);
  EXPECT_EQ(volume.files[1].path, R"(a\b.txt)");
  EXPECT_EQ(volume.files[1].kind, FileKind::kFile);
  EXPECT_TRUE(volume.files[1].read_only);
  ASSERT_TRUE(node.Reset().ok());
  EXPECT_EQ(node.state().FindDisk(40), nullptr);
}

TEST(StateTest, MountedAtFindsAVolumeThatAlsoHasADriveLetter) {
  const std::string id = R"(\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
  State state;
  state.disks = {
      {.partitions = {{.volume = simulated_node::Volume{.drive_letter = "C",
                                                        .files = {{.path = "mounted",
                                                                   .mounted_volume_id = id}}}},
                      {.volume = simulated_node::Volume{.id = id, .drive_letter = "D"}}}}};
  EXPECT_EQ(state.MountedAt(R"(C:\mounted)"), id);
  EXPECT_EQ(state.MountedAt(R"(D:\)"), "");
  EXPECT_EQ(state.MountedAt(R"(C:\)"), "");
}

TEST(SimulatedNodeTest, DisksCanGrowAndBeDetached) {
  const SimulatedNode node = NewNode();
  Driver driver(Connect(node.client_options()).value());
  const uint32_t disk = node.AttachDisk({.size_bytes = 10ull << 30}).value();
  ASSERT_TRUE(driver.Stage(disk, kStaging).ok());
  ASSERT_TRUE(node.GrowDisk(disk, 20ull << 30).ok());
  EXPECT_EQ(node.state().FindDisk(disk)->grown_size_bytes, 20ull << 30);
  const std::string id = node.state().MountedAt(kStaging);
  ASSERT_TRUE(node.Reboot().ok());
  const State rebooted = node.state();
  EXPECT_EQ(rebooted.MountedAt(kStaging), id);
  EXPECT_EQ(rebooted.FindDisk(disk)->size_bytes, 20ull << 30);
  ASSERT_TRUE(node.DetachDisk(disk).ok());
  const State state = node.state();
  EXPECT_EQ(state.FindDisk(disk), nullptr);
  EXPECT_EQ(state.MountedAt(kStaging), "");
  EXPECT_TRUE(state.At(kStaging)->dangling);
}

TEST(SimulatedNodeTest, ADriverContinuesAfterAFaultAndARestart) {
  const SimulatedNode node = NewNode();
  Driver driver(Connect(node.client_options()).value());
  const uint32_t disk = node.AttachDisk({.size_bytes = 1ull << 30}).value();
  ASSERT_TRUE(driver.Stage(disk, kStaging).ok());
  ASSERT_TRUE(node.InjectFault({.operation = "storage.UnstageVolume",
                                .times = 1,
                                .code = absl::StatusCode::kInternal})
                  .ok());
  EXPECT_TRUE(absl::IsInternal(driver.Unstage(kStaging)));
  EXPECT_NE(node.state().MountedAt(kStaging), "");
  ASSERT_TRUE(node.Reboot().ok());
  const absl::Status unstaged = driver.Unstage(kStaging);
  EXPECT_TRUE(unstaged.ok()) << unstaged;
  EXPECT_FALSE(node.state().At(kStaging).has_value());
}

TEST(SimulatedNodeTest, HelpersResolvePathsAsTheNodeDoes) {
  const SimulatedNode node = NewNode();
  Driver driver(Connect(node.client_options()).value());
  const uint32_t disk = node.AttachDisk({.size_bytes = 1ull << 30}).value();
  ASSERT_TRUE(driver.Stage(disk, kStaging).ok());
  const std::string id = node.state().MountedAt(kStaging);
  ASSERT_NE(id, "");
  ASSERT_TRUE(node.WriteFile(absl::StrCat(kStaging, R"(\data\file.txt)"), 42).ok());
  ASSERT_TRUE(node.MakeLink(kTarget, kStaging).ok());
  ASSERT_TRUE(node.MakeLink(R"(C:\var\second)", kTarget).ok());
  ASSERT_TRUE(node.MakeLink(R"(C:\var\loop)", R"(C:\var\loop)").ok());
  const State state = node.state();
  for (const char* path : {R"(c:\VAR\second)", R"(\var\second)", "/var/second/"}) {
    EXPECT_EQ(state.MountedAt(path), id) << path;
  }
  for (const char* path :
       {R"(C:\var\second\data)", R"(C:\var\loop)", R"(C:\)", R"(C:\none)", R"(X:\)", ""}) {
    EXPECT_EQ(state.MountedAt(path), "") << path;
  }
  ASSERT_TRUE(state.At("/var/second/DATA/file.txt").has_value());
  EXPECT_EQ(state.At("/var/second/DATA/file.txt")->size_bytes, 42u);
  EXPECT_EQ(state.At(R"(C:\var\loop)")->kind, FileKind::kLink);
  EXPECT_FALSE(state.At(R"(C:\var\loop\x)").has_value());
  EXPECT_TRUE(state.At(R"(C:\)").has_value());
  ASSERT_TRUE(node.RemoveFolder("/var/second").ok());
  EXPECT_FALSE(node.state().At("/var/second").has_value());
}

TEST(SimulatedNodeTest, MappingsCanBeMadeAndBroken) {
  const SimulatedNode node = NewNode();
  const smb::v1::Client shares(Connect(node.client_options()).value());
  smb::v1::NewSmbGlobalMappingRequest request;
  request.set_remote_path(kShare);
  request.set_username(R"(EXAMPLE\storage)");
  request.set_password("correct horse");
  ASSERT_TRUE(shares.NewSmbGlobalMapping(request).ok());
  EXPECT_EQ(node.state().FindMapping(kShare)->username, R"(EXAMPLE\storage)");
  EXPECT_FALSE(node.state().FindMapping(kShare)->broken);
  ASSERT_TRUE(node.BreakMapping(kShare).ok());
  EXPECT_TRUE(node.state().FindMapping(kShare)->broken);
  ASSERT_TRUE(shares.NewSmbGlobalMapping(request).ok());
  ASSERT_TRUE(node.SetSmbPassword("fileserver.example", R"(EXAMPLE\storage)", "new").ok());
  EXPECT_TRUE(node.state().FindMapping(kShare)->broken);
  ASSERT_TRUE(node.SetServerReachable("fileserver.example", false).ok());
  request.set_password("new");
  EXPECT_FALSE(shares.NewSmbGlobalMapping(request).ok());
  ASSERT_TRUE(node.AddShare("new.example", "files").ok());
  EXPECT_EQ(node.state().FindMapping(R"(\\new.example\files)"), nullptr);
}

TEST(SimulatedNodeTest, ATargetsDisksExistAfterTheTargetIsConnected) {
  const SimulatedNode node = NewNode();
  const CallContext context;
  const iscsi::TargetPortal portal = {.target_address = "10.0.0.5"};
  constexpr char kIqn[] = "iqn.2026-01.example.storage:open";
  ASSERT_TRUE(node->iscsi().AddTargetPortal(context, {.target_portal = portal}).ok());
  ASSERT_TRUE(node->iscsi().DiscoverTargetPortal(context, {.target_portal = portal}).ok());
  EXPECT_EQ(node.state().FindDisk(10), nullptr);
  iscsi::ConnectTargetRequest connect;
  connect.target_portal = portal;
  connect.iqn = kIqn;
  ASSERT_TRUE(node->iscsi().ConnectTarget(context, connect).ok());
  const State state = node.state();
  EXPECT_NE(state.FindDisk(10), nullptr);
  EXPECT_TRUE(state.iscsi_portals[0].registered);
}

TEST(SimulatedNodeTest, TheDriverReceivesTheInjectedFault) {
  const SimulatedNode node = NewNode();
  const filesystem::v1::Client files(Connect(node.client_options()).value());
  filesystem::v1::PathExistsRequest request;
  request.set_path(kStaging);
  for (int code = 1; code <= 16; ++code) {
    ASSERT_TRUE(node.InjectFault({.operation = "filesystem.PathExists",
                                  .times = 1,
                                  .code = static_cast<absl::StatusCode>(code),
                                  .windows_error = 5})
                    .ok());
    const absl::Status status = files.PathExists(request).status();
    EXPECT_EQ(status.raw_code(), code);
    EXPECT_THAT(std::string(status.message()), HasSubstr("Access is denied"));
  }
  EXPECT_TRUE(files.PathExists(request).ok());
  ASSERT_TRUE(node.InjectFault({.operation = "filesystem.*", .latency = absl::Hours(1)}).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      files.PathExists(request, {.timeout = absl::Milliseconds(10)}).status()));
}

TEST(SimulatedNodeTest, ANodeOfACloudAttachesDisksLikeThatCloud) {
  const SimulatedNode node = NewNode("azure-scsi");
  const uint32_t number = node.AttachDisk({.size_bytes = 1ull << 30}).value();
  for (const simulated_node::Disk& disk : node.state().disks) {
    if (disk.number != number) continue;
    EXPECT_THAT(disk.location, HasSubstr("Adapter 1 : Port 0 : Target 0 : LUN 0"));
    EXPECT_THAT(disk.page83, HasSubstr("60022480"));
  }
  EXPECT_THAT(SimulatedNode::Create("azure-scs", Quiet()).status().ToString(),
              HasSubstr("scenario: no scenario is called azure-scs"));
}

TEST(SimulatedNodeTest, AdministerCallsAnAdminMethodByName) {
  const SimulatedNode node = NewNode();
  ASSERT_TRUE(node.DetachDisk(1).ok());
  EXPECT_EQ(node.state().FindDisk(1), nullptr);
  EXPECT_TRUE(node.Administer("Reset", "").ok());
  EXPECT_NE(node.state().FindDisk(1), nullptr);
  EXPECT_TRUE(absl::IsUnimplemented(node.Administer("Conquer", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(node.Administer("Reset", "\xff").status()));
}

TEST(SimulatedNodeTest, ImpossibleChangesAreRefused) {
  const SimulatedNode node = NewNode();
  EXPECT_TRUE(absl::IsInvalidArgument(node.AttachDisk({}).status()));
  EXPECT_TRUE(
      absl::IsAlreadyExists(node.AttachDisk({.number = 1, .size_bytes = 1ull << 30}).status()));
  EXPECT_TRUE(absl::IsNotFound(node.DetachDisk(99)));
  EXPECT_TRUE(absl::IsInvalidArgument(node.GrowDisk(1, 1)));
  EXPECT_TRUE(absl::IsAlreadyExists(node.AddShare("fileserver.example", "data")));
  EXPECT_TRUE(absl::IsNotFound(node.BreakMapping(kShare)));
  EXPECT_TRUE(absl::IsInvalidArgument(node.InjectFault({.operation = "volume.FromatVolume"})));
  EXPECT_THAT(SimulatedNode::Create("disk {", Quiet()).status().ToString(),
              HasSubstr("INVALID_ARGUMENT: scenario:1:"));
}

TEST(SimulatedNodeTest, TheNodeCanBeCalledDirectly) {
  const SimulatedNode node = NewNode();
  const CallContext context;
  ASSERT_TRUE(node->filesystem().Mkdir(context, {.path = kStaging}).ok());
  EXPECT_EQ(node.state().At(kStaging)->kind, FileKind::kDirectory);
  const auto serial = node->system().GetBIOSSerialNumber(context, {});
  ASSERT_TRUE(serial.ok()) << serial.status();
  EXPECT_EQ(serial->serial_number, node.state().bios_serial_number);
}

}  // namespace
}  // namespace csi_proxy
