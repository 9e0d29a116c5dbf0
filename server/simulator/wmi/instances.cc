#include "server/simulator/wmi/instances.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "server/machine/cim/errors.h"
#include "server/names/windows_path.h"
#include "server/simulator/services.h"
#include "server/simulator/smb.h"
#include "server/simulator/wmi/objects.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using cim::Value;

struct Source {
  const char* class_name;
  Objects (*list)(NodeState& state);
  // For a class that may have many instances: leaves out unwanted ones if `wanted` has a key.
  Objects (*list_wanted)(NodeState& state, const Wanted& wanted) = nullptr;
};

// The sources of instances. Classes without an entry have no instances.
constexpr Source kSources[] = {
    {"MSFT_Disk", nullptr, Disks},
    {"MSFT_Partition", nullptr, Partitions},
    {"MSFT_Volume", nullptr, Volumes},
    {"MSFT_DiskToPartition", DisksToPartitions},
    {"MSFT_PartitionToVolume", PartitionsToVolumes},
    {"MSFT_iSCSITargetPortal", Portals},
    {"MSFT_iSCSITarget", Targets},
    {"MSFT_iSCSISession", Sessions},
    {"MSFT_iSCSIConnection", Connections},
    {"MSFT_iSCSITargetToiSCSITargetPortal", TargetsToPortals},
    {"MSFT_iSCSITargetToiSCSISession", TargetsToSessions},
    {"MSFT_iSCSITargetToiSCSIConnection", TargetsToConnections},
    {"MSFT_iSCSISessionToiSCSIConnection", SessionsToConnections},
    {"MSFT_iSCSIConnectionToDisk", ConnectionsToDisks},
    {"MSFT_iSCSISessionToDisk", SessionsToDisks},
    {"MSFT_SmbGlobalMapping", nullptr, Mappings},
    {"Win32_BIOS", Bioses},
    {"Win32_Service", Services},
    {"Win32_DependentService", DependentServices},
};

// Values of the Status of a mapping.
constexpr uint32_t kMappingOk = 0;
constexpr uint32_t kMappingDisconnected = 2;

const Class* FindClassAnywhere(absl::string_view name) {
  for (const cim::Namespace space :
       {cim::Namespace::kStorage, cim::Namespace::kSmb, cim::Namespace::kCimV2}) {
    if (const Class* found = FindClass(space, name); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

cim::Object MakeObject(absl::string_view class_name, cim::Properties given) {
  const Class& of = *FindClassAnywhere(class_name);
  const std::string path = MakePath(of, given);
  for (const Property& property : of.properties) {
    given.emplace(property.name, Value::Null(property.type, property.is_array));
  }
  return cim::Object(of.name, path, std::move(given));
}

cim::Object Link(absl::string_view association, const char* role, const cim::Object& one,
                 const char* other_role, const cim::Object& other) {
  return MakeObject(association, {{role, Value::Text(cim::Type::kReference, one.path())},
                                  {other_role, Value::Text(cim::Type::kReference, other.path())}});
}

Value TextOrNull(const std::string& text) {
  return text.empty() ? Value::Null(cim::Type::kString) : Value::String(text);
}

std::string WantedText(const Wanted& wanted, const char* property) {
  const auto found = wanted.find(property);
  return found == wanted.end() ? "" : found->second.AsText().value_or("");
}

Objects Mappings(NodeState& state, const Wanted& wanted) {
  const std::string share = WantedText(wanted, "RemotePath");
  Objects objects;
  for (const SmbMappingState& mapping : state.smb_mappings) {
    if (!share.empty() && !EqualNames(mapping.remote_path, share)) continue;
    const uint32_t status = ShowsAsOk(state, mapping) ? kMappingOk : kMappingDisconnected;
    objects.push_back(
        MakeObject("MSFT_SmbGlobalMapping", {{"LocalPath", Value::String(mapping.local_path)},
                                             {"RemotePath", Value::String(mapping.remote_path)},
                                             {"Status", Value::Uint32(status)}}));
  }
  return objects;
}

Objects Bioses(NodeState& state) {
  return {MakeObject("Win32_BIOS", {{"Name", Value::String("Simulated BIOS")},
                                    {"SoftwareElementID", Value::String("Simulated BIOS")},
                                    {"SoftwareElementState", Value::Uint16(3)},
                                    {"TargetOperatingSystem", Value::Uint16(0)},
                                    {"SerialNumber", TextOrNull(state.bios_serial_number)},
                                    {"Version", Value::String("SIM - 1")}})};
}

const char* StoppedService(NodeState& state, const Class& of) {
  if (absl::StartsWith(of.name, "MSFT_iSCSI")) {
    const Service* const initiator = FindService(state, "MSiSCSI");
    return initiator == nullptr || initiator->state == ServiceState::kRunning ? nullptr : "MSiSCSI";
  }
  // WMI starts smphost, for the other classes of storage, on demand unless smphost is disabled.
  if (of.space != cim::Namespace::kStorage) return nullptr;
  const Service* const provider = FindService(state, "smphost");
  const bool is_disabled = provider != nullptr && provider->state != ServiceState::kRunning &&
                           provider->start_type == ServiceStartType::kDisabled;
  return is_disabled ? "smphost" : nullptr;
}

Objects Instances(NodeState& state, const Class& of, const Wanted& wanted) {
  const auto* const source =
      std::find_if(std::begin(kSources), std::end(kSources),
                   [&](const Source& one) { return one.class_name == absl::string_view(of.name); });
  if (source == std::end(kSources) || StoppedService(state, of) != nullptr) return {};
  return source->list != nullptr ? source->list(state) : source->list_wanted(state, wanted);
}

absl::StatusOr<cim::Object> FindInstance(NodeState& state, const ObjectPath& path) {
  for (cim::Object& object : Instances(state, *path.of, path.keys)) {
    if (object.path() == path.instance) return std::move(object);
  }
  return cim::HresultStatus(cim::hresult::kNotFound, path.of->name);
}

Objects FindAssociated(NodeState& state, const ObjectPath& of, const Property& role,
                       const Class& association, const Property& result_role, const Class& result) {
  Objects found;
  const Objects candidates = Instances(state, result);
  for (const cim::Object& link : Instances(state, association)) {
    if (*link.GetString(role.name) != of.instance) continue;
    const std::string end = *link.GetString(result_role.name);
    for (const cim::Object& candidate : candidates) {
      if (candidate.path() == end) found.push_back(candidate);
    }
  }
  return found;
}

}  // namespace csi_proxy::machine::simulator::wmi
