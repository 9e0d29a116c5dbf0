// For tests of executors with several tenants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/rpc/client.h"
#include "server/rpc/executor.h"
#include "server/rpc/executor_testing.h"

namespace csi_proxy::rpc {

using ClientQueues = std::vector<std::shared_ptr<ClientQueue>>;

// A service's default limits.
inline constexpr Executor::Limits kDefault = {
    .max_threads = 16, .max_queued = 256, .client_share = 75, .max_blocked = 128};

class TenantsTest : public FairExecutorTest {
 protected:
  // Returns the queues of `count` processes of a tenant.
  static ClientQueues Processes(size_t count, std::shared_ptr<Tenant> tenant = nullptr) {
    if (tenant == nullptr) tenant = std::make_shared<Tenant>();
    ClientQueues queues;
    for (size_t i = 0; i < count; ++i) {
      const auto client = std::make_shared<Client>(
          Peer{.process_id = static_cast<int64_t>(i), .image_path = ""}, tenant);
      queues.emplace_back(client, &client->queues[0]);
    }
    return queues;
  }
};

}  // namespace csi_proxy::rpc
