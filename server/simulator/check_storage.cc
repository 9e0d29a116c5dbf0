#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/names/windows_path.h"
#include "server/simulator/check.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr size_t kMaxDisks = 2048;
constexpr uint32_t kMaxPartitionNumber = 128;
constexpr size_t kMaxMbrPartitions = 4;
constexpr uint64_t kMaxDiskBytes = uint64_t{1} << 50;
constexpr size_t kMaxForeignBytes = 4096;

bool IsEui(const std::string& text) {
  return (text.size() == 16 || text.size() == 32) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void CheckVolumeTree(const Volume& volume, const std::string& at, Problems* problems) {
  for (const Tree::Id id : volume.tree.Walk()) {
    const Tree::Entry& entry = volume.tree.at(id);
    const auto field = [&](absl::string_view name) {
      return absl::StrCat("file \"", volume.tree.PathOf(id), "\".", name);
    };
    const absl::Status name = WindowsPath::Parse("path", absl::StrCat("C:\\", entry.name)).status();
    if (!name.ok()) problems->RequireOk(name, at, field("path"));
    if (entry.kind == Tree::Kind::kLink) {
      const bool on_server = !entry.junction && absl::StartsWith(entry.target, "\\\\");
      const absl::Status target = on_server ? UncPath::Parse("target", entry.target).status()
                                            : WindowsPath::Parse("target", entry.target).status();
      if (!target.ok()) problems->RequireOk(target, at, field("target"));
    }
    // The mounted volume may be missing, because its disk may be gone.
    if (entry.mounted == volume.id) {
      problems->Require(false, at, field("mounted_volume_id"), "is the volume itself");
    } else if (entry.mounted.has_value() && !entry.children.empty()) {
      problems->Require(false, at, field("mounted_volume_id"), "the directory is not empty");
    }
  }
}

void CheckVolume(const DiskPartition& partition, const std::string& at, Problems* problems) {
  const Volume& volume = *partition.volume;
  static constexpr absl::string_view kKnown[] = {"", "NTFS", "ReFS", "FAT32", "exFAT"};
  problems->Require(
      std::find(std::begin(kKnown), std::end(kKnown), volume.file_system) != std::end(kKnown), at,
      "file_system", "is none of NTFS, ReFS, FAT32, exFAT or empty");
  problems->Require(IsPlainText(volume.label), at, "label", kNotPlainText);
  for (size_t i = 0; i < volume.stale_folders.size(); ++i) {
    problems->RequireOk(WindowsPath::Parse("path", volume.stale_folders[i]).status(),
                        Element(at, "stale_folder", i), "");
  }
  problems->Require(
      !volume.file_system.empty() || (volume.label.empty() && volume.health == 0 && !volume.dirty),
      at, "file_system", "an unformatted volume has no label, health or dirty bit");
  problems->Require(
      volume.drive_letter == 0 || (volume.drive_letter >= 'A' && volume.drive_letter <= 'Z'), at,
      "drive_letter", "is not one letter, A to Z");
  problems->Require(!volume.file_system.empty() || volume.tree.size() == 0, at, "file",
                    "an unformatted volume holds nothing");
  problems->Require(volume.file_system_bytes <= partition.size_bytes, at, "file_system_bytes",
                    "is more than the partition has");
  problems->Require(
      volume.file_system.empty() || UsedBytes(partition) <= FileSystemBytes(partition), at, "file",
      "the files need more space than the file system has");
}

void CheckPartitions(const Disk& disk, const std::string& at, Problems* problems) {
  problems->Require(disk.style != PartitionStyle::kRaw || disk.partitions.empty(), at, "partition",
                    "a raw disk has no partitions");
  problems->Require(
      disk.style != PartitionStyle::kMbr || disk.partitions.size() <= kMaxMbrPartitions, at,
      "partition", "an MBR disk has at most 4 partitions");
  std::set<uint32_t> numbers;
  // The end of the partition table. The first partition may begin here, as on disks of older
  // installers and clouds.
  uint64_t free_from = disk.style == PartitionStyle::kGpt ? kGptBytes : disk.sector_bytes;
  for (size_t i = 0; i < disk.partitions.size() && problems->none(); ++i) {
    const DiskPartition& partition = disk.partitions[i];
    const std::string here = Element(at, "partition", i);
    problems->Require(partition.number >= 1 && partition.number <= kMaxPartitionNumber, here,
                      "number", "is not 1 to 128");
    problems->Require(numbers.insert(partition.number).second, here, "number",
                      "is another partition's");
    problems->Require(partition.offset_bytes >= free_from, here, "offset_bytes",
                      "lies within the partition table or the partition before");
    problems->Require(partition.offset_bytes % disk.sector_bytes == 0, here, "offset_bytes",
                      "is not a multiple of the disk's sectors");
    problems->Require(partition.size_bytes != 0 && partition.size_bytes % disk.sector_bytes == 0,
                      here, "size_bytes", "is zero or no multiple of the disk's sectors");
    problems->Require(partition.offset_bytes <= disk.size_bytes &&
                          partition.size_bytes <= disk.size_bytes - partition.offset_bytes,
                      here, "size_bytes", "the partition ends beyond the disk");
    problems->Require(
        partition.type != PartitionType::kMicrosoftReserved || !partition.volume.has_value(), here,
        "volume", "a reserved partition has no volume");
    if (partition.volume.has_value()) {
      CheckVolume(partition, absl::StrCat(here, ".volume"), problems);
    }
    if (problems->none()) free_from = partition.offset_bytes + partition.size_bytes;
  }
}

void CheckDisk(const Disk& disk, const std::string& at, Problems* problems) {
  problems->Require(disk.size_bytes >= kMiB && disk.size_bytes <= kMaxDiskBytes, at, "size_bytes",
                    "is not 1 MiB to 1 PiB");
  problems->Require(disk.sector_bytes == 512 || disk.sector_bytes == 4096, at, "sector_bytes",
                    "is neither 512 nor 4096");
  if (!problems->none()) return;
  problems->Require(disk.size_bytes % disk.sector_bytes == 0, at, "size_bytes",
                    "is not a multiple of the disk's sectors");
  problems->Require(disk.grown_size_bytes == 0 || (disk.grown_size_bytes > disk.size_bytes &&
                                                   disk.grown_size_bytes <= kMaxDiskBytes &&
                                                   disk.grown_size_bytes % disk.sector_bytes == 0),
                    at, "grown_size_bytes",
                    "is not larger than size_bytes, over 1 PiB or no multiple of the sectors");
  problems->Require(IsPlainText(disk.location), at, "location", kNotPlainText);
  problems->Require(IsPlainText(disk.page83), at, "page83", kNotPlainText);
  problems->Require(IsPlainText(disk.serial_number), at, "serial_number", kNotPlainText);
  problems->Require(disk.facts.eui.empty() || IsEui(disk.facts.eui), at, "eui",
                    "is not 16 or 32 digits of lower-case hexadecimal");
  problems->Require(disk.facts.lun <= 255, at, "lun", "is above 255");
  problems->Require(!disk.without_number || disk.style == PartitionStyle::kRaw, at,
                    "without_number", "a disk without a number is raw");
  if (disk.page83_error.has_value()) {
    problems->Require(IsPlainText(disk.page83_error->text), at, "page83_error.text", kNotPlainText);
    problems->Require(disk.page83_error->code != 0, at, "page83_error.code",
                      "zero is not an error");
  }
  for (size_t i = 0; i < disk.foreign.size(); ++i) {
    const DiskBytes& foreign = disk.foreign[i];
    const std::string here = Element(at, "foreign", i);
    problems->Require(!foreign.bytes.empty() && foreign.bytes.size() <= kMaxForeignBytes, here,
                      "data", "is not 1 to 4096 bytes");
    problems->Require(foreign.bytes.size() <= disk.size_bytes &&
                          foreign.offset_bytes <= disk.size_bytes - foreign.bytes.size(),
                      here, "offset_bytes", "lies beyond the disk");
  }
  CheckPartitions(disk, at, problems);
}

struct NamedDisk {
  Disk* disk;
  std::string at;
};

std::vector<NamedDisk> NameDisks(NodeState& state) {
  std::vector<NamedDisk> disks;
  for (size_t i = 0; i < state.disks.size(); ++i) {
    disks.push_back({&state.disks[i], Element("", "disk", i)});
  }
  for (size_t p = 0; p < state.iscsi_portals.size(); ++p) {
    std::vector<IscsiTarget>& targets = state.iscsi_portals[p].targets;
    for (size_t t = 0; t < targets.size(); ++t) {
      const std::string at = Element(Element("", "iscsi_portal", p), "target", t);
      for (size_t i = 0; i < targets[t].disks.size(); ++i) {
        disks.push_back({&targets[t].disks[i], Element(at, "disk", i)});
      }
    }
  }
  return disks;
}

}  // namespace

