#include "server/simulator/win32/os_double.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/names/unicode.h"
#include "server/names/win32_error.h"
#include "server/names/windows_path.h"
#include "server/simulator/resolver.h"
#include "server/simulator/services.h"
#include "server/simulator/smb.h"
#include "server/simulator/storage.h"
#include "server/simulator/win32/devices.h"
#include "server/simulator/win32/layouts_encode.h"
#include "server/simulator/win32/paths.h"

namespace csi_proxy::machine::simulator {
namespace {

using machine::Bytes;
using machine::DeviceAccess;
using machine::VolumeSpace;

// Returns the result of GetFileAttributesW for a path on a server.
absl::Status ReachServer(NodeState& state, const UncPath& path, absl::string_view operation) {
  const SmbServer* server = FindServer(state, path.host());
  if (server == nullptr || !server->reachable) return Failure(operation, win32_error::kBadNetPath);
  if (FindShare(state, path.Share()) == nullptr) {
    return Failure(operation, win32_error::kBadNetName);
  }
  if (FindReadableShare(state, path.Share()) == nullptr) {
    return Failure(operation, IsDenied(state, path.Share()) ? win32_error::kAccessDenied
                                                            : win32_error::kLogonFailure);
  }
  const Resolved at = ResolveUnc(state, path);
  if (at.at().kind == Tree::Kind::kLink) {
    return Failure(operation, win32_error::kNetworkUnreachable);
  }
  if (at.found()) return absl::OkStatus();
  const bool is_last = at.missing.size() == 1 && at.at().kind == Tree::Kind::kDirectory;
  return Failure(operation, is_last ? win32_error::kFileNotFound : win32_error::kPathNotFound);
}

bool IsUnc(absl::string_view path) {
  return absl::StartsWith(path, R"(\\)") && !absl::StartsWith(path, R"(\\?\)");
}

// Returns the result of GetDiskFreeSpaceExW for a directory on a server. `directory` must end in a
// backslash (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getdiskfreespaceexw).
absl::StatusOr<VolumeSpace> GetServerSpace(NodeState& state, const std::string& directory,
                                           absl::string_view operation) {
  const absl::StatusOr<UncPath> path = UncPath::Parse("path", directory);
  if (!path.ok() || !absl::EndsWith(directory, "\\")) {
    return Failure(operation, win32_error::kInvalidName);
  }
  ABSL_RETURN_IF_ERROR(ReachServer(state, *path, operation));
  const SmbShare& share = *FindShare(state, path->Share());
  const uint64_t free = share.size_bytes - std::min(share.size_bytes, share.tree.file_bytes());
  return VolumeSpace{share.size_bytes, free, free};
}

// Returns the mode in which SetVolumeMountPointW and DeleteVolumeMountPointW open the directory:
// for writing, because they change its reparse data, and without following it. Their pages
// (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw and
// .../fileapi/nf-fileapi-deletevolumemountpointw) do not document the sharing mode, and ReactOS
// implements neither function. By default the open shares nothing. With `mount_calls_share`, the
// open shares reading and writing, but not deletion, as ReactOS's GetVolumeNameForVolumeMountPointW
// does (dll/win32/kernel32/client/file/mntpoint.c).
OpenMode MountCallMode(const Behaviour& behaviour) {
  return {
      right::kSynchronize | right::kReadAttributes | right::kWriteData | right::kWriteAttributes,
      behaviour.mount_calls_share ? share::kRead | share::kWrite : 0};
}

// Returns the directory of a mount-point call, without the backslash that must end the name
// (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw). No page says
// that these calls accept `\\?\C:\a\`, so that form is refused wherever the path without `\\?\`
// fits into 260 characters with the NUL
// (learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation).
absl::StatusOr<std::string> MountDirectory(absl::string_view text, absl::string_view operation) {
  constexpr int64_t kMaxPath = 260;
  const absl::string_view given = text;
  const bool is_verbatim = absl::ConsumePrefix(&text, R"(\\?\)");
  if (!absl::EndsWith(text, "\\")) return Failure(operation, win32_error::kInvalidName);
  const bool is_volume = is_verbatim && absl::StartsWithIgnoreCase(text, "Volume{");
  const bool fits = Utf16Length(text) < kMaxPath;
  if (!is_volume && !is_verbatim && !fits) {
    return Failure(operation, win32_error::kFileNameTooLong);
  }
  if (!is_volume && is_verbatim && fits && WindowsPath::Parse("directory", text).ok()) {
    return Failure(operation, win32_error::kInvalidParameter);
  }
  const absl::string_view path = is_volume ? given : text;
  const bool is_root = is_volume ? VolumeId::Parse(path).ok() : path.size() == 3;
  return std::string(is_root ? path : absl::StripSuffix(path, "\\"));
}

absl::Status CheckFree(NodeState& state, OpenEntries& open, const PathEnd& end,
                       absl::string_view operation) {
  return open.Check(state, end, MountCallMode(state.behaviour),
                    [&] { return std::string(operation); });
}

absl::Status Mount(NodeState& state, OpenEntries& open, const std::string& directory,
                   const std::string& volume, absl::string_view operation) {
  const absl::StatusOr<VolumePlace> place = FindVolumeByName(state, volume, operation);
  if (HasWin32Code(place.status(), win32_error::kInvalidName)) {
    return Failure(operation, win32_error::kInvalidParameter);
  }
  if (!place.ok()) return place.status();
  ABSL_ASSIGN_OR_RETURN(const std::string path, MountDirectory(directory, operation));
  ABSL_ASSIGN_OR_RETURN(const PathEnd end, FindPath(state, path, operation));
  ABSL_RETURN_IF_ERROR(CheckFree(state, open, end, operation));
  if (end.at().kind == Tree::Kind::kFile) return Failure(operation, win32_error::kDirectory);
  // This error also applies to a mounted folder, even an empty one
  // (learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw), to the root of
  // a drive, because the letter is taken, and to a junction.
  if (end.at().mounted.has_value() || end.at().junction || !end.at().children.empty() ||
      end.entry == Tree::kRoot) {
    return Failure(operation, win32_error::kDirNotEmpty);
  }
  if (end.at().kind == Tree::Kind::kLink)
    return Failure(operation, win32_error::kReparseTagMismatch);
  if (IsWriteProtected(end.place)) return Failure(operation, win32_error::kWriteProtect);
  end.tree().SetMounted(end.entry, place->volume->id);
  return absl::OkStatus();
}

absl::Status EndMount(NodeState& state, OpenEntries& open, const std::string& directory,
                      absl::string_view operation) {
  ABSL_ASSIGN_OR_RETURN(const std::string path, MountDirectory(directory, operation));
  ABSL_ASSIGN_OR_RETURN(const PathEnd end, FindPath(state, path, operation));
  ABSL_RETURN_IF_ERROR(CheckFree(state, open, end, operation));
  if (end.at().kind == Tree::Kind::kFile) return Failure(operation, win32_error::kDirectory);
  // For a directory that is not a mounted folder "the function does nothing"
  // (learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-deletevolumemountpointw).
  if (!end.at().mounted.has_value()) return absl::OkStatus();
  if (IsWriteProtected(end.place)) return Failure(operation, win32_error::kWriteProtect);
  if (state.behaviour.stale_mount_entries && !FindVolume(state, *end.at().mounted).ok()) {
    return Failure(operation, win32_error::kFileNotFound);
  }
  ForgetStaleFolder(state, FolderName(*end.place.volume, end.entry));
  end.tree().SetMounted(end.entry, std::nullopt);
  return absl::OkStatus();
}

class OsDouble final : public machine::Os {
 public:
  explicit OsDouble(Core* core) : core_(*core), gate_(core) {}

