// A whole Windows machine in memory: what the host acts on for `--host=simulated`, for embedded
// clients off Windows, and in the tests of drivers. Nothing it does leaves the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/secret.h"
#include "server/base/windows_path.h"
#include "server/machine/simulated/core.h"
#include "server/machine/simulated/state.h"

namespace csi_proxy::machine::simulated {

// The administrator's side of it, which faults do not touch: the cloud that attaches disks, the
// server whose password changes, the attacker who sets links. A host sees the machine as win32/ and
// wmi/ show it.
//
// Thread-safe: every call, checks included, is one step under one lock, and none waits while
// holding it. Deterministic: the same calls on the same state give the same machine, volume ids
// included; only arrival delays, service latencies and fault latencies read a clock.
class Machine final {
 public:
  // A node in this state. INVALID_ARGUMENT, naming the field as `disk[0].size_bytes` and the
  // reason, when there cannot be such a node.
  static absl::StatusOr<std::unique_ptr<Machine>> Create(NodeState state);

  // Attaches a disk and returns its number: `disk.number` or, when nullopt is passed for it, the
  // lowest free one. INVALID_ARGUMENT for a disk there cannot be; ALREADY_EXISTS for a number in
  // use.
  absl::StatusOr<uint32_t> AttachDisk(Disk disk, std::optional<uint32_t> number = std::nullopt);
  // Pulls a disk, whatever is mounted from it; its content is gone. NOT_FOUND.
  absl::Status DetachDisk(uint32_t number);
  // Grows a disk to `size_bytes`, which Windows notices at the next rescan. NOT_FOUND;
  // INVALID_ARGUMENT unless it is larger.
  absl::Status GrowDisk(uint32_t number, uint64_t size_bytes);

  // Adds an empty share to a server, which is made if new. ALREADY_EXISTS.
  absl::Status AddShare(absl::string_view server, absl::string_view share);
  // Adds a user to a server or changes the password, which breaks the mappings made with the old
  // one. NOT_FOUND when there is no such server.
  absl::Status SetSmbPassword(absl::string_view server, absl::string_view username,
                              const Secret& password);
  // Makes a mapping unhealthy until it is removed and made again. NOT_FOUND.
  absl::Status BreakMapping(absl::string_view share);
  // Of an SMB server by name or of all iSCSI portals at an address. NOT_FOUND.
  absl::Status SetServerReachable(absl::string_view server, bool reachable);

  // Appends a rule to the fault table. INVALID_ARGUMENT when it could never strike.
  absl::Status InjectFault(FaultRule rule);
  void ClearFaults();

  // Has Windows do as this says. INVALID_ARGUMENT as for a scenario that says so.
  absl::Status SetBehaviour(const Behaviour& behaviour);

  // What other processes of the node have open from now on. INVALID_ARGUMENT unless each path is
  // one of a drive.
  absl::Status SetOtherOpens(std::vector<OtherOpen> opens);

  // Traps. The directories above them are made. Paths are `C:\a\b` or `\\server\share\a`.
  //
  // Makes or changes a file.
  absl::Status WriteFile(absl::string_view path, uint64_t size_bytes, bool read_only);
  absl::Status WriteFile(const WindowsPath& path, uint64_t size_bytes, bool read_only) {
    return WriteFile(path.ToString(), size_bytes, read_only);
  }
  // Makes a directory; no change when it is there.
  absl::Status MakeDirectory(absl::string_view path);
  // Removes a directory of a drive that is empty, a mounted folder or a link. NOT_FOUND.
  absl::Status RemoveFolder(absl::string_view path);
  // Makes a directory link on a drive, to a path of either kind, whether anything is there or not.
  // A junction leads to a drive alone.
  absl::Status MakeLink(absl::string_view path, absl::string_view target, bool junction = false);
  absl::Status MakeLink(const WindowsPath& path, absl::string_view target) {
    return MakeLink(path.ToString(), target);
  }

  // What a restart of the whole machine changes: services run that start by themselves, and no
  // other; other processes' handles are gone, new disks and new sizes noticed; SMB mappings, though
  // they are remembered, are disconnected. Links and mount points persist, as do offline disks.
  void Reboot();

  // A copy of the whole state, secrets included.
  NodeState Snapshot();
  // Back to the state the node was made with.
  void Reset();

  // What the machine is seen through. Not owned.
  Core* core() { return &core_; }

 private:
  explicit Machine(NodeState state);

  const NodeState initial_;
  Core core_;
};

}  // namespace csi_proxy::machine::simulated
