// The processes that call, their tenants, and the limits of both.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "csi_proxy/call_context.h"
#include "server/calls/call_deps.h"
#include "server/calls/executor.h"
#include "server/transport/account.h"

namespace csi_proxy::rpc {

using transport::Http2Account;
using transport::Http2Limits;
using transport::Http2Time;
using transport::Http2Violation;
using transport::kHttp2ViolationNames;
using transport::kHttp2Violations;

// The processes of one container, as far as TenantOf() of platform/peer_process.h can tell. The
// processes share the limits below.
struct Tenant {
  Tenant() {
    for (TenantQueue& queue : queues) queue.CountBlocked(&blocked_calls);
  }

  // The calls of the tenant's processes, by CallDeps::executor_index.
  std::array<TenantQueue, kMaxExecutors> queues;
  // The number of calls that have begun beyond the executors' slots, over all executors. Limited by
  // Executor::Limits::max_blocked_of_tenant.
  std::atomic<size_t> blocked_calls = 0;
  // The bytes of requests that are under way or in executors' queues.
  std::atomic<size_t> request_bytes = 0;
  // The number of connections to all pipes. Guarded by the ConnectionTable.
  size_t connections = 0;
  // The memory that all processes of the tenant hold together: at most four times the held_bytes of
  // one process, and the room_bytes of one process. The account's other limits are not used.
  Http2Account memory{Http2Limits{.held_bytes = 4 * Http2Limits().held_bytes}};
};

// A process with connections or calls. Id 0 stands for all unknown processes together.
struct Client {
  // Makes the client a tenant of its own by default. REQUIRES: `with` is not null.
  explicit Client(Peer who, std::shared_ptr<Tenant> with = std::make_shared<Tenant>())
      : peer(std::move(who)),
        tenant(std::move(with)),
        http2(LimitsOf(peer), std::shared_ptr<Http2Account>(tenant, &tenant->memory)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Counts a call that was refused because the tenant had used its part. Thread-safe.
  void CountRefusedCall() { http2.CountRefusedCall(Http2Time::clock::now()); }
  // Returns true if the client is barred (Http2Limits). Thread-safe.
  bool barred() const { return http2.barred(Http2Time::clock::now()); }

  // The limit for a tenant's requests under way or in executors' queues, in bytes. Each group's
  // queue has places for 384 calls of up to 256 KiB; honest requests have a few hundred bytes, at
  // most 200 KB.
  static constexpr size_t kMaxRequestBytes = 8 << 20;
  // Charges `bytes` and returns true, or returns false at the limit. After true the caller must
  // call GiveBack(bytes). Thread-safe.
  bool TakeBytes(size_t bytes) {
    if (tenant->request_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <=
        kMaxRequestBytes) {
      return true;
    }
    GiveBack(bytes);
    return false;
  }
  void GiveBack(size_t bytes) { tenant->request_bytes.fetch_sub(bytes, std::memory_order_relaxed); }

  const Peer peer;
  const std::shared_ptr<Tenant> tenant;
  // The number of times that the client asked for more than its part, by Limit.
  std::array<std::atomic<uint64_t>, kLimitNames.size()> limited{};
  // The pipes with a main connection of the client (ServerLimits). Guarded by the ConnectionTable.
  std::set<size_t> pipes_with_main;
  // The account that all connections of the client pay from.
  Http2Account http2;

 private:
  // Returns the limits of the peer's account. The account of unknown processes is never barred,
  // because one unknown process would then bar all unknown processes.
  static Http2Limits LimitsOf(const Peer& peer) {
    Http2Limits limits;
    if (peer.process_id == 0) limits.bar = absl::ZeroDuration();
    return limits;
  }
};

// Counts that `client` wanted more than its part, and calls OnLimit() of every observer.
inline void ReportLimit(const std::vector<CallObserver*>& observers, Client& client, Limit limit) {
  const uint64_t times = ++client.limited[static_cast<size_t>(limit)];
  for (CallObserver* observer : observers) observer->OnLimit(client.peer, limit, times);
}

}  // namespace csi_proxy::rpc