void CheckDisks(NodeState& state, Problems* problems) {
  const std::vector<NamedDisk> disks = NameDisks(state);
  problems->Require(disks.size() <= kMaxDisks, "disk", "", "there are more than 2048");
  std::set<uint32_t> numbers;
  // Maps each volume's id to the identity of its disk.
  std::map<VolumeId, std::string> volumes;
  std::set<char> letters;
  std::set<std::string> online_ids;
  for (const NamedDisk& named : disks) {
    const std::string& id = named.disk->facts.disk_id;
    problems->Require(id.empty() || !named.disk->online || online_ids.insert(id).second, named.at,
                      "disk_id", "is that of another disk that is online");
  }
  const auto each_volume = [&](const NamedDisk& named, auto action) {
    for (size_t i = 0; i < named.disk->partitions.size(); ++i) {
      const DiskPartition& partition = named.disk->partitions[i];
      if (!partition.volume.has_value()) continue;
      action(*partition.volume, absl::StrCat(Element(named.at, "partition", i), ".volume"));
    }
  };
  for (const NamedDisk& named : disks) {
    if (!problems->none()) return;
    CheckDisk(*named.disk, named.at, problems);
    problems->Require(numbers.insert(named.disk->number).second, named.at, "number",
                      "is another disk's");
    each_volume(named, [&](const Volume& volume, const std::string& at) {
      // A copy of a disk has the volume ids of the original.
      const std::string& id = named.disk->facts.disk_id;
      const auto [of, is_new] = volumes.emplace(volume.id, id);
      problems->Require(is_new || (!id.empty() && of->second == id), at, "id",
                        "is another volume's");
      problems->Require(volume.drive_letter == 0 || letters.insert(volume.drive_letter).second, at,
                        "drive_letter", "is another volume's");
    });
  }
  for (const NamedDisk& named : disks) {
    each_volume(named, [&](const Volume& volume, const std::string& at) {
      if (problems->none()) CheckVolumeTree(volume, at, problems);
    });
  }
}

void CheckShareTree(const Tree& tree, const std::string& at, Problems* problems) {
  for (const Tree::Id id : tree.Walk()) {
    const Tree::Entry& entry = tree.at(id);
    const bool is_dfs_link =
        entry.kind == Tree::Kind::kLink && absl::StartsWith(entry.target, "\\\\");
    if ((entry.kind == Tree::Kind::kLink && !is_dfs_link) || entry.mounted.has_value()) {
      problems->Require(false, at, absl::StrCat("file \"", tree.PathOf(id), "\""),
                        "a share holds directories, files and links to servers only");
    }
    const absl::Status name = WindowsPath::Parse("path", absl::StrCat("C:\\", entry.name)).status();
    if (!name.ok()) problems->RequireOk(name, at, "file.path");
  }
}

}  // namespace csi_proxy::machine::simulator
