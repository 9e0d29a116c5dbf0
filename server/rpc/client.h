// The processes that call, and what each may have.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "csi_proxy/call_context.h"
#include "server/rpc/executor.h"
#include "server/rpc/http2_guard.h"

namespace csi_proxy::rpc {

// A client may have only a share of each.
enum class Limit { kConnections, kCalls };
inline constexpr std::array<const char*, 2> kLimitNames = {"connections", "calls"};

// The most executors there may be.
inline constexpr size_t kMaxExecutors = 8;

// The processes that share what one client may have: those of a container, as far as that can be
// told (TenantOf() of base/peer_process.h).
struct Tenant {
  // The calls of all of them, by Runtime::executor_index.
  std::array<Flow, kMaxExecutors> flows;

  size_t clients() const { return flows[0].members(); }
};

// A process that calls. There is one object of each, for as long as it has connections or calls.
struct Client {
  // Without a tenant it is one of its own.
  explicit Client(Peer who, std::shared_ptr<Tenant> with = nullptr)
      : peer(std::move(who)), tenant(std::move(with)), http2(LimitsOf(peer)) {
    for (size_t i = 0; tenant != nullptr && i < flows.size(); ++i) {
      flows[i].BelongTo(&tenant->flows[i]);
    }
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // A call has been refused because its client has all of its share. Thread-safe.
  void CallRefused() { http2.CallRefused(SteadyTime::clock::now()); }

  // The requests of its calls under way, those included that wait in an executor's queue, may have
  // so many bytes. Each group's queue has places for 384 calls of up to 256 KiB; honest requests
  // have a few hundred bytes, and the longest 200 KB.
  static constexpr size_t kMaxRequestBytes = 8 << 20;
  // True: so many more are taken, and GiveBack() must follow. Thread-safe.
  bool TakeBytes(size_t bytes) {
    if (request_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMaxRequestBytes) {
      return true;
    }
    GiveBack(bytes);
    return false;
  }
  void GiveBack(size_t bytes) { request_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  const Peer peer;
  const std::shared_ptr<Tenant> tenant;
  // Its calls, by Runtime::executor_index.
  std::array<Flow, kMaxExecutors> flows;
  // The number of times that it had all of its share and wanted more, by Limit.
  std::array<std::atomic<uint64_t>, kLimitNames.size()> limited{};
  // The account of its connections.
  Http2Account http2;

 private:
  // Clients of unknown processes share an account, and are not barred for one another.
  static Http2Limits LimitsOf(const Peer& peer) {
    Http2Limits limits;
    if (peer.process_id == 0) limits.bar = absl::ZeroDuration();
    return limits;
  }

  std::atomic<size_t> request_bytes_ = 0;
};

}  // namespace csi_proxy::rpc
