// Reparse points: the bytes that make a directory a link or a mount point. Pure functions over
// REPARSE_DATA_BUFFER
// (learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer), read
// without trusting any length or offset in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/volume_id.h"
#include "server/base/windows_path.h"
#include "server/machine/os.h"

namespace csi_proxy::machine {

inline constexpr uint32_t kReparseTagMountPoint = 0xA0000003;  // junctions too
inline constexpr uint32_t kReparseTagSymlink = 0xA000000C;
// MAXIMUM_REPARSE_DATA_BUFFER_SIZE.
inline constexpr size_t kMaxReparseData = 16 * 1024;

// True if an entry stands for another name, as links and mount points do. Others, such as
// deduplicated or remote files, are treated as ordinary files and directories
// (learn.microsoft.com/windows/win32/api/winnt/nf-winnt-isreparsetagnamesurrogate).
inline bool IsNameSurrogate(const FileAttributes& attributes) {
  constexpr uint32_t kNameSurrogate = 0x20000000;
  return attributes.is_reparse_point && (attributes.reparse_tag & kNameSurrogate) != 0;
}

struct ReparsePoint {
  uint32_t tag = 0;
  // The target, in the form that Go's os.Readlink returns: `C:\a\b`, `\\host\share\a`,
  // `\\?\Volume{guid}\`, or `..\a` for a relative symbolic link. It comes from the substitute name,
  // which Windows follows, never from the print name, which is only displayed.
  std::string target;
  // A symbolic link whose target is relative to the directory that holds it or, when it begins with
  // a backslash, to the root of the drive.
  bool is_relative = false;
  // The volume, when it is the mount point of one.
  std::optional<VolumeId> volume;
};

// Parses the answer of FSCTL_GET_REPARSE_POINT. A tag that is neither of the two above is
// FAILED_PRECONDITION (a file that is offline, deduplicated, an app link: nothing to follow);
// malformed bytes are INTERNAL.
absl::StatusOr<ReparsePoint> ParseReparsePoint(const Bytes& data);

// The bytes of a directory's symbolic link, as CreateSymbolicLinkW writes them: substitute name
// `\??\C:\a\b`, print name `C:\a\b`. INVALID_ARGUMENT for a path that a reparse point cannot hold,
// which is one of more than 4,089 characters.
absl::StatusOr<Bytes> MakeSymlink(const WindowsPath& target);
// Likewise `\??\UNC\host\share\a\` and `\\host\share\a\`.
absl::StatusOr<Bytes> MakeSymlink(const UncPath& target);
// The bytes SetVolumeMountPointW writes: `\??\Volume{guid}\`, no print name.
Bytes MakeMountPoint(const VolumeId& volume);
// The input of FSCTL_DELETE_REPARSE_POINT: the tag, and no data
// (learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_delete_reparse_point).
Bytes MakeReparseHeader(uint32_t tag);
// The bytes of a junction (`mklink /J`): the tag of a mount point, but a path of a drive,
// `\??\C:\a\b`, and print name `C:\a\b`. INVALID_ARGUMENT for a path that is too long.
absl::StatusOr<Bytes> MakeJunction(const WindowsPath& target);

}  // namespace csi_proxy::machine
