// One object for each process that has connections or calls.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "server/base/condition.h"
#include "server/rpc/client.h"

namespace csi_proxy::rpc {

// Thread-safe. Clients may outlive it. Copies share what they know.
//
// A client is a process, and a tenant the processes that TenantOf() does not tell from one another.
// Windows has no documented call that tells which container another process runs in: the
// container's silo is a job object, and QueryInformationJobObject wants a handle of that job
// (https://learn.microsoft.com/windows/win32/api/jobapi2/nf-jobapi2-queryinformationjobobject).
class ClientRegistry {
 public:
  // The client that is this process. A new process with the number of an ended one is another
  // client.
  std::shared_ptr<Client> Get(int64_t process_id);
  // The same, started at `start`: see StartOfProcess().
  std::shared_ptr<Client> Get(int64_t process_id, uint64_t start);

  // Keeps a client that has misbehaved, so that it is not forgotten with its connection, which was
  // ended for that. The last 64 are kept.
  void Remember(std::shared_ptr<Client> client);

  // The number of clients.
  size_t size() const;

 private:
  using Key = std::pair<int64_t, uint64_t>;
  struct State {
    // Guards the rest.
    Mutex mutex;
    std::map<Key, std::weak_ptr<Client>> clients;
    std::map<std::string, std::weak_ptr<Tenant>> tenants;
    std::deque<std::shared_ptr<Client>> remembered;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace csi_proxy::rpc
