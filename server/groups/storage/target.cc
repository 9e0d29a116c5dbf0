#include "server/groups/storage/target.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/groups/disk/location.h"
#include "server/groups/iscsi/fields.h"
#include "server/groups/storage/calls.h"

namespace csi_proxy::storage {
namespace {

using host::IscsiPortal;

constexpr size_t kMaxPortals = 16;

// A colon before a port is the only one, or comes behind a bracket.
absl::StatusOr<IscsiPortal> ParsePortal(const std::string& field, absl::string_view text) {
  absl::string_view address = text;
  const size_t colon = text.rfind(':');
  const bool has_port = colon != absl::string_view::npos && colon > 0 &&
                        (text[colon - 1] == ']' || text.find(':') == colon);
  uint32_t port = 0;
  if (has_port) {
    address = text.substr(0, colon);
    if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": the port is not from 1 to 65535"));
    }
  }
  if (absl::ConsumePrefix(&address, "[") && !absl::ConsumeSuffix(&address, "]")) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": has no closing bracket"));
  }
  return iscsi::ReadPortal(field, field, std::string(address), port);
}

}  // namespace

bool IsSame(const IscsiPortal& a, const IscsiPortal& b) {
  return a.port == b.port && absl::EqualsIgnoreCase(a.address, b.address);
}

absl::StatusOr<std::vector<IscsiPortal>> ReadPortals(absl::string_view field,
                                                     const std::vector<std::string>& texts) {
  if (texts.size() > kMaxPortals) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": are more than ", kMaxPortals));
  }
  std::vector<IscsiPortal> portals;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string at = absl::StrCat(field, "[", i, "]");
    ABSL_ASSIGN_OR_RETURN(auto portal, ParsePortal(at, texts[i]));
    for (const IscsiPortal& other : portals) {
      if (IsSame(other, portal))
        return absl::InvalidArgumentError(absl::StrCat(at, ": is given twice"));
    }
    portals.push_back(std::move(portal));
  }
  return portals;
}

absl::Status CheckLun(const std::string& lun, bool may_be_empty) {
  if ((lun.empty() && may_be_empty) || (!lun.empty() && IsDecimal(lun))) return absl::OkStatus();
  return absl::InvalidArgumentError("lun_id: is not a decimal number");
}

bool HasLun(const host::DiskDescription& disk, const std::string& wanted,
            const host::IscsiConnection& connection) {
  const auto location = disk::ParseLocation(disk.location);
  uint32_t lun = 0;
  if (!location.has_value() || !absl::SimpleAtoi(location->lun_id, &lun)) {
    return connection.disks.size() == 1;
  }
  uint32_t number = 0;
  return absl::SimpleAtoi(wanted, &number) && number == lun;
}

}  // namespace csi_proxy::storage