  absl::StatusOr<std::unique_ptr<machine::File>> OpenRoot(const std::string& root) override {
    return OpenRootDirectory(gate_, open_, root);
  }

  absl::Status Reach(const std::string& path) override {
    const std::string operation = absl::StrCat("reaching ", path);
    return gate_.Run("win32.Reach", path, [&](NodeState& state) {
      const absl::StatusOr<UncPath> unc = UncPath::Parse("path", path);
      if (!unc.ok()) return Failure(operation, win32_error::kInvalidName);
      return ReachServer(state, *unc, operation);
    });
  }

  absl::StatusOr<std::vector<std::string>> ListVolumes() override {
    using Result = absl::StatusOr<std::vector<std::string>>;
    return gate_.Run("win32.ListVolumes", "", [](NodeState& state) -> Result {
      std::vector<std::string> names;
      for (const Disk* disk : VisibleDisks(state)) {
        for (const DiskPartition& partition : disk->partitions) {
          if (!partition.volume.has_value()) continue;
          // Lists volumes that have arrived on online disks. Compares the partition, because an
          // offline copy of a disk has the original's volume ids.
          const VolumeId& id = partition.volume->id;
          const absl::StatusOr<VolumePlace> place = FindVolume(state, id);
          if (place.ok() && place->partition == &partition) names.push_back(id.ToString());
        }
      }
      return names;
    });
  }

