#include "client/c/handles.h"

#include <utility>

#include "csi_proxy/steady_time.h"

namespace csi_proxy::c {

Handles& Handles::Get() {
  // Never destroyed: calls may be under way when the process ends.
  static Handles* const handles = new Handles();
  return *handles;
}

uint64_t Handles::AddNode(OpenedNode node) {
  auto open = std::make_shared<OpenNode>(std::move(node));
  const MutexLock lock(mutex_);
  nodes_.emplace(++last_, std::move(open));
  return last_;
}

std::shared_ptr<OpenNode> Handles::EnterNode(uint64_t node) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(node);
  // Enter() succeeds, because CloseNode() removes a node before it shuts the gate.
  if (found == nodes_.end() || !found->second->gate.Enter()) return nullptr;
  return found->second;
}

bool Handles::CloseNode(uint64_t node) {
  std::shared_ptr<OpenNode> closed;
  {
    const MutexLock lock(mutex_);
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return false;
    closed = std::move(found->second);
    nodes_.erase(found);
    closed->gate.Shut();
    absl::erase_if(calls_, [node](const auto& call) {
      if (call.second.node != node) return false;
      call.second.cancellable->Cancel();
      return true;
    });
  }
  closed->closing.Cancel();
  closed->gate.AwaitEmpty(SteadyTime::InfiniteFuture());
  // Destroys the node's objects here, so that no code of the node runs after CloseNode() returns.
  closed->rpcs.reset();
  closed->opened = {};
  return true;
}

uint64_t Handles::AddCall(uint64_t node) {
  const MutexLock lock(mutex_);
  if (!nodes_.contains(node)) return 0;
  calls_.emplace(++last_, Call{.node = node, .cancellable = std::make_shared<Cancellable>()});
  return last_;
}

std::shared_ptr<Cancellable> Handles::BeginCall(uint64_t node, uint64_t call) {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end() || found->second.node != node || found->second.begun) return nullptr;
  found->second.begun = true;
  return found->second.cancellable;
}

void Handles::EndCall(uint64_t call) {
  const MutexLock lock(mutex_);
  calls_.erase(call);
}

void Handles::CancelCall(uint64_t call) {
  std::shared_ptr<Cancellable> cancellable;
  {
    const MutexLock lock(mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end()) return;
    cancellable = found->second.cancellable;
  }
  cancellable->Cancel();
}

}  // namespace csi_proxy::c
