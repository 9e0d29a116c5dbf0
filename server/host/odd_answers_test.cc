// An answer that breaks the machine's own rules may fail an operation, but must not end the
// process.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/host/find_volume.h"
#include "server/host/odd_machine_testing.h"
#include "server/host/operations_testing.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::host {
namespace {

TEST(OddAnswersTest, NoPropertyValueOfWmiCrashesTheProcess) {
  const NodeState prepared = PreparedNode();
  const std::optional<cim::Value> odd_values[] = {
      std::nullopt,
      cim::Value(),
      cim::Value::String("odd"),
      cim::Value::Uint32(4711),
      cim::Value::Boolean(true),
      cim::Value::Array(cim::Type::kUint32, {cim::Value::Uint32(7)})};
  // Runs an operation with this value of the property.
  const auto run = [&](const Operation& operation, const OddSession::Property& property,
                       const std::optional<cim::Value>& value,
                       std::set<OddSession::Property>* given) {
    const std::unique_ptr<Machine> node = *Machine::Create(prepared);
    return operation.run(
        *std::make_unique<Host>(std::make_unique<OddSession>(*node, property, value, given),
                                machine::simulator::NewSimulatedOs(node->core())),
        CallContext().WithTimeout(absl::Milliseconds(200)));
  };
  const auto unreadable = cim::Value::Unreadable(absl::InternalError("is a VARIANT of type 7"));
  // The operations that need a property, and so must not guess it.
  const std::map<std::string, std::set<std::string>> needed = {
      {"MSFT_Disk.IsBoot", {"mount", "offline", "read-only"}},
      {"MSFT_Disk.IsOffline", {"initialize", "layout", "partition"}},
      {"MSFT_Disk.IsSystem", {"mount", "offline", "read-only"}},
      {"MSFT_Disk.Number", {"end sessions", "make persistent", "sessions", "target disks"}},
      {"MSFT_Disk.PartitionStyle", {"initialize", "layout", "partition"}},
      {"MSFT_Partition.GptType", {"bring online"}},
      {"MSFT_Partition.IsBoot", {"resize"}},
      {"MSFT_Partition.IsSystem", {"resize"}},
      {"MSFT_Partition.Offset", {"resize"}},
      {"MSFT_SmbGlobalMapping.LocalPath", {"mapping", "mappings", "unmap"}},
      {"MSFT_SmbGlobalMapping.RemotePath", {"mapping", "mappings", "unmap"}},
      {"MSFT_SmbGlobalMapping.Status", {"mapping", "mappings", "unmap"}},
      {"MSFT_iSCSISession.IsPersistent",
       {"disconnect", "end sessions", "make persistent", "sessions"}},
      {"MSFT_iSCSISession.SessionIdentifier",
       {"disconnect", "end sessions", "make persistent", "sessions"}},
      {"MSFT_iSCSITarget.IsConnected", {"connect", "connected", "is connected", "target disks"}},
      {"MSFT_iSCSITarget.NodeAddress",
       {"connect", "connected", "disconnect", "discover", "end sessions", "is connected",
        "make persistent", "open session", "sessions", "target disks"}},
      {"MSFT_iSCSITargetPortal.TargetPortalAddress", {"portals"}},
      {"MSFT_iSCSITargetPortal.TargetPortalPortNumber", {"portals"}}};
  std::map<std::string, std::set<std::string>> failed;
  int failures = 0;
  for (const Operation& operation : HostOperations()) {
    std::set<OddSession::Property> given;
    EXPECT_THAT(run(operation, {}, {}, &given), IsOk()) << operation.name;
    const std::set<OddSession::Property> properties = given;
    for (const OddSession::Property& property : properties) {
      // An unreadable property makes the operation fail only if the operation needs the property.
      // The error names the property, unless the disk then counts as Windows' own, or no time is
      // left.
      const absl::Status status = run(operation, property, unreadable, &given);
      const std::string name = absl::StrCat(property.first, ".", property.second);
      const bool is_over = absl::IsDeadlineExceeded(status);
      if (!status.ok() && !is_over) failed[name].insert(operation.name);
      const bool may_be_own = property.second == "IsBoot" || property.second == "IsSystem";
      if (!may_be_own && !is_over) {
        EXPECT_TRUE(status.ok() || absl::StrContains(status.message(), name + " is a VARIANT"))
            << name << status;
        EXPECT_EQ(status.ok(), run(operation, property, std::nullopt, &given).ok()) << name;
      }
      for (const std::optional<cim::Value>& value : odd_values) {
        SCOPED_TRACE(absl::StrCat(operation.name, ", ", property.first, ".", property.second, ", ",
                                  value.has_value() ? value->DebugString() : "no such property"));
        const absl::Status status = run(operation, property, value, &given);
        if (status.ok()) continue;
        ++failures;
        EXPECT_FALSE(status.message().empty());
      }
    }
  }
  EXPECT_EQ(failed, needed);
  EXPECT_GT(failures, 50);
}

// No partition of these types holds a volume that is ever mounted
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-partition, GptType).
TEST(OddAnswersTest, SystemPartitionTypesDoNotCountAsData) {
  std::set<OddSession::Property> given;
  const auto is_basic = [&](const char* type) {
    const std::unique_ptr<Machine> node = *Machine::Create(PreparedNode());
    const auto layout =
        std::make_unique<Host>(
            std::make_unique<OddSession>(*node, OddSession::Property("MSFT_Partition", "GptType"),
                                         cim::Value::String(type), &given),
            machine::simulator::NewSimulatedOs(node->core()))
            ->disk()
            .GetLayout(CallContext(), 2);
    EXPECT_THAT(layout, IsOk());
    return layout.ok() && layout->partitions.back().is_basic;
  };
  EXPECT_TRUE(is_basic("{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}"));
  for (const char* type :
       {"{E3C9E316-0B5C-4DB8-817D-F92DF00215AE}", "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}",
        "{de94bba4-06d1-4d40-a16a-bfd50179d6ac}", "{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}",
        "{af9b60a0-1431-4f62-bc68-3311714a69ad}"}) {
    EXPECT_FALSE(is_basic(type)) << type;
  }
}

