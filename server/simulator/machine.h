// A whole Windows machine in memory. The host acts on it for `--host=simulated`, for embedded
// clients on other systems, and in the tests of drivers. Nothing outside the process changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/base/fault_gate.h"
#include "server/base/secret.h"
#include "server/names/windows_path.h"
#include "server/simulator/core.h"
#include "server/simulator/state.h"

namespace csi_proxy::machine::simulator {

// The administrator's side of the machine. Its calls do what others do to a node: a cloud attaches
// disks, a server changes a password, an attacker plants links. Faults do not apply to these calls.
// A host sees the machine through win32/ and wmi/.
//
// Thread-safe: every call, including its checks, is one step under one lock, and does not wait
// while it holds the lock. Deterministic: the same calls on the same state give the same machine,
// including volume ids. Only delays of arrivals, services and faults depend on a clock.
class Machine final : public FaultGate {
 public:
  // Creates a node in this state. Returns INVALID_ARGUMENT, naming the field, such as
  // `disk[0].size_bytes`, and the reason, if such a node cannot exist.
  static absl::StatusOr<std::unique_ptr<Machine>> Create(NodeState state);

  // Returns a disk as the cloud makes it: the scenario's `attach.disk`, or a default disk if the
  // scenario has no `attach`. AttachDisk() gives the disk its place.
  Disk NewDisk();
  // Gives `disk` the content and the identity of the disk `number`, or returns NOT_FOUND.
  absl::Status CopyDisk(uint32_t number, Disk* disk);
  // Attaches a disk and returns its number: `number`, or the lowest free one if that is nullopt.
  // Without a `place` the cloud chooses one. Returns INVALID_ARGUMENT for a disk that cannot exist,
  // ALREADY_EXISTS for a number or a place in use.
  absl::StatusOr<uint32_t> AttachDisk(Disk disk, std::optional<uint32_t> number = std::nullopt,
                                      std::optional<uint32_t> place = std::nullopt);
  // Detaches a disk, even while it is mounted, and loses its content; or returns NOT_FOUND.
  absl::Status DetachDisk(uint32_t number);
  // Grows a disk to `size_bytes`. Windows notices it at a rescan or IOCTL_DISK_UPDATE_DRIVE_SIZE.
  // Returns NOT_FOUND for an unknown disk, INVALID_ARGUMENT unless the size is larger and valid.
  absl::Status GrowDisk(uint32_t number, uint64_t size_bytes);

  // Adds an empty share to a server, and creates the server if necessary. Returns ALREADY_EXISTS if
  // the share exists.
  absl::Status AddShare(absl::string_view server, absl::string_view share);
  // Adds a user to a server, or changes the password and so breaks the mappings with the old
  // password. Returns NOT_FOUND for an unknown server.
  absl::Status SetSmbPassword(absl::string_view server, absl::string_view username,
                              const Secret& password);
  // Breaks the share's mapping without a drive letter until it is made again; or returns NOT_FOUND.
  absl::Status BreakMapping(absl::string_view share);
  // Sets whether an SMB server is reachable, or all iSCSI portals at an address. Returns NOT_FOUND
  // if `server` is neither the name of a server nor the address of a portal.
  absl::Status SetServerReachable(absl::string_view server, bool reachable);

  // Appends a rule to the fault table. Returns INVALID_ARGUMENT as for a scenario,
  // RESOURCE_EXHAUSTED if there are 1024 rules.
  absl::Status InjectFault(FaultRule rule);
  void ClearFaults();
  // Applies the first rule that matches the rpc. A rule with a resource matches only if a field of
  // the request has that text, ignoring case.
  absl::Status Pass(const CallContext& context, absl::string_view method,
                    absl::FunctionRef<std::vector<std::string>()> fields) override;

  // Sets the behaviour of Windows. Returns INVALID_ARGUMENT as for a scenario.
  absl::Status SetBehaviour(const Behaviour& behaviour);

  // Sets the handles that other processes of the node hold from now on. Returns INVALID_ARGUMENT
  // for more than 1024 handles, or for a path that WindowsPath::Parse() refuses.
  absl::Status SetOtherOpens(std::vector<OtherOpen> opens);

  // The calls below change entries as other programs would. Calls that create an entry also create
  // missing parent directories. Paths are `C:\a\b` or, for files and directories to create,
  // `\\server\share\a`.
  //
  // Creates or changes a file.
  absl::Status WriteFile(absl::string_view path, uint64_t size_bytes, bool read_only);
  absl::Status WriteFile(const WindowsPath& path, uint64_t size_bytes, bool read_only) {
    return WriteFile(path.ToString(), size_bytes, read_only);
  }
  // Creates a directory unless it exists.
  absl::Status MakeDirectory(absl::string_view path);
  // Removes a link, a mounted folder or an empty directory from a drive. Returns NOT_FOUND if there
  // is no such entry, INTERNAL if it cannot be removed.
  absl::Status RemoveFolder(absl::string_view path);
  // Creates a directory link on a drive. Its target is a path of either kind, and need not exist.
  // The target of a junction must be on a drive.
  absl::Status MakeLink(absl::string_view path, absl::string_view target, bool junction = false);
  absl::Status MakeLink(const WindowsPath& path, absl::string_view target) {
    return MakeLink(path.ToString(), target);
  }

  // Restarts the whole machine: closes other processes' handles, removes the SMB mappings that are
  // not persistent and restores the others, ends the iSCSI sessions and opens the persistent ones
  // whose portals answer, starts the services that start by themselves, and notices new disks and
  // sizes. Links, mount points and offline disks persist.
  void Reboot();

  // Returns the number of requests of hosts since the machine was made.
  CallCounts CountCalls() const { return core_.counts(); }
  // Returns a copy of the whole state, secrets included.
  NodeState Snapshot();
  // Restores the state in which the node was created. Ids of new volumes still differ from those of
  // all earlier volumes.
  void Reset();

  // Returns the core for win32/ and wmi/, the host's views of the machine. The machine keeps
  // ownership.
  Core* core() { return &core_; }

 private:
  explicit Machine(NodeState state);

  const NodeState initial_;
  Core core_;
};

}  // namespace csi_proxy::machine::simulator
