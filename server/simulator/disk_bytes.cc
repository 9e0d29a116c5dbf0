// Reads a disk byte by byte. A byte is zero unless Windows or an earlier user wrote it.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/simulator/storage.h"

namespace csi_proxy::machine::simulator {
namespace {

// The signature at byte 510 of a boot sector, and of a disk's first sector.
constexpr absl::string_view kBootSignature("\x55\xAA", 2);
constexpr uint64_t kBootSignatureAt = 510;
constexpr absl::string_view kGptSignature = "EFI PART";
// The offset of a file system's name, behind the jump instruction.
constexpr uint64_t kFileSystemAt = 3;

// The bytes of a disk from `offset` on. Write() ignores bytes that lie outside the window.
struct Window {
  uint64_t offset;
  Bytes bytes;

  void Write(uint64_t at, absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const uint64_t here = at + i;
      if (here >= offset && here - offset < bytes.size()) {
        bytes[here - offset] = static_cast<uint8_t>(text[i]);
      }
    }
  }
};

}  // namespace

Bytes ReadBytes(const Disk& disk, uint64_t offset, size_t size) {
  const uint64_t left = disk.size_bytes - std::min(disk.size_bytes, offset);
  Window window{offset, Bytes(std::min<uint64_t>(left, size))};
  for (const DiskBytes& foreign : disk.foreign) {
    window.Write(foreign.offset_bytes, foreign.bytes);
  }
  if (disk.style != PartitionStyle::kRaw) window.Write(kBootSignatureAt, kBootSignature);
  if (disk.style == PartitionStyle::kGpt) {
    window.Write(disk.sector_bytes, kGptSignature);
    window.Write(disk.size_bytes - disk.sector_bytes, kGptSignature);
  }
  for (const DiskPartition& partition : disk.partitions) {
    if (!partition.volume.has_value() || partition.volume->file_system.empty()) continue;
    window.Write(partition.offset_bytes + kFileSystemAt, partition.volume->file_system);
    window.Write(partition.offset_bytes + kBootSignatureAt, kBootSignature);
  }
  return std::move(window.bytes);
}

void EraseForeign(Disk& disk, uint64_t offset, uint64_t size) {
  std::erase_if(disk.foreign, [&](const DiskBytes& foreign) {
    return foreign.offset_bytes >= offset && foreign.offset_bytes - offset < size;
  });
}

}  // namespace csi_proxy::machine::simulator
