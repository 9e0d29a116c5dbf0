#include "server/groups/storage/lun.h"

#include <cstdint>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/groups/iscsi/fields.h"

namespace csi_proxy::storage {
namespace {

using host::DiskDescription;

std::string Numbers(const std::vector<DiskDescription>& disks) {
  return absl::StrJoin(disks, ", ", [](std::string* out, const DiskDescription& disk) {
    absl::StrAppend(out, disk.number);
  });
}

}  // namespace

absl::Status CheckLun(const std::string& lun, bool may_be_empty) {
  if ((lun.empty() && may_be_empty) || (!lun.empty() && IsDecimal(lun))) return absl::OkStatus();
  return absl::InvalidArgumentError("lun_id: is not a decimal number");
}

bool IsSecondPath(const DiskDescription& disk) {
  return !disk.is_online && disk.offline_reason == "Redundant Path";
}

bool HasLun(const host::DiskDescription& disk, const std::string& wanted,
            const host::IscsiConnection& connection) {
  uint32_t lun = 0;
  if (!absl::SimpleAtoi(disk.lun_id, &lun)) return connection.disks.size() == 1;
  uint32_t number = 0;
  return absl::SimpleAtoi(wanted, &number) && number == lun;
}

LunDisks FindLun(const std::string& lun, const std::vector<host::IscsiSession>& sessions,
                 const std::vector<DiskDescription>& all) {
  LunDisks found;
  std::set<uint32_t> numbers;
  found.complete = true;
  for (const host::IscsiSession& session : sessions) {
    bool shows = false;
    for (const host::IscsiConnection& connection : session.connections) {
      for (const DiskDescription& disk : all) {
        if (!connection.Shows(disk.number) || !HasLun(disk, lun, connection)) continue;
        numbers.insert(disk.number);
        shows = true;
      }
    }
    found.complete = found.complete && shows;
  }
  for (const DiskDescription& disk : all) {
    if (numbers.contains(disk.number)) found.disks.push_back(disk);
  }
  if (found.disks.empty()) found.complete = false;
  return found;
}

absl::StatusOr<DiskDescription> ChooseDisk(const StageTargetRequest& request,
                                           const std::vector<DiskDescription>& disks,
                                           size_t others) {
  std::vector<DiskDescription> usable;
  for (const DiskDescription& disk : disks) {
    if (!IsSecondPath(disk)) usable.push_back(disk);
  }
  if (usable.size() == 1 && (disks.size() == 1 || request.portals.size() == 1)) {
    return usable.front();
  }
  if (usable.empty() && others > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("portals: LUN ", request.lun_id, " of target ", request.iqn, " is disk ",
                     Numbers(disks), ", a second path to a disk in use: ", others,
                     " sessions of the target use other portals or another authentication: unstage "
                     "their volumes "
                     "first"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "multipath: LUN ", request.lun_id, " of target ", request.iqn,
      " is not one disk but several, ", Numbers(disks),
      ", as MPIO does not claim it. Install the feature Multipath-IO, run "
      "`Enable-MSDSMAutomaticClaim -BusType iSCSI` and restart the node, or unstage the target "
      "and use one portal"));
}

std::string PortalsOf(const std::vector<host::IscsiSession>& sessions) {
  std::set<std::string> portals;
  for (const host::IscsiSession& session : sessions) {
    for (const host::IscsiConnection& connection : session.connections) {
      portals.insert(absl::StrCat(connection.portal.address, ":", connection.portal.port));
    }
  }
  return absl::StrJoin(portals, ", ");
}

}  // namespace csi_proxy::storage
