#include "server/rpc/client_registry.h"

#include <algorithm>

#include "server/platform/peer_process.h"

namespace csi_proxy::rpc {
namespace {

constexpr size_t kRemembered = 64;

// Erases the entry, unless a newer object already has the key.
template <typename Map>
void ForgetExpired(Map* map, const typename Map::key_type& key) {
  const auto found = map->find(key);
  if (found != map->end() && found->second.expired()) map->erase(found);
}

}  // namespace

std::shared_ptr<Client> ClientRegistry::Get(int64_t process_id) {
  return Get(process_id, StartOfProcess(process_id));
}

std::shared_ptr<Client> ClientRegistry::Get(int64_t process_id, uint64_t start) {
  const Key key{process_id, start};
  {
    const MutexLock lock(state_->mutex);
    const auto found = state_->clients.find(key);
    if (found != state_->clients.end()) {
      if (auto client = found->second.lock()) return client;
    }
  }
  // PeerOfProcess() must run without the lock, because it queries the system.
  Peer peer = PeerOfProcess(process_id);
  peer.tenant = TenantOf(peer);
  // The deleter must hold the state weakly, because the clients in `remembered` are part of it.
  const auto forget = [weak = std::weak_ptr(state_), key, tenant = peer.tenant](Client* gone) {
    delete gone;
    if (const auto state = weak.lock()) {
      const MutexLock lock(state->mutex);
      ForgetExpired(&state->clients, key);
      ForgetExpired(&state->tenants, tenant);
    }
  };
  const MutexLock lock(state_->mutex);
  std::weak_ptr<Client>& known = state_->clients[key];
  // Another thread may have made the client since the first look-up.
  if (auto client = known.lock()) return client;
  std::shared_ptr<Tenant> with = state_->tenants[peer.tenant].lock();
  if (with == nullptr) state_->tenants[peer.tenant] = with = std::make_shared<Tenant>();
  std::shared_ptr<Client> made(new Client(peer, std::move(with)), forget);
  known = made;
  return made;
}

void ClientRegistry::Remember(std::shared_ptr<Client> client) {
  // `forgotten` must be destroyed after the lock is released, because its deleter takes the lock.
  std::shared_ptr<Client> forgotten;
  const MutexLock lock(state_->mutex);
  auto& remembered = state_->remembered;
  if (std::find(remembered.begin(), remembered.end(), client) != remembered.end()) return;
  remembered.push_back(std::move(client));
  if (remembered.size() > kRemembered) {
    forgotten = std::move(remembered.front());
    remembered.pop_front();
  }
}

size_t ClientRegistry::size() const {
  const MutexLock lock(state_->mutex);
  return state_->clients.size();
}

}  // namespace csi_proxy::rpc
