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

using Flows = std::vector<std::shared_ptr<Flow>>;

// A service's default limits.
inline constexpr Executor::Limits kDefault = {
    .max_threads = 16, .max_queued = 256, .client_share = 75, .max_blocked = 128};

class TenantsTest : public FairExecutorTest {
 protected:
  // Returns the flows of `count` processes of a tenant.
  static Flows Processes(size_t count, std::shared_ptr<Tenant> tenant = nullptr) {
    if (tenant == nullptr) tenant = std::make_shared<Tenant>();
    Flows flows;
    for (size_t i = 0; i < count; ++i) {
      const auto client = std::make_shared<Client>(
          Peer{.process_id = static_cast<int64_t>(i), .image_path = ""}, tenant);
      flows.emplace_back(client, &client->flows[0]);
    }
    return flows;
  }
};

}  // namespace csi_proxy::rpc
