// Converts between a node and its textproto.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/simulator/check.h"
#include "server/simulator/machine.h"
#include "server/simulator/named_scenarios.h"
#include "server/simulator/node.pb.h"

namespace csi_proxy::machine::simulator {

// Loads the scenario in `textproto`, which may also be the name of a built-in scenario. Returns
// INVALID_ARGUMENT with file and line, or the field's path (`disk[2].number`), and the reason.
absl::StatusOr<std::unique_ptr<Machine>> LoadScenario(absl::string_view textproto,
                                                      absl::string_view file_name);

// Convert messages of node.proto. Return INVALID_ARGUMENT, with the field's path, for a value that
// cannot be read. Machine checks whether such a node, disk or rule can exist.
absl::StatusOr<NodeState> StateFromProto(const csi_proxy::simulated::Node& proto);
absl::StatusOr<Disk> DiskFromProto(const csi_proxy::simulated::Disk& proto);
// Returns Machine::NewDisk(), changed by the fields that `proto` sets.
absl::StatusOr<Disk> DiskFor(Machine& machine, const csi_proxy::simulated::Disk& proto);
absl::StatusOr<Behaviour> BehaviourFromProto(const csi_proxy::simulated::Behaviour& proto);
absl::StatusOr<OtherOpen> OtherOpenFromProto(const csi_proxy::simulated::OtherOpen& proto);
absl::StatusOr<FaultRule> FaultFromProto(const csi_proxy::simulated::Fault& proto);

// Convert a disk and a state to protos. Secrets become `<secret>`. `mounted_by_hand`,
// `session_chap` and the past part of a delay are lost. The rest can be loaded again unchanged.
csi_proxy::simulated::Disk DiskToProto(const Disk& disk);
csi_proxy::simulated::Node StateToProto(const NodeState& state);

// Convert DiskFacts, and the bytes that earlier users of a disk wrote.
DiskFacts ReadDiskFacts(const csi_proxy::simulated::Disk& in, const std::string& at,
                        Problems* problems);
void WriteDiskFacts(const DiskFacts& facts, csi_proxy::simulated::Disk* out);
std::vector<DiskBytes> ReadForeign(const csi_proxy::simulated::Disk& disk);
void WriteForeign(const std::vector<DiskBytes>& foreign, csi_proxy::simulated::Disk* disk);

// Returns the node in protobuf's JSON, with the field names of node.proto.
std::string ToJson(const csi_proxy::simulated::Node& node);

}  // namespace csi_proxy::machine::simulator
