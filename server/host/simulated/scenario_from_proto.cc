// From a described node to a state: where everything a scenario says is checked.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/host/simulated/scenario.h"
#include "server/host/simulated/storage.h"

namespace csi_proxy::host::simulated {
namespace {

namespace proto = ::csi_proxy::simulated;

// More than any node has, and little enough for any machine to hold.
constexpr int kMaxDisks = 1024;
constexpr int kMaxPartitions = 128;
constexpr size_t kMaxFiles = 100'000;
constexpr int kMaxOthers = 10'000;
constexpr uint64_t kMaxBytes = uint64_t{1} << 60;
constexpr uint32_t kMaxMilliseconds = 10 * 60 * 1000;
constexpr size_t kMaxText = 4096;

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckText(absl::string_view where, const std::string& text, bool may_be_empty) {
  if (text.empty() && !may_be_empty) return Bad(where, ": is missing");
  if (text.size() > kMaxText) return Bad(where, ": is longer than ", kMaxText, " bytes");
  if (absl::StrContains(text, '\0')) return Bad(where, ": holds a NUL");
  return absl::OkStatus();
}

absl::Status CheckCount(absl::string_view where, int count, int limit) {
  if (count > limit) return Bad(where, ": there are ", count, ", more than ", limit);
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> Latency(absl::string_view where, uint32_t milliseconds) {
  if (milliseconds > kMaxMilliseconds) return Bad(where, ": is more than ten minutes");
  return absl::Milliseconds(milliseconds);
}

// A name that can stand as one component of a path.
absl::Status CheckName(absl::string_view where, const std::string& name) {
  if (absl::Status s = CheckText(where, name, false); !s.ok()) return s;
  const absl::StatusOr<WindowsPath> path = WindowsPath::Parse(where, absl::StrCat("C:\\", name));
  if (!path.ok()) return path.status();
  if (path->components().size() != 1) return Bad(where, ": is not one name");
  return absl::OkStatus();
}

class Reader {
 public:
  absl::StatusOr<NodeState> Read(const proto::Node& node) {
    if (absl::Status s = CheckText("bios_serial_number", node.bios_serial_number(), true); !s.ok())
      return s;
    state_.bios_serial_number = node.bios_serial_number();
    if (node.volume_arrival_ms() > 60'000) return Bad("volume_arrival_ms: is more than a minute");
    state_.volume_arrival_delay = absl::Milliseconds(node.volume_arrival_ms());
    state_.volumes_made = node.volumes_made();
    if (absl::Status s =
            CheckText("iscsi_mutual_chap_secret", node.iscsi_mutual_chap_secret(), true);
        !s.ok())
      return s;
    state_.iscsi_mutual_chap_secret = Secret(node.iscsi_mutual_chap_secret());
    if (absl::Status s = CheckCount("disk", node.disk_size(), kMaxDisks); !s.ok()) return s;
    // Given ids first, so that made ones keep clear of them.
    for (int i = 0; i < node.disk_size(); ++i) {
      absl::StatusOr<Disk> disk = ReadDisk(absl::StrCat("disk[", i, "]"), node.disk(i));
      if (!disk.ok()) return disk.status();
      state_.disks.push_back(*std::move(disk));
    }
    if (absl::Status s = ReadSmb(node); !s.ok()) return s;
    if (absl::Status s = ReadIscsi(node); !s.ok()) return s;
    if (absl::Status s = ReadServices(node); !s.ok()) return s;
    if (absl::Status s = CheckCount("fault", node.fault_size(), kMaxOthers); !s.ok()) return s;
    for (int i = 0; i < node.fault_size(); ++i) {
      absl::StatusOr<FaultRule> fault = FaultFromProto(node.fault(i));
      if (!fault.ok()) return Bad("fault[", i, "].", fault.status().message());
      state_.faults.push_back(*std::move(fault));
    }
    if (absl::Status s = CheckMounts(); !s.ok()) return s;
    return std::move(state_);
  }

  absl::StatusOr<Disk> ReadDisk(const std::string& where, const proto::Disk& in) {
    Disk disk;
    disk.number = in.number();
    if (!disk_numbers_.insert(disk.number).second) {
      return Bad(where, ".number: ", disk.number, " is taken by another disk");
    }
    for (const auto& [name, text] :
         {std::pair{"location", &in.location()}, std::pair{"page83", &in.page83()},
          std::pair{"serial_number", &in.serial_number()}}) {
      if (absl::Status s = CheckText(absl::StrCat(where, ".", name), *text, true); !s.ok())
        return s;
    }
    if (in.size_bytes() == 0 || in.size_bytes() > kMaxBytes) {
      return Bad(where, ".size_bytes: ", in.size_bytes(), " is not from 1 to 2^60");
    }
    if (in.grown_size_bytes() != 0 &&
        (in.grown_size_bytes() <= in.size_bytes() || in.grown_size_bytes() > kMaxBytes)) {
      return Bad(where, ".grown_size_bytes: ", in.grown_size_bytes(),
                 " is not from above size_bytes to 2^60");
    }
    disk.size_bytes = in.size_bytes();
    disk.grown_size_bytes = in.grown_size_bytes();
    disk.location = in.location();
    disk.page83 = in.page83();
    if (in.has_page83_error()) disk.page83_error = ReadError(in.page83_error());
    disk.serial_number = in.serial_number();
    switch (in.style()) {
      case proto::RAW:
        disk.style = PartitionStyle::kRaw;
        break;
      case proto::MBR:
        disk.style = PartitionStyle::kMbr;
        break;
      case proto::GPT:
        disk.style = PartitionStyle::kGpt;
        break;
      default:
        return Bad(where, ".style: ", in.style(), " is no partition style");
    }
    disk.online = !in.offline();
    disk.read_only = in.read_only();
    disk.awaits_rescan = in.awaits_rescan();
    if (in.partition_size() > 0 && disk.style == PartitionStyle::kRaw) {
      return Bad(where, ".partition: a raw disk has none");
    }
    if (absl::Status s = CheckCount(where + ".partition", in.partition_size(), kMaxPartitions);
        !s.ok()) {
      return s;
    }
    uint64_t behind = kDiskMargin;
    std::set<uint32_t> numbers;
    for (int i = 0; i < in.partition_size(); ++i) {
      absl::StatusOr<DiskPartition> partition = ReadPartition(
          absl::StrCat(where, ".partition[", i, "]"), in.partition(i), disk, behind, &numbers);
      if (!partition.ok()) return partition.status();
      behind = partition->offset_bytes + partition->size_bytes;
      disk.partitions.push_back(*std::move(partition));
    }
    return disk;
  }

  static WindowsError ReadError(const proto::WindowsError& in) {
    WindowsError error = KnownError(in.code());
    if (!in.text().empty()) error.text = in.text().substr(0, kMaxText);
    return error;
  }

 private:
  absl::StatusOr<DiskPartition> ReadPartition(const std::string& where, const proto::Partition& in,
                                              const Disk& disk, uint64_t behind,
                                              std::set<uint32_t>* numbers) {
    DiskPartition partition;
    partition.number = in.number() != 0 ? in.number() : static_cast<uint32_t>(numbers->size()) + 1;
    if (partition.number > 1024) return Bad(where, ".number: is above 1024");
    if (!numbers->insert(partition.number).second) {
      return Bad(where, ".number: ", partition.number, " is taken by another partition");
    }
    switch (in.type()) {
      case proto::BASIC:
        partition.type = PartitionType::kBasic;
        break;
      case proto::MICROSOFT_RESERVED:
        partition.type = PartitionType::kMicrosoftReserved;
        break;
      case proto::EFI_SYSTEM:
        partition.type = PartitionType::kEfiSystem;
        break;
      default:
        return Bad(where, ".type: ", in.type(), " is no partition type");
    }
    partition.offset_bytes = in.offset_bytes() != 0 ? in.offset_bytes() : behind;
    if (partition.offset_bytes < behind) {
      return Bad(where, ".offset_bytes: lies in what is before it");
    }
    partition.size_bytes = in.size_bytes();
    if (partition.size_bytes == 0 || partition.offset_bytes > disk.size_bytes ||
        partition.size_bytes > disk.size_bytes - partition.offset_bytes) {
      return Bad(where, ".size_bytes: ", partition.size_bytes, " does not fit the disk");
    }
    if (in.arriving()) partition.arrives_at = absl::InfiniteFuture();
    if (!in.has_volume()) return partition;
    if (partition.type != PartitionType::kBasic) {
      return Bad(where, ".volume: only a basic partition holds one");
    }
    absl::StatusOr<Volume> volume = ReadVolume(where + ".volume", in.volume(), disk, partition);
    if (!volume.ok()) return volume.status();
    partition.volume = *std::move(volume);
    return partition;
  }

  absl::StatusOr<Volume> ReadVolume(const std::string& where, const proto::Volume& in,
                                    const Disk& disk, const DiskPartition& partition) {
    const absl::StatusOr<VolumeId> id =
        in.id().empty() ? MakeVolumeId(state_, disk, partition.number) : VolumeId::Parse(in.id());
    if (!id.ok()) return Bad(where, ".id: ", id.status().message());
    if (!volume_ids_.insert(*id).second) return Bad(where, ".id: another volume has it");
    Volume volume{*id, in.file_system(), 0, Tree()};
    if (absl::Status s = CheckText(where + ".file_system", in.file_system(), true); !s.ok())
      return s;
    if (!in.drive_letter().empty()) {
      const char letter = absl::ascii_toupper(static_cast<unsigned char>(in.drive_letter()[0]));
      if (in.drive_letter().size() != 1 || letter < 'A' || letter > 'Z') {
        return Bad(where, ".drive_letter: is not one letter");
      }
      if (!drive_letters_.insert(letter).second) {
        return Bad(where, ".drive_letter: another volume has it");
      }
      volume.drive_letter = letter;
    }
    if (in.file_size() > 0 && volume.file_system.empty()) {
      return Bad(where, ".file: a volume without a file system has none");
    }
    if (absl::Status s = ReadFiles(where, in.file(), true, &volume.tree); !s.ok()) return s;
    if (volume.tree.file_bytes() > partition.size_bytes) {
      return Bad(where, ".file: the files do not fit the partition");
    }
    return volume;
  }

  template <typename Files>
  absl::Status ReadFiles(const std::string& where, const Files& files, bool with_links,
                         Tree* tree) {
    for (int i = 0; i < files.size(); ++i) {
      const std::string at = absl::StrCat(where, ".file[", i, "]");
      if (++files_ > kMaxFiles) return Bad(at, ": there are more than ", kMaxFiles, " files");
      if (absl::Status s = ReadFile(at, files[i], with_links, tree); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status ReadFile(const std::string& where, const proto::File& in, bool with_links,
                        Tree* tree) {
    const absl::StatusOr<WindowsPath> path =
        WindowsPath::Parse(where + ".path", absl::StrCat("C:\\", in.path()));
    if (!path.ok()) return path.status();
    if (path->components().empty()) return Bad(where, ".path: is missing");
    if (path->components().size() > 128) return Bad(where, ".path: is deeper than 128");
    Tree::Id parent = Tree::kRoot;
    for (size_t i = 0; i + 1 < path->components().size(); ++i) {
      const std::string& name = path->components()[i];
      if (const auto found = tree->Find(parent, name); found.has_value()) {
        parent = *found;
        continue;
      }
      Tree::Entry directory;
      directory.name = name;
      const absl::StatusOr<Tree::Id> made = tree->Add(parent, std::move(directory));
      if (!made.ok()) return Bad(where, ".path: ", made.status().message());
      parent = *made;
    }
    const std::string& name = path->components().back();
    Tree::Entry entry;
    entry.name = name;
    if (in.kind() != proto::FILE && (in.size_bytes() != 0 || in.read_only())) {
      return Bad(where, ": only a file has size_bytes and read_only");
    }
    if ((in.kind() == proto::LINK) == in.target().empty()) {
      return Bad(where, ".target: is given for links, and for links alone");
    }
    if (in.kind() != proto::DIRECTORY && !in.mounted_volume_id().empty()) {
      return Bad(where, ".mounted_volume_id: only a directory has one");
    }
    if (!with_links && (in.kind() == proto::LINK || !in.mounted_volume_id().empty())) {
      return Bad(where, ": a share holds no links and mount points");
    }
    switch (in.kind()) {
      case proto::DIRECTORY:
        break;
      case proto::FILE:
        if (in.size_bytes() > kMaxBytes) return Bad(where, ".size_bytes: is above 2^60");
        entry.kind = Tree::Kind::kFile;
        entry.size_bytes = in.size_bytes();
        entry.read_only = in.read_only();
        break;
      case proto::LINK: {
        entry.kind = Tree::Kind::kLink;
        entry.target = in.target();
        const bool unc = absl::StartsWith(in.target(), "\\\\");
        const absl::Status s = unc ? UncPath::Parse(where + ".target", in.target()).status()
                                   : WindowsPath::Parse(where + ".target", in.target()).status();
        if (!s.ok()) return s;
        break;
      }
      default:
        return Bad(where, ".kind: ", in.kind(), " is no kind of file");
    }
    Tree::Id id;
    if (const auto found = tree->Find(parent, name); found.has_value()) {
      // Named before as the directory above another.
      if (entry.kind != Tree::Kind::kDirectory || tree->at(*found).kind != Tree::Kind::kDirectory) {
        return Bad(where, ".path: stands twice");
      }
      id = *found;
    } else {
      const absl::StatusOr<Tree::Id> made = tree->Add(parent, std::move(entry));
      if (!made.ok()) return Bad(where, ".path: ", made.status().message());
      id = *made;
    }
    if (!in.mounted_volume_id().empty()) {
      const absl::StatusOr<VolumeId> mounted = VolumeId::Parse(in.mounted_volume_id());
      if (!mounted.ok()) {
        return Bad(where, ".mounted_volume_id: ", mounted.status().message());
      }
      tree->SetMounted(id, *mounted);
      mounts_.emplace_back(where, *mounted);
    }
    return absl::OkStatus();
  }

  // A mount names a volume that is described.
  absl::Status CheckMounts() const {
    for (const auto& [where, id] : mounts_) {
      if (!volume_ids_.contains(id)) {
        return Bad(where, ".mounted_volume_id: there is no volume ", id.ToString());
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadSmb(const proto::Node& node) {
    if (absl::Status s = CheckCount("smb_server", node.smb_server_size(), kMaxOthers); !s.ok())
      return s;
    std::set<std::string> servers;
    for (int i = 0; i < node.smb_server_size(); ++i) {
      const proto::SmbServer& in = node.smb_server(i);
      const std::string where = absl::StrCat("smb_server[", i, "]");
      if (absl::Status s = CheckName(where + ".name", in.name()); !s.ok()) return s;
      if (!servers.insert(FoldName(in.name())).second) return Bad(where, ".name: stands twice");
      SmbServer server;
      server.name = in.name();
      server.reachable = !in.unreachable();
      server.supports_privacy = !in.no_privacy();
      for (int j = 0; j < in.user_size(); ++j) {
        const std::string user = absl::StrCat(where, ".user[", j, "]");
        if (absl::Status s = CheckText(user + ".name", in.user(j).name(), false); !s.ok()) return s;
        if (absl::Status s = CheckText(user + ".password", in.user(j).password(), true); !s.ok())
          return s;
        server.users.push_back({in.user(j).name(), Secret(in.user(j).password())});
      }
      std::set<std::string> shares;
      for (int j = 0; j < in.share_size(); ++j) {
        const std::string at = absl::StrCat(where, ".share[", j, "]");
        if (absl::Status s = CheckName(at + ".name", in.share(j).name()); !s.ok()) return s;
        if (!shares.insert(FoldName(in.share(j).name())).second) {
          return Bad(at, ".name: stands twice");
        }
        SmbShare share{in.share(j).name(), Tree()};
        if (absl::Status s = ReadFiles(at, in.share(j).file(), false, &share.tree); !s.ok())
          return s;
        server.shares.push_back(std::move(share));
      }
      state_.smb_servers.push_back(std::move(server));
    }
    std::set<std::string> mappings;
    for (int i = 0; i < node.smb_mapping_size(); ++i) {
      const std::string where = absl::StrCat("smb_mapping[", i, "].remote_path");
      const absl::StatusOr<UncPath> path = UncPath::Parse(where, node.smb_mapping(i).remote_path());
      if (!path.ok()) return path.status();
      if (!mappings.insert(path->Share()).second) return Bad(where, ": stands twice");
      state_.smb_mappings.push_back(
          {path->Share(), node.smb_mapping(i).username(), node.smb_mapping(i).broken()});
    }
    return absl::OkStatus();
  }

  absl::Status ReadIscsi(const proto::Node& node) {
    if (absl::Status s = CheckCount("iscsi_portal", node.iscsi_portal_size(), kMaxOthers); !s.ok())
      return s;
    std::set<std::string> portals, iqns;
    for (int i = 0; i < node.iscsi_portal_size(); ++i) {
      const proto::IscsiPortal& in = node.iscsi_portal(i);
      const std::string where = absl::StrCat("iscsi_portal[", i, "]");
      if (absl::Status s = CheckText(where + ".address", in.address(), false); !s.ok()) return s;
      if (in.port() > 65535) return Bad(where, ".port: ", in.port(), " is above 65535");
      IscsiPortalState portal;
      portal.portal = {in.address(), static_cast<uint16_t>(in.port() == 0 ? 3260 : in.port())};
      portal.reachable = !in.unreachable();
      portal.registered = in.registered();
      if (!portals.insert(absl::StrCat(FoldName(in.address()), ":", portal.portal.port)).second) {
        return Bad(where, ": stands twice");
      }
      for (int j = 0; j < in.target_size(); ++j) {
        const std::string at = absl::StrCat(where, ".target[", j, "]");
        absl::StatusOr<IscsiTarget> target = ReadTarget(at, in.target(j));
        if (!target.ok()) return target.status();
        if (!iqns.insert(FoldName(target->iqn)).second) return Bad(at, ".iqn: stands twice");
        portal.targets.push_back(*std::move(target));
      }
      state_.iscsi_portals.push_back(std::move(portal));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<IscsiTarget> ReadTarget(const std::string& where, const proto::IscsiTarget& in) {
    for (const auto& [name, text, may_be_empty] :
         {std::tuple{"iqn", &in.iqn(), false}, std::tuple{"username", &in.username(), true},
          std::tuple{"secret", &in.secret(), true},
          std::tuple{"mutual_secret", &in.mutual_secret(), true}}) {
      if (absl::Status s = CheckText(absl::StrCat(where, ".", name), *text, may_be_empty); !s.ok())
        return s;
    }
    IscsiTarget target;
    target.iqn = in.iqn();
    switch (in.chap()) {
      case proto::NONE:
        target.chap = ChapMode::kNone;
        break;
      case proto::ONE_WAY:
        target.chap = ChapMode::kOneWay;
        break;
      case proto::MUTUAL:
        target.chap = ChapMode::kMutual;
        break;
      default:
        return Bad(where, ".chap: ", in.chap(), " is no kind of CHAP");
    }
    target.username = in.username();
    target.secret = Secret(in.secret());
    target.mutual_secret = Secret(in.mutual_secret());
    target.connected = in.connected();
    if (absl::Status s = CheckCount(where + ".disk", in.disk_size(), kMaxDisks); !s.ok()) return s;
    for (int i = 0; i < in.disk_size(); ++i) {
      absl::StatusOr<Disk> disk = ReadDisk(absl::StrCat(where, ".disk[", i, "]"), in.disk(i));
      if (!disk.ok()) return disk.status();
      target.disks.push_back(*std::move(disk));
    }
    return target;
  }

  absl::Status ReadServices(const proto::Node& node) {
    if (absl::Status s = CheckCount("service", node.service_size(), kMaxOthers); !s.ok()) return s;
    std::set<std::string> names;
    for (int i = 0; i < node.service_size(); ++i) {
      const proto::Service& in = node.service(i);
      const std::string where = absl::StrCat("service[", i, "]");
      if (absl::Status s = CheckText(where + ".name", in.name(), false); !s.ok()) return s;
      if (!names.insert(FoldName(in.name())).second) return Bad(where, ".name: stands twice");
      if (in.start_type() < 0 || in.start_type() > 4) {
        return Bad(where, ".start_type: ", in.start_type(), " is no start type");
      }
      if (in.state() < 0 || in.state() > 7) {
        return Bad(where, ".state: ", in.state(), " is no state");
      }
      Service service;
      service.name = in.name();
      service.display_name = in.display_name();
      service.start_type = static_cast<ServiceStartType>(in.start_type());
      service.state =
          in.state() == 0 ? ServiceState::kStopped : static_cast<ServiceState>(in.state());
      const absl::StatusOr<absl::Duration> start =
          Latency(where + ".start_latency_ms", in.start_latency_ms());
      const absl::StatusOr<absl::Duration> stop =
          Latency(where + ".stop_latency_ms", in.stop_latency_ms());
      if (!start.ok()) return start.status();
      if (!stop.ok()) return stop.status();
      service.start_latency = *start;
      service.stop_latency = *stop;
      service.depends_on.assign(in.depends_on().begin(), in.depends_on().end());
      state_.services.push_back(std::move(service));
    }
    for (size_t i = 0; i < state_.services.size(); ++i) {
      for (const std::string& name : state_.services[i].depends_on) {
        if (!names.contains(FoldName(name))) {
          return Bad("service[", i, "].depends_on: there is no service ", name);
        }
      }
    }
    return absl::OkStatus();
  }

  NodeState state_;
  std::set<uint32_t> disk_numbers_;
  std::set<VolumeId> volume_ids_;
  std::set<char> drive_letters_;
  std::vector<std::pair<std::string, VolumeId>> mounts_;
  size_t files_ = 0;
};

// Collects what the text parser complains of, with its place.
class Errors final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Errors(absl::string_view file) : file_(file) {}
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) text_ += "\n";
    absl::StrAppend(&text_, file_, ":", line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string file_;
  std::string text_;
};

}  // namespace

absl::StatusOr<NodeState> StateFromProto(const proto::Node& node) { return Reader().Read(node); }

absl::StatusOr<Disk> DiskFromProto(const proto::Disk& disk) {
  return Reader().ReadDisk("disk", disk);
}

absl::StatusOr<FaultRule> FaultFromProto(const proto::Fault& in) {
  if (absl::Status s = CheckText("operation", in.operation(), false); !s.ok()) return s;
  if (absl::Status s = CheckText("resource", in.resource(), true); !s.ok()) return s;
  FaultRule rule;
  rule.operation = in.operation();
  rule.resource = in.resource();
  rule.times = in.times();
  const absl::StatusOr<absl::Duration> latency = Latency("latency_ms", in.latency_ms());
  if (!latency.ok()) return latency.status();
  rule.latency = *latency;
  if (!in.code().empty()) {
    for (int code = 1; code <= 16 && rule.code == absl::StatusCode::kOk; ++code) {
      const auto candidate = static_cast<absl::StatusCode>(code);
      if (absl::StatusCodeToString(candidate) == in.code()) rule.code = candidate;
    }
    if (rule.code == absl::StatusCode::kOk) {
      return Bad("code: \"", absl::CEscape(in.code().substr(0, 64)),
                 "\" is no status code such as INTERNAL");
    }
  }
  rule.error = Reader::ReadError(in.error());
  return rule;
}

absl::StatusOr<std::unique_ptr<Node>> LoadScenario(absl::string_view textproto,
                                                   absl::string_view file_name) {
  proto::Node node;
  Errors errors(file_name);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(32);
  if (!parser.ParseFromString(std::string(textproto), &node)) {
    return absl::InvalidArgumentError(errors.text());
  }
  absl::StatusOr<NodeState> state = StateFromProto(node);
  if (!state.ok()) return Bad(file_name, ": ", state.status().message());
  return std::make_unique<Node>(*std::move(state));
}

}  // namespace csi_proxy::host::simulated
