// Nodes of each cloud, with a data disk as the cloud attaches it, and a process of the service, for
// tests.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "csi_proxy/steady_time.h"
#include "gtest/gtest.h"
#include "server/groups/fields.h"
#include "server/groups/node_services.h"
#include "server/groups/testing/dying_machine.h"
#include "server/host/host.h"
#include "server/simulator/machine.h"
#include "server/simulator/scenario.h"
#include "server/simulator/storage.h"

namespace csi_proxy::storage {

using machine::simulator::Machine;
using machine::simulator::NodeState;

inline constexpr char kTarget[] = R"(C:\var\lib\kubelet\plugins\pv\globalmount)";

// One life of the service: its own host and handlers over the node.
struct Process {
  explicit Process(Machine* node, Death death = Death::kNone, int at = 0)
      : life(death, at),
        host(std::make_unique<host::Host>(std::make_unique<DyingSession>(&life, node->core()),
                                          std::make_unique<DyingOs>(&life, node->core()),
                                          [](absl::string_view) {})) {
    deps.host = host.get();
    deps.locks = &locks;
    deps.roots = std::make_shared<const PathRoots>(
        std::vector<WindowsPath>{*WindowsPath::Parse("root", R"(C:\var\lib\kubelet)")});
    storage = NewStorageService(deps);
    volume = volume::NewVolumeService(deps);
  }

  absl::StatusOr<StageVolumeResponse> Stage(const DiskSelector& disk,
                                            const std::string& target = kTarget) {
    return storage->StageVolume(context, {.disk = disk, .target_path = target});
  }
  absl::StatusOr<UnstageVolumeResponse> Unstage(const std::string& target = kTarget) {
    return storage->UnstageVolume(context, {.target_path = target});
  }

  Life life;
  const CallContext context{SteadyTime::InfiniteFuture(), life.end()};
  std::unique_ptr<host::Host> host;
  ResourceLocks locks;
  groups::HandlerDeps deps;
  std::unique_ptr<Service> storage;
  std::unique_ptr<volume::Service> volume;
};

// Returns the names of all scenarios but `default`.
inline std::vector<std::string> Clouds() {
  std::vector<std::string> names;
  for (const auto& scenario : machine::simulator::NamedScenarios()) {
    if (scenario.name != "default") names.emplace_back(scenario.name);
  }
  return names;
}

inline std::string CloudName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}

inline std::unique_ptr<Machine> NodeIn(const NodeState& state) {
  auto node = Machine::Create(state);
  EXPECT_TRUE(node.ok()) << node.status();
  return *std::move(node);
}

inline std::unique_ptr<Machine> CloudNode(const std::string& scenario) {
  auto node = machine::simulator::LoadScenario(scenario, "test");
  EXPECT_TRUE(node.ok()) << node.status();
  return *std::move(node);
}

// Attaches the cloud's disk, hidden from Windows until RevealDataDisk(), and returns its number. On
// a node of an array the disk exists already, hidden because its target is not connected.
inline uint32_t AttachDataDisk(Machine& node, std::optional<uint32_t> place = std::nullopt) {
  const NodeState state = node.Snapshot();
  if (!state.attach.has_value()) {
    return state.iscsi_portals.at(0).targets.at(0).disks.at(0).number;
  }
  machine::simulator::Disk disk = node.NewDisk();
  disk.size_bytes = 10 * machine::simulator::kGiB;
  const auto number = node.AttachDisk(disk, std::nullopt, place);
  EXPECT_TRUE(number.ok()) << number.status();
  node.core()->Change(
      [](NodeState& changed) { changed.disks.back().arrives_at = SteadyTime::InfiniteFuture(); });
  return *number;
}

inline void RevealDataDisk(Machine& node) {
  node.core()->Change([](NodeState& state) {
    for (auto& disk : state.disks) disk.arrives_at = SteadyTime::InfinitePast();
    if (state.iscsi_portals.empty()) return;
    machine::simulator::IscsiTarget& target = state.iscsi_portals[0].targets[0];
    target.connected = target.persistent = true;
  });
}

// Returns the selectors of this disk, its number first. With `only_unique`, only selectors that do
// not select another disk.
inline std::vector<DiskSelector> NamesOf(Process& process, uint32_t number, bool only_unique) {
  const auto listed = process.host->disk().ListDisks(process.context);
  EXPECT_TRUE(listed.ok()) << listed.status();
  const std::vector<host::DiskDescription>& disks = *listed;
  const auto found = std::find_if(disks.begin(), disks.end(),
                                  [&](const auto& disk) { return disk.number == number; });
  EXPECT_NE(found, disks.end());
  const auto names_it = [&](std::string host::DiskDescription::*text) {
    return !((*found).*text).empty() &&
           (!only_unique || std::count_if(disks.begin(), disks.end(), [&](const auto& disk) {
                              return disk.*text == (*found).*text;
                            }) == 1);
  };
  std::vector<DiskSelector> names = {{.number = absl::StrCat(number)}};
  absl::string_view serial = found->serial_number;
  if (names_it(&host::DiskDescription::serial_number)) {
    names.push_back({.serial_number = std::string(serial)});
    // EC2's driver uses only the volume's id.
    if (absl::ConsumeSuffix(&serial, "_00000001.")) {
      names.push_back({.serial_number = std::string(serial)});
    }
  }
  if (names_it(&host::DiskDescription::page83)) names.push_back({.page83 = found->page83});
  const auto place = [](const host::DiskDescription& disk) {
    return DiskSelector{
        .lun_id = disk.lun_id, .adapter = disk.adapter, .bus = disk.bus, .target = disk.target};
  };
  const DiskSelector at = place(*found);
  if (!at.lun_id.empty() && (!only_unique || std::ranges::count(disks, at, place) == 1)) {
    names.push_back(at);
    if (!only_unique) names.push_back({.lun_id = at.lun_id});
  }
  return names;
}

template <typename Messages, typename Condition>
void EraseIf(Messages* messages, Condition condition) {
  messages->erase(std::remove_if(messages->begin(), messages->end(), condition), messages->end());
}

// Returns the node's state without the disks that `is_left_out` accepts, without iSCSI portals, and
// without the entries below the kubelet's directory.
inline std::string AllBut(Machine& node, const std::function<bool(uint32_t)>& is_left_out) {
  auto state = machine::simulator::StateToProto(node.Snapshot());
  state.clear_iscsi_portal();
  state.clear_volumes_made();
  EraseIf(state.mutable_disk(), [&](const auto& disk) { return is_left_out(disk.number()); });
  for (auto& disk : *state.mutable_disk()) {
    for (auto& partition : *disk.mutable_partition()) {
      if (!partition.has_volume()) continue;
      EraseIf(partition.mutable_volume()->mutable_file(),
              [](const auto& file) { return absl::StartsWith(file.path(), R"(var\lib\kubelet)"); });
    }
  }
  return state.DebugString();
}
inline std::string AllElse(Machine& node, uint32_t data_disk) {
  return AllBut(node, [&](uint32_t number) { return number == data_disk; });
}

}  // namespace csi_proxy::storage
