#include <google/protobuf/util/json_util.h>

#include <set>

#include "csi_proxy/steady_time.h"
#include "server/machine/access.h"
#include "server/simulator/scenario.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

namespace proto = ::csi_proxy::simulated;

std::string Masked(const Secret& secret) { return secret.empty() ? "" : "<secret>"; }

void WriteError(const WindowsError& error, proto::WindowsError* out) {
  out->set_code(error.code);
  out->set_text(error.text);
}

// Converts a tree. A mount of a volume that is not in `volumes` is dangling.
template <typename Files>
void WriteFiles(const Tree& tree, const std::set<VolumeId>& volumes, Files* files) {
  for (const Tree::Id id : tree.Walk()) {
    const Tree::Entry& entry = tree.at(id);
    proto::File* const file = files->Add();
    file->set_path(tree.PathOf(id));
    file->set_reparse_tag(entry.reparse_tag);
    file->set_kind(entry.kind == Tree::Kind::kFile   ? proto::FILE
                   : entry.junction                  ? proto::JUNCTION
                   : entry.kind == Tree::Kind::kLink ? proto::LINK
                                                     : proto::DIRECTORY);
    file->set_size_bytes(entry.size_bytes);
    file->set_read_only(entry.read_only);
    file->set_target(entry.target);
    if (!entry.mounted.has_value()) continue;
    file->set_mounted_volume_id(entry.mounted->ToString());
    file->set_dangling(!volumes.contains(*entry.mounted));
  }
}

void WriteDisk(const Disk& disk, SteadyTime now, const std::set<VolumeId>& volumes,
               proto::Disk* out) {
  out->set_number(disk.number);
  out->set_size_bytes(disk.size_bytes);
  out->set_grown_size_bytes(disk.grown_size_bytes);
  out->set_location(disk.location);
  out->set_page83(disk.page83);
  if (disk.page83_error.has_value()) WriteError(*disk.page83_error, out->mutable_page83_error());
  out->set_serial_number(disk.serial_number);
  out->set_style(static_cast<proto::PartitionStyle>(disk.style));
  if (disk.sector_bytes != kSectorBytes) out->set_sector_bytes(disk.sector_bytes);
  out->set_offline(!disk.online);
  out->set_read_only(disk.read_only);
  out->set_awaits_rescan(disk.awaits_rescan);
  out->set_arriving(disk.arrives_at > now);
  out->set_without_number(disk.without_number);
  WriteDiskFacts(disk.facts, out);
  WriteForeign(disk.foreign, out);
  for (const DiskPartition& partition : disk.partitions) {
    proto::Partition* const p = out->add_partition();
    p->set_number(partition.number);
    p->set_type(static_cast<proto::PartitionType>(partition.type));
    p->set_offset_bytes(partition.offset_bytes);
    p->set_size_bytes(partition.size_bytes);
    p->set_arriving(partition.arrives_at > now);
    p->set_uncached(partition.cached_at > now);
    p->set_awaits_online(partition.awaits_online);
    p->set_mounted_read_only(partition.mounted_read_only);
    p->set_active(partition.active);
    if (!partition.volume.has_value()) continue;
    proto::Volume* const volume = p->mutable_volume();
    volume->set_id(partition.volume->id.ToString());
    volume->set_file_system(partition.volume->file_system);
    volume->set_label(partition.volume->label);
    volume->set_health(static_cast<proto::VolumeHealth>(partition.volume->health));
    volume->set_dirty(partition.volume->dirty);
    volume->set_file_system_bytes(partition.volume->file_system_bytes);
    volume->set_read_only(partition.volume->read_only);
    volume->set_allocation_unit_bytes(partition.volume->allocation_unit_bytes);
    for (const std::string& folder : partition.volume->stale_folders) {
      volume->add_stale_folder(folder);
    }
    if (const char letter = partition.volume->drive_letter; letter != 0) {
      volume->set_drive_letter(std::string(1, letter));
    }
    WriteFiles(partition.volume->tree, volumes, volume->mutable_file());
  }
}

