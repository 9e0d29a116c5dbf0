// Converts the proto of a node to a state. This file checks that each value can be converted, and
// checks files and mounts. CheckState() checks whether the state can exist.
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "csi_proxy/steady_time.h"
#include "server/machine/access.h"
#include "server/names/windows_path.h"
#include "server/simulator/check.h"
#include "server/simulator/iscsi.h"
#include "server/simulator/scenario.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

namespace proto = ::csi_proxy::simulated;

// The most files and directories of a scenario, with the directories above them. Limits its memory.
constexpr size_t kMaxFiles = 100'000;

WindowsError ReadError(const proto::WindowsError& in) {
  WindowsError error = KnownError(in.code());
  if (!in.text().empty()) error.text = in.text();
  return error;
}

// Converts an enumeration that has the numbers of the C++ type. Reports numbers outside 0 to
// `last`, because proto3 allows them.
template <typename Enum>
Enum ReadEnum(int value, int last, const std::string& at, absl::string_view field,
              Problems* problems) {
  problems->Require(value >= 0 && value <= last, at, field, absl::StrCat(value, " has no meaning"));
  return static_cast<Enum>(value);
}

class Reader {
 public:
  absl::StatusOr<NodeState> Read(const proto::Node& in) {
    state_.bios_serial_number = in.bios_serial_number();
    state_.volume_arrival_delay = absl::Milliseconds(in.volume_arrival_ms());
    state_.volumes_made = in.volumes_made();
    state_.behaviour = ReadBehaviour(in.behaviour());
    state_.iscsi_mutual_chap_secret = Secret(in.iscsi_mutual_chap_secret());
    for (int i = 0; i < in.disk_size() && problems_.none(); ++i) {
      state_.disks.push_back(ReadDisk(in.disk(i), Element("", "disk", i)));
    }
    for (int i = 0; i < in.smb_server_size() && problems_.none(); ++i) {
      ReadServer(in.smb_server(i), Element("", "smb_server", i));
    }
    for (const proto::SmbMapping& mapping : in.smb_mapping()) {
      state_.smb_mappings.push_back({mapping.remote_path(), mapping.username(), mapping.broken(),
                                     mapping.idle(), mapping.local_path(), mapping.persistent(),
                                     mapping.restored(), mapping.denied()});
    }
    for (int i = 0; i < in.iscsi_portal_size() && problems_.none(); ++i) {
      ReadPortal(in.iscsi_portal(i), Element("", "iscsi_portal", i));
    }
    for (int i = 0; i < in.service_size() && problems_.none(); ++i) {
      ReadService(in.service(i), Element("", "service", i));
    }
    for (int i = 0; i < in.fault_size() && problems_.none(); ++i) {
      state_.faults.push_back(ReadFault(in.fault(i), Element("", "fault", i)));
    }
    for (int i = 0; i < in.other_open_size() && problems_.none(); ++i) {
      state_.other_opens.push_back(ReadOtherOpen(in.other_open(i), Element("", "other_open", i)));
    }
    if (in.has_attach()) {
      state_.attach = {ReadDisk(in.attach().disk(), "attach.disk"), in.attach().first_place(),
                       absl::Milliseconds(in.attach().arrival_ms())};
    }
    for (const auto& [at, id] : mounts_) {
      problems_.Require(volume_ids_.contains(id), at, "mounted_volume_id",
                        "names no volume of this node; set dangling if none is meant");
    }
    if (!problems_.none()) return problems_.status();
    return std::move(state_);
  }

  Behaviour ReadBehaviour(const proto::Behaviour& in) {
    Behaviour behaviour;
    if (in.has_volume_cache_ms()) {
      behaviour.volume_cache_delay = absl::Milliseconds(in.volume_cache_ms());
    }
    behaviour.out_parameters = ReadEnum<OutParameters>(
        in.out_parameters(), proto::OutParameters_MAX, "behaviour", "out_parameters", &problems_);
    behaviour.automount_disabled = in.automount_disabled();
    behaviour.mount_calls_share = in.mount_calls_share();
    behaviour.plain_deletion = in.plain_deletion();
    behaviour.delete_pending_is_denied = in.delete_pending_is_denied();
    behaviour.online_makes_read_only = in.online_makes_read_only();
    behaviour.resize_reserve_bytes = in.resize_reserve_bytes();
    behaviour.stale_mount_entries = in.stale_mount_entries();
    behaviour.clearing_read_only_remounts = in.clearing_read_only_remounts();
    behaviour.open_files_keep_online = in.open_files_keep_online();
    behaviour.mpio = in.mpio();
    return behaviour;
  }

