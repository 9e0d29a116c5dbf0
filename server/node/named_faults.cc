#include "server/node/named_faults.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace csi_proxy {
namespace {

using host::ChapCredentials;
using host::IscsiPortal;
using machine::simulated::Core;

// One group's operations: passes the table with each, then does it.
class Group {
 public:
  // `name` is the group's, with a dot behind it.
  Group(Core* core, absl::string_view name) : core_(*core), name_(name) {}

 protected:
  template <typename Action>
  auto Do(const CallContext& call, absl::string_view operation, const absl::AlphaNum& resource,
          Action action) -> decltype(action()) {
    absl::Status status = core_.Pass(call, absl::StrCat(name_, operation), resource.Piece());
    if (!status.ok()) return status;
    return action();
  }

 private:
  Core& core_;
  const absl::string_view name_;
};

std::string Text(const ConfinedPath& path) { return path.path.ToString(); }
std::string Text(const IscsiPortal& portal) {
  return absl::StrCat(portal.address, ":", portal.port);
}

class Disk final : public host::DiskHost, Group {
 public:
  Disk(Core* core, DiskHost& host) : Group(core, "disk."), host_(host) {}

  absl::StatusOr<std::vector<host::DiskLocationText>> ListDiskLocations(
      const CallContext& call) override {
    return Do(call, "ListDiskLocations", "", [&] { return host_.ListDiskLocations(call); });
  }
  absl::StatusOr<std::vector<host::DiskIdentity>> ListDiskIdentities(
      const CallContext& call) override {
    return Do(call, "ListDiskIdentities", "", [&] { return host_.ListDiskIdentities(call); });
  }
  absl::Status Rescan(const CallContext& call) override {
    return Do(call, "Rescan", "", [&] { return host_.Rescan(call); });
  }
  absl::StatusOr<host::DiskLayout> GetLayout(const CallContext& call, uint32_t disk) override {
    return Do(call, "GetLayout", disk, [&] { return host_.GetLayout(call, disk); });
  }
  absl::Status InitializeGpt(const CallContext& call, uint32_t disk) override {
    return Do(call, "InitializeGpt", disk, [&] { return host_.InitializeGpt(call, disk); });
  }
  absl::StatusOr<uint32_t> CreateBasicPartition(const CallContext& call, uint32_t disk) override {
    return Do(call, "CreateBasicPartition", disk,
              [&] { return host_.CreateBasicPartition(call, disk); });
  }
  absl::Status BringPartitionsOnline(const CallContext& call, uint32_t disk) override {
    return Do(call, "BringPartitionsOnline", disk,
              [&] { return host_.BringPartitionsOnline(call, disk); });
  }
  absl::StatusOr<uint64_t> GetSize(const CallContext& call, uint32_t disk) override {
    return Do(call, "GetSize", disk, [&] { return host_.GetSize(call, disk); });
  }
  absl::StatusOr<bool> IsOnline(const CallContext& call, uint32_t disk) override {
    return Do(call, "IsOnline", disk, [&] { return host_.IsOnline(call, disk); });
  }
  absl::Status SetOnline(const CallContext& call, uint32_t disk, bool online) override {
    return Do(call, "SetOnline", disk, [&] { return host_.SetOnline(call, disk, online); });
  }

 private:
  DiskHost& host_;
};

class Volume final : public host::VolumeHost, Group {
 public:
  Volume(Core* core, VolumeHost& host) : Group(core, "volume."), host_(host) {}

