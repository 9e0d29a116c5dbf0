// Parses fuzzed answers of disks, volumes, links and firmware. The first byte selects the parser;
// an accepted answer must be consistent, and must be the same when it is made and parsed again.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/machine/layouts.h"
#include "server/machine/little_endian.h"
#include "server/machine/reparse_point.h"
#include "server/names/unicode.h"
#include "server/simulator/win32/layouts_encode.h"

namespace {

using csi_proxy::machine::Bytes;
namespace machine = csi_proxy::machine;

void Require(bool holds) {
  if (!holds) std::abort();
}

// Every error must have a code that the headers name.
void RequireCode(const absl::Status& status, absl::StatusCode allowed) {
  Require(status.code() == absl::StatusCode::kInternal || status.code() == allowed);
}

// Returns the target of a link to `path`; a share's target ends in a backslash.
std::string Target(const csi_proxy::WindowsPath& path) { return path.ToString(); }
std::string Target(const csi_proxy::UncPath& path) { return path.ToString() + "\\"; }

template <typename Path>
void CheckLink(const Path& path) {
  const auto data = machine::MakeSymlink(path);
  if (!data.ok()) {
    Require(data.status().code() == absl::StatusCode::kInvalidArgument);
    Require(csi_proxy::Utf16Length(path.ToString()) > 4000);
    return;
  }
  Require(data->size() <= machine::kMaxReparseData);
  const auto again = machine::ParseReparsePoint(*data);
  Require(again.ok() && again->tag == machine::kReparseTagSymlink);
  Require(again->target == Target(path) && !again->is_relative && !again->volume);
}

void CheckReparsePoint(const Bytes& data) {
  const auto point = machine::ParseReparsePoint(data);
  if (!point.ok()) return RequireCode(point.status(), absl::StatusCode::kFailedPrecondition);
  Require(!point->target.empty() && point->target.find('\0') == std::string::npos);
  const int64_t units = csi_proxy::Utf16Length(point->target);
  Require(units > 0 && 2 * static_cast<size_t>(units) <= data.size());
  Require(!point->is_relative || point->tag == machine::kReparseTagSymlink);
  Require(!point->volume || point->tag == machine::kReparseTagMountPoint);
  if (const auto path = csi_proxy::WindowsPath::Parse("path", point->target); path.ok()) {
    CheckLink(*path);
  }
  if (const auto path = csi_proxy::UncPath::Parse("path", point->target); path.ok()) {
    CheckLink(*path);
  }
}

// The checks below wrap the input in tags and lengths, which a fuzzer rarely finds.

void CheckBody(uint32_t tag, const Bytes& body) {
  Bytes data;
  machine::AppendLittleEndian(tag, &data);
  machine::AppendLittleEndian(static_cast<uint16_t>(body.size()), &data);
  machine::AppendLittleEndian<uint16_t>(0, &data);  // Reserved
  data.insert(data.end(), body.begin(), body.end());
  CheckReparsePoint(data);
}

void CheckSymlinkBody(const Bytes& data) { CheckBody(machine::kReparseTagSymlink, data); }

void CheckMountPointBody(const Bytes& data) { CheckBody(machine::kReparseTagMountPoint, data); }

void CheckName(const Bytes& data) {
  for (const absl::string_view prefix : {"", R"(\??\)", R"(\??\C:\)", R"(\??\UNC\)"}) {
    Bytes name = csi_proxy::ToUtf16Le(prefix);
    name.insert(name.end(), data.begin(), data.end());
    Bytes body(8);  // the substitute name at 0, the print name empty
    body[2] = static_cast<uint8_t>(name.size());
    body[3] = static_cast<uint8_t>(name.size() >> 8);
    body.insert(body.end(), name.begin(), name.end());
    CheckMountPointBody(body);
    body.insert(body.begin() + 8, 4, 0);  // Flags
    CheckSymlinkBody(body);
  }
}

void CheckPath(const Bytes& data) {
  const absl::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  const auto path = csi_proxy::WindowsPath::Parse("path", absl::StrCat("C:\\", text));
  if (path.ok()) CheckLink(*path);
  const auto unc = csi_proxy::UncPath::Parse("path", absl::StrCat("\\\\", text));
  if (unc.ok()) CheckLink(*unc);
}

void CheckVolume(const Bytes& data) {
  if (data.size() < 16) return;
  const std::string hex = absl::BytesToHexString({reinterpret_cast<const char*>(data.data()), 16});
  const auto volume = csi_proxy::VolumeId::Parse(
      absl::StrCat(R"(\\?\Volume{)", hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                   hex.substr(12, 4), "-", hex.substr(16, 4), "-", hex.substr(20), "}"));
  Require(volume.ok());
  const auto point = machine::ParseReparsePoint(machine::MakeMountPoint(*volume));
  Require(point.ok() && point->volume == *volume && point->target == volume->ToString());
}

void CheckPage83(const Bytes& data) {
  const auto ids = machine::ParseDeviceIds(data);
  if (!ids.ok()) return RequireCode(ids.status(), absl::StatusCode::kInternal);
  const std::string& text = ids->page83;
  // An identifier of n bytes has at most 2n hexadecimal digits.
  Require(text.empty() || text.size() <= 2 * (data.size() - 28));
  for (const char c : text) Require(c >= 0x20 && c < 0x7F);
  if (text.empty() || text.size() > UINT16_MAX) return;
  const auto again =
      machine::ParseDeviceIds(machine::MakeDeviceIds({{.code_set = machine::CodeSet::kAscii,
                                                       .type = machine::IdentifierType::kVendorId,
                                                       .association = machine::Association::kDevice,
                                                       .bytes = Bytes(text.begin(), text.end())}}));
  Require(again.ok() && again->page83 == text);
}

void CheckDeviceNumber(const Bytes& data) {
  const auto number = machine::ParseDeviceNumber(data);
  if (!number.ok()) return RequireCode(number.status(), absl::StatusCode::kInternal);
  const Bytes again = machine::MakeDeviceNumber(*number);
  Require(Bytes(data.begin(), data.begin() + 12) == again);
}

void CheckLength(const Bytes& data) {
  const auto length = machine::ParseLength(data);
  if (!length.ok()) return RequireCode(length.status(), absl::StatusCode::kInternal);
  Require(*length <= INT64_MAX);
  Require(Bytes(data.begin(), data.begin() + 8) == machine::MakeLength(*length));
}

void CheckDiskAttributes(const Bytes& data) {
  const auto attributes = machine::ParseDiskAttributes(data);
  if (!attributes.ok()) return RequireCode(attributes.status(), absl::StatusCode::kInternal);
  Require(attributes->is_offline == ((data[8] & 1) != 0));
  Require(attributes->is_read_only == ((data[8] & 2) != 0));
}

void CheckDiskExtents(const Bytes& data) {
  const auto extents = machine::ParseDiskExtents(data);
  if (!extents.ok()) return RequireCode(extents.status(), absl::StatusCode::kInternal);
  Require(!extents->empty() && 8 + 24 * extents->size() <= data.size());
  for (const auto& extent : *extents) {
    Require(extent.offset <= INT64_MAX && extent.length <= INT64_MAX);
  }
  const Bytes made = machine::MakeDiskExtents(*extents);
  const auto again = machine::ParseDiskExtents(made);
  Require(again.ok() && machine::MakeDiskExtents(*again) == made);
}

void CheckSmbios(const Bytes& data) {
  const auto serial = machine::ParseSystemSerialNumber(data);
  if (!serial.ok()) return RequireCode(serial.status(), absl::StatusCode::kNotFound);
  // A byte can become U+FFFD, which has three bytes.
  Require(serial->size() <= 3 * data.size());
  Require(csi_proxy::Utf16Length(*serial) >= 0);
  const auto again = machine::ParseSystemSerialNumber(machine::MakeSmbiosTable(*serial));
  Require(again.ok() && *again == *serial);
}

void CheckSetDiskAttributes(const Bytes& data) {
  const auto change = machine::ParseSetDiskAttributes(data);
  Require(change.ok() || change.status().code() == absl::StatusCode::kInvalidArgument);
  Require(!change.ok() || data.size() >= 40);
}

constexpr void (*kChecks[])(const Bytes&) = {
    CheckReparsePoint, CheckSymlinkBody, CheckMountPointBody,    CheckName,   CheckPath,
    CheckVolume,       CheckPage83,      CheckDeviceNumber,      CheckLength, CheckDiskAttributes,
    CheckDiskExtents,  CheckSmbios,      CheckSetDiskAttributes,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  kChecks[data[0] % std::size(kChecks)](Bytes(data + 1, data + size));
  return 0;
}