  OtherOpen ReadOtherOpen(const proto::OtherOpen& in, const std::string& at) {
    // The bits for each proto::Right.
    static constexpr uint32_t kRights[] = {right::kReadData, right::kWriteData, right::kDelete};
    static constexpr uint32_t kShares[] = {share::kRead, share::kWrite, share::kDelete};
    const auto read = [&](const auto& names, const uint32_t* bits, absl::string_view field) {
      uint32_t all = 0;
      for (const int name : names) {
        ReadEnum<int>(name, proto::Right_MAX, at, field, &problems_);
        if (proto::Right_IsValid(name)) all |= bits[name];
      }
      return all;
    };
    return {in.path(), read(in.access(), kRights, "access"), read(in.share(), kShares, "share"),
            in.process_id(), in.image_name()};
  }

  Disk ReadDisk(const proto::Disk& in, const std::string& at) {
    Disk disk;
    disk.number = in.number();
    disk.size_bytes = in.size_bytes();
    disk.grown_size_bytes = in.grown_size_bytes();
    disk.location = in.location();
    disk.page83 = in.page83();
    if (in.has_page83_error()) disk.page83_error = ReadError(in.page83_error());
    disk.serial_number = in.serial_number();
    disk.style =
        ReadEnum<PartitionStyle>(in.style(), proto::PartitionStyle_MAX, at, "style", &problems_);
    disk.sector_bytes = in.sector_bytes() != 0 ? in.sector_bytes() : kSectorBytes;
    disk.online = !in.offline();
    disk.read_only = in.read_only();
    disk.awaits_rescan = in.awaits_rescan();
    if (in.arriving()) disk.arrives_at = SteadyTime::InfiniteFuture();
    disk.without_number = in.without_number();
    disk.facts = ReadDiskFacts(in, at, &problems_);
    disk.foreign = ReadForeign(in);
    uint64_t behind = kDiskMargin;
    for (int i = 0; i < in.partition_size() && problems_.none(); ++i) {
      disk.partitions.push_back(
          ReadPartition(in.partition(i), Element(at, "partition", i), disk, behind));
      const DiskPartition& partition = disk.partitions.back();
      behind = partition.offset_bytes + partition.size_bytes;
    }
    return disk;
  }

  FaultRule ReadFault(const proto::Fault& in, const std::string& at) {
    FaultRule rule;
    rule.operation = in.operation();
    rule.resource = in.resource();
    rule.times = in.times();
    rule.latency = absl::Milliseconds(in.latency_ms());
    rule.stuck = in.stuck();
    rule.goes_on = in.goes_on();
    rule.objects = ReadEnum<AnsweredObjects>(in.objects(), proto::AnsweredObjects_MAX, at,
                                             "objects", &problems_);
    rule.error = ReadError(in.error());
    for (int code = 1; code <= 16 && !in.code().empty(); ++code) {
      const auto candidate = static_cast<absl::StatusCode>(code);
      if (absl::StatusCodeToString(candidate) == in.code()) rule.code = candidate;
    }
    problems_.Require(in.code().empty() || rule.code != absl::StatusCode::kOk, at, "code",
                      absl::StrCat("\"", absl::CEscape(in.code().substr(0, 64)),
                                   "\" is not a status code such as INTERNAL"));
    return rule;
  }

  const Problems& problems() const { return problems_; }

 private:
  DiskPartition ReadPartition(const proto::Partition& in, const std::string& at, const Disk& disk,
                              uint64_t behind) {
    DiskPartition partition;
    partition.number =
        in.number() != 0 ? in.number() : static_cast<uint32_t>(disk.partitions.size()) + 1;
    partition.type =
        ReadEnum<PartitionType>(in.type(), proto::PartitionType_MAX, at, "type", &problems_);
    partition.offset_bytes = in.offset_bytes() != 0 ? in.offset_bytes() : behind;
    partition.size_bytes = in.size_bytes();
    if (in.arriving()) partition.arrives_at = SteadyTime::InfiniteFuture();
    partition.awaits_online = in.awaits_online();
    partition.mounted_read_only = in.mounted_read_only();
    partition.active = in.active();
    if (in.arriving() || in.uncached()) partition.cached_at = SteadyTime::InfiniteFuture();
    if (in.has_volume()) {
      partition.volume = ReadVolume(in.volume(), absl::StrCat(at, ".volume"), disk, partition);
    }
    return partition;
  }

