// A call's view of the node's volumes. A call reads a volume once and passes the view to its steps.
// After a step that changes the volume, or a wait, the call reads the volume again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/names/volume_id.h"

namespace csi_proxy::host {

// A drive letter or folder where a volume is mounted.
struct MountPoint {
  // For example `D:\` or `C:\a\b\`.
  std::string path;
  // True for a folder below a working directory: a driver has mounted the volume there.
  bool is_drivers = false;
  bool is_drive() const { return path.size() <= 3; }
};

struct VolumeView {
  VolumeId id;
  // The ranges of disks that belong to the volume; at least one.
  std::vector<machine::DiskExtent> extents;

  // The volume's mounts. Set by VolumeHost::ReadMounts().
  std::vector<MountPoint> mounts = {};
  // True if the mount manager names a folder for the volume, even a folder that no longer leads to
  // the volume. Set by VolumeHost::ReadMounts().
  bool has_folder = false;
  // Set by the caller from VolumeHost::GetFileSystem().
  machine::FileSystem file_system = {};
};

// The extents of each volume of the node, by its name; empty if Windows does not report them.
using NodeVolumes = std::map<std::string, std::vector<machine::DiskExtent>>;

}  // namespace csi_proxy::host
