#include "server/observability/repeats.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "csi_proxy/steady_time.h"
#include "server/calls/tenant_part.h"

namespace csi_proxy::observability {
namespace {

// The percentage of MayTakeOneMore() (tenant_part.h) for a process's part of its tenant's kinds.
constexpr size_t kTenantShare = 75;

// Stands for every method that a tenant's limit refuses, so that the refusals share one kind.
constexpr char kAnyMethod[] = "*";

bool IsLimit(absl::StatusCode code) { return code == absl::StatusCode::kResourceExhausted; }

uint64_t WrittenOf(absl::StatusCode code) { return IsLimit(code) ? 1 : Repeats::kWritten; }

}  // namespace

void Repeats::EndPeriod(SteadyTime now) {
  std::vector<Count> ended;
  {
    const MutexLock lock(mutex_);
    if (now < end_) return;
    decltype(tenants_) next;
    const bool is_next_minute = now < end_ + kPeriod;
    for (auto& [tenant, codes] : tenants_) {
      for (auto& [code, kinds] : codes) {
        for (auto& [kind, count] : kinds.counts) {
          if (count.times <= WrittenOf(code)) continue;
          count.times -= WrittenOf(code);
          ended.push_back(count);
          if (!IsLimit(code) || !is_next_minute) continue;
          // Refusals of the next minute are only counted, so that a flood has one line a minute.
          count.times = WrittenOf(code);
          next[tenant][code].counts.emplace(kind, std::move(count));
        }
        if (kinds.beyond.times > 0) ended.push_back(std::move(kinds.beyond));
      }
    }
    tenants_ = std::move(next);
    counting_ = false;
    end_ = now + kPeriod;
  }
  if (write_ != nullptr) std::ranges::for_each(ended, write_);
}

bool Repeats::Admit(const char* what, const Peer& peer, absl::StatusCode code, SteadyTime now) {
  EndPeriod(now);
  const MutexLock lock(mutex_);
  const bool others = tenants_.size() >= kMaxTenants && !tenants_.contains(peer.tenant);
  Kinds& kinds = tenants_[others ? "" : peer.tenant][code];
  const bool is_tenants = IsLimit(code) && !peer.tenant.empty();
  if (IsLimit(code)) what = kAnyMethod;
  const Kind kind{.what = what, .process_id = is_tenants ? 0 : peer.process_id};
  auto found = kinds.counts.find(kind);
  if (found == kinds.counts.end()) {
    Count count{
        .what = what, .process_id = peer.process_id, .image_path = peer.image_path, .code = code};
    const auto own = static_cast<size_t>(std::ranges::count(
        kinds.counts, peer.process_id, [](const auto& one) { return one.first.process_id; }));
    if (!rpc::MayTakeOneMore(own, kinds.counts.size() - own, kMaxKinds, kTenantShare,
                             rpc::ReservedOf(kMaxKinds, kTenantShare))) {
      count.what = "*";
      count.times = kinds.beyond.times + 1;
      kinds.beyond = std::move(count);
      counting_ = true;
      return false;
    }
    found = kinds.counts.emplace(kind, std::move(count)).first;
  }
  if (++found->second.times <= WrittenOf(code)) return true;
  counting_ = true;
  return false;
}

}  // namespace csi_proxy::observability
