// The simulated node's state as WMI's instances.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "server/machine/cim/value.h"
#include "server/simulator/state.h"
#include "server/simulator/wmi/object_path.h"
#include "server/simulator/wmi/objects.h"
#include "server/simulator/wmi/schema.h"

namespace csi_proxy::machine::simulated::wmi {

// Returns the service without which a class has no instances and its methods fail, if the node has
// that service and it does not run: MSiSCSI for the classes of iSCSI, for the other classes of
// storage smphost, which WMI starts unless it is disabled. Null if the class answers.
const char* StoppedService(NodeState& state, const Class& of);

// The instances of a class or association that there are now: disks that Windows sees, volumes that
// have arrived and whose disk is online, portals that are registered. Those that are not equal to
// `wanted` in its properties may be left out, and most are where a node has many.
std::vector<cim::Object> Instances(NodeState& state, const Class& of, const Wanted& wanted = {});

// Finds the instance at a path; WBEM_E_NOT_FOUND when it is not there, or not any more. Several
// portals at one address have one path, which finds the first.
absl::StatusOr<cim::Object> FindInstance(NodeState& state, const ObjectPath& path);

// Finds the instances to which `association` leads from `of`, which plays `role` in it.
std::vector<cim::Object> FindAssociated(NodeState& state, const ObjectPath& of,
                                        const Property& role, const Class& association,
                                        const Property& result_role, const Class& result);

}  // namespace csi_proxy::machine::simulated::wmi
