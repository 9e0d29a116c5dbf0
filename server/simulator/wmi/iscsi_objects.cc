#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/names/windows_path.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

constexpr char kInitiator[] = "iqn.1991-05.com.microsoft:node";
constexpr char kInitiatorInstance[] = R"(ROOT\ISCSIPRT\0000_0)";
constexpr char kAnyAddress[] = "0.0.0.0";

// Calls `each(portal, target)` for the targets that the initiator knows: all targets of registered
// portals, and targets with a session, because a session outlives the registration.
template <typename Action>
void ForEachTarget(NodeState& state, Action each) {
  for (const IscsiPortalState& portal : state.iscsi_portals) {
    for (const IscsiTarget& target : portal.targets) {
      if (portal.registered || target.connected) each(portal, target);
    }
  }
}

// Calls `each(portal, target)` for the targets with a session.
template <typename Action>
void ForEachSession(NodeState& state, Action each) {
  ForEachTarget(state, [&](const IscsiPortalState& portal, const IscsiTarget& target) {
    if (target.connected) each(portal, target);
  });
}

// Returns the initiator's identifier for the target's object of `kind`, such as
// `ffffc00000000010-4000013700000002`.
std::string Identifier(NodeState& state, const IscsiTarget& target, uint32_t kind) {
  uint32_t number = 1;
  for (const IscsiPortalState& portal : state.iscsi_portals) {
    for (const IscsiTarget& other : portal.targets) {
      if (&other == &target) return absl::StrFormat("ffffc00000000010-%08x%08x", kind, number);
      ++number;
    }
  }
  return "";
}

const char* AuthenticationType(ChapMode mode) {
  switch (mode) {
    case ChapMode::kNone:
      return "NONE";
    case ChapMode::kOneWay:
      return "ONEWAYCHAP";
    case ChapMode::kMutual:
      return "MUTUALCHAP";
  }
  return "NONE";
}

// Makes the one object of all targets with the target's IQN, even at several portals.
cim::Object TargetObject(NodeState& state, const IscsiTarget& target) {
  const std::vector<IscsiTarget*> ways = TargetsNamed(state, target.iqn);
  const bool connected =
      std::any_of(ways.begin(), ways.end(), [](const auto* way) { return way->connected; });
  return MakeObject("MSFT_iSCSITarget", {{"NodeAddress", Value::String(ways.front()->iqn)},
                                         {"IsConnected", Value::Boolean(connected)}});
}

cim::Object ConnectionObject(NodeState& state, const IscsiPortalState& portal,
                             const IscsiTarget& target) {
  return MakeObject("MSFT_iSCSIConnection",
                    {{"ConnectionIdentifier", Value::String(Identifier(state, target, 0x1))},
                     {"InitiatorAddress", Value::String(kAnyAddress)},
                     {"TargetAddress", Value::String(portal.portal.address)},
                     {"TargetPortNumber", Value::Uint32(portal.portal.port)}});
}

}  // namespace

cim::Object PortalObject(const IscsiPortal& portal) {
  return MakeObject("MSFT_iSCSITargetPortal",
                    {{"TargetPortalAddress", Value::String(portal.address)},
                     {"TargetPortalPortNumber", Value::Uint16(portal.port)},
                     {"IsHeaderDigest", Value::Boolean(false)},
                     {"IsDataDigest", Value::Boolean(false)}});
}

cim::Object SessionObject(NodeState& state, const IscsiTarget& target) {
  return MakeObject("MSFT_iSCSISession",
                    {{"SessionIdentifier", Value::String(Identifier(state, target, 0x40000137))},
                     {"AuthenticationType", Value::String(AuthenticationType(target.session_chap))},
                     {"InitiatorInstanceName", Value::String(kInitiatorInstance)},
                     {"InitiatorNodeAddress", Value::String(kInitiator)},
                     {"InitiatorPortalAddress", Value::String(kAnyAddress)},
                     {"IsConnected", Value::Boolean(true)},
                     {"IsDataDigest", Value::Boolean(false)},
                     {"IsDiscovered", Value::Boolean(true)},
                     {"IsHeaderDigest", Value::Boolean(false)},
                     {"IsPersistent", Value::Boolean(target.persistent)},
                     {"NumberOfConnections", Value::Uint32(1)},
                     {"TargetNodeAddress", Value::String(target.iqn)}});
}

Objects Portals(NodeState& state) {
  Objects objects;
  for (const IscsiPortalState& portal : state.iscsi_portals) {
    if (portal.registered) objects.push_back(PortalObject(portal.portal));
  }
  return objects;
}

Objects Targets(NodeState& state) {
  Objects objects;
  std::set<std::string> iqns;
  ForEachTarget(state, [&](const IscsiPortalState&, const IscsiTarget& target) {
    if (iqns.insert(FoldName(target.iqn)).second) objects.push_back(TargetObject(state, target));
  });
  return objects;
}

Objects Sessions(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState&, const IscsiTarget& target) {
    objects.push_back(SessionObject(state, target));
  });
  return objects;
}

Objects Connections(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState& portal, const IscsiTarget& target) {
    objects.push_back(ConnectionObject(state, portal, target));
  });
  return objects;
}

Objects TargetsToPortals(NodeState& state) {
  Objects objects;
  ForEachTarget(state, [&](const IscsiPortalState& portal, const IscsiTarget& target) {
    if (!portal.registered) return;
    objects.push_back(Link("MSFT_iSCSITargetToiSCSITargetPortal", "iSCSITarget",
                           TargetObject(state, target), "iSCSITargetPortal",
                           PortalObject(portal.portal)));
  });
  return objects;
}

Objects TargetsToSessions(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState&, const IscsiTarget& target) {
    objects.push_back(Link("MSFT_iSCSITargetToiSCSISession", "iSCSISession",
                           SessionObject(state, target), "iSCSITarget",
                           TargetObject(state, target)));
  });
  return objects;
}

Objects TargetsToConnections(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState& portal, const IscsiTarget& target) {
    objects.push_back(Link("MSFT_iSCSITargetToiSCSIConnection", "iSCSIConnection",
                           ConnectionObject(state, portal, target), "iSCSITarget",
                           TargetObject(state, target)));
  });
  return objects;
}

Objects SessionsToConnections(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState& portal, const IscsiTarget& target) {
    objects.push_back(Link("MSFT_iSCSISessionToiSCSIConnection", "iSCSIConnection",
                           ConnectionObject(state, portal, target), "iSCSISession",
                           SessionObject(state, target)));
  });
  return objects;
}

Objects ConnectionsToDisks(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState& portal, const IscsiTarget& target) {
    if (!IsLive(state, target)) return;
    for (const Disk& disk : DisksBy(state, target)) {
      if (disk.awaits_rescan) continue;
      objects.push_back(Link("MSFT_iSCSIConnectionToDisk", "Disk", DiskObject(disk),
                             "iSCSIConnection", ConnectionObject(state, portal, target)));
    }
  });
  return objects;
}

Objects SessionsToDisks(NodeState& state) {
  Objects objects;
  ForEachSession(state, [&](const IscsiPortalState&, const IscsiTarget& target) {
    if (!IsLive(state, target)) return;
    for (const Disk& disk : DisksBy(state, target)) {
      if (disk.awaits_rescan) continue;
      objects.push_back(Link("MSFT_iSCSISessionToDisk", "Disk", DiskObject(disk), "iSCSISession",
                             SessionObject(state, target)));
    }
  });
  return objects;
}

}  // namespace csi_proxy::machine::simulator::wmi
