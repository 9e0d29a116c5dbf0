#include "csi_proxy/testing/state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "client/testing/conversions.h"
#include "server/names/windows_path.h"

namespace csi_proxy::simulated_node {
namespace {

// Windows follows at most this many links in one path.
constexpr int kMaxLinks = 63;

// Calls `visit` with each disk of the node, including disks of connected targets.
template <typename Visit>
void ForEachDisk(const State& state, const Visit& visit) {
  for (const Disk& disk : state.disks) visit(disk);
  for (const IscsiPortal& portal : state.iscsi_portals) {
    for (const IscsiTarget& target : portal.targets) {
      if (!target.connected) continue;
      for (const Disk& disk : target.disks) visit(disk);
    }
  }
}

// Returns the first volume on an online disk that `matches` accepts, or null.
template <typename Matches>
const Volume* FirstVolume(const State& state, const Matches& matches) {
  const Volume* found = nullptr;
  ForEachDisk(state, [&](const Disk& disk) {
    if (disk.offline) return;
    for (const Partition& partition : disk.partitions) {
      if (found == nullptr && partition.volume.has_value() && matches(*partition.volume)) {
        found = &*partition.volume;
      }
    }
  });
  return found;
}

// Finds the entry at a path relative to the root of the volume. Also finds a directory that the
// list omits because it contains entries.
std::optional<File> FileIn(const Volume& volume, const std::string& path) {
  const std::string below = FoldName(absl::StrCat(path, R"(\)"));
  bool exists = path.empty();
  for (const File& file : volume.files) {
    if (EqualNames(file.path, path)) return file;
    exists = exists || absl::StartsWith(FoldName(file.path), below);
  }
  return exists ? std::optional<File>({.path = path}) : std::nullopt;
}

struct FoundFile {
  const Volume* volume;
  // Has an empty path if the path led to the root of the volume.
  File file;
};

std::optional<FoundFile> Walk(const State& state, const std::string& path, bool follow, int links) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits(':', 1));
  const Volume* volume = FirstVolume(state, [&](const Volume& candidate) {
    return !candidate.drive_letter.empty() &&
           absl::EqualsIgnoreCase(candidate.drive_letter, parts.first);
  });
  if (volume == nullptr || links > kMaxLinks) return std::nullopt;
  const std::vector<std::string> components = absl::StrSplit(parts.second, '\\', absl::SkipEmpty());
  std::string at;
  File file;
  for (size_t i = 0; i < components.size(); ++i) {
    absl::StrAppend(&at, at.empty() ? "" : R"(\)", components[i]);
    std::optional<File> here = FileIn(*volume, at);
    if (!here.has_value()) return std::nullopt;
    file = *std::move(here);
    if (!follow && i + 1 == components.size()) break;
    if (!file.target.empty()) {
      const std::string rest =
          absl::StrJoin(absl::MakeConstSpan(components).subspan(i + 1), R"(\)");
      return Walk(state, absl::StrCat(file.target, R"(\)", rest), follow, links + 1);
    }
    if (!file.mounted_volume_id.empty()) {
      volume = state.FindVolume(file.mounted_volume_id);
      if (volume == nullptr) return std::nullopt;
      at.clear();
      file = {};
    }
  }
  return FoundFile{volume, std::move(file)};
}

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

std::string FullPath(absl::string_view path) {
  std::string full = absl::StrReplaceAll(path, {{"/", R"(\)"}});
  if (absl::StartsWith(full, R"(\)") && !absl::StartsWith(full, R"(\\)")) {
    full = absl::StrCat("C:", full);
  }
  while (absl::EndsWith(full, R"(\)") && !absl::EndsWith(full, R"(:\)")) full.pop_back();
  return full;
}

const Disk* State::FindDisk(uint32_t number) const {
  const Disk* found = nullptr;
  ForEachDisk(*this, [&](const Disk& disk) {
    if (disk.number == number) found = &disk;
  });
  return found;
}

const Volume* State::FindVolume(absl::string_view id) const {
  return FirstVolume(*this,
                     [&](const Volume& volume) { return absl::EqualsIgnoreCase(volume.id, id); });
}

const SmbMapping* State::FindMapping(absl::string_view share) const {
  const auto found = std::find_if(
      smb_mappings.begin(), smb_mappings.end(),
      [&](const SmbMapping& mapping) { return EqualNames(mapping.remote_path, share); });
  return found != smb_mappings.end() ? &*found : nullptr;
}

std::optional<File> State::At(absl::string_view path) const {
  std::optional<FoundFile> found = Walk(*this, FullPath(path), false, 0);
  return found.has_value() ? std::optional(std::move(found->file)) : std::nullopt;
}

std::string State::MountedAt(absl::string_view path) const {
  const std::string full = FullPath(path);
  if (full.size() <= 3) return "";  // a drive
  const std::optional<FoundFile> found = Walk(*this, full, true, 0);
  return found.has_value() && found->file.path.empty() ? found->volume->id : "";
}

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
