// A node that this process manages by itself: the direct library. It has no API versions and no
// protobuf; the versioned clients' embedded mode is a shim over it.
//
//   absl::StatusOr<std::shared_ptr<csi_proxy::Node>> node = csi_proxy::Node::Windows();
//   if (!node.ok()) return node.status();
//   csi_proxy::CallContext context(absl::Now() + absl::Seconds(30));
//   auto volumes = (*node)->volume().ListVolumesOnDisk(context, {.disk_number = 7});
//
// The rules are those of the service: the same checks of paths and ids, the same codes and texts,
// one audit line for each call that changes the node. On Windows the calls of all processes, the
// service among them, take turns at each disk, volume, share and target.
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
#include "csi_proxy/smb/hub.h"
#include "csi_proxy/system/hub.h"
#include "csi_proxy/volume/hub.h"

namespace csi_proxy {

namespace client {
class OwnNode;
}

// How grave a line of the log is.
enum class Severity { kInfo, kWarning, kError };

// Takes a line, without its end. Called by many threads at once, and must not call back into the
// node. A line never holds a secret.
using LogFunction = std::function<void(Severity severity, absl::string_view line)>;

// What calls may do, and how many at once. The defaults are those of the service.
struct NodeOptions {
  // The directories that paths may lead into: absolute, on a drive; at least one.
  std::vector<std::string> working_dirs = {R"(C:\var\lib\kubelet)"};
  // The services that calls may start and stop; empty for all.
  std::vector<std::string> allowed_services = {};
  // Whether SMB mappings ask for encryption.
  bool require_privacy = true;

  // Of the versioned clients' calls in each API group: how many work at once, how many more may
  // wait (then RESOURCE_EXHAUSTED), and how long one may take whatever its own deadline says.
  size_t max_calls = 16;
  size_t max_queued = 256;
  absl::Duration max_call_duration = absl::Minutes(10);

  // Off Windows: a directory, made when missing, through whose files this process and others that
  // name it take turns. Empty: this process is alone on its node, as it is on a simulated one.
  std::string lock_directory = {};

  // Takes audit lines and failures. Null: standard error.
  LogFunction log = nullptr;

  // Where Prometheus finds numbers about the versioned clients' calls, as `127.0.0.1:9090`, under
  // the service's names. Empty: nowhere.
  std::string metrics_bind_address = {};
};

// Thread-safe. What it hands out lives as long as it does; whoever makes calls keeps it alive. A
// driver's tests may derive one from it that answers as they please.
class Node {
 public:
  // This machine. UNIMPLEMENTED off Windows; INVALID_ARGUMENT naming the option. That the process
  // has no right to manage storage shows in the calls, as PERMISSION_DENIED. Threads that are in a
  // single-threaded COM apartment may not call it: FAILED_PRECONDITION.
  static absl::StatusOr<std::shared_ptr<Node>> Windows(NodeOptions options = {});

  // A Windows node in memory, for drivers under development and their tests: as `scenario`, a
  // textproto of csi_proxy.simulated.Node, describes it; a small node with raw disks, a file server
  // and an iSCSI portal when empty. INVALID_ARGUMENT naming the option, or the line or field of the
  // scenario.
  static absl::StatusOr<std::shared_ptr<Node>> Simulated(NodeOptions options = {},
                                                         absl::string_view scenario = "");

  virtual ~Node() = default;

  virtual disk::Service& disk() = 0;
  virtual filesystem::Service& filesystem() = 0;
  virtual iscsi::Service& iscsi() = 0;
  virtual smb::Service& smb() = 0;
  virtual system::Service& system() = 0;
  virtual volume::Service& volume() = 0;

  // Plays the simulated node's administrator, who attaches disks, breaks mappings, injects faults:
  // calls `method` of csi_proxy.simulated.Admin with a serialized request, and returns the
  // serialized response. FAILED_PRECONDITION on a real node; UNIMPLEMENTED when there is no such
  // method; INVALID_ARGUMENT for a request that is not of its type, or as the method says.
  virtual absl::StatusOr<std::string> Administer(absl::string_view method,
                                                 const std::string& request) = 0;

 private:
  friend class client::OwnNode;
  // For this library alone, which limits the calls of the nodes it makes; null for all others.
  virtual client::OwnNode* own() { return nullptr; }
};

}  // namespace csi_proxy
