#include "server/simulator/wmi/schema.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using enum cim::Namespace;
using enum cim::Type;

constexpr bool kArray = true;

Property Key(const char* name, cim::Type type = kString) {
  return {.name = name, .type = type, .is_key = true};
}
Property Role(const char* name, const char* class_name) {
  return {.name = name, .type = kReference, .is_key = true, .class_name = class_name};
}

Parameter In(const char* name, cim::Type type, bool is_array = false) {
  return {.name = name, .type = type, .is_array = is_array};
}
Parameter Required(const char* name, cim::Type type) {
  return {.name = name, .type = type, .is_required = true};
}
Parameter Out(const char* name, cim::Type type) {
  return {.name = name, .type = type, .is_out = true};
}
Parameter Out(const char* name, const char* class_name) {
  return {.name = name, .type = kObject, .is_out = true, .class_name = class_name};
}
Parameter ExtendedStatus() { return Out("ExtendedStatus", "MSFT_StorageExtendedStatus"); }
Parameter StorageJob() { return Out("CreatedStorageJob", "MSFT_StorageJob"); }

Method Instance(const char* name, std::vector<Parameter> parameters = {}) {
  return {name, false, std::move(parameters)};
}
Method Static(const char* name, std::vector<Parameter> parameters = {}) {
  return {name, true, std::move(parameters)};
}

Class Association(const char* name, Property one, Property other) {
  return {kStorage, name, {one, other}, {}, {}};
}

