#include "server/machine/reparse_point.h"

#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/base/status_macros.h"
#include "server/machine/little_endian.h"
#include "server/names/unicode.h"

namespace csi_proxy::machine {
namespace {

constexpr uint32_t kSymlinkFlagRelative = 1;
// The size of the header that every reparse point has.
constexpr size_t kHeader = 8;
// The size of the fields of a symbolic link between the header and the names.
constexpr size_t kSymlinkFields = 12;
// The object manager's directory of drives, volumes and `UNC`.
constexpr absl::string_view kObjectPrefix = R"(\??\)";

absl::Status Malformed(absl::string_view how) {
  return absl::InternalError(absl::StrCat("malformed reparse point: ", how));
}

// Converts like normaliseLinkPath of Go's os package but, like Windows, accepts `UNC` in any case.
std::string ToWin32(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kObjectPrefix)) return std::string(name);
  if (name.size() >= 2 && name[1] == ':') return std::string(name);
  if (absl::StartsWithIgnoreCase(name, R"(UNC\)")) return absl::StrCat(R"(\\)", name.substr(4));
  return absl::StrCat(R"(\\?\)", name);
}

// The position of a name in the bytes that follow the fields.
struct Range {
  uint16_t offset;
  uint16_t length;
};

Range ReadRange(LittleEndianReader* reader) {
  const auto offset = reader->Read<uint16_t>();
  return {.offset = offset, .length = reader->Read<uint16_t>()};
}

bool Holds(std::span<const uint8_t> names, Range range) {
  return size_t{range.offset} + range.length <= names.size();
}

absl::StatusOr<std::string> ReadName(std::span<const uint8_t> names, Range range) {
  if (range.length == 0) return Malformed("it has no substitute name");
  if (range.offset % 2 != 0) return Malformed("the substitute name begins within a character");
  const auto name = FromUtf16Le(names.subspan(range.offset, range.length));
  // The target is opened by its UTF-8 path, and malformed UTF-16 has no UTF-8 form.
  if (!name) return Malformed("the substitute name is not UTF-16");
  if (absl::StrContains(*name, '\0')) return Malformed("the substitute name holds a NUL");
  return *name;
}

void AppendRange(size_t offset, const Bytes& name, Bytes* out) {
  AppendLittleEndian(static_cast<uint16_t>(offset), out);
  AppendLittleEndian(static_cast<uint16_t>(name.size()), out);
}

absl::StatusOr<Bytes> MakeSymlink(absl::string_view object_name, absl::string_view path) {
  const Bytes substitute = ToUtf16Le(object_name);
  const Bytes print = ToUtf16Le(path);
  if (kHeader + kSymlinkFields + print.size() + substitute.size() > kMaxReparseData) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a path of ", print.size() / 2, " characters is too long to be the target of a link"));
  }
  Bytes data;
  AppendLittleEndian(kReparseTagSymlink, &data);
  AppendLittleEndian(static_cast<uint16_t>(kSymlinkFields + print.size() + substitute.size()),
                     &data);
  AppendLittleEndian<uint16_t>(0, &data);  // Reserved
  AppendRange(print.size(), substitute, &data);
  AppendRange(0, print, &data);
  AppendLittleEndian<uint32_t>(0, &data);  // Flags: absolute
  data.insert(data.end(), print.begin(), print.end());
  data.insert(data.end(), substitute.begin(), substitute.end());
  return data;
}

}  // namespace

absl::StatusOr<ReparsePoint> ParseReparsePoint(const Bytes& data) {
  LittleEndianReader header(data);
  ReparsePoint point;
  point.tag = header.Read<uint32_t>();
  const auto length = header.Read<uint16_t>();
  header.Read<uint16_t>();  // Reserved
  if (!header.ok()) return Malformed("it is cut short");
  if (point.tag != kReparseTagSymlink && point.tag != kReparseTagMountPoint) {
    return absl::FailedPreconditionError(absl::StrCat("a reparse point with the tag 0x",
                                                      absl::Hex(point.tag, absl::kZeroPad8),
                                                      " is neither a link nor a mount point"));
  }

  LittleEndianReader reader(header.Take(length));  // empty if fewer bytes follow
  const Range substitute = ReadRange(&reader);
  const Range print = ReadRange(&reader);
  const uint32_t flags = point.tag == kReparseTagSymlink ? reader.Read<uint32_t>() : 0;
  const std::span<const uint8_t> names = reader.rest();
  if (!reader.ok()) return Malformed("it is cut short");
  if (!Holds(names, substitute) || !Holds(names, print)) {
    return Malformed("a name lies outside of it");
  }
  ABSL_ASSIGN_OR_RETURN(auto name, ReadName(names, substitute));

  point.is_relative = (flags & kSymlinkFlagRelative) != 0;
  point.target = point.is_relative ? std::move(name) : ToWin32(name);
  // Only a target with a trailing backslash is a volume's root directory. Without the backslash,
  // the target is the volume's device.
  if (point.tag == kReparseTagMountPoint && absl::EndsWith(point.target, "\\")) {
    if (auto volume = VolumeId::Parse(point.target); volume.ok()) point.volume = *std::move(volume);
  }
  return point;
}

absl::StatusOr<Bytes> MakeSymlink(const WindowsPath& target) {
  const std::string path = target.ToString();
  return MakeSymlink(absl::StrCat(kObjectPrefix, path), path);
}

absl::StatusOr<Bytes> MakeSymlink(const UncPath& target) {
  // Go, and so containerd, needs the trailing backslash to follow a link to a share
  // (github.com/kubernetes-csi/csi-proxy/pull/98). The Go release also writes the backslash.
  const std::string path = absl::StrCat(target.ToString(), "\\");
  return MakeSymlink(absl::StrCat(kObjectPrefix, "UNC", path.substr(1)), path);
}

Bytes MakeReparseHeader(uint32_t tag) {
  Bytes header;
  AppendLittleEndian(tag, &header);
  AppendLittleEndian<uint32_t>(0, &header);  // ReparseDataLength, Reserved
  return header;
}

}  // namespace csi_proxy::machine