// A device answers with bytes that do not fit the query. The operation must fail or ignore them.
TEST(OddAnswersTest, NoAnswerOfADeviceCrashesTheProcess) {
  const std::set<std::string> without = {
      "initialize",       "partition",       "disks",         "read-only",
      "read-write",       "no volumes of 1", "make writable", "online",
      "promised volumes", "resize",          "volumes",       "volumes of 1",
      "writable",         "layout",          "offline",       "describe"};
  const NodeState prepared = PreparedNode();
  for (const Operation& operation : HostOperations()) {
    for (const machine::Bytes& odd : {machine::Bytes(), machine::Bytes(3, 0xFF)}) {
      for (int others = 0;; ++others) {
        SCOPED_TRACE(absl::StrCat(operation.name, ", ", odd.size(), " bytes after ", others));
        const std::unique_ptr<Machine> node = *Machine::Create(prepared);
        auto os = std::make_unique<OddOs>(*node, others, odd);
        const OddOs& asked = *os;
        const std::unique_ptr<Host> host = std::make_unique<Host>(
            machine::simulator::wmi::NewSimulatedSession(node->core()), std::move(os));
        const absl::Status status =
            operation.run(*host, CallContext().WithTimeout(absl::Seconds(5)));
        if (!asked.answered()) {
          EXPECT_THAT(status, IsOk());
          break;
        }
        EXPECT_TRUE(!status.ok() || without.contains(operation.name));
      }
    }
  }
}

// A target that is neither an ordinary path of a drive nor a path on a server is never followed.
TEST(OddAnswersTest, LinksToOtherThanOrdinaryPathsAreNotFollowed) {
  const NodeState prepared = PreparedNode();
  for (const auto& [target, shown] : std::vector<std::pair<const char*, std::string>>{
           {R"(\??\GLOBALROOT\Device\HarddiskVolume1\Windows)",
            R"(\\?\GLOBALROOT\Device\HarddiskVolume1\Windows)"},
           {R"(\??\C:\Windows:stream)", R"(C:\Windows:stream)"},
           {R"(\??\C:\var\..\Windows)", R"(C:\var\..\Windows)"},
           {R"(\??\PhysicalDrive0)", R"(\\?\PhysicalDrive0)"},
           {R"(\Device\Harddisk0\Partition1)", R"(\Device\Harddisk0\Partition1)"}}) {
    SCOPED_TRACE(target);
    const std::string led = R"(the link C:\var\lib\kubelet\link leads to )" + shown;
    const std::unique_ptr<Machine> node = *Machine::Create(prepared);
    const std::unique_ptr<Host> host =
        std::make_unique<Host>(machine::simulator::wmi::NewSimulatedSession(node->core()),
                               std::make_unique<OddOs>(*node, SymlinkTo(target)));
    EXPECT_THAT(host->filesystem().Exists(CallContext(), Kubelet("link\\p1")),
                FailsWith(kDenied, led + R"(, outside C:\var\lib\kubelet)"));
    const ConfinedPath below_a_link = {Path(R"(C:\var\lib\kubelet\link\p1)"),
                                       std::make_shared<PathRoots>(std::vector<WindowsPath>{
                                           Path(R"(C:\var\lib\kubelet\link\p1)")})};
    EXPECT_THAT(host->filesystem().Exists(CallContext(), below_a_link),
                FailsWith(kPrecondition, led + ", which is not a path of a drive"));
  }
}