// Sources: learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-classes,
// learn.microsoft.com/previous-versions/windows/desktop/iscsidisc, .../smb. Windows' own generated
// bindings show what the pages leave out: which methods are static, the keys, and some parameters.
// A class lacks most properties for which the node has no values.
std::vector<Class> StorageClasses() {
  return {
      {kStorage,
       "MSFT_Disk",
       {Key("ObjectId"),
        {"UniqueId", kString},
        {"UniqueIdFormat", kUint16},
        {"Path", kString},
        {"Location", kString},
        {"FriendlyName", kString},
        {"Number", kUint32},
        {"SerialNumber", kString},
        {"Size", kUint64},
        {"AllocatedSize", kUint64},
        {"LogicalSectorSize", kUint32},
        {"NumberOfPartitions", kUint32},
        {"HealthStatus", kUint16},
        {"BusType", kUint16},
        {"PartitionStyle", kUint16},
        {"IsOffline", kBoolean},
        {"OfflineReason", kUint16},
        {"IsReadOnly", kBoolean},
        {"IsSystem", kBoolean},
        {"IsBoot", kBoolean}},
       {Instance("Initialize", {In("PartitionStyle", kUint16), ExtendedStatus()}),
        Instance("CreatePartition",
                 {In("Size", kUint64), In("UseMaximumSize", kBoolean), In("Offset", kUint64),
                  In("Alignment", kUint32), In("DriveLetter", kChar16),
                  In("AssignDriveLetter", kBoolean), In("MbrType", kUint16), In("GptType", kString),
                  In("IsHidden", kBoolean), In("IsActive", kBoolean),
                  Out("CreatedPartition", "MSFT_Partition"), ExtendedStatus()}),
        Instance("Refresh", {ExtendedStatus()}), Instance("Online", {ExtendedStatus()}),
        Instance("Offline", {ExtendedStatus()}),
        Instance("SetAttributes", {In("IsReadOnly", kBoolean), In("Signature", kUint32),
                                   In("Guid", kString), ExtendedStatus()}),
        // The layer above the providers shows these parameters. The providers' own MOF has Sanitize
        // instead of RunAsJob.
        Instance("Clear", {In("RemoveData", kBoolean), In("RemoveOEM", kBoolean),
                           In("ZeroOutEntireDisk", kBoolean), In("RunAsJob", kBoolean),
                           StorageJob(), ExtendedStatus()})},
       {"Number"}},
      {kStorage,
       "MSFT_Partition",
       {Key("ObjectId"),
        {"UniqueId", kString},
        {"DiskNumber", kUint32},
        {"PartitionNumber", kUint32},
        {"DriveLetter", kChar16},
        {"AccessPaths", kString, kArray},
        {"OperationalStatus", kUint16},
        {"Offset", kUint64},
        {"Size", kUint64},
        {"MbrType", kUint16},
        {"GptType", kString},
        {"IsReadOnly", kBoolean},
        {"IsOffline", kBoolean},
        {"IsSystem", kBoolean},
        {"IsBoot", kBoolean},
        {"IsHidden", kBoolean},
        {"IsActive", kBoolean}},
       {Instance("Online", {ExtendedStatus()}), Instance("Offline", {ExtendedStatus()}),
        Instance("GetSupportedSize",
                 {Out("SizeMin", kUint64), Out("SizeMax", kUint64), ExtendedStatus()}),
        Instance("Resize", {Required("Size", kUint64), ExtendedStatus()}),
        Instance("AddAccessPath",
                 {In("AccessPath", kString), In("AssignDriveLetter", kBoolean), ExtendedStatus()}),
        Instance("RemoveAccessPath", {Required("AccessPath", kString), ExtendedStatus()})},
       {"DiskNumber"}},
      {kStorage,
       "MSFT_Volume",
       {Key("ObjectId"),
        {"UniqueId", kString},
        {"DriveLetter", kChar16},
        {"Path", kString},
        {"HealthStatus", kUint16},
        {"OperationalStatus", kUint16, kArray},
        {"FileSystem", kString},
        {"FileSystemType", kUint16},
        {"FileSystemLabel", kString},
        {"Size", kUint64},
        {"SizeRemaining", kUint64},
        {"AllocationUnitSize", kUint32},
        {"DriveType", kUint32},
        {"DedupMode", kUint32}},
       {Instance(
            "Format",
            {In("FileSystem", kString), In("FileSystemLabel", kString),
             In("AllocationUnitSize", kUint32), In("Full", kBoolean), In("Force", kBoolean),
             In("Compress", kBoolean), In("ShortFileNameSupport", kBoolean),
             In("SetIntegrityStreams", kBoolean), In("UseLargeFRS", kBoolean),
             In("DisableHeatGathering", kBoolean), In("IsDAX", kBoolean), In("RunAsJob", kBoolean),
             Out("FormattedVolume", "MSFT_Volume"), StorageJob(), ExtendedStatus()}),
        Instance("Flush"),
        Instance("Resize",
                 {In("Size", kUint64), In("RunAsJob", kBoolean), StorageJob(), ExtendedStatus()})},
       {"UniqueId"}},
      {kStorage,
       "MSFT_StorageSetting",
       {{"NewDiskPolicy", kUint16}, {"ScrubPolicy", kUint32}},
       {Static("UpdateHostStorageCache"),
        Static("Get", {Out("StorageSetting", "MSFT_StorageSetting"), ExtendedStatus()}),
        Static("Set",
               {In("NewDiskPolicy", kUint16), In("ScrubPolicy", kUint32), ExtendedStatus()})},
       {}},
      {kStorage,
       "MSFT_StorageExtendedStatus",
       {{"CIMStatusCode", kUint32},
        {"ErrorSource", kString},
        {"ErrorType", kUint16},
        {"Message", kString},
        {"MessageID", kString}},
       {},
       {}},
      Association("MSFT_DiskToPartition", Role("Disk", "MSFT_Disk"),
                  Role("Partition", "MSFT_Partition")),
      Association("MSFT_PartitionToVolume", Role("Partition", "MSFT_Partition"),
                  Role("Volume", "MSFT_Volume")),
  };
}

