// The simulated node's state as WMI's instances.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "server/machine/cim/value.h"
#include "server/simulator/state.h"
#include "server/simulator/wmi/object_path.h"
#include "server/simulator/wmi/objects.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulator::wmi {

// Returns the stopped service that a class needs, or null. Without the service, the class has no
// instances and its methods fail. The classes of iSCSI need MSiSCSI. The other classes of storage
// need smphost, which WMI starts unless it is disabled. A service that the node does not have is
// not needed.
const char* StoppedService(NodeState& state, const Class& of);

// Returns the current instances of a class or association: disks that Windows sees, volumes of
// online disks that WMI has noticed, registered portals. The result contains every instance with
// the property values `wanted`, and may contain others. For disks, partitions, volumes and SMB
// mappings, keys in `wanted` keep the others few.
std::vector<cim::Object> Instances(NodeState& state, const Class& of, const Wanted& wanted = {});

// Returns the instance at a path, or WBEM_E_NOT_FOUND. Returns the first portal if several share
// the path, as all portals at one address do.
absl::StatusOr<cim::Object> FindInstance(NodeState& state, const ObjectPath& path);

// Returns the instances that `association` links to `of`. `role` is the role of `of` in
// `association`, `result_role` the role of the returned instances.
std::vector<cim::Object> FindAssociated(NodeState& state, const ObjectPath& of,
                                        const Property& role, const Class& association,
                                        const Property& result_role, const Class& result);

}  // namespace csi_proxy::machine::simulator::wmi
