// Keeps one Client for each process that has connections or calls.
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

// Thread-safe. Clients may outlive the registry. Copies share one state.
//
// A client is a process. A tenant is all processes that TenantOf() cannot distinguish. Windows
// documents no call that returns the container of another process: the container's silo is a job
// object, and QueryInformationJobObject needs a handle of that job
// (https://learn.microsoft.com/windows/win32/api/jobapi2/nf-jobapi2-queryinformationjobobject).
class ClientRegistry {
 public:
  // Returns the client for a process. A new process with a reused process id is a new client.
  std::shared_ptr<Client> Get(int64_t process_id);
  // Returns the client for the process that started at `start` (StartOfProcess()).
  std::shared_ptr<Client> Get(int64_t process_id, uint64_t start);

  // Keeps a client that misbehaved, so that its account outlives the connection that was ended.
  // Releases the client when 64 other clients have misbehaved after it.
  void Remember(std::shared_ptr<Client> client);

  // Returns the number of clients.
  size_t size() const;

 private:
  using Key = std::pair<int64_t, uint64_t>;
  struct State {
    Mutex mutex;
    std::map<Key, std::weak_ptr<Client>> clients ABSL_GUARDED_BY(mutex);
    std::map<std::string, std::weak_ptr<Tenant>> tenants ABSL_GUARDED_BY(mutex);
    std::deque<std::shared_ptr<Client>> remembered ABSL_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace csi_proxy::rpc
