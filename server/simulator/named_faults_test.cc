// Every operation that a fault can name fails as the fault says, and only where and as often.
#include "server/simulator/named_faults.h"

#include <functional>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/simulator/failure.h"
#include "server/simulator/scenario.h"

namespace csi_proxy {
namespace {

using machine::simulated::FaultRule;
using machine::simulated::LoadScenario;
using machine::simulated::Machine;

constexpr char kVolume[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
constexpr char kPath[] = R"(C:\var\lib\kubelet\pods)";
constexpr char kShare[] = R"(\\fileserver.example\data)";
constexpr char kIqn[] = "iqn.2024-01.example:target";

ConfinedPath At(absl::string_view path) { return {*WindowsPath::Parse("path", path), nullptr}; }

class NamedFaultsTest : public testing::Test {
 protected:
  // One call of each operation, and the resource it is about.
  struct Call {
    std::string resource;
    std::function<absl::Status(host::Host&, const CallContext&)> make;
  };

  NamedFaultsTest() {
    absl::StatusOr<std::unique_ptr<Machine>> machine = LoadScenario("default", "test");
    EXPECT_TRUE(machine.ok()) << machine.status();
    machine_ = *std::move(machine);
    host_ = HostOver(machine_);
  }

  static const std::map<std::string, Call>& Calls();

  void Inject(const std::string& operation, const std::string& resource, uint32_t times,
              absl::Duration latency = absl::ZeroDuration()) {
    FaultRule rule;
    rule.operation = operation;
    rule.resource = resource;
    rule.times = times;
    rule.latency = latency;
    if (latency == absl::ZeroDuration()) {
      rule.code = absl::StatusCode::kUnavailable;
      rule.error = {53, "as injected"};
    }
    const absl::Status injected = machine_->InjectFault(rule);
    ASSERT_TRUE(injected.ok()) << injected;
  }
  // Tells whether a call failed by a fault of Inject().
  static bool Struck(const absl::Status& status) {
    return absl::IsUnavailable(status) && absl::StrContains(status.message(), "as injected");
  }

  const CallContext context_{};
  std::shared_ptr<Machine> machine_;
  std::unique_ptr<host::Host> host_;
};

const std::map<std::string, NamedFaultsTest::Call>& NamedFaultsTest::Calls() {
  using Host = host::Host;
  using Context = CallContext;
  static const auto* const kCalls = [] {
    const VolumeId volume = *VolumeId::Parse(kVolume);
    const ConfinedPath path = At(kPath);
    const host::IscsiPortal portal = {"10.0.0.5", 3260};
    const std::string portal_text = "10.0.0.5:3260";
    const host::SmbMapping mapping = {kShare, true, "", "OK"};
    const std::string service = "RpcSs";
    return new std::map<std::string, Call>{
        {"disk.ListDiskLocations",
         {"", [](Host& h, const Context& c) { return h.disk().ListDiskLocations(c).status(); }}},
        {"disk.ListDiskIdentities",
         {"", [](Host& h, const Context& c) { return h.disk().ListDiskIdentities(c).status(); }}},
        {"disk.ListDisks",
         {"", [](Host& h, const Context& c) { return h.disk().ListDisks(c).status(); }}},
        {"disk.Describe",
         {"1", [](Host& h, const Context& c) { return h.disk().Describe(c, 1).status(); }}},
        {"disk.SetReadOnly",
         {"1", [](Host& h, const Context& c) { return h.disk().SetReadOnly(c, 1, true); }}},
        {"disk.Rescan", {"", [](Host& h, const Context& c) { return h.disk().Rescan(c); }}},
        {"disk.GetLayout",
         {"1", [](Host& h, const Context& c) { return h.disk().GetLayout(c, 1).status(); }}},
        {"disk.InitializeGpt",
         {"1", [](Host& h, const Context& c) { return h.disk().InitializeGpt(c, 1); }}},
        {"disk.CreateBasicPartition",
         {"1", [](Host& h, const Context& c) { return h.disk().CreateBasicPartition(c, 1); }}},
        {"disk.BringPartitionsOnline",
         {"1", [](Host& h, const Context& c) { return h.disk().BringPartitionsOnline(c, 1); }}},
        {"disk.GetSize",
         {"1", [](Host& h, const Context& c) { return h.disk().GetSize(c, 1).status(); }}},
        {"disk.IsBlank",
         {"1", [](Host& h, const Context& c) { return h.disk().IsBlank(c, 1, 0, 4096).status(); }}},
        {"disk.IsOnline",
         {"1", [](Host& h, const Context& c) { return h.disk().IsOnline(c, 1).status(); }}},
        {"disk.SetOnline",
         {"1", [](Host& h, const Context& c) { return h.disk().SetOnline(c, 1, true).status(); }}},
        {"disk.CountPromisedVolumes",
         {"1",
          [](Host& h, const Context& c) { return h.disk().CountPromisedVolumes(c, 1).status(); }}},
        {"volume.MakeWritable",
         {"1", [](Host& h, const Context& c) { return h.volume().MakeWritable(c, 1); }}},
        {"volume.ListVolumes",
         {"0", [](Host& h, const Context& c) { return h.volume().ListVolumes(c, 0, 0).status(); }}},
        {"volume.GetFileSystem",
         {kVolume,
          [=](Host& h, const Context& c) { return h.volume().GetFileSystem(c, volume).status(); }}},
        {"volume.GetHealth",
         {kVolume,
          [=](Host& h, const Context& c) { return h.volume().GetHealth(c, volume).status(); }}},
        {"volume.Format",
         {kVolume, [=](Host& h, const Context& c) { return h.volume().Format(c, volume, {}); }}},
        {"volume.GetSize",
         {kVolume,
          [=](Host& h, const Context& c) { return h.volume().GetSize(c, volume).status(); }}},
        {"volume.GetSupportedSize",
         {kVolume,
          [=](Host& h, const Context& c) {
            return h.volume().GetSupportedSize(c, volume).status();
          }}},
        {"volume.Resize",
         {kVolume,
          [=](Host& h, const Context& c) {
            return h.volume().Resize(c, volume, 1, host::ResizeTo::kExactly);
          }}},
        {"volume.GetStats",
         {kVolume,
          [=](Host& h, const Context& c) { return h.volume().GetStats(c, volume).status(); }}},
        {"volume.GetDiskNumber",
         {kVolume,
          [=](Host& h, const Context& c) { return h.volume().GetDiskNumber(c, volume).status(); }}},
        {"volume.Mount",
         {kVolume, [=](Host& h, const Context& c) { return h.volume().Mount(c, volume, path); }}},
        {"volume.Unmount",
         {kVolume, [=](Host& h, const Context& c) { return h.volume().Unmount(c, volume, path); }}},
        {"volume.GetVolumeAtMountPoint",
         {kPath,
          [=](Host& h, const Context& c) {
            return h.volume().GetVolumeAtMountPoint(c, path).status();
          }}},
        {"volume.GetVolumeHolding",
         {kPath, [=](Host& h,
                     const Context& c) { return h.volume().GetVolumeHolding(c, path).status(); }}},
        {"volume.ListMountPoints",
         {kVolume,
          [=](Host& h, const Context& c) {
            return h.volume().ListMountPoints(c, volume, nullptr).status();
          }}},
        {"volume.Flush",
         {kVolume, [=](Host& h, const Context& c) { return h.volume().Flush(c, volume); }}},
        {"filesystem.Exists",
         {kPath,
          [=](Host& h, const Context& c) { return h.filesystem().Exists(c, path).status(); }}},
        {"filesystem.MakeDirectories",
         {kPath,
          [=](Host& h, const Context& c) { return h.filesystem().MakeDirectories(c, path); }}},
        {"filesystem.Remove",
         {kPath, [=](Host& h, const Context& c) { return h.filesystem().Remove(c, path, false); }}},
        {"filesystem.RemoveContents",
         {kPath,
          [=](Host& h, const Context& c) { return h.filesystem().RemoveContents(c, path); }}},
        {"filesystem.CreateLink",
         {kPath,
          [=](Host& h, const Context& c) {
            return h.filesystem().CreateLink(c, At(R"(C:\var)"), path);
          }}},
        {"filesystem.CreateLinkToShare",
         {kPath,
          [=](Host& h, const Context& c) {
            return h.filesystem().CreateLinkToShare(c, *UncPath::Parse("share", kShare), path);
          }}},
        {"filesystem.ReadLink",
         {kPath,
          [=](Host& h, const Context& c) { return h.filesystem().ReadLink(c, path).status(); }}},
        {"filesystem.GetStats",
         {kPath,
          [=](Host& h, const Context& c) { return h.filesystem().GetStats(c, path).status(); }}},
        {"filesystem.ListLinks",
         {"",
          [=](Host& h, const Context& c) { return h.filesystem().ListLinks(c, {path}).status(); }}},
        {"smb.ListMappings",
         {"", [](Host& h, const Context& c) { return h.smb().ListMappings(c).status(); }}},
        {"smb.GetMapping",
         {kShare,
          [](Host& h, const Context& c) { return h.smb().GetMapping(c, kShare).status(); }}},
        {"smb.IsHealthy",
         {kShare,
          [=](Host& h, const Context& c) { return h.smb().IsHealthy(c, mapping).status(); }}},
        {"smb.CreateMapping",
         {kShare,
          [](Host& h, const Context& c) { return h.smb().CreateMapping(c, kShare, {}, false); }}},
        {"smb.RemoveMapping",
         {kShare, [=](Host& h, const Context& c) { return h.smb().RemoveMapping(c, mapping); }}},
        {"iscsi.ListPortals",
         {"", [](Host& h, const Context& c) { return h.iscsi().ListPortals(c).status(); }}},
        {"iscsi.AddPortal",
         {portal_text, [=](Host& h, const Context& c) { return h.iscsi().AddPortal(c, portal); }}},
        {"iscsi.RemovePortal",
         {portal_text,
          [=](Host& h, const Context& c) { return h.iscsi().RemovePortal(c, portal); }}},
        {"iscsi.DiscoverTargets",
         {portal_text,
          [=](Host& h, const Context& c) {
            return h.iscsi().DiscoverTargets(c, portal).status();
          }}},
        {"iscsi.IsConnected",
         {kIqn, [=](Host& h,
                    const Context& c) { return h.iscsi().IsConnected(c, portal, kIqn).status(); }}},
        {"iscsi.Connect",
         {kIqn, [=](Host& h, const Context& c) { return h.iscsi().Connect(c, portal, kIqn, {}); }}},
        {"iscsi.Disconnect",
         {kIqn, [=](Host& h, const Context& c) { return h.iscsi().Disconnect(c, portal, kIqn); }}},
        {"iscsi.GetTargetDisks",
         {kIqn,
          [=](Host& h, const Context& c) {
            return h.iscsi().GetTargetDisks(c, portal, kIqn).status();
          }}},
        {"iscsi.SetMutualChapSecret",
         {"",
          [](Host& h, const Context& c) {
            return h.iscsi().SetMutualChapSecret(c, Secret("twelve chars"));
          }}},
        {"system.GetBiosSerialNumber",
         {"",
          [](Host& h, const Context& c) { return h.system().GetBiosSerialNumber(c).status(); }}},
        {"system.GetService",
         {service,
          [=](Host& h, const Context& c) { return h.system().GetService(c, service).status(); }}},
        {"system.ListActiveDependents",
         {service,
          [=](Host& h, const Context& c) {
            return h.system().ListActiveDependents(c, service).status();
          }}},
        {"system.RequestStart",
         {service, [=](Host& h, const Context& c) { return h.system().RequestStart(c, service); }}},
        {"system.RequestStop",
         {service, [=](Host& h, const Context& c) { return h.system().RequestStop(c, service); }}},
    };
  }();
  return *kCalls;
}

TEST_F(NamedFaultsTest, EachNameHasItsCall) {
  for (const absl::string_view name : machine::simulated::Operations()) {
    if (absl::StartsWith(name, "win32.") || absl::StartsWith(name, "wmi.")) continue;
    EXPECT_TRUE(Calls().contains(std::string(name))) << name;
  }
}

TEST_F(NamedFaultsTest, EachFailsAsInjectedAsOftenAsInjectedWhereInjected) {
  for (const auto& [name, of_name] : Calls()) {
    SCOPED_TRACE(name);
    const auto& call = of_name;
    const auto make = [&] { return call.make(*host_, context_); };
    Inject(name, call.resource, 2);
    EXPECT_TRUE(Struck(make()));
    EXPECT_TRUE(Struck(make()));
    EXPECT_FALSE(Struck(make()));
    Inject(name, "another", 1);
    EXPECT_FALSE(Struck(make()));
    machine_->ClearFaults();
    Inject(name.substr(0, name.find('.')) + ".*", "", 0);
    EXPECT_TRUE(Struck(make()));
    machine_->ClearFaults();
    Inject("*", "", 1);
    EXPECT_TRUE(Struck(make()));
    EXPECT_TRUE(machine_->Snapshot().faults.empty());
  }
}

TEST_F(NamedFaultsTest, NoneStrikesAnotherOperation) {
  for (const auto& [name, call] : Calls()) {
    machine_->Reset();
    Inject(name, "", 0);
    for (const auto& [other, its] : Calls()) {
      EXPECT_EQ(Struck(its.make(*host_, context_)), other == name) << name << " " << other;
    }
  }
}

TEST_F(NamedFaultsTest, ADelayEndsWithTheCallAndNothingIsDone) {
  for (const auto& [name, call] : Calls()) {
    SCOPED_TRACE(name);
    Inject(name, call.resource, 0, absl::Hours(1));
  }
  const auto before = machine_->Snapshot();
  const absl::Time start = absl::Now();
  for (const auto& [name, call] : Calls()) {
    const absl::Status hurried = call.make(*host_, context_.WithTimeout(absl::Milliseconds(2)));
    EXPECT_TRUE(absl::IsDeadlineExceeded(hurried)) << name << ": " << hurried;
  }
  EXPECT_LT(absl::Now() - start, absl::Minutes(1));
  const auto after = machine_->Snapshot();
  EXPECT_EQ(after.disks.at(1).style, before.disks.at(1).style);
  EXPECT_EQ(after.smb_mappings.size(), before.smb_mappings.size());
}

// `*` is each operation once: its delay is not that of all the calls of the machine within.
TEST_F(NamedFaultsTest, AStarIsNoFaultOfTheMachine) {
  Inject("*", "", 0, absl::Milliseconds(100));
  const absl::Time start = absl::Now();
  EXPECT_TRUE(host_->filesystem().Exists(context_, At(kPath)).ok());
  const absl::Duration took = absl::Now() - start;
  EXPECT_GE(took, absl::Milliseconds(100));
  EXPECT_LT(took, absl::Milliseconds(200));
}

}  // namespace
}  // namespace csi_proxy