// A relative target is relative to the directory of the link, or to the root of its drive
// (learn.microsoft.com/windows/win32/fileio/symbolic-link-effects-on-file-systems-functions).
TEST(OddAnswersTest, RelativeLinksAreResolvedFromTheirDirectory) {
  const NodeState prepared = PreparedNode();
  const auto exists = [&](const char* target, const char* below) {
    const std::unique_ptr<Machine> node = *Machine::Create(prepared);
    return std::make_unique<Host>(machine::simulator::wmi::NewSimulatedSession(node->core()),
                                  std::make_unique<OddOs>(*node, SymlinkTo(target, true)))
        ->filesystem()
        .Exists(CallContext(), Kubelet(absl::StrCat("link\\", below)));
  };
  for (const char* pods : {"pods", R"(.\pods)", R"(pods\p1\..)", R"(..\kubelet\pods)",
                           R"(\var\lib\kubelet\pods)", R"(\var\lib\.\kubelet\x\..\pods)"}) {
    EXPECT_THAT(exists(pods, "p1"), Yields(true)) << pods;
    EXPECT_THAT(exists(pods, "p2"), Yields(false)) << pods;
  }
  for (const char* outside : {"..", R"(..\..\..\Windows)", R"(\Windows)", R"(\var\lib)"}) {
    EXPECT_THAT(exists(outside, "p1"), HasCode(kDenied)) << outside;
  }
  EXPECT_THAT(exists("p:ods", "p1"), HasCode(kDenied));
}

// The simulated Win32 with some answers set by the test.
class ScriptedOs final : public OddOs {
 public:
  explicit ScriptedOs(Machine& node) : OddOs(node) {}

  absl::StatusOr<machine::Bytes> Control(const std::string& device, machine::DeviceAccess access,
                                         uint32_t code, const machine::Bytes& input,
                                         size_t max_output) override {
    const auto told = controls.find(code);
    if (told != controls.end()) return told->second;
    return OddOs::Control(device, access, code, input, max_output);
  }
  absl::StatusOr<machine::VolumeSpace> GetSpace(const std::string& volume) override {
    if (space.has_value()) return *space;
    return OddOs::GetSpace(volume);
  }

  // Answers by control code.
  std::map<uint32_t, machine::Bytes> controls;
  std::optional<machine::VolumeSpace> space;
};

TEST(OddAnswersTest, ImpossibleAnswersAreErrors) {
  const std::unique_ptr<Machine> node = *Machine::Create(PreparedNode());
  auto told = std::make_unique<ScriptedOs>(*node);
  ScriptedOs& os = *told;
  const std::unique_ptr<Host> host = std::make_unique<Host>(
      machine::simulator::wmi::NewSimulatedSession(node->core()), std::move(told));
  const CallContext context;
  const std::string volume = "volume " + kVolume.ToString();

  os.space = machine::VolumeSpace{.total_bytes = 10, .free_bytes = 11};
  EXPECT_EQ(host->volume().GetStats(context, kVolume).status(),
            absl::InternalError(volume + " has 11 bytes free of 10, which is impossible"));
  os.space = machine::VolumeSpace{.total_bytes = 10, .free_bytes = 10};
  EXPECT_EQ(host->volume().GetStats(context, kVolume)->used_bytes, 0u);

  os.controls[machine::control::kGetVolumeDiskExtents] = machine::MakeDiskExtents({});
  EXPECT_EQ(
      host->volume().GetDiskNumber(context, kVolume).status(),
      absl::InternalError(absl::StrCat(
          "locating ", volume, ": malformed VOLUME_DISK_EXTENTS: the volume lies on no disk")));
  os.controls[machine::control::kGetVolumeDiskExtents] =
      machine::MakeDiskExtents({{2, 0, 1024}, {3, 0, 1024}});
  EXPECT_THAT(host->volume().GetDiskNumber(context, kVolume), Yields(2u));
  EXPECT_EQ(ExtentOf(*host->volume().Locate(context, kVolume)).status(),
            absl::FailedPreconditionError(volume +
                                          " spans several disks or partitions of a dynamic disk"));

  os.controls[machine::control::kGetDeviceNumber] =
      machine::MakeDeviceNumber({.device_number = 1, .partition_number = 0});
  const auto identities = host->disk().ListDisks(context, AskDisks::kIds);
  ASSERT_THAT(identities, IsOk());
  for (const DiskDescription& identity : *identities) {
    EXPECT_EQ(identity.status, identity.number == 1
                                   ? absl::OkStatus()
                                   : absl::UnavailableError(
                                         absl::StrCat("reading page 83 of disk ", identity.number,
                                                      ": its device path now belongs to disk 1")));
  }
}

