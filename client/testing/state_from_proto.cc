#include "client/testing/conversions.h"

namespace csi_proxy::simulated_node {
namespace {

// The enums must have the numbers of the messages' enums, because they are cast.
static_assert(static_cast<int>(FileKind::kJunction) == simulated::JUNCTION);
static_assert(static_cast<int>(FileKind::kLink) == simulated::LINK);
static_assert(static_cast<int>(PartitionType::kEfiSystem) == simulated::EFI_SYSTEM);
static_assert(static_cast<int>(PartitionStyle::kGpt) == simulated::GPT);

Volume VolumeFrom(const simulated::Volume& in) {
  Volume out;
  out.id = in.id();
  out.file_system = in.file_system();
  out.drive_letter = in.drive_letter();
  for (const simulated::File& file : in.file()) {
    out.files.push_back({.path = file.path(),
                         .kind = static_cast<FileKind>(file.kind()),
                         .size_bytes = file.size_bytes(),
                         .read_only = file.read_only(),
                         .target = file.target(),
                         .mounted_volume_id = file.mounted_volume_id(),
                         .dangling = file.dangling()});
  }
  return out;
}

Disk DiskFrom(const simulated::Disk& in) {
  Disk out;
  out.number = in.number();
  out.size_bytes = in.size_bytes();
  out.grown_size_bytes = in.grown_size_bytes();
  out.location = in.location();
  out.page83 = in.page83();
  out.serial_number = in.serial_number();
  out.style = static_cast<PartitionStyle>(in.style());
  out.offline = in.offline();
  out.read_only = in.read_only();
  out.awaits_rescan = in.awaits_rescan();
  for (const simulated::Partition& partition : in.partition()) {
    out.partitions.push_back({.number = partition.number(),
                              .type = static_cast<PartitionType>(partition.type()),
                              .offset_bytes = partition.offset_bytes(),
                              .size_bytes = partition.size_bytes()});
    if (partition.has_volume()) out.partitions.back().volume = VolumeFrom(partition.volume());
  }
  return out;
}

void ToProto(const Volume& in, simulated::Volume* out) {
  out->set_id(in.id);
  out->set_file_system(in.file_system);
  out->set_drive_letter(in.drive_letter);
  for (const File& file : in.files) {
    simulated::File* const added = out->add_file();
    added->set_path(file.path);
    added->set_kind(static_cast<simulated::FileKind>(file.kind));
    added->set_size_bytes(file.size_bytes);
    added->set_read_only(file.read_only);
    added->set_target(file.target);
    added->set_mounted_volume_id(file.mounted_volume_id);
    added->set_dangling(file.dangling);
  }
}

}  // namespace

State FromProto(const simulated::Node& node) {
  State state;
  state.bios_serial_number = node.bios_serial_number();
  for (const simulated::Disk& disk : node.disk()) state.disks.push_back(DiskFrom(disk));
  for (const simulated::SmbMapping& mapping : node.smb_mapping()) {
    state.smb_mappings.push_back({.remote_path = mapping.remote_path(),
                                  .username = mapping.username(),
                                  .broken = mapping.broken()});
  }
  for (const simulated::IscsiPortal& portal : node.iscsi_portal()) {
    state.iscsi_portals.push_back(
        {.address = portal.address(), .port = portal.port(), .registered = portal.registered()});
    for (const simulated::IscsiTarget& target : portal.target()) {
      IscsiTarget& added = state.iscsi_portals.back().targets.emplace_back();
      added.iqn = target.iqn();
      added.connected = target.connected();
      for (const simulated::Disk& disk : target.disk()) added.disks.push_back(DiskFrom(disk));
    }
  }
  for (const simulated::Service& service : node.service()) {
    state.services.push_back(
        {.name = service.name(), .running = service.state() == simulated::RUNNING});
  }
  return state;
}

simulated::Disk ToProto(const Disk& disk) {
  simulated::Disk out;
  out.set_number(disk.number);
  out.set_size_bytes(disk.size_bytes);
  out.set_grown_size_bytes(disk.grown_size_bytes);
  out.set_location(disk.location);
  out.set_page83(disk.page83);
  out.set_serial_number(disk.serial_number);
  out.set_style(static_cast<simulated::PartitionStyle>(disk.style));
  out.set_offline(disk.offline);
  out.set_read_only(disk.read_only);
  out.set_awaits_rescan(disk.awaits_rescan);
  for (const Partition& partition : disk.partitions) {
    simulated::Partition* const added = out.add_partition();
    added->set_number(partition.number);
    added->set_type(static_cast<simulated::PartitionType>(partition.type));
    added->set_offset_bytes(partition.offset_bytes);
    added->set_size_bytes(partition.size_bytes);
    if (partition.volume.has_value()) ToProto(*partition.volume, added->mutable_volume());
  }
  return out;
}

}  // namespace csi_proxy::simulated_node
