// Draws nodes at random: Windows' own disks and disks of every kind, in any order, with names that
// may collide, on a machine that is strict in some ways. A seed gives the same node everywhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/simulator/core.h"
#include "server/simulator/node.pb.h"

namespace csi_proxy::storage {

namespace proto = ::csi_proxy::simulated;

// Draws the same numbers on every platform, unlike <random>'s distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : next_(seed) {}

  uint64_t Below(uint64_t end) { return next_() % end; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename T>
  T Of(const std::vector<T>& all) {
    return all[Below(all.size())];
  }

 private:
  std::mt19937_64 next_;
};

class RandomNode {
 public:
  static constexpr uint64_t kMiB = uint64_t{1} << 20;
  static constexpr uint64_t kGiB = uint64_t{1} << 30;

  explicit RandomNode(Random* random) : random_(*random) {}

  proto::Node Make() {
    proto::Node node;
    *node.mutable_behaviour() = MakeBehaviour();
    node.set_volume_arrival_ms(random_.Of<uint32_t>({0, 0, 150, 3000}));
    if (random_.OneIn(2)) {
      node.mutable_attach()->set_arrival_ms(random_.Of<uint32_t>({0, 200, 7000}));
    }
    std::vector<proto::Disk> disks = OthersOfWindows();
    for (uint64_t count = 1 + random_.Below(5); count > 0; --count) {
      disks.push_back(DataDisk());
      if (random_.OneIn(4)) MountOutside(&disks.back());
      if (random_.OneIn(5) && disks.back().style() != proto::RAW && !disks.back().offline()) {
        disks.push_back(CopyOf(&disks.back()));
      }
    }
    disks.push_back(DiskOfC());
    // Windows may be on any disk, and the numbers may have gaps.
    for (uint32_t number = 0; !disks.empty(); ++number) {
      const auto next = disks.begin() + static_cast<int64_t>(random_.Below(disks.size()));
      if (random_.OneIn(6)) ++number;
      next->set_number(number);
      *(next->bus_type() == proto::BUS_ISCSI ? Target(&node)->add_disk() : node.add_disk()) = *next;
      disks.erase(next);
    }
    return node;
  }

  // Draws a disk that may be a driver's, belong to another system, or have a letter.
  proto::Disk DataDisk() {
    proto::Disk disk = NewDisk((64 + random_.Below(2048)) * kMiB);
    Fill(&disk);
    disk.set_offline(random_.OneIn(3));
    if (disk.offline() && random_.OneIn(2)) disk.set_offline_reason(proto::OFFLINE_POLICY);
    disk.set_read_only(random_.OneIn(4));
    for (proto::Partition& partition : *disk.mutable_partition()) {
      partition.set_mounted_read_only(disk.read_only() && !disk.offline() &&
                                      partition.has_volume());
    }
    if (disk.bus_type() != proto::BUS_ISCSI) disk.set_awaits_rescan(random_.OneIn(10));
    if (random_.OneIn(12)) disk.set_grown_size_bytes(disk.size_bytes() + kGiB);
    if (random_.OneIn(15)) disk.mutable_page83_error()->set_code(21);
    return disk;
  }