  Volume ReadVolume(const proto::Volume& in, const std::string& at, const Disk& disk,
                    const DiskPartition& partition) {
    absl::StatusOr<VolumeId> id = VolumeId::Parse(in.id());
    if (in.id().empty() || !id.ok()) {
      if (!in.id().empty()) problems_.RequireOk(id.status(), at, "id");
      id = MakeVolumeId(state_, disk, partition.number);
    }
    volume_ids_.insert(*id);
    Volume volume{*id, in.file_system(), 0, Tree(), in.label()};
    volume.health =
        ReadEnum<uint16_t>(in.health(), proto::VolumeHealth_MAX, at, "health", &problems_);
    volume.dirty = in.dirty();
    volume.file_system_bytes = in.file_system_bytes();
    volume.read_only = in.read_only();
    volume.allocation_unit_bytes = in.allocation_unit_bytes();
    volume.stale_folders.assign(in.stale_folder().begin(), in.stale_folder().end());
    if (!in.drive_letter().empty()) {
      problems_.Require(in.drive_letter().size() == 1, at, "drive_letter", "is not one letter");
      volume.drive_letter = absl::ascii_toupper(static_cast<unsigned char>(in.drive_letter()[0]));
    }
    ReadFiles(in.file(), at, &volume.tree);
    return volume;
  }

  template <typename Files>
  void ReadFiles(const Files& files, const std::string& at, Tree* tree) {
    for (int i = 0; i < files.size() && problems_.none(); ++i) {
      const std::string here = Element(at, "file", i);
      ReadFile(files[i], here, tree);
      problems_.Require(files_ <= kMaxFiles, here, "",
                        "there are more than 100000 files and directories");
    }
  }

  void ReadFile(const proto::File& in, const std::string& at, Tree* tree) {
    const absl::StatusOr<WindowsPath> path =
        WindowsPath::Parse("path", absl::StrCat("C:\\", in.path()));
    problems_.RequireOk(path.status(), at, "path");
    if (!path.ok()) return;
    problems_.Require(!path->components().empty(), at, "path", "is missing");
    problems_.Require(in.kind() == proto::FILE || (in.size_bytes() == 0 && !in.read_only()), at,
                      "kind", "only a FILE has size_bytes and read_only");
    problems_.Require(in.size_bytes() <= Tree::kMaxFileBytes, at, "size_bytes", "is above 16 TiB");
    const bool is_link = in.kind() == proto::LINK || in.kind() == proto::JUNCTION;
    problems_.Require(is_link != in.target().empty(), at, "target",
                      "is for a LINK or JUNCTION only, and required there");
    problems_.Require(in.kind() == proto::DIRECTORY || in.mounted_volume_id().empty(), at,
                      "mounted_volume_id", "is for a DIRECTORY only");
    const auto kind =
        in.kind() == proto::JUNCTION
            ? Tree::Kind::kLink
            : ReadEnum<Tree::Kind>(in.kind(), proto::FileKind_MAX, at, "kind", &problems_);
    if (!problems_.none()) return;

    Tree::Entry entry;
    entry.kind = kind;
    entry.size_bytes = in.size_bytes();
    entry.read_only = in.read_only();
    entry.target = in.target();
    entry.junction = in.kind() == proto::JUNCTION;
    entry.reparse_tag = in.reparse_tag();
    constexpr uint32_t kNameSurrogate = 0x20000000;
    problems_.Require(entry.reparse_tag == 0 || (!is_link && !(entry.reparse_tag & kNameSurrogate)),
                      at, "reparse_tag",
                      "must be 0 for a link, and not have the bit of a name surrogate, 0x20000000");
    const std::optional<Tree::Id> id = Place(path->components(), std::move(entry), at, tree);
    if (id.has_value() && !in.mounted_volume_id().empty()) {
      const absl::StatusOr<VolumeId> mounted = VolumeId::Parse(in.mounted_volume_id());
      problems_.RequireOk(mounted.status(), at, "mounted_volume_id");
      if (!mounted.ok()) return;
      tree->SetMounted(*id, *mounted);
      if (!in.dangling()) mounts_.emplace_back(at, *mounted);
    }
  }

  // Adds an entry and the directories above the entry. A directory may exist already, for example
  // from the path of a file in it. Any other entry must not be listed twice.
  std::optional<Tree::Id> Place(const std::vector<std::string>& path, Tree::Entry entry,
                                const std::string& at, Tree* tree) {
    Tree::Id parent = Tree::kRoot;
    for (size_t i = 0; i < path.size() && files_ <= kMaxFiles; ++i) {
      const bool last = i + 1 == path.size();
      const std::optional<Tree::Id> found = tree->Find(parent, path[i]);
      if (found.has_value()) {
        problems_.Require(!last || (entry.kind == Tree::Kind::kDirectory &&
                                    tree->at(*found).kind == Tree::Kind::kDirectory),
                          at, "path", "appears twice");
        parent = *found;
        continue;
      }
      Tree::Entry added = last ? std::exchange(entry, {}) : Tree::Directory(path[i]);
      added.name = path[i];
      const absl::StatusOr<Tree::Id> made = tree->Add(parent, std::move(added));
      problems_.RequireOk(made.status(), at, "path");
      if (!made.ok()) return std::nullopt;
      ++files_;
      parent = *made;
    }
    return parent;
  }