  absl::StatusOr<std::string> GetVolumeOfDrive(char drive) override {
    using Result = absl::StatusOr<std::string>;
    const std::string root = absl::StrCat(absl::string_view(&drive, 1), ":\\");
    return gate_.Run("win32.GetVolumeOfDrive", root, [&](NodeState& state) -> Result {
      const absl::StatusOr<VolumePlace> place = FindDrive(state, absl::ascii_toupper(drive));
      if (place.ok()) return place->volume->id.ToString();
      return Failure(absl::StrCat("asking for the volume of ", root), win32_error::kFileNotFound);
    });
  }

  absl::StatusOr<FileSystem> GetFileSystem(const std::string& volume) override {
    using Result = absl::StatusOr<FileSystem>;
    return gate_.Run("win32.GetFileSystem", volume, [&](NodeState& state) -> Result {
      ABSL_ASSIGN_OR_RETURN(
          const VolumePlace place,
          FindRoot(state, volume, absl::StrCat("asking for the file system of ", volume)));
      return FileSystem{place.volume->file_system,
                        place.partition->mounted_read_only || place.volume->read_only};
    });
  }

  absl::StatusOr<VolumeSpace> GetSpace(const std::string& volume) override {
    using Result = absl::StatusOr<VolumeSpace>;
    return gate_.Run("win32.GetSpace", volume, [&](NodeState& state) -> Result {
      const std::string operation = absl::StrCat("measuring ", volume);
      if (IsUnc(volume)) return GetServerSpace(state, volume, operation);
      ABSL_ASSIGN_OR_RETURN(const VolumePlace place, FindRoot(state, volume, operation));
      const uint64_t total = FileSystemBytes(*place.partition);
      const uint64_t free = total - std::min(total, UsedBytes(*place.partition));
      return VolumeSpace{total, free, free};
    });
  }

  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) override {
    using Result = absl::StatusOr<std::vector<std::string>>;
    return gate_.Run("win32.ListMountPoints", volume, [&](NodeState& state) -> Result {
      ABSL_ASSIGN_OR_RETURN(
          const VolumePlace place,
          FindVolumeByName(state, volume, absl::StrCat("asking where ", volume, " is mounted")));
      return MountPointsOf(state, *place.volume);
    });
  }

  absl::Status Flush(const std::string& volume) override {
    return gate_.Run("win32.Flush", volume, [&](NodeState& state) {
      const std::string operation = absl::StrCat("flushing ", volume);
      ABSL_ASSIGN_OR_RETURN(const VolumePlace place, FindVolumeByName(state, volume, operation));
      // Fails if the disk is write-protected
      // (learn.microsoft.com/windows/win32/debug/system-error-codes--0-499-).
      return IsWriteProtected(place) ? Failure(operation, win32_error::kWriteProtect)
                                     : absl::OkStatus();
    });
  }

  absl::Status SetMountPoint(const std::string& directory, const std::string& volume) override {
    return gate_.Run("win32.SetMountPoint", ResourceOf(directory), [&](NodeState& state) {
      return Mount(state, *open_, directory, volume,
                   absl::StrCat("mounting ", volume, " at ", directory));
    });
  }

  absl::Status DeleteMountPoint(const std::string& directory) override {
    return gate_.Run("win32.DeleteMountPoint", ResourceOf(directory), [&](NodeState& state) {
      return EndMount(state, *open_, directory,
                      absl::StrCat("deleting the mount point ", directory));
    });
  }

