#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/base/status_macros.h"
#include "server/machine/layouts.h"
#include "server/machine/little_endian.h"
#include "server/names/unicode.h"

namespace csi_proxy::machine {
namespace {

constexpr uint8_t kSystemInformation = 1;
constexpr uint8_t kEndOfTable = 127;
// The size of a structure's header: type, length, handle.
constexpr size_t kStructureHeader = 4;
// The offset in System Information of the field Serial Number, which contains a string's number.
constexpr size_t kSerialNumberOffset = 7;

absl::Status MalformedTable(absl::string_view how) {
  return absl::InternalError(absl::StrCat("malformed SMBIOS table: ", how));
}

struct Structure {
  uint8_t type;
  // The fields, including the header.
  std::span<const uint8_t> formatted;
  // The strings, with a NUL after each string but the last. Empty if the structure has none.
  absl::string_view strings;
};

// Removes the first structure of `table`, and returns it (DSP0134, section 6.1).
absl::StatusOr<Structure> TakeStructure(std::span<const uint8_t>* table) {
  LittleEndianReader header(*table);
  Structure structure;
  structure.type = header.Read<uint8_t>();
  const auto length = header.Read<uint8_t>();
  if (!header.ok() || length < kStructureHeader || length > table->size()) {
    return MalformedTable("a structure runs past the end");
  }
  structure.formatted = table->first(length);
  *table = table->subspan(length);
  const absl::string_view text(reinterpret_cast<const char*>(table->data()), table->size());
  const size_t end = text.find(absl::string_view("\0\0", 2));
  if (end == absl::string_view::npos) {
    return MalformedTable("the strings of a structure do not end");
  }
  structure.strings = text.substr(0, end);
  *table = table->subspan(end + 2);
  return structure;
}

absl::StatusOr<std::string> SerialNumber(const Structure& system) {
  if (system.formatted.size() <= kSerialNumberOffset) {
    return MalformedTable("the system information is cut short");
  }
  const size_t number = system.formatted[kSerialNumberOffset];
  if (number == 0) return "";
  const std::vector<absl::string_view> strings =
      absl::StrSplit(system.strings, '\0', absl::SkipEmpty());
  if (number > strings.size()) {
    return MalformedTable(
        absl::StrCat("the serial number is string ", number, " of ", strings.size()));
  }
  return ReplaceInvalidUtf8(strings[number - 1]);
}

}  // namespace

absl::StatusOr<std::string> ParseSystemSerialNumber(const Bytes& raw_smbios_data) {
  LittleEndianReader reader(raw_smbios_data);
  reader.Read<uint32_t>();  // calling method and versions
  const auto length = reader.Read<uint32_t>();
  std::span<const uint8_t> table = reader.Take(length);
  if (!reader.ok()) return MalformedTable("it is cut short");
  while (!table.empty()) {
    ABSL_ASSIGN_OR_RETURN(const auto structure, TakeStructure(&table));
    if (structure.type == kSystemInformation) return SerialNumber(structure);
    if (structure.type == kEndOfTable) break;
  }
  return absl::NotFoundError("the SMBIOS table has no system information");
}

}  // namespace csi_proxy::machine