  void ReadServer(const proto::SmbServer& in, const std::string& at) {
    SmbServer& server = state_.smb_servers.emplace_back();
    server.name = in.name();
    server.reachable = !in.unreachable();
    server.supports_privacy = !in.no_privacy();
    server.anonymous = in.anonymous();
    for (const proto::SmbUser& user : in.user()) {
      server.users.push_back({user.name(), Secret(user.password())});
    }
    for (int i = 0; i < in.share_size(); ++i) {
      SmbShare& share = server.shares.emplace_back();
      share.name = in.share(i).name();
      if (in.share(i).size_bytes() != 0) share.size_bytes = in.share(i).size_bytes();
      ReadFiles(in.share(i).file(), Element(at, "share", i), &share.tree);
    }
  }

  void ReadPortal(const proto::IscsiPortal& in, const std::string& at) {
    problems_.Require(in.port() <= 65535, at, "port", "is above 65535");
    IscsiPortalState& portal = state_.iscsi_portals.emplace_back();
    portal.portal.address = in.address();
    if (in.port() != 0) portal.portal.port = static_cast<uint16_t>(in.port());
    portal.reachable = !in.unreachable();
    portal.registered = in.registered();
    portal.discovery_chap = in.discovery_chap();
    for (int i = 0; i < in.target_size() && problems_.none(); ++i) {
      const proto::IscsiTarget& from = in.target(i);
      const std::string here = Element(at, "target", i);
      IscsiTarget target;
      target.iqn = from.iqn();
      target.chap = ReadEnum<ChapMode>(from.chap(), proto::Chap_MAX, here, "chap", &problems_);
      target.username = from.username();
      target.secret = Secret(from.secret());
      target.mutual_secret = Secret(from.mutual_secret());
      target.separate = from.separate();
      target.connected = from.connected();
      target.persistent = from.persistent();
      for (int d = 0; d < from.disk_size() && problems_.none(); ++d) {
        target.disks.push_back(ReadDisk(from.disk(d), Element(here, "disk", d)));
      }
      portal.targets.push_back(std::move(target));
      IscsiTarget& read = portal.targets.back();
      read.session_chap = PathsTo(state_, read).front()->chap;
    }
  }

  void ReadService(const proto::Service& in, const std::string& at) {
    Service& service = state_.services.emplace_back();
    service.name = in.name();
    service.display_name = in.display_name();
    service.start_type = ReadEnum<ServiceStartType>(in.start_type(), proto::StartType_MAX, at,
                                                    "start_type", &problems_);
    service.state =
        ReadEnum<ServiceState>(in.state(), proto::ServiceState_MAX, at, "state", &problems_);
    if (service.state == ServiceState::kUnknown) service.state = ServiceState::kStopped;
    service.depends_on.assign(in.depends_on().begin(), in.depends_on().end());
    service.start_latency = absl::Milliseconds(in.start_latency_ms());
    service.stop_latency = absl::Milliseconds(in.stop_latency_ms());
  }

  NodeState state_;
  Problems problems_;
  std::set<VolumeId> volume_ids_;
  std::vector<std::pair<std::string, VolumeId>> mounts_;
  size_t files_ = 0;
};

template <typename Result>
absl::StatusOr<Result> OrProblem(const Reader& reader, Result result) {
  if (!reader.problems().none()) return reader.problems().status();
  return result;
}

}  // namespace

absl::StatusOr<NodeState> StateFromProto(const proto::Node& node) { return Reader().Read(node); }

absl::StatusOr<Disk> DiskFromProto(const proto::Disk& disk) {
  Reader reader;
  Disk read = reader.ReadDisk(disk, "disk");
  return OrProblem(reader, std::move(read));
}

absl::StatusOr<Disk> DiskFor(Machine& machine, const proto::Disk& set) {
  proto::Disk disk = DiskToProto(machine.NewDisk());
  disk.MergeFrom(set);
  return DiskFromProto(disk);
}

absl::StatusOr<OtherOpen> OtherOpenFromProto(const proto::OtherOpen& open) {
  Reader reader;
  OtherOpen read = reader.ReadOtherOpen(open, "other_open");
  return OrProblem(reader, std::move(read));
}

absl::StatusOr<Behaviour> BehaviourFromProto(const proto::Behaviour& behaviour) {
  Reader reader;
  const Behaviour read = reader.ReadBehaviour(behaviour);
  return OrProblem(reader, read);
}

absl::StatusOr<FaultRule> FaultFromProto(const proto::Fault& fault) {
  Reader reader;
  FaultRule read = reader.ReadFault(fault, "fault");
  return OrProblem(reader, std::move(read));
}

}  // namespace csi_proxy::machine::simulator
