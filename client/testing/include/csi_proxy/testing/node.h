// A Windows node in memory, for the tests of a driver. Works on any system.
//
//   auto node = csi_proxy::SimulatedNode::Create().value();
//   csi_proxy::volume::v1::Client volumes(csi_proxy::Connect(node.client_options()).value());
//   const uint32_t disk = node.AttachDisk({.size_bytes = 10ull << 30}).value();
//   ...the driver stages the disk at a path, with these clients
//   EXPECT_EQ(node.state().MountedAt(path), volume_id);
//
// Calls run CSI Proxy's own code, over a machine that behaves as Windows does. Nodes are
// independent of each other, so tests may run in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/connection.h"
#include "csi_proxy/node.h"
#include "csi_proxy/testing/state.h"

namespace csi_proxy {

namespace machine::simulator {
class Machine;
}

namespace simulated_node {

// Delays operations of the node, or makes them fail.
struct Fault {
  // An rpc (`volume.FormatVolume`), all rpcs of a group (`disk.*`), or `*` for all rpcs: the call
  // fails with `code` before it changes anything. Calls from the node to Windows are `win32.*` and
  // `wmi.*`; server/simulator/README.md lists them.
  std::string operation = {};
  // The object in the request: a disk number, volume id, path, share, IQN or service. Empty is any.
  std::string resource = {};
  // How many matching operations the fault hits. 0 means all of them.
  uint32_t times = 0;
  // How long the operation is delayed.
  absl::Duration latency = absl::ZeroDuration();
  // The result of the operation. With kOk the operation is only delayed.
  absl::StatusCode code = absl::StatusCode::kOk;
  // The Windows error in the text, for example 5 for "access denied". 0 means no such error.
  uint32_t windows_error = 0;
};

}  // namespace simulated_node

// Thread-safe. Methods that change the node fail with NOT_FOUND, ALREADY_EXISTS or
// INVALID_ARGUMENT, naming the object that caused the error.
class SimulatedNode {
 public:
  // Makes a node. `scenario` is a textproto of csi_proxy.simulated.Node, or the name of a built-in
  // one, for example `azure-scsi` or `ec2-nitro-2022` (`csi-proxy --list-scenarios` prints them).
  // In a cloud's scenario AttachDisk() gives disks the locations and names of that cloud. Empty: a
  // system disk C:, raw disks, a file server, an iSCSI portal and a few services. INVALID_ARGUMENT
  // naming the option, or the line or field of the scenario.
  static absl::StatusOr<SimulatedNode> Create(absl::string_view scenario = "",
                                              NodeOptions options = {});

  // Returns options for Connect(). REQUIRES: the library csi_proxy::embedded is linked.
  ClientOptions client_options() const { return {.mode = Mode::kEmbedded, .node = node_}; }
  // For direct calls: `node->volume().MountVolume(context, {...})`.
  Node* operator->() const { return node_.get(); }
  const std::shared_ptr<Node>& node() const { return node_; }

  // Attaches a disk and returns its number: `disk.number`, or the lowest free number if that is 0.
  absl::StatusOr<uint32_t> AttachDisk(const simulated_node::Disk& disk) const;
  // Removes a disk, even if it is mounted. Its content is lost.
  absl::Status DetachDisk(uint32_t number) const;
  // Grows a disk. Windows reports the new size after the next rescan.
  absl::Status GrowDisk(uint32_t number, uint64_t size_bytes) const;
  // Restarts the node. Links, mounts and offline disks stay; SMB mappings are disconnected;
  // services run according to their start types.
  absl::Status Reboot() const;
  // Restores the state in the scenario.
  absl::Status Reset() const;

  // Adds a share to a file server, and the server if it does not exist.
  absl::Status AddShare(absl::string_view server, absl::string_view share) const;
  // Sets a user's password, and adds the user if necessary. Mappings with the old password break.
  absl::Status SetSmbPassword(absl::string_view server, absl::string_view user,
                              absl::string_view password) const;
  // Connects or disconnects an SMB server, by its name, or an iSCSI portal, by its address.
  absl::Status SetServerReachable(absl::string_view server, bool reachable) const;
  absl::Status BreakMapping(absl::string_view share) const;

  // Changes files, as pods, the kubelet and attackers do. Creates missing parent directories.
  // WriteFile() creates a file with a size, but without content.
  absl::Status WriteFile(absl::string_view path, uint64_t size_bytes) const;
  absl::Status MakeDirectory(absl::string_view path) const;
  // Removes an empty directory, a mounted folder or a link.
  absl::Status RemoveFolder(absl::string_view path) const;
  absl::Status MakeLink(absl::string_view path, absl::string_view target) const;

  // Adds a fault. If several faults match an operation, the first that was added applies.
  absl::Status InjectFault(const simulated_node::Fault& fault) const;
  absl::Status ClearFaults() const;

  // Returns a copy of the node's present state.
  simulated_node::State state() const;

  // Calls `method` of csi_proxy.simulated.Admin with a serialized request, and returns the
  // serialized response. These methods can change all of the node. UNIMPLEMENTED if the method is
  // unknown; INVALID_ARGUMENT if the request is not of its type; otherwise the error of the method.
  absl::StatusOr<std::string> Administer(absl::string_view method,
                                         const std::string& request) const;

 private:
  SimulatedNode(std::shared_ptr<Node> node, std::shared_ptr<machine::simulator::Machine> machine)
      : node_(std::move(node)), machine_(std::move(machine)) {}

  std::shared_ptr<Node> node_;
  std::shared_ptr<machine::simulator::Machine> machine_;
};

}  // namespace csi_proxy
