#include "csi_proxy/testing/node.h"

#include <optional>
#include <utility>

#include "client/testing/conversions.h"
#include "client/testing/simulated_node.h"
#include "server/simulator/admin.h"
#include "server/simulator/failure.h"
#include "server/simulator/scenario.h"

namespace csi_proxy {

namespace sim = machine::simulator;

absl::StatusOr<SimulatedNode> SimulatedNode::Create(absl::string_view scenario,
                                                    NodeOptions options) {
  absl::StatusOr<client::NodeAndMachine> opened =
      client::OpenSimulatedNode(std::move(options), scenario);
  if (!opened.ok()) return opened.status();
  return SimulatedNode(std::move(opened->node), std::move(opened->machine));
}

absl::StatusOr<uint32_t> SimulatedNode::AttachDisk(const simulated_node::Disk& disk) const {
  absl::StatusOr<sim::Disk> made = sim::DiskFor(*machine_, simulated_node::ToProto(disk));
  if (!made.ok()) return made.status();
  const auto number = disk.number == 0 ? std::nullopt : std::optional(disk.number);
  return machine_->AttachDisk(*std::move(made), number);
}

absl::Status SimulatedNode::DetachDisk(uint32_t number) const {
  return machine_->DetachDisk(number);
}

absl::Status SimulatedNode::GrowDisk(uint32_t number, uint64_t size_bytes) const {
  return machine_->GrowDisk(number, size_bytes);
}

absl::Status SimulatedNode::Reboot() const {
  machine_->Reboot();
  return absl::OkStatus();
}

absl::Status SimulatedNode::Reset() const {
  machine_->Reset();
  return absl::OkStatus();
}

absl::Status SimulatedNode::AddShare(absl::string_view server, absl::string_view share) const {
  return machine_->AddShare(server, share);
}

absl::Status SimulatedNode::SetSmbPassword(absl::string_view server, absl::string_view user,
                                           absl::string_view password) const {
  return machine_->SetSmbPassword(server, user, Secret(std::string(password)));
}

absl::Status SimulatedNode::SetServerReachable(absl::string_view server, bool reachable) const {
  return machine_->SetServerReachable(server, reachable);
}

absl::Status SimulatedNode::BreakMapping(absl::string_view share) const {
  return machine_->BreakMapping(share);
}

absl::Status SimulatedNode::WriteFile(absl::string_view path, uint64_t size_bytes) const {
  return machine_->WriteFile(simulated_node::FullPath(path), size_bytes, /*read_only=*/false);
}

absl::Status SimulatedNode::MakeDirectory(absl::string_view path) const {
  return machine_->MakeDirectory(simulated_node::FullPath(path));
}

absl::Status SimulatedNode::RemoveFolder(absl::string_view path) const {
  return machine_->RemoveFolder(simulated_node::FullPath(path));
}

absl::Status SimulatedNode::MakeLink(absl::string_view path, absl::string_view target) const {
  return machine_->MakeLink(simulated_node::FullPath(path), target);
}

absl::Status SimulatedNode::InjectFault(const simulated_node::Fault& fault) const {
  sim::FaultRule rule;
  rule.operation = fault.operation;
  rule.resource = fault.resource;
  rule.times = fault.times;
  rule.latency = fault.latency;
  rule.code = fault.code;
  if (fault.windows_error != 0) rule.error = sim::KnownError(fault.windows_error);
  return machine_->InjectFault(std::move(rule));
}

absl::Status SimulatedNode::ClearFaults() const {
  machine_->ClearFaults();
  return absl::OkStatus();
}

simulated_node::State SimulatedNode::state() const {
  return simulated_node::FromProto(sim::StateToProto(machine_->Snapshot()));
}

absl::StatusOr<std::string> SimulatedNode::Administer(absl::string_view method,
                                                      const std::string& request) const {
  return sim::CallAdmin(*machine_, method, request);
}

}  // namespace csi_proxy