std::vector<Class> IscsiClasses() {
  return {
      {kStorage,
       "MSFT_iSCSITargetPortal",
       // The port is not a key, so all portals at an address share a path.
       {Key("TargetPortalAddress"),
        {"TargetPortalPortNumber", kUint16},
        {"InitiatorInstanceName", kString},
        {"InitiatorPortalAddress", kString},
        {"IsHeaderDigest", kBoolean},
        {"IsDataDigest", kBoolean}},
       {Static("New", {In("TargetPortalAddress", kString), In("TargetPortalPortNumber", kUint16),
                       In("InitiatorInstanceName", kString), In("InitiatorPortalAddress", kString),
                       In("AuthenticationType", kString), In("ChapUsername", kString),
                       In("ChapSecret", kString), In("IsHeaderDigest", kBoolean),
                       In("IsDataDigest", kBoolean),
                       Out("CreatedTargetPortal", "MSFT_iSCSITargetPortal")}),
        Instance("Remove",
                 {In("InitiatorInstanceName", kString), In("InitiatorPortalAddress", kString),
                  In("TargetPortalPortNumber", kUint16), In("TargetPortalAddress", kString)}),
        Instance("Update",
                 {In("InitiatorInstanceName", kString), In("InitiatorPortalAddress", kString),
                  In("TargetPortalPortNumber", kUint16), In("TargetPortalAddress", kString)})},
       {"TargetPortalAddress", "TargetPortalPortNumber"}},
      {kStorage,
       "MSFT_iSCSITarget",
       {Key("NodeAddress"), {"IsConnected", kBoolean}},
       {Static("Connect", {In("NodeAddress", kString), In("TargetPortalAddress", kString),
                           In("TargetPortalPortNumber", kUint16),
                           In("InitiatorPortalAddress", kString), In("IsDataDigest", kBoolean),
                           In("IsHeaderDigest", kBoolean), In("ReportToPnP", kBoolean),
                           In("AuthenticationType", kString), In("ChapUsername", kString),
                           In("ChapSecret", kString), In("IsMultipathEnabled", kBoolean),
                           In("IsPersistent", kBoolean), In("InitiatorInstanceName", kString),
                           Out("CreatediSCSISession", "MSFT_iSCSISession")}),
        Instance("Disconnect", {In("SessionIdentifier", kString)}), Instance("Update")},
       {"NodeAddress"}},
      {kStorage,
       "MSFT_iSCSISession",
       {Key("SessionIdentifier"),
        {"AuthenticationType", kString},
        {"InitiatorInstanceName", kString},
        {"InitiatorNodeAddress", kString},
        {"InitiatorPortalAddress", kString},
        {"InitiatorSideIdentifier", kString},
        {"IsConnected", kBoolean},
        {"IsDataDigest", kBoolean},
        {"IsDiscovered", kBoolean},
        {"IsHeaderDigest", kBoolean},
        {"IsPersistent", kBoolean},
        {"NumberOfConnections", kUint32},
        {"TargetNodeAddress", kString},
        {"TargetSideIdentifier", kString}},
       {Instance("Register", {In("IsMultipathEnabled", kBoolean), In("ChapUsername", kString),
                              In("ChapSecret", kString)}),
        Instance("Unregister"), Static("SetCHAPSecret", {Required("ChapSecret", kString)})},
       {"TargetNodeAddress"}},
      {kStorage,
       "MSFT_iSCSIConnection",
       {Key("ConnectionIdentifier"),
        {"InitiatorAddress", kString},
        {"InitiatorPortNumber", kUint32},
        {"TargetAddress", kString},
        {"TargetPortNumber", kUint32}},
       {},
       {"ConnectionIdentifier"}},
      Association("MSFT_iSCSITargetToiSCSITargetPortal", Role("iSCSITarget", "MSFT_iSCSITarget"),
                  Role("iSCSITargetPortal", "MSFT_iSCSITargetPortal")),
      Association("MSFT_iSCSITargetToiSCSISession", Role("iSCSISession", "MSFT_iSCSISession"),
                  Role("iSCSITarget", "MSFT_iSCSITarget")),
      Association("MSFT_iSCSITargetToiSCSIConnection",
                  Role("iSCSIConnection", "MSFT_iSCSIConnection"),
                  Role("iSCSITarget", "MSFT_iSCSITarget")),
      Association("MSFT_iSCSISessionToiSCSIConnection",
                  Role("iSCSIConnection", "MSFT_iSCSIConnection"),
                  Role("iSCSISession", "MSFT_iSCSISession")),
      Association("MSFT_iSCSIConnectionToDisk", Role("Disk", "MSFT_Disk"),
                  Role("iSCSIConnection", "MSFT_iSCSIConnection")),
      Association("MSFT_iSCSISessionToDisk", Role("Disk", "MSFT_Disk"),
                  Role("iSCSISession", "MSFT_iSCSISession")),
  };
}

