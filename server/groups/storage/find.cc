#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/groups/fields.h"
#include "server/groups/storage/calls.h"
#include "server/host/windows_use.h"

namespace csi_proxy::storage {
namespace {

constexpr size_t kMaxName = 1024;

// How long to wait for a disk after a rescan. azuredisk waits for minutes by repeated calls.
constexpr absl::Duration kDiskArrival = absl::Seconds(5);

struct Field {
  const char* name;
  const std::string& text;
  bool is_number;
  // True if the field alone names a disk.
  bool is_name;
};

std::vector<Field> FieldsOf(const DiskSelector& disk) {
  return {{"disk.number", disk.number, true, true},
          {"disk.serial_number", disk.serial_number, false, true},
          {"disk.page83", disk.page83, false, true},
          {"disk.lun_id", disk.lun_id, true, true},
          {"disk.adapter", disk.adapter, true, false},
          {"disk.bus", disk.bus, true, false},
          {"disk.target", disk.target, true, false}};
}

// Returns the field that names the disk, or the first of several such fields.
Field NameOf(const DiskSelector& selector) {
  const std::vector<Field> fields = FieldsOf(selector);
  return *std::find_if(fields.begin(), fields.end(),
                       [](const Field& field) { return field.is_name && !field.text.empty(); });
}

// Returns true if both are the same number, or if `wanted` is empty.
bool Fits(const std::string& wanted, const std::string& found) {
  uint32_t a = 0;
  uint32_t b = 0;
  if (wanted.empty()) return true;
  return absl::SimpleAtoi(wanted, &a) && absl::SimpleAtoi(found, &b) && a == b;
}

// Returns true if the serial number `found` is `wanted`, or `wanted` and the suffix that an NVMe
// disk of EC2 adds to its volume's id: `_`, the number of the namespace, and a dot, for example
// `vol0a1b2c3d4e5f60789_00000001.` (github.com/kubernetes-csi/csi-proxy pull request 116).
bool FitsSerial(absl::string_view wanted, absl::string_view found) {
  if (!absl::ConsumePrefix(&found, wanted)) return false;
  return found.empty() || (found.size() == 10 && absl::ConsumePrefix(&found, "_") &&
                           absl::ConsumeSuffix(&found, ".") &&
                           std::all_of(found.begin(), found.end(), absl::ascii_isxdigit));
}

bool Fits(const DiskSelector& wanted, const host::DiskDescription& disk) {
  if (!wanted.number.empty()) return Fits(wanted.number, absl::StrCat(disk.number));
  if (!wanted.serial_number.empty()) {
    return FitsSerial(absl::StripAsciiWhitespace(wanted.serial_number),
                      absl::StripAsciiWhitespace(disk.serial_number));
  }
  if (!wanted.page83.empty()) return wanted.page83 == disk.page83;
  return Fits(wanted.lun_id, disk.lun_id) && Fits(wanted.adapter, disk.adapter) &&
         Fits(wanted.bus, disk.bus) && Fits(wanted.target, disk.target);
}

// Returns OK if a LUN without an adapter may select the disk. Returns FAILED_PRECONDITION with the
// reason if not.
absl::Status CheckMeant(const groups::HandlerDeps& deps, const CallContext& context,
                        const std::vector<host::DiskDescription>& disks,
                        const host::DiskDescription& disk, host::NodeVolumes* seen) {
  for (const host::DiskDescription& other : disks) {
    // On the adapter of Windows' disk, a LUN alone does not identify a cloud disk. A disk of
    // Windows without a LUN does not count: on Azure with NVMe all disks have its adapter.
    if (&other == &disk || !other.has_windows() || other.lun_id.empty()) continue;
    if (other.adapter != disk.adapter) continue;
    return absl::FailedPreconditionError(absl::StrCat("disk ", disk.number, " is on adapter ",
                                                      disk.adapter, ", like the disk of Windows"));
  }
  return host::CheckUnused(*deps.host, context, deps.roots.get(), disk, seen);
}

// Returns a hint that names the disk whose serial number is the longest prefix of `wanted`, or
// "" if none is. virtio-blk reports only the first 20 bytes (docs.oasis-open.org/virtio, GET_ID).
std::string CutSerial(const std::vector<host::DiskDescription>& disks, absl::string_view wanted) {
  const host::DiskDescription* cut = nullptr;
  absl::string_view serial;
  for (const host::DiskDescription& disk : disks) {
    const absl::string_view found = absl::StripAsciiWhitespace(disk.serial_number);
    if (found.size() <= serial.size() || !absl::StartsWith(wanted, found)) continue;
    cut = &disk;
    serial = found;
  }
  if (cut == nullptr) return "";
  return absl::StrCat("; the serial number of disk ", cut->number, " is a prefix of it, \"",
                      absl::CEscape(serial),
                      "\": if the disk's bus cuts serial numbers, request the prefix");
}

// Returns the disks that the selector may name. Queries the disks themselves only for the
// selector's fields.
absl::StatusOr<std::vector<host::DiskDescription>> ListCandidates(host::DiskHost& host,
                                                                  const CallContext& context,
                                                                  const DiskSelector& selector) {
  if (uint32_t number; absl::SimpleAtoi(selector.number, &number)) {
    const auto disk = host.Describe(context, number);
    if (absl::IsNotFound(disk.status())) return std::vector<host::DiskDescription>();
    ABSL_RETURN_IF_ERROR(disk.status());
    return std::vector<host::DiskDescription>{*disk};
  }
  return host.ListDisks(context, !selector.page83.empty()   ? host::AskDisks::kIds
                                 : !selector.lun_id.empty() ? host::AskDisks::kLocation
                                                            : host::AskDisks::kNothing);
}

// Returns the disk that matches now, NOT_FOUND if none does, or FAILED_PRECONDITION if several do.
absl::StatusOr<host::DiskDescription> Look(const groups::HandlerDeps& deps,
                                           const CallContext& context, const DiskSelector& selector,
                                           host::NodeVolumes* seen) {
  ABSL_ASSIGN_OR_RETURN(const auto disks, ListCandidates(deps.host->disk(), context, selector));
  const bool is_bare_lun =
      !selector.lun_id.empty() && selector.adapter.empty() && selector.bus.empty();
  std::vector<const host::DiskDescription*> found;
  std::string left_out;
  for (const host::DiskDescription& disk : disks) {
    if (!Fits(selector, disk)) continue;
    const absl::Status meant =
        is_bare_lun ? CheckMeant(deps, context, disks, disk, seen) : absl::OkStatus();
    if (meant.ok()) {
      found.push_back(&disk);
    } else if (absl::IsFailedPrecondition(meant)) {
      absl::StrAppend(&left_out, left_out.empty() ? "" : ", ", meant.message());
    } else {
      return meant;
    }
  }
  if (found.size() == 1) return *found.front();
  const Field name = NameOf(selector);
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(
        name.name, ": no disk has \"", absl::CEscape(name.text), "\"",
        CutSerial(disks, absl::StripAsciiWhitespace(selector.serial_number)),
        left_out.empty() ? ""
                         : absl::StrCat("; give disk.adapter to include this one: ", left_out)));
  }
  const std::string numbers =
      absl::StrJoin(found, ", ", [](std::string* out, const host::DiskDescription* disk) {
        absl::StrAppend(out, disk->number);
      });
  return absl::FailedPreconditionError(absl::StrCat(name.name, ": several disks have \"",
                                                    absl::CEscape(name.text), "\": ", numbers));
}

}  // namespace

