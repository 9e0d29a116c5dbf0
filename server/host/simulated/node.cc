#include "server/host/simulated/node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/host/simulated/core.h"
#include "server/host/simulated/hosts.h"
#include "server/host/simulated/resolver.h"
#include "server/host/simulated/smb.h"
#include "server/host/simulated/storage.h"

namespace csi_proxy::host::simulated {
namespace {

// Sets the clocks of what a described state leaves pending.
NodeState Started(NodeState state) {
  const absl::Time now = absl::Now();
  for (Disk* disk : AllDisks(state)) {
    for (DiskPartition& partition : disk->partitions) {
      if (partition.arrives_at != absl::InfinitePast()) {
        partition.arrives_at = now + state.volume_arrival_delay;
      }
    }
  }
  for (Service& service : state.services) {
    if (service.state == ServiceState::kStartPending) {
      service.pending_until = now + service.start_latency;
    } else if (service.state == ServiceState::kStopPending) {
      service.pending_until = now + service.stop_latency;
    }
  }
  return state;
}

// The directory above `path`, made if need be, and the name to give in it.
absl::StatusOr<Resolved> MakeParent(NodeState& state, const WindowsPath& path) {
  absl::StatusOr<Resolved> at =
      Resolve(state, {.path = path.Parent(), .roots = nullptr}, {.follow_last = true});
  if (!at.ok()) return at;
  if (at->tree == nullptr || at->dangling) return MissingError(path.ToString());
  for (const std::string& name : at->missing) {
    Tree::Entry directory;
    directory.name = name;
    const absl::StatusOr<Tree::Id> made = at->tree->Add(at->entry, std::move(directory));
    if (!made.ok()) return made.status();
    at->entry = *made;
  }
  at->missing.clear();
  if (path.components().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path.ToString(), " is a drive's root"));
  }
  // A directory with a volume mounted stands for the volume's root.
  if (at->at().mounted.has_value()) {
    const absl::StatusOr<VolumePlace> place = FindVolume(state, *at->at().mounted);
    if (!place.ok()) return place.status();
    at->tree = &place->volume->tree;
    at->entry = Tree::kRoot;
  }
  return at;
}

}  // namespace

Node::Node(NodeState state)
    : initial_(std::move(state)),
      core_(std::make_unique<Core>(Started(initial_))),
      disk_(NewDiskHost(core_.get())),
      volume_(NewVolumeHost(core_.get())),
      filesystem_(NewFilesystemHost(core_.get())),
      smb_(NewSmbHost(core_.get())),
      iscsi_(NewIscsiHost(core_.get())),
      system_(NewSystemHost(core_.get())) {}

Node::~Node() = default;

DiskHost& Node::disk() { return *disk_; }
VolumeHost& Node::volume() { return *volume_; }
FilesystemHost& Node::filesystem() { return *filesystem_; }
SmbHost& Node::smb() { return *smb_; }
IscsiHost& Node::iscsi() { return *iscsi_; }
SystemHost& Node::system() { return *system_; }

absl::Status Node::AttachDisk(Disk disk) {
  absl::MutexLock lock(&core_->mutex);
  for (const Disk* other : AllDisks(core_->state)) {
    if (other->number == disk.number) {
      return absl::AlreadyExistsError(absl::StrCat("there is a disk ", disk.number, " already"));
    }
  }
  if (disk.size_bytes == 0 || disk.size_bytes > uint64_t{1} << 60) {
    return absl::InvalidArgumentError("disk.size_bytes: must be from 1 byte to 1 EiB");
  }
  core_->state.disks.push_back(std::move(disk));
  return absl::OkStatus();
}

absl::Status Node::DetachDisk(uint32_t disk_number) {
  absl::MutexLock lock(&core_->mutex);
  auto& disks = core_->state.disks;
  const auto found = std::find_if(disks.begin(), disks.end(),
                                  [&](const Disk& disk) { return disk.number == disk_number; });
  if (found == disks.end()) {
    if (FindDisk(core_->state, disk_number).ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("disk ", disk_number, " belongs to an iSCSI target; disconnect it"));
    }
    return absl::NotFoundError(absl::StrCat("there is no disk ", disk_number));
  }
  for (const DiskPartition& partition : found->partitions) {
    if (partition.volume.has_value() && partition.volume->drive_letter == 'C') {
      return absl::FailedPreconditionError("the node runs from that disk");
    }
  }
  disks.erase(found);
  return absl::OkStatus();
}