  absl::StatusOr<std::vector<VolumeId>> ListVolumes(const CallContext& call, uint32_t disk,
                                                    uint32_t partition) override {
    return Do(call, "ListVolumes", disk, [&] { return host_.ListVolumes(call, disk, partition); });
  }
  absl::StatusOr<std::string> GetFileSystem(const CallContext& call, const VolumeId& id) override {
    return Do(call, "GetFileSystem", id.ToString(), [&] { return host_.GetFileSystem(call, id); });
  }
  absl::Status Format(const CallContext& call, const VolumeId& id,
                      const host::FormatOptions& options) override {
    return Do(call, "Format", id.ToString(), [&] { return host_.Format(call, id, options); });
  }
  absl::StatusOr<uint64_t> GetSize(const CallContext& call, const VolumeId& id) override {
    return Do(call, "GetSize", id.ToString(), [&] { return host_.GetSize(call, id); });
  }
  absl::StatusOr<host::SupportedSize> GetSupportedSize(const CallContext& call,
                                                       const VolumeId& id) override {
    return Do(call, "GetSupportedSize", id.ToString(),
              [&] { return host_.GetSupportedSize(call, id); });
  }
  absl::Status Resize(const CallContext& call, const VolumeId& id, uint64_t bytes) override {
    return Do(call, "Resize", id.ToString(), [&] { return host_.Resize(call, id, bytes); });
  }
  absl::StatusOr<host::VolumeStats> GetStats(const CallContext& call, const VolumeId& id) override {
    return Do(call, "GetStats", id.ToString(), [&] { return host_.GetStats(call, id); });
  }
  absl::StatusOr<uint32_t> GetDiskNumber(const CallContext& call, const VolumeId& id) override {
    return Do(call, "GetDiskNumber", id.ToString(), [&] { return host_.GetDiskNumber(call, id); });
  }
  absl::Status Mount(const CallContext& call, const VolumeId& id,
                     const ConfinedPath& target) override {
    return Do(call, "Mount", id.ToString(), [&] { return host_.Mount(call, id, target); });
  }
  absl::Status Unmount(const CallContext& call, const VolumeId& id,
                       const ConfinedPath& target) override {
    return Do(call, "Unmount", id.ToString(), [&] { return host_.Unmount(call, id, target); });
  }
  absl::StatusOr<VolumeId> GetVolumeAtMountPoint(const CallContext& call,
                                                 const ConfinedPath& path) override {
    return Do(call, "GetVolumeAtMountPoint", Text(path),
              [&] { return host_.GetVolumeAtMountPoint(call, path); });
  }
  absl::StatusOr<VolumeId> GetVolumeHolding(const CallContext& call,
                                            const ConfinedPath& path) override {
    return Do(call, "GetVolumeHolding", Text(path),
              [&] { return host_.GetVolumeHolding(call, path); });
  }
  absl::Status Flush(const CallContext& call, const VolumeId& id) override {
    return Do(call, "Flush", id.ToString(), [&] { return host_.Flush(call, id); });
  }

 private:
  VolumeHost& host_;
};

class Filesystem final : public host::FilesystemHost, Group {
 public:
  Filesystem(Core* core, FilesystemHost& host) : Group(core, "filesystem."), host_(host) {}

  absl::StatusOr<bool> Exists(const CallContext& call, const ConfinedPath& path) override {
    return Do(call, "Exists", Text(path), [&] { return host_.Exists(call, path); });
  }
  absl::Status MakeDirectories(const CallContext& call, const ConfinedPath& path) override {
    return Do(call, "MakeDirectories", Text(path),
              [&] { return host_.MakeDirectories(call, path); });
  }
  absl::Status Remove(const CallContext& call, const ConfinedPath& path, bool recursive) override {
    return Do(call, "Remove", Text(path), [&] { return host_.Remove(call, path, recursive); });
  }
  absl::Status RemoveContents(const CallContext& call, const ConfinedPath& path) override {
    return Do(call, "RemoveContents", Text(path), [&] { return host_.RemoveContents(call, path); });
  }
  absl::Status CreateLink(const CallContext& call, const ConfinedPath& source,
                          const ConfinedPath& link) override {
    return Do(call, "CreateLink", Text(link), [&] { return host_.CreateLink(call, source, link); });
  }
  absl::Status CreateLinkToShare(const CallContext& call, const UncPath& target,
                                 const ConfinedPath& link) override {
    return Do(call, "CreateLinkToShare", Text(link),
              [&] { return host_.CreateLinkToShare(call, target, link); });
  }
  absl::StatusOr<host::LinkInfo> ReadLink(const CallContext& call,
                                          const ConfinedPath& path) override {
    return Do(call, "ReadLink", Text(path), [&] { return host_.ReadLink(call, path); });
  }

 private:
  FilesystemHost& host_;
};

class Smb final : public host::SmbHost, Group {
 public:
  Smb(Core* core, SmbHost& host) : Group(core, "smb."), host_(host) {}

  absl::StatusOr<std::optional<host::SmbMapping>> GetMapping(const CallContext& call,
                                                             const std::string& share) override {
    return Do(call, "GetMapping", share, [&] { return host_.GetMapping(call, share); });
  }
  absl::StatusOr<bool> IsHealthy(const CallContext& call,
                                 const host::SmbMapping& mapping) override {
    return Do(call, "IsHealthy", mapping.remote_path,
              [&] { return host_.IsHealthy(call, mapping); });
  }
  absl::Status CreateMapping(const CallContext& call, const std::string& share,
                             const host::SmbCredentials& credentials,
                             bool require_privacy) override {
    return Do(call, "CreateMapping", share,
              [&] { return host_.CreateMapping(call, share, credentials, require_privacy); });
  }
  absl::Status RemoveMapping(const CallContext& call, const host::SmbMapping& mapping) override {
    return Do(call, "RemoveMapping", mapping.remote_path,
              [&] { return host_.RemoveMapping(call, mapping); });
  }

