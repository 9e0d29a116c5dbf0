// The open nodes and announced calls of the C interface, by their numbers. Numbers are never used
// twice, so that a stale one is nobody's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "client/c/open_node.h"
#include "client/cpp/serialized_node.h"
#include "server/rpc/runtime.h"

namespace csi_proxy::c {

// A call that somebody else may end. Thread-safe.
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

// A node, and the calls on it. It stays, empty, until its last holder lets go.
struct OpenNode {
  explicit OpenNode(OpenedNode node) : opened(std::move(node)), rpcs(opened.node) {}

  OpenedNode opened;
  std::optional<client::SerializedNode> rpcs;
  rpc::CallGate gate;
  // Ends the calls that nobody else may.
  Cancellable closing;
};

// Thread-safe.
class Handles {
 public:
  static Handles& Get();

  uint64_t AddNode(OpenedNode node);
  // The node, whose gate the caller has entered and has to leave; null when it is closed.
  std::shared_ptr<OpenNode> EnterNode(uint64_t node);
  // Takes a node out, cancels its calls, waits for them, destroys it. False when there is none.
  bool CloseNode(uint64_t node);

  // 0 when there is no such node.
  uint64_t AddCall(uint64_t node);
  // Takes the place of the call's announcement while it is under way; null when it was not
  // announced for this node, or is under way already.
  std::shared_ptr<Cancellable> BeginCall(uint64_t node, uint64_t call);
  void EndCall(uint64_t call);
  void CancelCall(uint64_t call);

 private:
  struct Call {
    uint64_t node;
    bool begun = false;
    std::shared_ptr<Cancellable> cancellable;
  };

  std::mutex mutex_;
  uint64_t last_ = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<OpenNode>> nodes_;
  absl::flat_hash_map<uint64_t, Call> calls_;
};

}  // namespace csi_proxy::c
