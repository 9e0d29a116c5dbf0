// Parses and makes reparse points, the bytes that make a directory a link or a mount point. The
// layout is REPARSE_DATA_BUFFER
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer). The
// functions trust no length or offset in the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"
#include "server/names/windows_path.h"

namespace csi_proxy::machine {

inline constexpr uint32_t kReparseTagMountPoint = 0xA0000003;  // junctions too
inline constexpr uint32_t kReparseTagSymlink = 0xA000000C;
// MAXIMUM_REPARSE_DATA_BUFFER_SIZE.
inline constexpr size_t kMaxReparseData = 16 * 1024;

// Returns true if an entry stands for another name, like links and mount points. Other reparse
// points, such as deduplicated or remote files, are treated as ordinary files and directories
// (learn.microsoft.com/windows/win32/api/winnt/nf-winnt-isreparsetagnamesurrogate).
inline bool IsNameSurrogate(const FileAttributes& attributes) {
  constexpr uint32_t kNameSurrogate = 0x20000000;
  return attributes.is_reparse_point && (attributes.reparse_tag & kNameSurrogate) != 0;
}

struct ReparsePoint {
  uint32_t tag = 0;
  // The target, in the form of Go's os.Readlink: `C:\a\b`, `\\host\share\a`, `\\?\Volume{guid}\`,
  // or `..\a` for a relative symbolic link. Read from the substitute name, which Windows follows,
  // never from the print name, which is for display.
  std::string target;
  // True for a symbolic link with a target relative to the link's directory or, if it begins with a
  // backslash, to the root of the drive.
  bool is_relative = false;
  // The volume, if this is the mount point of a volume. Not set for a junction.
  std::optional<VolumeId> volume;
};

// Parses the answer of FSCTL_GET_REPARSE_POINT. Returns FAILED_PRECONDITION for a tag that is
// neither kReparseTagMountPoint nor kReparseTagSymlink (an offline or deduplicated file, an app
// link), and INTERNAL for malformed bytes.
absl::StatusOr<ReparsePoint> ParseReparsePoint(const Bytes& data);

// Returns the bytes of a directory's symbolic link as CreateSymbolicLinkW writes them: substitute
// name `\??\C:\a\b`, print name `C:\a\b`. Returns INVALID_ARGUMENT for a path of more than 4,089
// UTF-16 units, which does not fit.
absl::StatusOr<Bytes> MakeSymlink(const WindowsPath& target);
// Returns the bytes of a link to a share, with the names `\??\UNC\host\share\a\` and
// `\\host\share\a\`. Returns INVALID_ARGUMENT for a path of more than 4,087 UTF-16 units.
absl::StatusOr<Bytes> MakeSymlink(const UncPath& target);
// Returns the input of FSCTL_DELETE_REPARSE_POINT, the tag without data
// (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_delete_reparse_point).
Bytes MakeReparseHeader(uint32_t tag);

}  // namespace csi_proxy::machine
