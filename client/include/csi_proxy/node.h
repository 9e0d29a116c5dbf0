// A node that this process manages itself: the direct library. It does without API versions and
// protobuf; the embedded mode of the versioned clients is built on it.
//
//   absl::StatusOr<std::shared_ptr<csi_proxy::Node>> node = csi_proxy::Node::Windows();
//   if (!node.ok()) return node.status();
//   csi_proxy::CallContext context(absl::Now() + absl::Seconds(30));
//   auto volumes = (*node)->volume().ListVolumesOnDisk(context, {.disk_number = 7});
//
// The rules are those of the service: the same checks of paths and ids, the same codes and texts,
// and an audit line for each call that changes the node. On Windows the calls of all processes,
// including the service, take turns for each disk, volume, share and target.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/disk/hub.h"
#include "csi_proxy/filesystem/hub.h"
#include "csi_proxy/iscsi/hub.h"
#include "csi_proxy/log_function.h"
#include "csi_proxy/smb/hub.h"
#include "csi_proxy/storage/hub.h"
#include "csi_proxy/system/hub.h"
#include "csi_proxy/volume/hub.h"

namespace csi_proxy {

namespace client {
class OwnNode;
}

// Limits the actions of calls, and the number that may run at once. The defaults are those of the
// service.
struct NodeOptions {
  // The directories that paths may lead into: at least one, absolute and on a drive.
  std::vector<std::string> working_dirs = {R"(C:\var\lib\kubelet)"};
  // The services that calls may start and stop; all if empty.
  std::vector<std::string> allowed_services = {};
  // If true, SMB mappings ask for encryption.
  bool require_privacy = true;
  // If true, a call for a share that is mapped gets PERMISSION_DENIED unless it gives the
  // credentials with which this node mapped the share. A mapping that others have made is made
  // anew.
  bool bind_smb_credentials = false;

  // Limits of the versioned clients' calls, per API group: how many run at once, how many more may
  // wait (others get RESOURCE_EXHAUSTED), and how long one may take, whatever its own deadline.
  size_t max_calls = 16;
  size_t max_queued = 256;
  absl::Duration max_call_duration = absl::Minutes(10);

  // Only off Windows: a directory, created if necessary. Processes that share its files take turns.
  // Empty: no other process uses the node, as is the case if simulated.
  std::string lock_directory = {};

  // Receives audit lines and failures. Null: standard error.
  LogFunction log = nullptr;

  // The address at which Prometheus can scrape metrics of the versioned clients' calls, such as
  // `127.0.0.1:9090`; the names are the service's. Empty: nowhere.
  std::string metrics_bind_address = {};
};

// Thread-safe. The services it returns live as long as the node; callers must keep it alive. Tests
// of a driver may derive from it to answer in their own way.
class Node {
 public:
  // This machine. UNIMPLEMENTED on other systems; INVALID_ARGUMENT naming the option. If the
  // process may not manage storage, calls fail with PERMISSION_DENIED; on a thread in a
  // single-threaded COM apartment, with FAILED_PRECONDITION.
  static absl::StatusOr<std::shared_ptr<Node>> Windows(NodeOptions options = {});

  // A Windows node in memory, for drivers under development and their tests. `scenario` describes
  // it, a textproto of csi_proxy.simulated.Node or the name of a built-in one, as `azure-scsi`; if
  // empty, it is a small node with raw disks, a file server and an iSCSI portal. INVALID_ARGUMENT
  // naming the option, or the line or field of the scenario. A test that attaches disks to it or
  // injects faults makes a SimulatedNode instead (csi_proxy/testing/node.h).
  static absl::StatusOr<std::shared_ptr<Node>> Simulated(NodeOptions options = {},
                                                         absl::string_view scenario = "");

  virtual ~Node() = default;

  virtual disk::Service& disk() = 0;
  virtual filesystem::Service& filesystem() = 0;
  virtual iscsi::Service& iscsi() = 0;
  virtual smb::Service& smb() = 0;
  virtual storage::Service& storage() = 0;
  virtual system::Service& system() = 0;
  virtual volume::Service& volume() = 0;

 private:
  friend class client::OwnNode;
  // For this library alone, which limits the calls of the nodes it makes; null for all others.
  virtual client::OwnNode* own() { return nullptr; }
};

}  // namespace csi_proxy
