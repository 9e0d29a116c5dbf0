// A whole Windows node in memory, behind the interfaces of a real one. Deterministic but for time:
// the same calls in the same order give the same answers.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/host/host.h"
#include "server/host/simulated/state.h"

namespace csi_proxy::host::simulated {

struct Core;

// Thread-safe. Besides the host's interfaces, what an administrator, a cloud or a broken wire does
// to a node.
class Node final : public Host {
 public:
  // `state` must be consistent, as LoadScenario() makes it.
  explicit Node(NodeState state);
  ~Node() override;

  DiskHost& disk() override;
  VolumeHost& volume() override;
  FilesystemHost& filesystem() override;
  SmbHost& smb() override;
  IscsiHost& iscsi() override;
  SystemHost& system() override;

  // Attaches a disk; Windows sees it at once or, with `awaits_rescan`, after the next rescan.
  // ALREADY_EXISTS when the number is taken.
  absl::Status AttachDisk(Disk disk);
  // Pulls a disk out, whatever is mounted from it. NOT_FOUND; FAILED_PRECONDITION for an iSCSI
  // target's disk and for the disk with C:.
  absl::Status DetachDisk(uint32_t disk_number);
  // Grows the hardware; a rescan notices. INVALID_ARGUMENT when it is not larger.
  absl::Status GrowDisk(uint32_t disk_number, uint64_t size_bytes);

  // Adds a share, and the server when it is new.
  absl::Status AddShare(absl::string_view server, absl::string_view share);
  // Sets a user's password on a server; mappings made with the old one break.
  absl::Status SetSmbPassword(absl::string_view server, absl::string_view user, Secret password);
  absl::Status SetServerReachable(absl::string_view server, bool reachable);
  // Makes a mapping useless, as an expired session does.
  absl::Status BreakMapping(absl::string_view share);

  // Sets traps in the tree, anywhere on the node's drives. Missing directories are made.
  absl::Status WriteFile(const WindowsPath& path, uint64_t size_bytes, bool read_only);
  absl::Status MakeLink(const WindowsPath& path, absl::string_view target);

  void InjectFault(FaultRule rule);
  void ClearFaults();

  // The state now, and as it was when the node was made.
  NodeState Snapshot() const;
  void Reset();

 private:
  const NodeState initial_;
  const std::unique_ptr<Core> core_;
  const std::unique_ptr<DiskHost> disk_;
  const std::unique_ptr<VolumeHost> volume_;
  const std::unique_ptr<FilesystemHost> filesystem_;
  const std::unique_ptr<SmbHost> smb_;
  const std::unique_ptr<IscsiHost> iscsi_;
  const std::unique_ptr<SystemHost> system_;
};

}  // namespace csi_proxy::host::simulated
