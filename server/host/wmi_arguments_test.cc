// Tests the parameters that the host passes to each method of WMI, because Windows may have another
// default for an omitted one.
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/host/operations_testing.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {
namespace {

using testing::ElementsAre;

// Records the methods and their arguments.
class NotingSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  using SimulatedSession::SimulatedSession;

  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    calls.push_back(absl::StrCat(method, "(",
                                 absl::StrJoin(arguments, ", ",
                                               [](std::string* out, const auto& argument) {
                                                 absl::StrAppend(out, argument.first, "=",
                                                                 argument.second.DebugString());
                                               }),
                                 ")"));
    return SimulatedSession::DoInvoke(context, space, path, method, arguments);
  }

  std::vector<std::string> calls;
};

class WmiArgumentsTest : public testing::Test {
 protected:
  // Returns the calls of methods, with their arguments, since the last Called().
  std::vector<std::string> Called() { return std::exchange(session_->calls, {}); }

  const CallContext context_{};
  const std::unique_ptr<Machine> node_ = *Machine::Create(PreparedNode());
  NotingSession* const session_ = new NotingSession(node_->core());
  const std::unique_ptr<Host> host_ = std::make_unique<Host>(
      std::unique_ptr<cim::Session>(session_), machine::simulator::NewSimulatedOs(node_->core()));
};

