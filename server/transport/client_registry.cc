#include "server/transport/client_registry.h"

#include "server/base/peer_process.h"

namespace csi_proxy::transport {

std::shared_ptr<shim::Client> ClientRegistry::Get(int64_t process_id) {
  return Get(process_id, StartOfProcess(process_id));
}

std::shared_ptr<shim::Client> ClientRegistry::Get(int64_t process_id, uint64_t start) {
  const Key key{process_id, start};
  {
    absl::MutexLock lock(&state_->mutex);
    const auto found = state_->clients.find(key);
    if (found != state_->clients.end()) {
      if (auto client = found->second.lock()) return client;
    }
  }
  const auto forget = [state = state_, key](shim::Client* gone) {
    {
      absl::MutexLock lock(&state->mutex);
      const auto found = state->clients.find(key);
      // A newer one may have taken its place already.
      if (found != state->clients.end() && found->second.expired()) state->clients.erase(found);
    }
    delete gone;
  };
  // Outside the lock: it asks the system.
  std::shared_ptr<shim::Client> made(new shim::Client(PeerOfProcess(process_id)), forget);
  absl::MutexLock lock(&state_->mutex);
  std::weak_ptr<shim::Client>& known = state_->clients[key];
  // Another thread may have made it meanwhile. `made` is then destroyed after the lock is released.
  if (auto client = known.lock()) return client;
  known = made;
  return made;
}

size_t ClientRegistry::size() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->clients.size();
}

}  // namespace csi_proxy::transport