void WriteIscsi(const NodeState& state, SteadyTime now, const std::set<VolumeId>& volumes,
                proto::Node* node) {
  node->set_iscsi_mutual_chap_secret(Masked(state.iscsi_mutual_chap_secret));
  for (const IscsiPortalState& portal : state.iscsi_portals) {
    proto::IscsiPortal* const out = node->add_iscsi_portal();
    out->set_address(portal.portal.address);
    out->set_port(portal.portal.port);
    out->set_unreachable(!portal.reachable);
    out->set_registered(portal.registered);
    out->set_discovery_chap(portal.discovery_chap);
    for (const IscsiTarget& target : portal.targets) {
      proto::IscsiTarget* const t = out->add_target();
      t->set_iqn(target.iqn);
      t->set_chap(static_cast<proto::Chap>(target.chap));
      t->set_username(target.username);
      t->set_secret(Masked(target.secret));
      t->set_mutual_secret(Masked(target.mutual_secret));
      t->set_separate(target.separate);
      t->set_connected(target.connected);
      t->set_persistent(target.persistent);
      for (const Disk& disk : target.disks) WriteDisk(disk, now, volumes, t->add_disk());
    }
  }
}

void WriteSmb(const NodeState& state, proto::Node* node) {
  for (const SmbServer& server : state.smb_servers) {
    proto::SmbServer* const out = node->add_smb_server();
    out->set_name(server.name);
    out->set_unreachable(!server.reachable);
    out->set_no_privacy(!server.supports_privacy);
    out->set_anonymous(server.anonymous);
    for (const SmbUser& user : server.users) {
      proto::SmbUser* const u = out->add_user();
      u->set_name(user.name);
      u->set_password(Masked(user.password));
    }
    for (const SmbShare& share : server.shares) {
      proto::SmbShare* const s = out->add_share();
      s->set_name(share.name);
      if (share.size_bytes != SmbShare::kDefaultBytes) s->set_size_bytes(share.size_bytes);
      WriteFiles(share.tree, {}, s->mutable_file());
    }
  }
  for (const SmbMappingState& mapping : state.smb_mappings) {
    proto::SmbMapping* const out = node->add_smb_mapping();
    out->set_remote_path(mapping.remote_path);
    out->set_username(mapping.username);
    out->set_broken(mapping.broken);
    out->set_idle(mapping.idle);
    out->set_local_path(mapping.local_path);
    out->set_persistent(mapping.persistent);
    out->set_restored(mapping.restored);
    out->set_denied(mapping.denied);
  }
}

std::set<VolumeId> Volumes(const NodeState& state) {
  std::set<VolumeId> volumes;
  const auto add = [&](const std::vector<Disk>& disks) {
    for (const Disk& disk : disks) {
      for (const DiskPartition& partition : disk.partitions) {
        if (partition.volume.has_value()) volumes.insert(partition.volume->id);
      }
    }
  };
  add(state.disks);
  for (const IscsiPortalState& portal : state.iscsi_portals) {
    for (const IscsiTarget& target : portal.targets) add(target.disks);
  }
  return volumes;
}

uint32_t Milliseconds(absl::Duration duration) {
  return static_cast<uint32_t>(absl::ToInt64Milliseconds(duration));
}