  // Draws a fault: a call of the machine fails, returns too little or too much, goes on after its
  // caller has left, or is late or hangs.
  proto::Fault Fault(std::string* what) {
    using Names = std::vector<std::string>;
    proto::Fault fault;
    fault.set_times(static_cast<uint32_t>(1 + random_.Below(3)));
    switch (random_.Below(6)) {
      case 4:
      case 5: {
        const Names& all = machine::simulator::Operations();
        fault.set_operation(random_.Of(Names(std::ranges::find(all, "win32.Open"), all.end())));
        // As in TeardownTest, calls of WMI hang, a few times or until the fault is lifted. Calls of
        // Win32 are late instead, because no deadline ends them.
        const bool is_wmi = absl::StartsWith(fault.operation(), "wmi.");
        if (is_wmi && random_.OneIn(4)) fault.set_operation("wmi.*");
        if (is_wmi && random_.OneIn(2)) fault.set_times(0);
        fault.set_latency_ms(is_wmi ? 3'600'000 : random_.Of<uint32_t>({3000, 6000, 20'000}));
        break;
      }
      case 0:
        fault.set_operation(random_.Of(Names{"win32.Flush", "win32.ListMountPoints",
                                             "win32.DeleteMountPoint", "win32.Control"}));
        fault.mutable_error()->set_code(random_.Of<uint32_t>({5, 21, 1117}));
        break;
      case 1:
        fault.set_operation(
            random_.Of(Names{"wmi.Invoke/MSFT_Disk.Offline", "wmi.Invoke/MSFT_Partition.Resize"}));
        fault.mutable_error()->set_code(random_.Of<uint32_t>({2, 4, 40001, 0x80041001}));
        break;
      case 2:
        fault.set_operation(random_.Of(
            Names{"wmi.Query/MSFT_Disk", "wmi.Query/MSFT_Partition", "wmi.Query/MSFT_Volume"}));
        fault.set_objects(random_.OneIn(2) ? proto::NO_OBJECTS : proto::EACH_TWICE);
        break;
      default:
        fault.set_operation(random_.Of(
            Names{"wmi.Invoke/MSFT_Volume.Format", "wmi.Invoke/MSFT_Disk.CreatePartition",
                  "wmi.Invoke/MSFT_Disk.Initialize", "wmi.Invoke/MSFT_Partition.Resize"}));
        fault.set_latency_ms(60'000);
        fault.set_goes_on(true);
    }
    if (fault.has_error()) fault.set_code("INTERNAL");
    *what = absl::StrCat("break: ", fault.ShortDebugString());
    return fault;
  }

 private:
  proto::Behaviour MakeBehaviour() {
    proto::Behaviour behaviour;
    behaviour.set_volume_cache_ms(random_.Of<uint32_t>({0, 1000, 5000}));
    behaviour.set_out_parameters(static_cast<proto::OutParameters>(random_.Below(3)));
    behaviour.set_automount_disabled(random_.OneIn(4));
    behaviour.set_mount_calls_share(random_.OneIn(2));
    behaviour.set_plain_deletion(random_.OneIn(4));
    behaviour.set_delete_pending_is_denied(random_.OneIn(2));
    behaviour.set_online_makes_read_only(random_.OneIn(4));
    behaviour.set_resize_reserve_bytes(random_.OneIn(3) ? 3 * kMiB : 0);
    behaviour.set_stale_mount_entries(random_.OneIn(2));
    behaviour.set_clearing_read_only_remounts(random_.OneIn(2));
    behaviour.set_open_files_keep_online(random_.OneIn(2));
    return behaviour;
  }

  // Draws a disk with names as clouds assign them. Several disks may share such a name.
  proto::Disk NewDisk(uint64_t size_bytes) {
    proto::Disk disk;
    disk.set_size_bytes(size_bytes);
    const uint64_t lun = random_.Below(4);
    const uint64_t adapter = random_.Below(3);
    switch (random_.Below(6)) {
      case 0:  // as on EC2: the serial number ends with the namespace's number
        disk.set_bus_type(proto::BUS_NVME);
        disk.set_serial_number(absl::StrFormat("vol0a%d_0000000%d.", lun, 1 + random_.Below(2)));
        disk.set_location(
            absl::StrFormat("PCI Slot %1$d : Bus 0 : Device %1$d : Function 0 : "
                            "Adapter %1$d : Port 0 : Target 0 : LUN 0",
                            adapter));
        break;
      case 1:  // as on Azure's newer machines: no LUN in the location
        disk.set_bus_type(proto::BUS_NVME);
        disk.set_location(absl::StrFormat("PCI Slot 1 : Adapter %d : Port 0 : Target 0", adapter));
        disk.set_lun(static_cast<uint32_t>(lun));
        disk.set_eui(absl::StrFormat("%016x", 0xe0 + lun));
        break;
      case 2:
        disk.set_bus_type(proto::BUS_ISCSI);
        disk.set_page83(absl::StrCat("6589cfc00000", lun));
        break;
      default:
        disk.set_bus_type(random_.OneIn(2) ? proto::BUS_SAS : proto::BUS_SCSI);
        disk.set_location(absl::StrFormat("Integrated : Adapter %d : Port %d : Target 0 : LUN %d",
                                          adapter, random_.Below(2), lun));
        disk.set_page83(random_.Of<std::string>(
            {"", absl::StrCat("Google  pvc-", lun), absl::StrCat("60022480c4a83f9", lun)}));
        disk.set_serial_number(random_.Of<std::string>(
            {"", "vol0a1", "vol0a12", absl::StrCat("vol0a", lun), absl::StrCat("S", lun)}));
    }
    return disk;
  }

  proto::Volume* AddVolume(proto::Disk* disk, uint64_t size_bytes, const std::string& file_system) {
    proto::Partition* const partition = disk->add_partition();
    partition->set_size_bytes(size_bytes);
    proto::Volume* const volume = partition->mutable_volume();
    volume->set_id(absl::StrFormat("\\\\?\\Volume{00000000-c511-4c0d-9000-%012x}\\", ++volumes_));
    volume->set_file_system(file_system);
    if (!file_system.empty() && random_.OneIn(2)) AddFile(volume, "kept", 4096);
    return volume;
  }

  static proto::File* AddFile(proto::Volume* volume, const std::string& path, uint64_t bytes) {
    proto::File* const file = volume->add_file();
    file->set_path(path);
    file->set_kind(bytes == 0 ? proto::DIRECTORY : proto::FILE);
    file->set_size_bytes(bytes);
    return file;
  }

  static void AddPartition(proto::Disk* disk, proto::PartitionType type, uint64_t size_bytes) {
    proto::Partition* const partition = disk->add_partition();
    partition->set_type(type);
    partition->set_size_bytes(size_bytes);
  }

  void GiveLetter(proto::Volume* volume) {
    if (next_letter_ <= 'Z') volume->set_drive_letter(std::string(1, next_letter_++));
  }

  // Fills a disk that is not Windows'.
  void Fill(proto::Disk* disk) {
    const auto write_foreign = [&](uint64_t offset) {
      proto::DiskBytes* const foreign = disk->add_foreign();
      foreign->set_offset_bytes(offset);
      foreign->set_data("\x53\xEF");
    };
    const uint64_t space = disk->size_bytes() - 20 * kMiB;
    const uint64_t kind = random_.Below(10);
    if (kind < 2) {
      if (kind == 1) write_foreign(random_.Of<uint64_t>({512, 1080, 65600}));
      return;
    }
    disk->set_style(random_.OneIn(4) ? proto::MBR : proto::GPT);
    if (random_.OneIn(8)) disk->set_sector_bytes(4096);
    const bool is_gpt = disk->style() == proto::GPT;
    if (is_gpt && (kind == 2 || !random_.OneIn(4))) {
      AddPartition(disk, proto::MICROSOFT_RESERVED, 16 * kMiB);
      // EC2 has disks with this offset.
      if (disk->sector_bytes() == 0 && random_.OneIn(4)) {
        disk->mutable_partition(0)->set_offset_bytes(17408);
      }
    }
    switch (kind) {
      case 2:  // only initialised
        break;
      case 3:
        AddPartition(disk, proto::LINUX, space / kMiB * kMiB);
        break;
      case 4:
        AddPartition(disk, proto::LDM_METADATA, kMiB);
        AddVolume(disk, space / 2 / kMiB * kMiB, "NTFS");
        disk->mutable_partition(disk->partition_size() - 1)->set_type(proto::LDM_DATA);
        break;
      case 5:  // partitioned, not formatted; maybe another file system
        AddVolume(disk, space / kMiB * kMiB, "");
        if (random_.OneIn(2)) write_foreign((disk->partition_size() > 1 ? 17 : 1) * kMiB + 1080);
        break;
      case 6:
        for (int i = 0; i < 2; ++i) AddVolume(disk, space / 3 / kMiB * kMiB, i == 0 ? "NTFS" : "");
        if (random_.OneIn(2))
          GiveLetter(disk->mutable_partition(disk->partition_size() - 2)->mutable_volume());
        break;
      default: {
        const uint64_t size = random_.OneIn(3) ? space / 2 / kMiB * kMiB : space / kMiB * kMiB;
        proto::Volume* const volume =
            AddVolume(disk, size, random_.Of<std::string>({"NTFS", "NTFS", "ReFS", "exFAT"}));
        if (kind == 9) GiveLetter(volume);
        if (size > 512 * kMiB && random_.OneIn(4)) volume->set_file_system_bytes(256 * kMiB);
        volume->set_read_only(random_.OneIn(10));
        if (is_gpt && size <= space / 2 && random_.OneIn(2)) {
          AddPartition(disk, proto::RECOVERY, 8 * kMiB);
        }
        disk->mutable_partition(0)->set_active(!is_gpt && random_.OneIn(4));
      }
    }
  }

  // Draws zero to two more disks of Windows: one with a page file, and one that starts Windows.
  std::vector<proto::Disk> OthersOfWindows() {
    std::vector<proto::Disk> disks;
    if (random_.OneIn(2)) {
      proto::Disk& temporary = disks.emplace_back(NewDisk(8 * kGiB));
      temporary.set_style(proto::MBR);
      proto::Volume* const volume = AddVolume(&temporary, 4 * kGiB, "NTFS");
      GiveLetter(volume);
      AddFile(volume, "pagefile.sys", kGiB);
    }
    if (random_.OneIn(4)) {
      proto::Disk& starter = disks.emplace_back(NewDisk(2 * kGiB));
      starter.set_is_system(true);
      starter.set_style(proto::GPT);
      AddPartition(&starter, proto::EFI_SYSTEM, 100 * kMiB);
      if (random_.OneIn(2)) AddVolume(&starter, 512 * kMiB, "NTFS");
    }
    return disks;
  }

  proto::Disk DiskOfC() {
    proto::Disk disk = NewDisk(64 * kGiB);
    disk.set_style(random_.OneIn(4) ? proto::MBR : proto::GPT);
    if (disk.style() == proto::GPT) AddPartition(&disk, proto::EFI_SYSTEM, 100 * kMiB);
    proto::Volume* const volume = AddVolume(&disk, 30 * kGiB, "NTFS");
    volume->set_drive_letter("C");
    AddFile(volume, R"(Windows\win.ini)", 92);
    for (const char* folder : {R"(var\lib\kubelet\plugins)", R"(var\lib\kubelet\pods)", "data"}) {
      AddFile(volume, folder, 0);
    }
    AddFile(volume, R"(var\lib\kubelet\file)", 5);
    proto::File* const link = AddFile(volume, R"(var\lib\kubelet\link)", 0);
    link->set_kind(random_.OneIn(2) ? proto::LINK : proto::JUNCTION);
    link->set_target(R"(C:\data)");
    for (const proto::File& folder : outside_) *volume->add_file() = folder;
    return disk;
  }

  // Mounts a volume at an administrator's folder, outside the drivers'.
  void MountOutside(proto::Disk* disk) {
    for (const proto::Partition& partition : disk->partition()) {
      if (partition.volume().file_system().empty()) continue;
      proto::File& folder = outside_.emplace_back();
      folder.set_path(absl::StrCat("data\\", outside_.size()));
      folder.set_mounted_volume_id(partition.volume().id());
      return;
    }
  }

  // Returns a copy, as from a snapshot. Windows keeps the copy offline beside the original.
  proto::Disk CopyOf(proto::Disk* disk) {
    disk->set_disk_id(absl::StrFormat("%08x", ++copies_));
    disk->set_awaits_rescan(false);
    proto::Disk copy = *disk;
    copy.set_offline(true);
    copy.set_offline_reason(proto::OFFLINE_COLLISION);
    for (proto::Partition& partition : *copy.mutable_partition()) {
      partition.set_mounted_read_only(false);
      if (partition.has_volume()) partition.mutable_volume()->clear_drive_letter();
    }
    return copy;
  }

  static proto::IscsiTarget* Target(proto::Node* node) {
    if (node->iscsi_portal_size() == 0) {
      proto::IscsiPortal* const portal = node->add_iscsi_portal();
      portal->set_address("10.0.0.5");
      portal->set_registered(true);
      portal->add_target()->set_iqn("iqn.2026-01.example:data");
      portal->mutable_target(0)->set_connected(true);
      portal->mutable_target(0)->set_persistent(true);
    }
    return node->mutable_iscsi_portal(0)->mutable_target(0);
  }

  Random& random_;
  uint64_t volumes_ = 0;
  uint64_t copies_ = 0;
  char next_letter_ = 'D';
  // The folders of C: with a mounted volume.
  std::vector<proto::File> outside_;
};

}  // namespace csi_proxy::storage