 private:
  SmbHost& host_;
};

class Iscsi final : public host::IscsiHost, Group {
 public:
  Iscsi(Core* core, IscsiHost& host) : Group(core, "iscsi."), host_(host) {}

  absl::StatusOr<std::vector<IscsiPortal>> ListPortals(const CallContext& call) override {
    return Do(call, "ListPortals", "", [&] { return host_.ListPortals(call); });
  }
  absl::Status AddPortal(const CallContext& call, const IscsiPortal& portal) override {
    return Do(call, "AddPortal", Text(portal), [&] { return host_.AddPortal(call, portal); });
  }
  absl::Status RemovePortal(const CallContext& call, const IscsiPortal& portal) override {
    return Do(call, "RemovePortal", Text(portal), [&] { return host_.RemovePortal(call, portal); });
  }
  absl::StatusOr<std::vector<std::string>> DiscoverTargets(const CallContext& call,
                                                           const IscsiPortal& portal) override {
    return Do(call, "DiscoverTargets", Text(portal),
              [&] { return host_.DiscoverTargets(call, portal); });
  }
  absl::StatusOr<bool> IsConnected(const CallContext& call, const IscsiPortal& portal,
                                   const std::string& iqn) override {
    return Do(call, "IsConnected", iqn, [&] { return host_.IsConnected(call, portal, iqn); });
  }
  absl::Status Connect(const CallContext& call, const IscsiPortal& portal, const std::string& iqn,
                       const ChapCredentials& credentials) override {
    return Do(call, "Connect", iqn, [&] { return host_.Connect(call, portal, iqn, credentials); });
  }
  absl::Status Disconnect(const CallContext& call, const IscsiPortal& portal,
                          const std::string& iqn) override {
    return Do(call, "Disconnect", iqn, [&] { return host_.Disconnect(call, portal, iqn); });
  }
  absl::StatusOr<std::vector<uint32_t>> GetTargetDisks(const CallContext& call,
                                                       const IscsiPortal& portal,
                                                       const std::string& iqn) override {
    return Do(call, "GetTargetDisks", iqn, [&] { return host_.GetTargetDisks(call, portal, iqn); });
  }
  absl::Status SetMutualChapSecret(const CallContext& call, const Secret& secret) override {
    return Do(call, "SetMutualChapSecret", "",
              [&] { return host_.SetMutualChapSecret(call, secret); });
  }

 private:
  IscsiHost& host_;
};

class System final : public host::SystemHost, Group {
 public:
  System(Core* core, SystemHost& host) : Group(core, "system."), host_(host) {}

  absl::StatusOr<std::string> GetBiosSerialNumber(const CallContext& call) override {
    return Do(call, "GetBiosSerialNumber", "", [&] { return host_.GetBiosSerialNumber(call); });
  }
  absl::StatusOr<host::ServiceInfo> GetService(const CallContext& call,
                                               const std::string& name) override {
    return Do(call, "GetService", name, [&] { return host_.GetService(call, name); });
  }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const CallContext& call,
                                                                const std::string& name) override {
    return Do(call, "ListActiveDependents", name,
              [&] { return host_.ListActiveDependents(call, name); });
  }
  absl::Status RequestStart(const CallContext& call, const std::string& name) override {
    return Do(call, "RequestStart", name, [&] { return host_.RequestStart(call, name); });
  }
  absl::Status RequestStop(const CallContext& call, const std::string& name) override {
    return Do(call, "RequestStop", name, [&] { return host_.RequestStop(call, name); });
  }

 private:
  SystemHost& host_;
};

class FaultyHost final : public host::Host {
 public:
  FaultyHost(Core* core, std::unique_ptr<Host> host)
      : host_(std::move(host)),
        disk_(core, host_->disk()),
        volume_(core, host_->volume()),
        filesystem_(core, host_->filesystem()),
        smb_(core, host_->smb()),
        iscsi_(core, host_->iscsi()),
        system_(core, host_->system()) {}

  host::DiskHost& disk() override { return disk_; }
  host::VolumeHost& volume() override { return volume_; }
  host::FilesystemHost& filesystem() override { return filesystem_; }
  host::SmbHost& smb() override { return smb_; }
  host::IscsiHost& iscsi() override { return iscsi_; }
  host::SystemHost& system() override { return system_; }

 private:
  const std::unique_ptr<Host> host_;
  Disk disk_;
  Volume volume_;
  Filesystem filesystem_;
  Smb smb_;
  Iscsi iscsi_;
  System system_;
};

}  // namespace

std::unique_ptr<host::Host> WithNamedFaults(Core* core, std::unique_ptr<host::Host> host) {
  return std::make_unique<FaultyHost>(core, std::move(host));
}

}  // namespace csi_proxy
