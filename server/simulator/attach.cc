#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/names/win32_error.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

constexpr char kPlace[] = "{place}";

// Returns 32 hexadecimal digits that no other disk of the node gets.
std::string NewDigits(NodeState& state, const Disk& disk) {
  std::string digits = MakeDiskId(state, disk);
  std::erase_if(digits, [](unsigned char c) { return !absl::ascii_isxdigit(c); });
  return digits;
}

// Converts an NGUID to a serial number as Windows does.
std::string InGroups(absl::string_view digits) {
  constexpr size_t kDigits = 4;
  std::vector<absl::string_view> groups;
  for (size_t i = 0; i < digits.size(); i += kDigits) groups.push_back(digits.substr(i, kDigits));
  return absl::StrCat(absl::AsciiStrToUpper(absl::StrJoin(groups, "_")), ".");
}

}  // namespace

std::string MakeDiskId(NodeState& state, const Disk& disk) {
  // Takes the GUID of a new volume id. The id is never given out again.
  constexpr size_t kBegin = sizeof(R"(\\?\Volume)") - 1;
  constexpr size_t kBytes = 38;
  return MakeVolumeId(state, disk, 0).ToString().substr(kBegin, kBytes);
}

absl::Status AssignLocation(NodeState& state, std::optional<uint32_t> place, Disk& disk) {
  const bool is_in_location = absl::StrContains(disk.location, kPlace);
  const bool is_lun = !is_in_location && !absl::StrContains(disk.location, "LUN");
  const auto is_taken = [&](uint32_t at) {
    const std::string location = absl::StrReplaceAll(disk.location, {{kPlace, absl::StrCat(at)}});
    const std::vector<Disk*> disks = AllDisks(state);
    return std::any_of(disks.begin(), disks.end(), [&](const Disk* other) {
      return other->location == location && (!is_lun || other->facts.lun == at);
    });
  };
  uint32_t at = place.value_or(state.attach.has_value() ? state.attach->first_place : 0);
  if (place.has_value() && is_taken(at)) {
    return absl::AlreadyExistsError(absl::StrCat("place: another disk is at ", at));
  }
  if (is_in_location || (is_lun && state.attach.has_value())) {
    while (is_taken(at)) ++at;
  }
  if (is_lun && disk.facts.lun == 0 && state.attach.has_value()) disk.facts.lun = at;

  std::vector<std::pair<std::string, std::string>> replacements = {{kPlace, absl::StrCat(at)}};
  std::string* const texts[] = {&disk.location,        &disk.page83,    &disk.serial_number,
                                &disk.facts.unique_id, &disk.facts.eui, &disk.facts.scsi_name};
  const auto has_digits = [](const std::string* text) { return absl::StrContains(*text, "{hex "); };
  if (std::any_of(std::begin(texts), std::end(texts), has_digits)) {
    const std::string digits = NewDigits(state, disk);
    for (size_t n = 1; n <= digits.size(); ++n) {
      replacements.emplace_back(absl::StrCat("{hex ", n, "}"), digits.substr(0, n));
    }
  }
  for (std::string* const text : texts) *text = absl::StrReplaceAll(*text, replacements);
  disk.serial_number =
      absl::StrReplaceAll(disk.serial_number, {{"{eui in groups}", InGroups(disk.facts.eui)}});
  return absl::OkStatus();
}

namespace {

constexpr uint16_t kOfflineByCollision = 4;

}  // namespace

bool Collides(NodeState& state, const Disk& disk) {
  if (disk.facts.disk_id.empty()) return false;
  const std::vector<Disk*> disks = VisibleDisks(state);
  return std::any_of(disks.begin(), disks.end(), [&](const Disk* other) {
    return other != &disk && other->number != disk.number && other->online &&
           other->facts.disk_id == disk.facts.disk_id;
  });
}

void KeepOffline(Disk& disk) {
  disk.online = false;
  disk.facts.offline_reason = kOfflineByCollision;
}

// The read-only flag must be cleared first, because Windows writes the new identity to the disk
// (github.com/kubernetes-csi/csi-proxy/issues/287,
// github.com/hpe-storage/common-host-libs/pull/40). Otherwise Windows fails with "the parameter is
// incorrect" (github.com/MicrosoftDocs/windowsserverdocs/issues/3637).
absl::Status Resign(NodeState& state, Disk& disk) {
  if (disk.read_only) {
    return Failure(absl::StrCat("bringing disk ", disk.number, " online beside its original"),
                   win32_error::kInvalidParameter);
  }
  disk.facts.disk_id.clear();
  for (DiskPartition& partition : disk.partitions) {
    if (!partition.volume.has_value()) continue;
    partition.volume->id = MakeVolumeId(state, disk, partition.number);
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::machine::simulator