std::vector<Class> OtherClasses() {
  return {
      {kSmb,
       "MSFT_SmbGlobalMapping",
       // The class has the keys of its documented sibling, MSFT_SmbMapping.
       {Key("LocalPath"),
        Key("RemotePath"),
        {"RequireIntegrity", kBoolean},
        {"RequirePrivacy", kBoolean},
        {"Status", kUint32},
        {"UseWriteThrough", kBoolean}},
       // There is no parameter for the user's name: Credential contains the name and the password.
       {Static("Create",
               {In("LocalPath", kString), Required("RemotePath", kString),
                In("Credential", kString), In("Persistent", kBoolean),
                In("RequireIntegrity", kBoolean), In("RequirePrivacy", kBoolean),
                In("FullAccess", kString, kArray), In("DenyAccess", kString, kArray),
                In("UseWriteThrough", kBoolean), Out("CreatedMapping", "MSFT_SmbGlobalMapping")}),
        Instance("Remove", {Required("Force", kBoolean)})},
       {"RemotePath"}},
      {kCimV2,
       "Win32_BIOS",
       {Key("Name"),
        Key("SoftwareElementID"),
        Key("SoftwareElementState", kUint16),
        Key("TargetOperatingSystem", kUint16),
        {"SerialNumber", kString},
        {"Version", kString}},
       {},
       {},
       "CIM_BIOSElement"},
      // Source: learn.microsoft.com/windows/win32/cimwin32prov/win32-service.
      {kCimV2,
       "Win32_Service",
       {Key("Name"), {"DisplayName", kString}, {"StartMode", kString}, {"State", kString}},
       {Instance("StartService"), Instance("StopService")},
       {"Name"}},
      {kCimV2,
       "Win32_DependentService",
       {Role("Antecedent", "Win32_Service"), Role("Dependent", "Win32_Service")},
       {},
       {}},
  };
}

template <typename Named>
const Named* FindNamed(const std::vector<Named>& all, absl::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) {
    return absl::EqualsIgnoreCase(one.name, name);
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const Parameter* Method::FindIn(absl::string_view parameter) const {
  const Parameter* found = FindNamed(parameters, parameter);
  return found == nullptr || found->is_out ? nullptr : found;
}

const Property* Class::FindProperty(absl::string_view property) const {
  return FindNamed(properties, property);
}
const Method* Class::FindMethod(absl::string_view method) const {
  return FindNamed(methods, method);
}

const std::vector<Class>& Classes() {
  static const auto* const kClasses = [] {
    auto* classes = new std::vector<Class>(StorageClasses());
    for (std::vector<Class> more : {IscsiClasses(), OtherClasses()}) {
      classes->insert(classes->end(), more.begin(), more.end());
    }
    return classes;
  }();
  return *kClasses;
}

const Class* FindClass(cim::Namespace space, absl::string_view name) {
  for (const Class& one : Classes()) {
    const bool is_named = absl::EqualsIgnoreCase(one.name, name) ||
                          (one.base[0] != '\0' && absl::EqualsIgnoreCase(one.base, name));
    if (is_named && one.space == space) return &one;
  }
  return nullptr;
}

std::string QueryOperation(const Class& of) { return absl::StrCat("wmi.Query/", of.name); }
std::string GetOperation(const Class& of) { return absl::StrCat("wmi.Get/", of.name); }
std::string InvokeOperation(const Class& of, const Method& method) {
  return absl::StrCat("wmi.Invoke/", of.name, ".", method.name);
}
std::string AssociatorsOperation(const Class& result) {
  return absl::StrCat("wmi.Associators/", result.name);
}

std::vector<std::string> SchemaOperations() {
  std::set<std::string> operations;
  for (const Class& of : Classes()) {
    operations.insert(QueryOperation(of));
    for (const Method& method : of.methods) operations.insert(InvokeOperation(of, method));
    for (const Property& property : of.properties) {
      if (property.is_key) operations.insert(GetOperation(of));
      if (*property.class_name == '\0') continue;
      operations.insert(AssociatorsOperation(*FindClass(of.space, property.class_name)));
    }
  }
  return {operations.begin(), operations.end()};
}

}  // namespace csi_proxy::machine::simulator::wmi
