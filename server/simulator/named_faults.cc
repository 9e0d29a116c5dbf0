#include "server/simulator/named_faults.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy {
namespace {

using host::ChapCredentials;
using host::IscsiPortal;
using machine::simulated::Core;
using machine::simulated::Machine;
using machine::simulated::NewSimulatedOs;
using machine::simulated::wmi::NewSimulatedSession;

// One group's operations: passes the table with each, then does it.
template <typename Interface>
class Group : public Interface {
 public:
  // `name` is the group's, with a dot behind it.
  Group(Core* core, absl::string_view name, Interface& host)
      : host_(host), core_(*core), name_(name) {}

 protected:
  template <typename Action>
  auto Do(const CallContext& call, absl::string_view operation,
          absl::FunctionRef<std::string()> resource, Action action) -> decltype(action()) {
    const absl::Status status = core_.HasFaults()
                                    ? core_.Pass(call, absl::StrCat(name_, operation), resource())
                                    : call.Check();
    if (!status.ok()) return status;
    return action();
  }

  Interface& host_;

 private:
  Core& core_;
  const absl::string_view name_;
};

std::string Text(const ConfinedPath& path) { return path.path.ToString(); }
std::string Text(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

// Each operation's result, its name, the resource that a rule may name, the arguments behind the
// call's context, and their parameters.
#define AFTER_COMMA(...) __VA_OPT__(, ) __VA_ARGS__
#define OPERATION(returns, name, resource, arguments, ...)                    \
  returns name(const CallContext& call __VA_OPT__(, ) __VA_ARGS__) override { \
    return Do(                                                                \
        call, #name, [&] { return absl::StrCat(resource); },                  \
        [&] { return host_.name(call AFTER_COMMA arguments); });              \
  }

class Disk final : public Group<host::DiskHost> {
 public:
  using Group::Group;

  OPERATION(absl::StatusOr<std::vector<host::DiskLocationText>>, ListDiskLocations, "", ())
  OPERATION(absl::StatusOr<std::vector<host::DiskIdentity>>, ListDiskIdentities, "", ())
  OPERATION(absl::StatusOr<std::vector<host::DiskDescription>>, ListDisks, "", ())
  OPERATION(absl::StatusOr<host::DiskDescription>, Describe, disk, (disk), uint32_t disk)
  OPERATION(absl::Status, Rescan, "", ())
  OPERATION(absl::StatusOr<host::DiskLayout>, GetLayout, disk, (disk), uint32_t disk)
  OPERATION(absl::Status, InitializeGpt, disk.number, (disk), const host::KnownDisk& disk)
  OPERATION(absl::Status, CreateBasicPartition, disk.number, (disk), const host::KnownDisk& disk)
  OPERATION(absl::Status, BringPartitionsOnline, disk, (disk), uint32_t disk)
  OPERATION(absl::StatusOr<uint64_t>, GetSize, disk, (disk), uint32_t disk)
  OPERATION(absl::StatusOr<bool>, IsBlank, disk, (disk, offset, size), uint32_t disk,
            uint64_t offset, uint64_t size)
  OPERATION(absl::StatusOr<bool>, IsOnline, disk, (disk), uint32_t disk)
  OPERATION(absl::StatusOr<host::StateChange>, SetOnline, disk, (disk, online), uint32_t disk,
            bool online)
  OPERATION(absl::Status, SetReadOnly, disk, (disk, read_only), uint32_t disk, bool read_only)
  OPERATION(absl::StatusOr<size_t>, CountPromisedVolumes, disk, (disk), uint32_t disk)
};

class Volume final : public Group<host::VolumeHost> {
 public:
  using Group::Group;

  OPERATION(absl::StatusOr<std::vector<VolumeId>>, ListVolumes, disk, (disk, partition),
            uint32_t disk, uint32_t partition)
  OPERATION(absl::StatusOr<std::string>, GetFileSystem, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::Status, Format, id.ToString(), (id, options), const VolumeId& id,
            const host::FormatOptions& options)
  OPERATION(absl::StatusOr<host::VolumeHealth>, GetHealth, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::StatusOr<uint64_t>, GetSize, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::StatusOr<uint64_t>, GetSupportedSize, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::Status, Resize, id.ToString(), (id, bytes, how), const VolumeId& id,
            uint64_t bytes, host::ResizeTo how)
  OPERATION(absl::StatusOr<host::VolumeStats>, GetStats, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::StatusOr<uint32_t>, GetDiskNumber, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::Status, Mount, id.ToString(), (id, target), const VolumeId& id,
            const ConfinedPath& target)
  OPERATION(absl::Status, Unmount, id.ToString(), (id, target), const VolumeId& id,
            const ConfinedPath& target)
  OPERATION(absl::StatusOr<VolumeId>, GetVolumeAtMountPoint, Text(path), (path),
            const ConfinedPath& path)
  OPERATION(absl::StatusOr<VolumeId>, GetVolumeHolding, Text(path), (path),
            const ConfinedPath& path)
  OPERATION(absl::StatusOr<std::vector<host::MountPoint>>, ListMountPoints, id.ToString(),
            (id, roots), const VolumeId& id, const PathRoots* roots)
  OPERATION(absl::Status, Flush, id.ToString(), (id), const VolumeId& id)
  OPERATION(absl::Status, MakeWritable, disk, (disk), uint32_t disk)
};

class Filesystem final : public Group<host::FilesystemHost> {
 public:
  using Group::Group;

  OPERATION(absl::StatusOr<bool>, Exists, Text(path), (path), const ConfinedPath& path)
  OPERATION(absl::Status, MakeDirectories, Text(path), (path), const ConfinedPath& path)
  OPERATION(absl::Status, Remove, Text(path), (path, recursive), const ConfinedPath& path,
            bool recursive)
  OPERATION(absl::Status, RemoveContents, Text(path), (path), const ConfinedPath& path)
  OPERATION(absl::Status, CreateLink, Text(link), (source, link), const ConfinedPath& source,
            const ConfinedPath& link)
  OPERATION(absl::Status, CreateLinkToShare, Text(link), (target, link), const UncPath& target,
            const ConfinedPath& link)
  OPERATION(absl::StatusOr<host::LinkInfo>, ReadLink, Text(path), (path), const ConfinedPath& path)
  OPERATION(absl::StatusOr<host::PathStats>, GetStats, Text(path), (path), const ConfinedPath& path)
  OPERATION(absl::StatusOr<host::LinkList>, ListLinks, "", (starts),
            const std::vector<ConfinedPath>& starts)
};

class Smb final : public Group<host::SmbHost> {
 public:
  using Group::Group;

  OPERATION(absl::StatusOr<std::optional<host::SmbMapping>>, GetMapping, share, (share),
            const std::string& share)
  OPERATION(absl::StatusOr<std::vector<host::SmbMapping>>, ListMappings, "", ())
  OPERATION(absl::StatusOr<bool>, IsHealthy, mapping.remote_path, (mapping),
            const host::SmbMapping& mapping)
  OPERATION(absl::Status, CreateMapping, share, (share, credentials, require_privacy),
            const std::string& share, const host::SmbCredentials& credentials, bool require_privacy)
  OPERATION(absl::Status, RemoveMapping, mapping.remote_path, (mapping),
            const host::SmbMapping& mapping)
};

class Iscsi final : public Group<host::IscsiHost> {
 public:
  using Group::Group;

  OPERATION(absl::StatusOr<std::vector<IscsiPortal>>, ListPortals, "", ())
  OPERATION(absl::Status, AddPortal, Text(portal), (portal), const IscsiPortal& portal)
  OPERATION(absl::Status, RemovePortal, Text(portal), (portal), const IscsiPortal& portal)
  OPERATION(absl::StatusOr<std::vector<std::string>>, DiscoverTargets, Text(portal), (portal),
            const IscsiPortal& portal)
  OPERATION(absl::StatusOr<bool>, IsConnected, iqn, (portal, iqn), const IscsiPortal& portal,
            const std::string& iqn)
  OPERATION(absl::Status, Connect, iqn, (portal, iqn, credentials), const IscsiPortal& portal,
            const std::string& iqn, const ChapCredentials& credentials)
  OPERATION(absl::Status, Disconnect, iqn, (portal, iqn), const IscsiPortal& portal,
            const std::string& iqn)
  OPERATION(absl::StatusOr<std::vector<uint32_t>>, GetTargetDisks, iqn, (portal, iqn),
            const IscsiPortal& portal, const std::string& iqn)
  OPERATION(absl::Status, SetMutualChapSecret, "", (secret), const Secret& secret)
};

class System final : public Group<host::SystemHost> {
 public:
  using Group::Group;

  OPERATION(absl::StatusOr<std::string>, GetBiosSerialNumber, "", ())
  OPERATION(absl::StatusOr<host::ServiceInfo>, GetService, name, (name), const std::string& name)
  OPERATION(absl::StatusOr<std::vector<std::string>>, ListActiveDependents, name, (name),
            const std::string& name)
  OPERATION(absl::Status, RequestStart, name, (name), const std::string& name)
  OPERATION(absl::Status, RequestStop, name, (name), const std::string& name)
};

#undef OPERATION
#undef AFTER_COMMA

class FaultyHost final : public host::Host {
 public:
  // `kept`, if any, lives as long as the host.
  explicit FaultyHost(Core* core, std::shared_ptr<Machine> kept = nullptr)
      : kept_(std::move(kept)),
        host_(host::NewHost(NewSimulatedSession(core), NewSimulatedOs(core))),
        disk_(core, "disk.", host_->disk()),
        volume_(core, "volume.", host_->volume()),
        filesystem_(core, "filesystem.", host_->filesystem()),
        smb_(core, "smb.", host_->smb()),
        iscsi_(core, "iscsi.", host_->iscsi()),
        system_(core, "system.", host_->system()) {}

  host::DiskHost& disk() override { return disk_; }
  host::VolumeHost& volume() override { return volume_; }
  host::FilesystemHost& filesystem() override { return filesystem_; }
  host::SmbHost& smb() override { return smb_; }
  host::IscsiHost& iscsi() override { return iscsi_; }
  host::SystemHost& system() override { return system_; }

 private:
  const std::shared_ptr<Machine> kept_;
  const std::unique_ptr<Host> host_;
  Disk disk_;
  Volume volume_;
  Filesystem filesystem_;
  Smb smb_;
  Iscsi iscsi_;
  System system_;
};

}  // namespace

std::unique_ptr<host::Host> HostOver(Machine& machine) {
  return std::make_unique<FaultyHost>(machine.core());
}

std::unique_ptr<host::Host> HostOver(std::shared_ptr<Machine> machine) {
  Core* const core = machine->core();
  return std::make_unique<FaultyHost>(core, std::move(machine));
}

}  // namespace csi_proxy