void WriteBehaviour(const Behaviour& behaviour, proto::Behaviour* out) {
  out->set_volume_cache_ms(Milliseconds(behaviour.volume_cache_delay));
  out->set_out_parameters(static_cast<proto::OutParameters>(behaviour.out_parameters));
  out->set_automount_disabled(behaviour.automount_disabled);
  out->set_mount_calls_share(behaviour.mount_calls_share);
  out->set_plain_deletion(behaviour.plain_deletion);
  out->set_delete_pending_is_denied(behaviour.delete_pending_is_denied);
  out->set_online_makes_read_only(behaviour.online_makes_read_only);
  out->set_resize_reserve_bytes(behaviour.resize_reserve_bytes);
  out->set_stale_mount_entries(behaviour.stale_mount_entries);
  out->set_clearing_read_only_remounts(behaviour.clearing_read_only_remounts);
  out->set_open_files_keep_online(behaviour.open_files_keep_online);
  out->set_mpio(behaviour.mpio);
}

void WriteOtherOpen(const OtherOpen& open, proto::OtherOpen* out) {
  out->set_path(open.path);
  out->set_process_id(static_cast<uint32_t>(open.process_id));
  out->set_image_name(open.image_name);
  const struct {
    proto::Right name;
    uint32_t access;
    uint32_t share;
  } rows[] = {{proto::READING, right::kReadData, share::kRead},
              {proto::WRITING, right::kWriteData, share::kWrite},
              {proto::DELETING, right::kDelete, share::kDelete}};
  for (const auto& row : rows) {
    if ((open.access & row.access) != 0) out->add_access(row.name);
    if ((open.share & row.share) != 0) out->add_share(row.name);
  }
}

}  // namespace

proto::Disk DiskToProto(const Disk& disk) {
  proto::Disk out;
  WriteDisk(disk, SteadyTime::Now(), {}, &out);
  return out;
}

proto::Node StateToProto(const NodeState& state) {
  const SteadyTime now = SteadyTime::Now();
  proto::Node node;
  node.set_bios_serial_number(state.bios_serial_number);
  node.set_volume_arrival_ms(Milliseconds(state.volume_arrival_delay));
  node.set_volumes_made(state.volumes_made);
  WriteBehaviour(state.behaviour, node.mutable_behaviour());
  const std::set<VolumeId> volumes = Volumes(state);
  for (const Disk& disk : state.disks) WriteDisk(disk, now, volumes, node.add_disk());
  WriteSmb(state, &node);
  WriteIscsi(state, now, volumes, &node);
  for (const Service& service : state.services) {
    proto::Service* const out = node.add_service();
    out->set_name(service.name);
    out->set_display_name(service.display_name);
    out->set_start_type(static_cast<proto::StartType>(service.start_type));
    out->set_state(static_cast<proto::ServiceState>(service.state));
    for (const std::string& name : service.depends_on) out->add_depends_on(name);
    out->set_start_latency_ms(Milliseconds(service.start_latency));
    out->set_stop_latency_ms(Milliseconds(service.stop_latency));
  }
  if (state.attach.has_value()) {
    proto::Attach* const attach = node.mutable_attach();
    WriteDisk(state.attach->disk, now, volumes, attach->mutable_disk());
    attach->set_first_place(state.attach->first_place);
    attach->set_arrival_ms(Milliseconds(state.attach->arrival_delay));
  }
  for (const OtherOpen& open : state.other_opens) WriteOtherOpen(open, node.add_other_open());
  for (const FaultRule& rule : state.faults) {
    proto::Fault* const out = node.add_fault();
    out->set_operation(rule.operation);
    out->set_resource(rule.resource);
    out->set_times(rule.times);
    out->set_latency_ms(Milliseconds(rule.latency));
    out->set_stuck(rule.stuck);
    out->set_goes_on(rule.goes_on);
    out->set_objects(static_cast<proto::AnsweredObjects>(rule.objects));
    if (rule.code != absl::StatusCode::kOk) out->set_code(absl::StatusCodeToString(rule.code));
    WriteError(rule.error, out->mutable_error());
  }
  return node;
}

std::string ToJson(const proto::Node& node) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Cannot fail: every field of a Machine has a JSON form.
  (void)google::protobuf::util::MessageToJsonString(node, &json, options);
  return json;
}

}  // namespace csi_proxy::machine::simulator
