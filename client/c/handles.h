// The open nodes and announced calls of the C interface, by number. Numbers are never reused, so a
// stale number is unknown.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "client/cpp/serialized_node.h"
#include "csi_proxy/node.h"
#include "server/base/condition.h"
#include "server/calls/call_deps.h"

namespace csi_proxy::c {

struct OpenedNode {
  std::shared_ptr<Node> node;
  // Calls a method of csi_proxy.simulated.Admin with a serialized request. Null unless the node is
  // simulated.
  std::function<absl::StatusOr<std::string>(absl::string_view method, const std::string& request)>
      administer = nullptr;
};

// Opens the node that `json` describes. Returns INVALID_ARGUMENT, naming the option or the place in
// the JSON, for an invalid option.
absl::StatusOr<OpenedNode> OpenNodeOf(absl::string_view json, LogFunction log);

// A call that another thread may cancel. Thread-safe.
class Cancellable {
 public:
  void Cancel() {
    if (!asked_.exchange(true)) cancelled_.Notify();
  }
  const absl::Notification* notification() const { return &cancelled_; }

 private:
  std::atomic<bool> asked_ = false;
  absl::Notification cancelled_;
};

// A node and its calls. After CloseNode() it stays, empty, until the last reference is released.
struct OpenNode {
  explicit OpenNode(OpenedNode node) : opened(std::move(node)), rpcs(opened.node) {}

  OpenedNode opened;
  std::optional<client::SerializedNode> rpcs;
  rpc::CallGate gate;
  // Cancels the calls that have no Cancellable of their own.
  Cancellable closing;
};

// Thread-safe.
class Handles {
 public:
  static Handles& Get();

  uint64_t AddNode(OpenedNode node);
  // Enters the gate of a node. The caller must leave it. Returns null if the node is closed.
  std::shared_ptr<OpenNode> EnterNode(uint64_t node);
  // Removes a node, cancels its calls, waits for them to end and destroys the node. Returns false
  // if the node does not exist.
  bool CloseNode(uint64_t node);

  // Announces a call. Returns 0 if the node does not exist.
  uint64_t AddCall(uint64_t node);
  // Begins a call. Returns null if the call was not announced for this node, or has begun already.
  std::shared_ptr<Cancellable> BeginCall(uint64_t node, uint64_t call);
  void EndCall(uint64_t call);
  void CancelCall(uint64_t call);

 private:
  struct Call {
    uint64_t node;
    bool begun = false;
    std::shared_ptr<Cancellable> cancellable;
  };

  Mutex mutex_;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<OpenNode>> nodes_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Call> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::c