// UniqueId is the page 83 identifier in some formats only
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-disk, UniqueIdFormat).
TEST(OddAnswersTest, AUniqueIdIsReadAccordingToItsFormat) {
  const std::pair<uint32_t, const char*> formats[] = {
      {0, ""}, {1, "Ab 12"}, {2, "ab 12"}, {3, "ab 12"}, {4, ""}, {5, ""}, {8, "Ab 12"}, {9, ""}};
  for (const auto& [format, page83] : formats) {
    const std::unique_ptr<Machine> node = TestNode();
    std::set<OddSession::Property> given;
    const auto session = [&](const char* property, cim::Value value) {
      return std::make_unique<OddSession>(*node, OddSession::Property("MSFT_Disk", property),
                                          std::move(value), &given);
    };
    node->core()->Change([](NodeState& state) { state.disks[1].page83 = "Ab 12"; });
    FaultRule mute;
    mute.operation = "win32.Control";
    mute.code = kInternal;
    mute.error.code = 21;
    ASSERT_THAT(node->InjectFault(mute), IsOk());
    const auto host = std::make_unique<Host>(session("UniqueIdFormat", cim::Value::Uint16(format)),
                                             machine::simulator::NewSimulatedOs(node->core()));
    EXPECT_EQ(host->disk().ListDisks(CallContext(), AskDisks::kIds)->at(1).page83, page83)
        << format;
  }
}

// The errors are ERROR_NOT_READY and ERROR_SEM_TIMEOUT. The second has the code UNAVAILABLE, which
// is also the code if another disk has the number now.
TEST(OddAnswersTest, ADiskWhoseDeviceDoesNotAnswerKeepsItsNumber) {
  for (const uint32_t error : {21, 121}) {
    const std::unique_ptr<Machine> node = TestNode();
    const std::unique_ptr<Host> host = NewSimulatedHost(*node);
    const auto disk = host->disk().GetLayout(CallContext(), 1);
    ASSERT_THAT(disk, IsOk());
    FaultRule mute;
    mute.operation = "win32.Control";
    mute.code = kInternal;
    mute.error.code = error;
    ASSERT_THAT(node->InjectFault(mute), IsOk());
    EXPECT_THAT(host->disk().CheckStill(*disk), IsOk()) << error;
  }
}

// WMI may show an old flag, from its provider's cache.
TEST(OddAnswersTest, TheReadOnlyFlagIsReadFromTheDiskAndNotFromWmi) {
  const std::unique_ptr<Machine> node = TestNode();
  std::set<OddSession::Property> given;
  Host host(std::make_unique<OddSession>(*node, OddSession::Property("MSFT_Disk", "IsReadOnly"),
                                         cim::Value::Boolean(true), &given),
            machine::simulator::NewSimulatedOs(node->core()));
  for (const bool read_only : {true, false}) {
    ASSERT_THAT(host.disk().SetReadOnly(CallContext(), 2, read_only), IsOk());
    EXPECT_EQ(host.disk().ListDisks(CallContext())->at(2).is_read_only, read_only);
    EXPECT_EQ(host.disk().Describe(CallContext(), 2)->is_read_only, read_only);
  }
}

}  // namespace
}  // namespace csi_proxy::host
