// Makes the WMI objects of the simulated node, for instances.h and methods.h.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/machine/cim/value.h"
#include "server/simulator/state.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator::wmi {

using Objects = std::vector<cim::Object>;

// The property values of the wanted instances. A function that takes them may leave out other
// instances.
using Wanted = cim::Properties;
// Returns the text that is wanted for a property, or an empty text.
std::string WantedText(const Wanted& wanted, const char* property);

// Makes an object of a class of the schema, with its path. Properties beyond `given` are null.
cim::Object MakeObject(absl::string_view class_name, cim::Properties given);

// Makes an instance of an association: `one` is in `role`, and `other` is in `other_role`.
cim::Object Link(absl::string_view association, const char* role, const cim::Object& one,
                 const char* other_role, const cim::Object& other);

// Returns the text, or null if it is empty.
cim::Value TextOrNull(const std::string& text);

// The types of a partition for Windows' own file systems, on GPT and on MBR
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-partition).
inline constexpr char kBasicData[] = "{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}";
inline constexpr uint16_t kMbrIfs = 7;

cim::Object DiskObject(const Disk& disk);
cim::Object PartitionObject(NodeState& state, const Disk& disk, const DiskPartition& partition);
cim::Object VolumeObject(const VolumePlace& place);
Objects Disks(NodeState& state, const Wanted& wanted);
Objects Partitions(NodeState& state, const Wanted& wanted);
Objects Volumes(NodeState& state, const Wanted& wanted);
Objects DisksToPartitions(NodeState& state);
Objects PartitionsToVolumes(NodeState& state);

cim::Object PortalObject(const IscsiPortal& portal);
// Makes the session object of a target. REQUIRES: the target is connected.
cim::Object SessionObject(NodeState& state, const IscsiTarget& target);
Objects Portals(NodeState& state);
Objects Targets(NodeState& state);
Objects Sessions(NodeState& state);
Objects Connections(NodeState& state);
Objects TargetsToPortals(NodeState& state);
Objects TargetsToSessions(NodeState& state);
Objects TargetsToConnections(NodeState& state);
Objects SessionsToConnections(NodeState& state);
Objects ConnectionsToDisks(NodeState& state);
Objects SessionsToDisks(NodeState& state);

Objects Mappings(NodeState& state, const Wanted& wanted);
Objects Bioses(NodeState& state);
Objects Services(NodeState& state);
Objects DependentServices(NodeState& state);

}  // namespace csi_proxy::machine::simulator::wmi