  absl::StatusOr<Bytes> Control(const std::string& device, DeviceAccess access, uint32_t code,
                                const Bytes& input, size_t max_output) override {
    return gate_.Run("win32.Control", device, [&](NodeState& state) {
      return ControlDevice(state, device, access, code, input, max_output);
    });
  }

  absl::StatusOr<Bytes> Read(const std::string& device, uint64_t offset, size_t size) override {
    return gate_.Run("win32.Read", device,
                     [&](NodeState& state) { return ReadDevice(state, device, offset, size); });
  }

  uint64_t DeviceChanges() override { return core_.DeviceChanges(); }
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit) override {
    core_.AwaitDeviceChange(seen, limit);
  }

  absl::StatusOr<ServiceInfo> GetService(const std::string& name) override {
    return OnService<absl::StatusOr<ServiceInfo>>(
        "win32.GetService", name, "asking for service ",
        [](NodeState&, Service& service, const auto&) {
          return ServiceInfo{service.display_name, service.start_type, service.state};
        });
  }

  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name) override {
    return OnService<absl::StatusOr<std::vector<std::string>>>(
        "win32.ListActiveDependents", name, "listing what depends on service ",
        [&](NodeState& state, Service&, const auto&) {
          return simulator::ListActiveDependents(state, name);
        });
  }

  absl::Status StartService(const std::string& name) override {
    return OnService<absl::Status>(
        "win32.StartService", name, "starting service ",
        [&](NodeState& state, Service& service, const std::string& operation) {
          if (service.state == ServiceState::kRunning ||
              service.state == ServiceState::kStartPending) {
            return Failure(operation, win32_error::kServiceAlreadyRunning);
          }
          return RequestStart(state, name, SteadyTime::Now());
        });
  }

  absl::Status StopService(const std::string& name) override {
    return OnService<absl::Status>(
        "win32.StopService", name, "stopping service ",
        [&](NodeState& state, Service& service, const std::string& operation) -> absl::Status {
          if (service.state == ServiceState::kStopped) {
            return Failure(operation, win32_error::kServiceNotActive);
          }
          ABSL_ASSIGN_OR_RETURN(const auto dependents,
                                simulator::ListActiveDependents(state, name));
          if (!dependents.empty()) {
            return Failure(operation, win32_error::kDependentServicesRunning);
          }
          return RequestStop(state, name, SteadyTime::Now());
        });
  }

  absl::StatusOr<NetworkNames> GetNetworkNames() override {
    using Result = absl::StatusOr<NetworkNames>;
    return gate_.Run("win32.GetNetworkNames", "", [](NodeState&) -> Result {
      return NetworkNames{.names = {"SIMULATED", "simulated", "simulated.example"},
                          .addresses = {{10, 1, 2, 3}}};
    });
  }

  absl::StatusOr<Bytes> GetSmbiosTable() override {
    using Result = absl::StatusOr<Bytes>;
    return gate_.Run("win32.GetSmbiosTable", "", [](NodeState& state) -> Result {
      return machine::MakeSmbiosTable(state.bios_serial_number);
    });
  }

 private:
  // Returns the fault table's name of a directory, `C:\a`, for any spelling.
  static absl::string_view ResourceOf(absl::string_view directory) {
    if (!absl::StartsWithIgnoreCase(directory, R"(\\?\Volume{)")) {
      absl::ConsumePrefix(&directory, R"(\\?\)");
    }
    return absl::StripSuffix(directory, "\\");
  }

  // Calls `action(state, service, operation)` with the service of that name.
  template <typename Result, typename Action>
  Result OnService(absl::string_view method, const std::string& name, absl::string_view what,
                   Action action) {
    const std::string operation = absl::StrCat(what, name);
    return gate_.Run(method, name, [&](NodeState& state) -> Result {
      Service* service = FindService(state, name);
      if (service == nullptr) return Failure(operation, win32_error::kServiceDoesNotExist);
      return action(state, *service, operation);
    });
  }

  Core& core_;
  const Gate gate_;
  const std::shared_ptr<OpenEntries> open_ = std::make_shared<OpenEntries>();
};

}  // namespace

std::unique_ptr<machine::Os> NewSimulatedOs(Core* core) { return std::make_unique<OsDouble>(core); }

}  // namespace csi_proxy::machine::simulator
