#include "server/simulator/machine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/simulator/check.h"
#include "server/simulator/files.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/services.h"
#include "server/simulator/smb.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr size_t kMaxFaults = 1024;

void StartArrivals(const NodeState& state, Disk& disk) {
  const SteadyTime now = SteadyTime::Now();
  if (disk.arrives_at == SteadyTime::InfiniteFuture()) {
    disk.arrives_at =
        now + (state.attach.has_value() ? state.attach->arrival_delay : absl::ZeroDuration());
  }
  for (DiskPartition& partition : disk.partitions) {
    if (partition.arrives_at == SteadyTime::InfiniteFuture()) {
      partition.arrives_at = now + state.volume_arrival_delay;
    }
    if (partition.cached_at == SteadyTime::InfiniteFuture()) {
      partition.cached_at =
          std::max(now, partition.arrives_at) + state.behaviour.volume_cache_delay;
    }
  }
}

// Returns the state at the start of a node: the delays of pending arrivals and services begin now.
NodeState Started(NodeState state) {
  const SteadyTime now = SteadyTime::Now();
  for (Disk* disk : AllDisks(state)) StartArrivals(state, *disk);
  for (Service& service : state.services) {
    if (service.pending_until != SteadyTime::InfiniteFuture()) continue;
    if (service.state == ServiceState::kStartPending) {
      service.pending_until = now + service.start_latency;
    } else if (service.state == ServiceState::kStopPending) {
      service.pending_until = now + service.stop_latency;
    }
  }
  return state;
}

bool IsServerPath(absl::string_view path) {
  return absl::StartsWith(path, "\\\\") || absl::StartsWith(path, "//");
}

// Applies `change` to the state. If `change` or CheckState() fails, returns the error and keeps the
// state.
template <typename Change>
absl::Status Try(NodeState& state, Change change) {
  NodeState changed = state;
  ABSL_RETURN_IF_ERROR(change(changed));
  ABSL_RETURN_IF_ERROR(CheckState(changed));
  state = std::move(changed);
  return absl::OkStatus();
}

absl::StatusOr<Disk*> FindAttached(NodeState& state, uint32_t number) {
  for (Disk* disk : AllDisks(state)) {
    if (disk->number == number) return disk;
  }
  return absl::NotFoundError(absl::StrCat("there is no disk ", number));
}