absl::Status Node::GrowDisk(uint32_t disk_number, uint64_t size_bytes) {
  absl::MutexLock lock(&core_->mutex);
  const absl::StatusOr<Disk*> disk = FindDisk(core_->state, disk_number);
  if (!disk.ok()) return disk.status();
  if (size_bytes <= (*disk)->size_bytes || size_bytes > uint64_t{1} << 60) {
    return absl::InvalidArgumentError(absl::StrCat(
        "size_bytes: ", size_bytes, " is not from above ", (*disk)->size_bytes, " to 1 EiB"));
  }
  (*disk)->grown_size_bytes = size_bytes;
  return absl::OkStatus();
}

absl::Status Node::AddShare(absl::string_view server_name, absl::string_view share_name) {
  absl::MutexLock lock(&core_->mutex);
  SmbServer* server = FindServer(core_->state, server_name);
  if (server == nullptr) {
    server = &core_->state.smb_servers.emplace_back();
    server->name = std::string(server_name);
  }
  if (FindShare(*server, share_name) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(server_name, " has a share ", share_name));
  }
  server->shares.push_back({.name = std::string(share_name), .tree = Tree()});
  return absl::OkStatus();
}

absl::Status Node::SetSmbPassword(absl::string_view server_name, absl::string_view user_name,
                                  Secret password) {
  absl::MutexLock lock(&core_->mutex);
  SmbServer* const server = FindServer(core_->state, server_name);
  if (server == nullptr) return absl::NotFoundError(absl::StrCat("no server ", server_name));
  const auto user =
      std::find_if(server->users.begin(), server->users.end(),
                   [&](const SmbUser& candidate) { return EqualNames(candidate.name, user_name); });
  if (user == server->users.end()) {
    server->users.push_back({.name = std::string(user_name), .password = std::move(password)});
    return absl::OkStatus();
  }
  user->password = std::move(password);
  for (SmbMappingState& mapping : core_->state.smb_mappings) {
    const absl::StatusOr<UncPath> path = UncPath::Parse("share", mapping.remote_path);
    if (path.ok() && EqualNames(path->host(), server_name) &&
        EqualNames(mapping.username, user_name)) {
      mapping.broken = true;
    }
  }
  return absl::OkStatus();
}

absl::Status Node::SetServerReachable(absl::string_view server_name, bool reachable) {
  absl::MutexLock lock(&core_->mutex);
  SmbServer* const server = FindServer(core_->state, server_name);
  if (server == nullptr) return absl::NotFoundError(absl::StrCat("no server ", server_name));
  server->reachable = reachable;
  return absl::OkStatus();
}

absl::Status Node::BreakMapping(absl::string_view share) {
  absl::MutexLock lock(&core_->mutex);
  SmbMappingState* const mapping = FindMapping(core_->state, share);
  if (mapping == nullptr) return absl::NotFoundError(absl::StrCat(share, " is not mapped"));
  mapping->broken = true;
  return absl::OkStatus();
}

absl::Status Node::WriteFile(const WindowsPath& path, uint64_t size_bytes, bool read_only) {
  absl::MutexLock lock(&core_->mutex);
  const absl::StatusOr<Resolved> parent = MakeParent(core_->state, path);
  if (!parent.ok()) return parent.status();
  const std::string& name = path.components().back();
  if (const auto existing = parent->tree->Find(parent->entry, name); existing.has_value()) {
    if (parent->tree->at(*existing).kind != Tree::Kind::kFile) {
      return absl::AlreadyExistsError(absl::StrCat(path.ToString(), " is no file"));
    }
    parent->tree->SetFile(*existing, size_bytes, read_only);
    return absl::OkStatus();
  }
  Tree::Entry file;
  file.kind = Tree::Kind::kFile;
  file.name = name;
  file.size_bytes = size_bytes;
  file.read_only = read_only;
  return parent->tree->Add(parent->entry, std::move(file)).status();
}

absl::Status Node::MakeLink(const WindowsPath& path, absl::string_view target) {
  absl::MutexLock lock(&core_->mutex);
  const absl::StatusOr<Resolved> parent = MakeParent(core_->state, path);
  if (!parent.ok()) return parent.status();
  Tree::Entry link;
  link.kind = Tree::Kind::kLink;
  link.name = path.components().back();
  link.target = std::string(target);
  return parent->tree->Add(parent->entry, std::move(link)).status();
}

void Node::InjectFault(FaultRule rule) {
  absl::MutexLock lock(&core_->mutex);
  core_->state.faults.push_back(std::move(rule));
}

void Node::ClearFaults() {
  absl::MutexLock lock(&core_->mutex);
  core_->state.faults.clear();
}

NodeState Node::Snapshot() const {
  absl::MutexLock lock(&core_->mutex);
  return core_->state;
}

void Node::Reset() {
  absl::MutexLock lock(&core_->mutex);
  core_->state = Started(initial_);
}

}  // namespace csi_proxy::host::simulated
