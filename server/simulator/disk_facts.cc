#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::machine::simulator {
namespace proto = ::csi_proxy::simulated;

DiskFacts ReadDiskFacts(const proto::Disk& in, const std::string& at, Problems* problems) {
  const auto require_known = [&](bool is_known, absl::string_view field, int value) {
    problems->Require(is_known, at, field, absl::StrCat(value, " has no meaning"));
  };
  require_known(proto::BusType_IsValid(in.bus_type()), "bus_type", in.bus_type());
  require_known(proto::OfflineReason_IsValid(in.offline_reason()), "offline_reason",
                in.offline_reason());
  require_known(proto::DiskHealth_IsValid(in.health()), "health", in.health());
  problems->Require(IsPlainText(in.unique_id()), at, "unique_id", kNotPlainText);
  problems->Require(IsPlainText(in.scsi_name()) && in.scsi_name().size() <= 255, at, "scsi_name",
                    "has control characters or more than 255 bytes");
  problems->Require(in.nvme_namespace_id() <= 65535, at, "nvme_namespace_id", "is above 65535");
  problems->Require(IsPlainText(in.disk_id()), at, "disk_id", kNotPlainText);
  problems->Require(in.disk_id().empty() || in.style() != proto::RAW, at, "disk_id",
                    "a raw disk has none");
  problems->Require(in.lun() == 0 || !absl::StrContains(in.location(), "LUN"), at, "lun",
                    "the location names another");
  DiskFacts facts;
  facts.bus_type = static_cast<uint16_t>(in.bus_type());
  facts.offline_reason = static_cast<uint16_t>(in.offline_reason());
  facts.health = static_cast<uint16_t>(in.health());
  facts.unique_id = in.unique_id();
  facts.is_boot = in.is_boot();
  facts.is_system = in.is_system();
  facts.eui = in.eui();
  facts.nvme_namespace_id = in.nvme_namespace_id();
  facts.scsi_name = in.scsi_name();
  facts.disk_id = in.disk_id();
  facts.lun = in.lun();
  return facts;
}

void WriteDiskFacts(const DiskFacts& facts, proto::Disk* out) {
  out->set_bus_type(static_cast<proto::BusType>(facts.bus_type));
  out->set_offline_reason(static_cast<proto::OfflineReason>(facts.offline_reason));
  out->set_health(static_cast<proto::DiskHealth>(facts.health));
  out->set_unique_id(facts.unique_id);
  out->set_is_boot(facts.is_boot);
  out->set_is_system(facts.is_system);
  out->set_eui(facts.eui);
  out->set_nvme_namespace_id(facts.nvme_namespace_id);
  out->set_scsi_name(facts.scsi_name);
  out->set_disk_id(facts.disk_id);
  out->set_lun(facts.lun);
}

std::vector<DiskBytes> ReadForeign(const csi_proxy::simulated::Disk& disk) {
  std::vector<DiskBytes> foreign;
  for (const csi_proxy::simulated::DiskBytes& bytes : disk.foreign()) {
    foreign.push_back({bytes.offset_bytes(), bytes.data()});
  }
  return foreign;
}

void WriteForeign(const std::vector<DiskBytes>& foreign, csi_proxy::simulated::Disk* disk) {
  for (const DiskBytes& from : foreign) {
    csi_proxy::simulated::DiskBytes* const bytes = disk->add_foreign();
    bytes->set_offset_bytes(from.offset_bytes);
    bytes->set_data(from.bytes);
  }
}

}  // namespace csi_proxy::machine::simulator
