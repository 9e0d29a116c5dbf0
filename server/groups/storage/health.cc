// GetVolumeHealth and ListVolumeHealth. ListVolumeHealth makes one WMI query for all volumes and
// one for all disks.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/status_macros.h"
#include "server/groups/storage/calls.h"
#include "server/names/volume_id.h"

namespace csi_proxy::storage {
namespace {

constexpr char kHealthy[] = "Healthy";
// How long GetVolumeHealth waits for the disk's part of the answer, and how long ListVolumeHealth
// waits for its two queries together.
constexpr absl::Duration kDiskPatience = absl::Seconds(1);
// How long ListVolumeHealth waits for each volume.
constexpr absl::Duration kVolumePatience = absl::Milliseconds(300);

// Adds the faults of a volume and of its disk that Windows reports.
void AddWords(const std::string& volume_health, uint32_t disk_number,
              const std::string& disk_health, std::vector<std::string>* wrong) {
  if (!volume_health.empty() && volume_health != kHealthy) {
    wrong->push_back(absl::StrCat("health of the volume: ", volume_health));
  }
  if (!disk_health.empty() && disk_health != kHealthy) {
    wrong->push_back(absl::StrCat("health of disk ", disk_number, ": ", disk_health));
  }
}

// Returns the message about faults, and about the parts of the answer that are not known.
std::string Message(std::vector<std::string> wrong, const std::vector<absl::Status>& parts) {
  for (const absl::Status& part : parts) {
    if (!part.ok()) wrong.push_back(absl::StrCat("not known: ", part.message()));
  }
  return absl::StrJoin(wrong, "; ");
}

// Adds the faults of a volume that are visible without WMI.
void AddSeen(const groups::HandlerDeps& deps, const CallContext& context,
             host::VolumeHealth* health, std::vector<std::string>* wrong) {
  host::VolumeHost& host = deps.host->volume();
  host::VolumeView& volume = health->volume;
  if (volume.file_system.name.empty() && health->health.empty()) {
    const absl::Status read = host.ReadMounts(context, nullptr, &volume);
    const std::string sign = read.ok() ? host.SignOfUse(volume) : "";
    if (!sign.empty()) {
      wrong->push_back(absl::StrCat("the volume has lost its file system (", sign, ")"));
    }
    const auto data = host.FindData(context, volume, host::Look::kThroughout);
    if (!data.ok()) wrong->emplace_back(data.status().message());
    if (data.ok() && !data->empty()) wrong->push_back(absl::StrCat("the volume holds ", *data));
  }
  if (health->is_dirty) wrong->push_back("the file system is marked dirty");
}

// The facts about a volume that the machine reports without WMI.
struct VolumeLook {
  host::VolumeHealth health;
  // The volume's faults, in words.
  std::vector<std::string> wrong;
};

absl::StatusOr<VolumeLook> LookAt(const groups::HandlerDeps& deps, const CallContext& context,
                                  const VolumeId& volume) {
  ABSL_ASSIGN_OR_RETURN(auto health, deps.host->volume().ReadHealth(context, volume));
  VolumeLook look{.health = std::move(health), .wrong = {}};
  AddSeen(deps, context, &look.health, &look.wrong);
  return look;
}

}  // namespace

absl::StatusOr<GetVolumeHealthResponse> StorageService::GetVolumeHealth(
    const CallContext& context, const GetVolumeHealthRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const auto volume, VolumeId::Parse(request.volume_id));
  ABSL_ASSIGN_OR_RETURN(auto health, deps_.host->volume().GetHealth(context, volume));
  const CallContext brief = context.WithTimeout(kDiskPatience);
  const uint32_t number = health.volume.extents.front().disk_number;
  const auto described = deps_.host->disk().Describe(brief, number);
  if (!described.ok() && (brief.Check().ok() || !context.Check().ok())) return described.status();
  host::DiskDescription disk = described.value_or(host::DiskDescription());
  std::vector<std::string> wrong;
  AddSeen(deps_, context, &health, &wrong);
  AddWords(health.health, number, disk.health, &wrong);
  GetVolumeHealthResponse response;
  response.abnormal = !wrong.empty();
  response.message = Message(std::move(wrong), {health.unknown, described.status()});
  response.is_dirty = health.is_dirty;
  response.file_system = std::move(health.volume.file_system.name);
  response.volume_health = std::move(health.health);
  response.disk_number = number;
  response.disk_health = std::move(disk.health);
  response.is_disk_read_only = disk.is_read_only;
  return response;
}

absl::StatusOr<ListVolumeHealthResponse> StorageService::ListVolumeHealth(
    const CallContext& context, const ListVolumeHealthRequest& request) {
  std::vector<VolumeId> volumes;
  for (const std::string& id : request.volume_ids) {
    ABSL_ASSIGN_OR_RETURN(VolumeId volume, VolumeId::Parse(id));
    volumes.push_back(volume);
  }
  const CallContext brief = context.WithTimeout(kDiskPatience);
  const auto by_volume = deps_.host->volume().ListHealth(brief);
  const auto disks = deps_.host->disk().ListDisks(brief, host::AskDisks::kNothing);
  std::map<uint32_t, std::string> by_disk;
  for (const auto& disk : disks.value_or(std::vector<host::DiskDescription>())) {
    by_disk.emplace(disk.number, disk.health);
  }
  ABSL_RETURN_IF_ERROR(context.Check());
  const CallContext looking = context.Leaving(kTimeToAnswer, absl::Seconds(1));
  ListVolumeHealthResponse response;
  for (const VolumeId& volume : volumes) {
    VolumeHealth& listed = response.volumes.emplace_back();
    listed.volume_id = volume.ToString();
    // Runs on a thread of its own, because Windows may never answer for a volume on a hung disk.
    auto look = deps_.host->looks().Read<VolumeLook>(
        looking.WithTimeout(kVolumePatience), std::string(volume.guid()),
        [deps = deps_, volume](const CallContext& run) { return LookAt(deps, run, volume); });
    if (!look.ok()) {
      listed.message = Message({}, std::vector<absl::Status>{look.status()});
      continue;
    }
    std::string health = look->health.health;
    absl::Status unknown = by_volume.status();
    if (by_volume.ok() && !look->health.volume.file_system.name.empty()) {
      const auto found = by_volume->find(volume);
      if (found == by_volume->end()) unknown = absl::NotFoundError("WMI does not show the volume");
      if (found != by_volume->end()) health = found->second;
    }
    const uint32_t disk = look->health.volume.extents.front().disk_number;
    AddWords(health, disk, by_disk.contains(disk) ? by_disk[disk] : "", &look->wrong);
    listed.abnormal = !look->wrong.empty();
    listed.message = Message(std::move(look->wrong), {unknown, disks.status()});
  }
  return response;
}

}  // namespace csi_proxy::storage
