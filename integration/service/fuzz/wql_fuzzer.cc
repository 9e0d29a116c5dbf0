// Parses fuzzed WQL and object paths with the simulated WMI: each is accepted, or refused with an
// HRESULT. Values that cim::Query and cim::Association quote must be read back unchanged, so that
// no value can inject a condition.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>

#include "server/machine/cim/errors.h"
#include "server/machine/cim/query.h"
#include "server/simulator/wmi/object_path.h"
#include "server/simulator/wmi/wql.h"

namespace {

namespace cim = csi_proxy::cim;
namespace wmi = csi_proxy::machine::simulator::wmi;
using cim::Value;
using enum cim::Namespace;

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckForeign(absl::string_view text) {
  const auto statement = wmi::ParseWql(kStorage, text);
  if (!statement.ok()) {
    Require(cim::HresultOf(statement.status()).has_value());
  } else if (const auto* select = std::get_if<wmi::Select>(&*statement)) {
    // Rebuilt by the product's query builder, the statement must be the same.
    cim::Query query(select->of->name);
    for (const wmi::Condition& condition : select->where) {
      if (condition.property->type == cim::Type::kChar16) return;
      query.Where(condition.property->name, condition.value);
    }
    const auto again = wmi::ParseWql(kStorage, query.ToWql());
    Require(again.ok());
    const auto& same = std::get<wmi::Select>(*again);
    Require(same.of == select->of && same.where.size() == select->where.size());
    for (size_t i = 0; i < same.where.size(); ++i) {
      Require(same.where[i].property == select->where[i].property);
      Require(same.where[i].value == select->where[i].value);
    }
  }
  const auto path = wmi::ParsePath(kStorage, text);
  if (!path.ok()) return Require(cim::HresultOf(path.status()).has_value());
  if (path->instance.empty()) return;
  const auto again = wmi::ParsePath(kStorage, path->instance);
  Require(again.ok() && again->of == path->of && again->instance == path->instance);
}

void CheckValue(const std::string& bytes, uint64_t number) {
  const auto statement = wmi::ParseWql(kStorage, cim::Query("MSFT_Disk")
                                                     .Where("UniqueId", Value::String(bytes))
                                                     .Where("Size", Value::Uint64(number))
                                                     .ToWql());
  Require(statement.ok());
  const auto& select = std::get<wmi::Select>(*statement);
  Require(select.where.size() == 2);
  Require(select.where[0].value == Value::String(bytes));
  Require(select.where[1].value == Value::Uint64(number));
}

void CheckPath(const std::string& bytes) {
  const std::string text = wmi::MakePath(*wmi::FindClass(kStorage, "MSFT_Partition"),
                                         {{"ObjectId", Value::String(bytes)}});
  const auto path = wmi::ParsePath(kStorage, text);
  Require(path.ok() && path->instance == text);
  const cim::Association association = {"MSFT_PartitionToVolume", "MSFT_Volume", "Volume",
                                        "Partition"};
  const auto statement = wmi::ParseWql(kStorage, association.ToWql(text));
  Require(statement.ok());
  Require(std::get<wmi::AssociatorsOf>(*statement).of.instance == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  uint64_t number = size;
  for (size_t i = 0; i < size && i < 8; ++i) number = number << 8 | data[i];
  CheckForeign(bytes);
  // Prefixes that a fuzzer rarely finds.
  CheckForeign("SELECT * FROM MSFT_Disk WHERE " + bytes);
  CheckForeign("MSFT_iSCSITarget.NodeAddress=\"" + bytes);
  CheckValue(bytes, number);
  CheckPath(bytes);
  return 0;
}