bool IsDecimal(absl::string_view text) {
  uint32_t value;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &value);
}

absl::Status CheckSelector(const DiskSelector& selector) {
  size_t names = 0;
  for (const Field& field : FieldsOf(selector)) {
    ABSL_RETURN_IF_ERROR(groups::CheckText(field.name, field.text, kMaxName, true));
    if (field.text.empty()) continue;
    if (field.is_number && !IsDecimal(field.text)) {
      return absl::InvalidArgumentError(absl::StrCat(field.name, ": is not a decimal number"));
    }
    if (absl::StripAsciiWhitespace(field.text).empty()) {
      return absl::InvalidArgumentError(absl::StrCat(field.name, ": is blank"));
    }
    if (!field.is_name && selector.lun_id.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(field.name, ": may be given only with disk.lun_id"));
    }
    names += field.is_name;
  }
  if (names == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("disk: exactly one of number, serial_number, page83 and lun_id must be given, ",
                   names == 0 ? "and none is" : "and more are"));
}

absl::Status CheckAllocationUnit(const host::DiskDescription& disk,
                                 uint32_t allocation_unit_bytes) {
  const uint32_t sector = disk.sector_bytes;
  if (sector == 0 || allocation_unit_bytes % sector == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("allocation_unit_bytes: ", allocation_unit_bytes,
                   " is not a multiple of the sector size of disk ", disk.number, ", ", sector,
                   " bytes: give a multiple, or 0 to let Windows choose"));
}

absl::StatusOr<host::DiskDescription> FindDisk(const groups::HandlerDeps& deps,
                                               const CallContext& context,
                                               const DiskSelector& selector, bool* rescanned) {
  *rescanned = false;
  host::NodeVolumes seen;
  auto found = Look(deps, context, selector, &seen);
  if (!absl::IsNotFound(found.status())) return found;
  ABSL_RETURN_IF_ERROR(deps.host->disk().Rescan(context));
  *rescanned = true;
  const CallContext waiting = context.WithTimeout(kDiskArrival);
  host::DeviceWatch devices = deps.host->WatchDevices(kFirstPoll, kLastPoll);
  while (true) {
    devices.Watch();
    found = Look(deps, context, selector, &seen);
    if (!absl::IsNotFound(found.status())) return found;
    if (devices.Wait(waiting).ok()) continue;
    const absl::Status over = context.Check();
    return over.ok() ? found.status() : over;
  }
}

}  // namespace csi_proxy::storage