// For a GPT disk, CreatePartition has the arguments of the Go release (kubernetes-csi/csi-proxy,
// pkg/os/disk: CreateBasicPartition).
TEST_F(WmiArgumentsTest, DiskMethodsHaveTheirExpectedArguments) {
  DiskHost& disk = host_->disk();
  const auto layout = [&](uint32_t number) { return *disk.GetLayout(context_, number); };
  ASSERT_THAT(disk.InitializeGpt(context_, layout(1)), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Initialize(PartitionStyle=uint16 2)"));
  ASSERT_THAT(disk.CreateBasicPartition(context_, layout(1)), IsOk());
  EXPECT_THAT(Called(),
              ElementsAre("CreatePartition(AssignDriveLetter=boolean false, GptType=string "
                          "\"{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}\", IsActive=boolean false, "
                          "IsHidden=boolean false, UseMaximumSize=boolean true)"));
  ASSERT_THAT(disk.BringPartitionsOnline(context_, 2), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Online()"));
  ASSERT_THAT(disk.SetOnline(context_, 1, false), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Offline()"));
  ASSERT_THAT(disk.SetOnline(context_, 1, false), IsOk());
  EXPECT_THAT(Called(), ElementsAre()) << "it is offline";
  ASSERT_THAT(disk.SetOnline(context_, 1, true), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Online()"));
  ASSERT_THAT(disk.SetReadOnly(context_, 5, true), IsOk());
  EXPECT_THAT(Called(), ElementsAre("SetAttributes(IsReadOnly=boolean true)"));
  ASSERT_THAT(disk.SetReadOnly(context_, 5, false), IsOk());
  EXPECT_THAT(Called(), ElementsAre()) << "the device is told itself";
  ASSERT_THAT(disk.Rescan(context_), IsOk());
  EXPECT_THAT(Called(), ElementsAre("UpdateHostStorageCache()"));
  // MbrType 7 is IFS, for NTFS and similar file systems
  // (learn.microsoft.com/windows-hardware/drivers/storage/createpartition-msft-disk, MbrType).
  node_->core()->Change(
      [](NodeState& state) { state.disks[5].style = machine::simulator::PartitionStyle::kMbr; });
  (void)disk.CreateBasicPartition(context_, layout(node_->Snapshot().disks[5].number));
  EXPECT_THAT(Called(), ElementsAre("CreatePartition(AssignDriveLetter=boolean false, "
                                    "MbrType=uint16 7, UseMaximumSize=boolean true)"));
}

TEST_F(WmiArgumentsTest, VolumeMethodsHaveTheirExpectedArguments) {
  VolumeHost& volume = host_->volume();
  const VolumeView view = *volume.Locate(context_, kVolume);
  const GrowthRoom room = *volume.GetGrowthRoom(context_, view);
  ASSERT_THAT(volume.Resize(context_, view, room, uint64_t{600} << 20, ResizeTo::kExactly), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Resize(Size=uint64 629145600)"));
  ASSERT_THAT(volume.Format(context_, kVolume, {}), IsOk());
  EXPECT_THAT(Called(),
              ElementsAre("Format(FileSystem=string \"NTFS\", FileSystemLabel=string \"\", "
                          "Force=boolean true, Full=boolean false)"));
  ASSERT_THAT(
      volume.Format(context_, kVolume, {.file_system = "ReFS", .allocation_unit_bytes = 65536}),
      IsOk());
  EXPECT_THAT(Called(),
              ElementsAre("Format(AllocationUnitSize=uint32 65536, FileSystem=string \"ReFS\", "
                          "FileSystemLabel=string \"\", Force=boolean true, Full=boolean false)"));
}

// The credential is encoded as PowerShell's cmdlets encode it: `\` and `:` of the name are escaped.
TEST_F(WmiArgumentsTest, MappingMethodsHaveTheirExpectedArguments) {
  SmbHost& smb = host_->smb();
  (void)smb.CreateMapping(context_, R"(\\srv\new)", {R"(EX\a:b)", Secret(R"(p:\w)")}, true);
  EXPECT_THAT(Called(), ElementsAre(R"(Create(Credential=string "EX\\a\:b:p:\w", )"
                                    R"(Persistent=boolean false, RemotePath=string "\\srv\new", )"
                                    R"(RequirePrivacy=boolean true))"));
  (void)smb.CreateMapping(context_, R"(\\srv\new)", {"", Secret("")}, false);
  EXPECT_THAT(Called(),
              ElementsAre(R"(Create(Persistent=boolean false, RemotePath=string "\\srv\new", )"
                          R"(RequirePrivacy=boolean false))"));
  const auto mapping = smb.GetMapping(context_, kMapped);
  ASSERT_THAT(mapping, IsOk());
  ASSERT_TRUE(mapping->has_value());
  ASSERT_THAT(smb.RemoveMapping(context_, **mapping), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Remove(Force=boolean true)"));
}

TEST_F(WmiArgumentsTest, TargetMethodsHaveTheirExpectedArguments) {
  IscsiHost& iscsi = host_->iscsi();
  const auto portal = [](const char* address) {
    return absl::StrCat("TargetPortalAddress=string \"", address,
                        "\", TargetPortalPortNumber=uint16 3260");
  };
  const std::string to_open =
      absl::StrCat("IsMultipathEnabled=boolean false, IsPersistent=boolean false, ",
                   "NodeAddress=string \"iqn.x:open\", ", portal("10.0.0.5"), ")");
  ASSERT_THAT(iscsi.AddPortal(context_, {"10.0.0.6", 3260}), IsOk());
  EXPECT_THAT(Called(), ElementsAre(absl::StrCat("New(", portal("10.0.0.6"), ")")));
  ASSERT_THAT(iscsi.DiscoverTargets(context_, kPortal), IsOk());
  EXPECT_THAT(Called(), ElementsAre(absl::StrCat("Update(", portal("10.0.0.5"), ")")));
  ASSERT_THAT(iscsi.SetMutualChapSecret(context_, Secret("twelve-bytes")), IsOk());
  EXPECT_THAT(Called(), ElementsAre("SetCHAPSecret(ChapSecret=string \"twelve-bytes\")"));
  for (const auto& [mode, name] :
       {std::pair(ChapMode::kOneWay, "ONEWAYCHAP"), {ChapMode::kMutual, "MUTUALCHAP"}}) {
    (void)iscsi.Connect(context_, kPortal, "iqn.x:open", {mode, "node", Secret("one-way-secret")});
    EXPECT_THAT(
        Called(),
        ElementsAre(absl::StrCat(
            "Connect(AuthenticationType=string \"", name,
            "\", ChapSecret=string \"one-way-secret\", ChapUsername=string \"node\", ", to_open)));
    (void)iscsi.Disconnect(context_, kPortal, "iqn.x:open");
    (void)Called();
  }
  ASSERT_THAT(iscsi.Connect(context_, kPortal, "IQN.X:OPEN", {}), IsOk());
  EXPECT_THAT(Called(),
              ElementsAre(absl::StrCat("Connect(AuthenticationType=string \"NONE\", ", to_open)));
  ASSERT_THAT(iscsi.Disconnect(context_, kPortal, "iqn.x:open"), IsOk());
  EXPECT_THAT(Called(), ElementsAre(testing::StartsWith("Disconnect(SessionIdentifier=string \"")));
  ASSERT_THAT(iscsi.RefreshPortal(context_, kPortal), IsOk());
  EXPECT_THAT(Called(), ElementsAre(absl::StrCat("Update(", portal("10.0.0.5"), ")")));
  ASSERT_THAT(iscsi.RemovePortal(context_, kPortal), IsOk());
  EXPECT_THAT(Called(), ElementsAre(absl::StrCat("Remove(", portal("10.0.0.5"), ")")));
}

TEST_F(WmiArgumentsTest, SessionMethodsHaveTheirExpectedArguments) {
  IscsiHost& iscsi = host_->iscsi();
  const ChapCredentials chap = {ChapMode::kOneWay, "node", Secret("one-way-secret")};
  ASSERT_THAT(iscsi.OpenSession(context_, kPortal, "IQN.X:OPEN", chap,
                                {.is_persistent = true, .allow_multipath = true}),
              IsOk());
  EXPECT_THAT(Called(),
              ElementsAre("Connect(AuthenticationType=string \"ONEWAYCHAP\", "
                          "ChapSecret=string \"one-way-secret\", ChapUsername=string \"node\", "
                          "IsMultipathEnabled=boolean true, IsPersistent=boolean true, "
                          "NodeAddress=string \"iqn.x:open\", "
                          "TargetPortalAddress=string \"10.0.0.5\", "
                          "TargetPortalPortNumber=uint16 3260)"));
  const auto ids = [&](const char* iqn) {
    return std::set<std::string>{iscsi.GetSessions(context_, iqn)->at(0).id};
  };
  // The session is persistent already. If it were registered again, Windows would open it twice
  // after a restart.
  ASSERT_THAT(iscsi.MakePersistent(context_, "iqn.x:open", ids("iqn.x:open"), chap, true), IsOk());
  EXPECT_THAT(Called(), ElementsAre());
  ASSERT_THAT(iscsi.MakePersistent(context_, "iqn.x:joined", ids("iqn.x:joined"), chap, true),
              IsOk());
  EXPECT_THAT(Called(),
              ElementsAre("Register(ChapSecret=string \"one-way-secret\", "
                          "ChapUsername=string \"node\", IsMultipathEnabled=boolean true)"));
  ASSERT_THAT(iscsi.EndSessions(context_, "iqn.x:joined", ids("iqn.x:joined")), IsOk());
  EXPECT_THAT(Called(), ElementsAre("Unregister()",
                                    testing::StartsWith("Disconnect(SessionIdentifier=string \"")));
  ASSERT_THAT(iscsi.OpenSession(context_, kPortal, "iqn.x:joined", {}, {}), IsOk());
  EXPECT_THAT(Called(),
              ElementsAre("Connect(AuthenticationType=string \"NONE\", "
                          "IsMultipathEnabled=boolean false, "
                          "IsPersistent=boolean false, NodeAddress=string \"iqn.x:joined\", "
                          "TargetPortalAddress=string \"10.0.0.5\", "
                          "TargetPortalPortNumber=uint16 3260)"));
}

}  // namespace
}  // namespace csi_proxy::host
