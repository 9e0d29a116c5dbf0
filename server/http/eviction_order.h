// Chooses the connection that makes room for a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace csi_proxy {

// An ordered set of connections. The first connection belongs to the client with the most
// connections, and is that client's connection with the lowest stage, then the lowest number. Among
// clients with equally many connections, the lowest stage, then the lowest number, decides. Add()
// and Remove() take logarithmic time, because a flood from new addresses calls them several times
// for each connection. Thread-compatible.
template <typename Client, typename Connection>
class EvictionOrder {
 public:
  // REQUIRES: no other connection has this `number`.
  void Add(const Client& client, int stage, uint64_t number, Connection* connection) {
    Edit(client, [&](Held& held) { held.emplace(Key(stage, number), connection); });
    ++size_;
  }
  // REQUIRES: the connection was added with the same arguments.
  void Remove(const Client& client, int stage, uint64_t number) {
    Edit(client, [&](Held& held) { held.erase(Key(stage, number)); });
    --size_;
  }
  // REQUIRES: size() > 0.
  Connection* First() const { return ranks_.begin()->second->begin()->second; }
  std::vector<Connection*> All() const {
    std::vector<Connection*> all;
    for (const auto& [client, held] : clients_) {
      for (const auto& [key, connection] : held) all.push_back(connection);
    }
    return all;
  }
  size_t size() const { return size_; }

 private:
  using Key = std::pair<int, uint64_t>;
  // The connections of a client.
  using Held = std::map<Key, Connection*>;
  // The count is negated, so that the client with the most connections comes first.
  using Rank = std::pair<ptrdiff_t, Key>;

  static Rank RankOf(const Held& held) {
    return {-static_cast<ptrdiff_t>(held.size()), held.begin()->first};
  }

  template <typename Function>
  void Edit(const Client& client, Function edit) {
    const auto found = clients_.try_emplace(client).first;
    Held& held = found->second;
    if (!held.empty()) ranks_.erase(RankOf(held));
    edit(held);
    if (held.empty()) {
      clients_.erase(found);
    } else {
      ranks_.emplace(RankOf(held), &held);
    }
  }

  std::map<Client, Held> clients_;
  std::map<Rank, const Held*> ranks_;
  size_t size_ = 0;
};

}  // namespace csi_proxy
