// A Windows node in memory, for the tests of a driver, on any system.
//
//   auto node = csi_proxy::SimulatedNode::Create().value();
//   csi_proxy::volume::v1::Client volumes(csi_proxy::Connect(node.client_options()).value());
//   const uint32_t disk = node.AttachDisk({.size_bytes = 10ull << 30}).value();
//   ...the driver stages the disk at a path, with these clients
//   EXPECT_EQ(node.state().MountedAt(path), volume_id);
//
// The rules, codes and texts are those of CSI Proxy on a real node, over a machine that behaves as
// Windows does. Each node is independent, so tests may run in parallel.
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

namespace machine::simulated {
class Machine;
}

namespace simulated_node {

// Makes operations of the node slow, or makes them fail.
struct Fault {
  // An rpc, as `volume.FormatVolume`, the rpcs of a group, as `disk.*`, or all, `*`: a driver sees
  // it fail with `code`, before it has changed anything. Calls that the node makes of Windows are
  // `win32.*` and `wmi.*`; server/simulator/README.md lists them.
  std::string operation = {};
  // The object of the call (a disk number, volume id, path, share, IQN or service), a field of the
  // request; empty: any.
  std::string resource = {};
  // The number of times that the fault strikes; 0: always.
  uint32_t times = 0;
  // The delay before the operation.
  absl::Duration latency = absl::ZeroDuration();
  // OK: it is only slow.
  absl::StatusCode code = absl::StatusCode::kOk;
  // The number of the error that the text tells of, as 5 for "access denied".
  uint32_t windows_error = 0;
};

}  // namespace simulated_node

// Thread-safe. Changes fail with NOT_FOUND, ALREADY_EXISTS or INVALID_ARGUMENT, which name the
// obstacle.
class SimulatedNode {
 public:
  // `scenario` is the node that the test begins with: a textproto of csi_proxy.simulated.Node, or
  // the name of a built-in one, such as `azure-scsi` or `ec2-nitro-2022`, which `csi-proxy
  // --list-scenarios` lists; AttachDisk then puts a disk where that cloud does, with the names that
  // the cloud gives it. If empty, it has a system disk C:, raw disks, a file server, an iSCSI
  // portal and a few services. INVALID_ARGUMENT naming the option, or the line or field of the
  // scenario.
  static absl::StatusOr<SimulatedNode> Create(absl::string_view scenario = "",
                                              NodeOptions options = {});

  // For Connect(), which needs the library csi_proxy::embedded.
  ClientOptions client_options() const { return {.mode = Mode::kEmbedded, .node = node_}; }
  // To be called directly: `node->volume().MountVolume(context, {...})`.
  Node* operator->() const { return node_.get(); }
  const std::shared_ptr<Node>& node() const { return node_; }

  // The cloud's part. A disk whose number is 0 gets the lowest free one, which is returned.
  absl::StatusOr<uint32_t> AttachDisk(const simulated_node::Disk& disk) const;
  // Pulls it out, even if it is mounted; its content is gone.
  absl::Status DetachDisk(uint32_t number) const;
  // Windows notices at the next rescan.
  absl::Status GrowDisk(uint32_t number, uint64_t size_bytes) const;
  // Links, mounts and offline disks stay, SMB mappings come back disconnected, services as their
  // start types say.
  absl::Status Reboot() const;
  // Begins anew with the scenario.
  absl::Status Reset() const;

  // A file server's part. A share's server is added with it.
  absl::Status AddShare(absl::string_view server, absl::string_view share) const;
  // Sets a password, or adds the user; mappings that were made with the old one break.
  absl::Status SetSmbPassword(absl::string_view server, absl::string_view user,
                              absl::string_view password) const;
  // An SMB server by its name, the iSCSI portals by their address.
  absl::Status SetServerReachable(absl::string_view server, bool reachable) const;
  absl::Status BreakMapping(absl::string_view share) const;

  // The part of pods, the kubelet and attackers. Directories above are made; a file has no content.
  absl::Status WriteFile(absl::string_view path, uint64_t size_bytes) const;
  absl::Status MakeDirectory(absl::string_view path) const;
  // An empty directory, a mounted folder or a link.
  absl::Status RemoveFolder(absl::string_view path) const;
  absl::Status MakeLink(absl::string_view path, absl::string_view target) const;

  // The first fault that matches an operation strikes.
  absl::Status InjectFault(const simulated_node::Fault& fault) const;
  absl::Status ClearFaults() const;

  // Returns the node as it is now.
  simulated_node::State state() const;

  // All that can be done to the node: calls `method` of csi_proxy.simulated.Admin with a serialized
  // request, and returns the serialized response. UNIMPLEMENTED for an unknown method;
  // INVALID_ARGUMENT for a request that is not of its type, or as the method says.
  absl::StatusOr<std::string> Administer(absl::string_view method,
                                         const std::string& request) const;

 private:
  SimulatedNode(std::shared_ptr<Node> node, std::shared_ptr<machine::simulated::Machine> machine)
      : node_(std::move(node)), machine_(std::move(machine)) {}

  std::shared_ptr<Node> node_;
  std::shared_ptr<machine::simulated::Machine> machine_;
};

}  // namespace csi_proxy