// Adds the missing components of a path on a server. With `file`, the last is a file.
absl::Status AddToShare(NodeState& state, absl::string_view text, std::optional<Tree::Entry> file) {
  ABSL_ASSIGN_OR_RETURN(const UncPath path, UncPath::Parse("path", text));
  SmbShare* share = FindShare(state, path.Share());
  if (share == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no share ", path.Share()));
  }
  Tree::Id at = Tree::kRoot;
  const std::vector<std::string>& components = path.components();
  for (size_t i = 0; i < components.size(); ++i) {
    const bool last = i + 1 == components.size();
    const std::optional<Tree::Id> child = share->tree.Find(at, components[i]);
    if (child.has_value()) {
      at = *child;
      continue;
    }
    Tree::Entry entry = last ? file.value_or(Tree::Entry{}) : Tree::Entry{};
    entry.name = components[i];
    ABSL_ASSIGN_OR_RETURN(const Tree::Id made, share->tree.Add(at, std::move(entry)));
    at = made;
  }
  const bool is_file = share->tree.at(at).kind == Tree::Kind::kFile;
  if (is_file != file.has_value()) {
    return absl::AlreadyExistsError(
        absl::StrCat(path.ToString(), " exists and is ", is_file ? "a file" : "a directory"));
  }
  if (is_file) share->tree.SetFile(at, file->size_bytes, file->read_only);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Machine>> Machine::Create(NodeState state) {
  ABSL_RETURN_IF_ERROR(CheckState(state));
  return std::unique_ptr<Machine>(new Machine(std::move(state)));
}

Machine::Machine(NodeState state) : initial_(std::move(state)), core_(Started(initial_)) {}

absl::Status Machine::CopyDisk(uint32_t number, Disk* disk) {
  return core_.Change([&](NodeState& state) {
    ABSL_ASSIGN_OR_RETURN(Disk* const original, FindAttached(state, number));
    // The original needs an explicit id, because the copy shares it.
    std::string& id = original->facts.disk_id;
    if (id.empty() && original->style != PartitionStyle::kRaw) {
      id = MakeDiskId(state, *original);
    }
    disk->size_bytes = std::max(disk->size_bytes, original->size_bytes);
    disk->style = original->style;
    disk->partitions = original->partitions;
    disk->foreign = original->foreign;
    disk->facts.disk_id = id;
    for (DiskPartition& partition : disk->partitions) {
      if (partition.volume.has_value()) partition.volume->drive_letter = 0;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<uint32_t> Machine::AttachDisk(Disk disk, std::optional<uint32_t> number,
                                             std::optional<uint32_t> place) {
  return core_.Change([&](NodeState& state) -> absl::StatusOr<uint32_t> {
    if (number.has_value()) {
      disk.number = *number;
      if (FindAttached(state, *number).ok()) {
        return absl::AlreadyExistsError(absl::StrCat("disk ", *number, " exists"));
      }
    } else {
      std::set<uint32_t> taken;
      for (const Disk* other : AllDisks(state)) taken.insert(other->number);
      for (disk.number = 0; taken.contains(disk.number);) ++disk.number;
    }
    for (DiskPartition& partition : disk.partitions) {
      if (state.behaviour.automount_disabled) partition.awaits_online = true;
    }
    if (state.attach.has_value()) disk.arrives_at = SteadyTime::InfiniteFuture();
    StartArrivals(state, disk);
    const absl::Status status = Try(state, [&](NodeState& changed) {
      ABSL_RETURN_IF_ERROR(AssignLocation(changed, place, disk));
      if (disk.online && Collides(changed, disk)) KeepOffline(disk);
      changed.disks.push_back(disk);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return disk.number;
  });
}

absl::Status Machine::DetachDisk(uint32_t number) {
  return core_.Change([&](NodeState& state) -> absl::Status {
    const auto is_it = [&](const Disk& disk) { return disk.number == number; };
    if (std::erase_if(state.disks, is_it) > 0) return absl::OkStatus();
    for (IscsiPortalState& portal : state.iscsi_portals) {
      for (IscsiTarget& target : portal.targets) {
        if (std::erase_if(target.disks, is_it) > 0) return absl::OkStatus();
      }
    }
    return absl::NotFoundError(absl::StrCat("there is no disk ", number));
  });
}

absl::Status Machine::GrowDisk(uint32_t number, uint64_t size_bytes) {
  return core_.Change([&](NodeState& state) {
    return Try(state, [&](NodeState& changed) {
      ABSL_ASSIGN_OR_RETURN(Disk* const disk, FindAttached(changed, number));
      if (size_bytes <= std::max(disk->size_bytes, disk->grown_size_bytes)) {
        return absl::InvalidArgumentError(
            absl::StrCat("size_bytes: disk ", number, " is as large already"));
      }
      disk->grown_size_bytes = size_bytes;
      return absl::OkStatus();
    });
  });
}

absl::Status Machine::AddShare(absl::string_view server, absl::string_view share) {
  return core_.Change([&](NodeState& state) {
    return Try(state, [&](NodeState& changed) -> absl::Status {
      SmbServer* found = FindServer(changed, server);
      if (found == nullptr) {
        found = &changed.smb_servers.emplace_back();
        found->name = std::string(server);
      }
      if (FindShare(changed, absl::StrCat("\\\\", server, "\\", share)) != nullptr) {
        return absl::AlreadyExistsError(
            absl::StrCat("server '", server, "' has a share '", share, "'"));
      }
      found->shares.emplace_back().name = std::string(share);
      return absl::OkStatus();
    });
  });
}

absl::Status Machine::SetSmbPassword(absl::string_view server, absl::string_view username,
                                     const Secret& password) {
  return core_.Change([&](NodeState& state) {
    return Try(state, [&](NodeState& changed) {
      return ChangePassword(changed, server, username, password);
    });
  });
}

absl::Status Machine::BreakMapping(absl::string_view share) {
  ABSL_ASSIGN_OR_RETURN(const UncPath path, UncPath::Parse("share", share));
  return core_.Change(
      [&](NodeState& state) { return simulator::BreakMapping(state, path.Share()); });
}

absl::Status Machine::SetServerReachable(absl::string_view server, bool reachable) {
  return core_.Change([&](NodeState& state) -> absl::Status {
    bool found = false;
    if (SmbServer* smb = FindServer(state, server); smb != nullptr) {
      smb->reachable = reachable;
      found = true;
    }
    for (IscsiPortalState& portal : state.iscsi_portals) {
      if (!absl::EqualsIgnoreCase(portal.portal.address, server)) continue;
      portal.reachable = reachable;
      found = true;
    }
    if (found) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat("there is no server '", server, "'"));
  });
}

absl::Status Machine::InjectFault(FaultRule rule) {
  ABSL_RETURN_IF_ERROR(CheckFault(rule, "fault"));
  return core_.Change([&](NodeState& state) -> absl::Status {
    if (state.faults.size() >= kMaxFaults) {
      return absl::ResourceExhaustedError("fault: there are 1024 rules");
    }
    state.faults.push_back(std::move(rule));
    return absl::OkStatus();
  });
}

absl::Status Machine::Pass(const CallContext& context, absl::string_view method,
                           absl::FunctionRef<std::vector<std::string>()> fields) {
  return core_.HasFaults() ? core_.Pass(context, method, fields()) : absl::OkStatus();
}

void Machine::ClearFaults() {
  core_.Change([](NodeState& state) { state.faults.clear(); });
}

absl::Status Machine::SetBehaviour(const Behaviour& behaviour) {
  return core_.Change([&](NodeState& state) {
    return Try(state, [&](NodeState& changed) {
      changed.behaviour = behaviour;
      return absl::OkStatus();
    });
  });
}

absl::Status Machine::SetOtherOpens(std::vector<OtherOpen> opens) {
  return core_.Change([&](NodeState& state) {
    return Try(state, [&](NodeState& changed) {
      changed.other_opens = std::move(opens);
      return absl::OkStatus();
    });
  });
}

absl::Status Machine::WriteFile(absl::string_view path, uint64_t size_bytes, bool read_only) {
  if (size_bytes > Tree::kMaxFileBytes) {
    return absl::InvalidArgumentError("size_bytes: is above 16 TiB");
  }
  if (IsServerPath(path)) {
    return core_.Change([&](NodeState& state) {
      return AddToShare(state, path, Tree::File("", size_bytes, read_only));
    });
  }
  ABSL_ASSIGN_OR_RETURN(const WindowsPath file, WindowsPath::Parse("path", path));
  return core_.Change([&](NodeState& state) {
    const absl::Status parents = MakeEntryDirectories(state, file.Parent());
    if (!parents.ok()) return parents;
    return WriteFileEntry(state, file, size_bytes, read_only);
  });
}

absl::Status Machine::MakeDirectory(absl::string_view path) {
  if (IsServerPath(path)) {
    return core_.Change([&](NodeState& state) { return AddToShare(state, path, std::nullopt); });
  }
  ABSL_ASSIGN_OR_RETURN(const WindowsPath directory, WindowsPath::Parse("path", path));
  return core_.Change([&](NodeState& state) { return MakeEntryDirectories(state, directory); });
}

absl::Status Machine::RemoveFolder(absl::string_view path) {
  ABSL_ASSIGN_OR_RETURN(const WindowsPath directory, WindowsPath::Parse("path", path));
  return core_.Change([&](NodeState& state) { return RemoveFolderEntry(state, directory); });
}

absl::Status Machine::MakeLink(absl::string_view path, absl::string_view target, bool junction) {
  ABSL_ASSIGN_OR_RETURN(const WindowsPath link, WindowsPath::Parse("path", path));
  std::string spelt;
  if (!junction && IsServerPath(target)) {
    ABSL_ASSIGN_OR_RETURN(const UncPath unc, UncPath::Parse("target", target));
    spelt = unc.ToString();
  } else {
    ABSL_ASSIGN_OR_RETURN(const WindowsPath drive, WindowsPath::Parse("target", target));
    spelt = drive.ToString();
  }
  return core_.Change([&](NodeState& state) {
    const absl::Status parents = MakeEntryDirectories(state, link.Parent());
    if (!parents.ok()) return parents;
    return MakeLinkEntry(state, spelt, link, junction);
  });
}

void Machine::Reboot() {
  core_.Change([](NodeState& state) {
    const SteadyTime now = SteadyTime::Now();
    state.other_opens.clear();
    std::erase_if(state.smb_mappings, [](const auto& mapping) { return !mapping.persistent; });
    for (SmbMappingState& mapping : state.smb_mappings) mapping.restored = true;
    RestartSessions(state);
    RestartServices(state, now);
    for (Disk* disk : AllDisks(state)) {
      disk->arrives_at = std::min(disk->arrives_at, now);
      for (DiskPartition& partition : disk->partitions) {
        partition.arrives_at = std::min(partition.arrives_at, now);
        partition.mounted_read_only =
            disk->online && disk->read_only && partition.volume.has_value();
      }
    }
    Rescan(state);
  });
}

Disk Machine::NewDisk() {
  return core_.Change(
      [](NodeState& state) { return state.attach.has_value() ? state.attach->disk : Disk(); });
}

NodeState Machine::Snapshot() {
  return core_.Change([](NodeState& state) { return state; });
}

void Machine::Reset() {
  core_.Change([&](NodeState& state) {
    // A partition that is made again must get another volume id.
    const uint64_t volumes_made = state.volumes_made;
    state = Started(initial_);
    state.volumes_made = std::max(state.volumes_made, volumes_made);
  });
}

}  // namespace csi_proxy::machine::simulator
