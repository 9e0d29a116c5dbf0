// Manages storage in this process, without the service. Calls use the types of this library, not
// the versioned protobuf messages. The embedded mode of the versioned clients uses a Node.
//
//   absl::StatusOr<std::shared_ptr<csi_proxy::Node>> node = csi_proxy::Node::Windows();
//   if (!node.ok()) return node.status();
//   csi_proxy::CallContext context(absl::Now() + absl::Seconds(30));
//   auto volumes = (*node)->volume().ListVolumesOnDisk(context, {.disk_number = 7});
//
// Calls follow the rules of the service: the checks of paths and ids, the codes and the texts are
// identical, and each call that changes the node writes an audit line. On Windows at most one call
// at a time changes a disk, volume, share or target, counting all processes and the service.
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

// The objects that calls may act on, and the limits of calls. The defaults are the service's.
struct NodeOptions {
  // Paths in calls must lead into these directories: at least one, each absolute and on a drive.
  std::vector<std::string> working_dirs = {R"(C:\var\lib\kubelet)"};
  // Names of the services that calls may start and stop. If empty, all services.
  std::vector<std::string> allowed_services = {};
  // If true, new SMB mappings require encryption.
  bool require_privacy = true;
  // If true, a call for a share that is already mapped gets PERMISSION_DENIED unless it gives the
  // credentials of the mapping. Mappings that this node did not make are replaced.
  bool bind_smb_credentials = false;

  // The service's -keep-foreign-data and -allow-local-shares are missing: disk and volume calls
  // format data that Windows does not recognise, as in the Go release; no call maps an own share.

  // Limits of the versioned clients' calls, per API group: how many run simultaneously, how many
  // more may wait (further calls get RESOURCE_EXHAUSTED), and how long a call may take.
  size_t max_calls = 16;
  size_t max_queued = 384;
  absl::Duration max_call_duration = absl::Minutes(10);

  // Except on Windows, a directory, created if necessary. Processes that give the same directory
  // exclude each other's calls. If empty, only this process may use the node.
  std::string lock_directory = {};

  // Receives audit lines and failures. If null, standard error receives them.
  LogFunction log = nullptr;

  // `HOST:PORT` of metrics of the versioned clients' calls for Prometheus, for example
  // `127.0.0.1:9090`; `:9090` for all addresses. The names are the service's. If empty, no metrics.
  std::string metrics_bind_address = {};
};

// Thread-safe. The services that a node returns are part of it: the node must outlive their use. A
// driver's tests may derive from Node to return their own answers.
class Node {
 public:
  // Opens this machine. UNIMPLEMENTED if it does not run Windows; INVALID_ARGUMENT naming the
  // option. Calls fail with FAILED_PRECONDITION if the process may not manage storage, and calls
  // that need WMI also on a thread of a single-threaded COM apartment.
  static absl::StatusOr<std::shared_ptr<Node>> Windows(NodeOptions options = {});

  // Opens a Windows node in memory, for drivers under development and their tests. `scenario` is a
  // textproto of csi_proxy.simulated.Node, or the name of a built-in one, for example `azure-scsi`.
  // Empty: a small node with raw disks, a file server and an iSCSI portal. INVALID_ARGUMENT naming
  // the option, or the line or field of the scenario. Tests that attach disks or inject faults need
  // a SimulatedNode instead (csi_proxy/testing/node.h).
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
  // Returns this if the library made the node and limits its calls; otherwise null.
  virtual client::OwnNode* own() { return nullptr; }
};

}  // namespace csi_proxy
