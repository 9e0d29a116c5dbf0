// Remembers the iSCSI portals over which this process could not connect a target.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "csi_proxy/call_context.h"
#include "server/base/tenant_memory.h"
#include "server/names/windows_path.h"

namespace csi_proxy::storage {

// A repeated StageTarget first tries the portals that have not failed before. Records each tenant's
// failures separately, because a wrong secret or a short deadline of the call may be the cause.
// Keeps only the names of targets and portals, at most 1,024 portals for all tenants. A cancelled
// call counts like a call whose deadline has passed. Thread-safe.
class FailedPortals {
 public:
  // Returns the indexes of `portals` in the order in which to try them: first the portals without a
  // failure, then the other portals, the oldest failure first.
  std::vector<size_t> Order(const CallContext& context, const std::string& iqn,
                            const std::vector<std::string>& portals) const {
    const std::vector<Memory::Entry> failed = failed_.Select(IsOf(context, iqn));
    std::vector<size_t> order(portals.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    // The rank of a portal: 0 without a failure, else counted from 1 for the oldest failure.
    const auto age = [&](size_t i) {
      const auto at = std::ranges::find_if(
          failed, [&](const Memory::Entry& one) { return one.key.second == portals[i]; });
      return at == failed.end() ? 0 : at - failed.begin() + 1;
    };
    std::ranges::stable_sort(order, {}, age);
    return order;
  }

  void Note(const CallContext& context, const std::string& iqn, const std::string& portal) {
    failed_.Set(context.peer().tenant, {FoldName(iqn), portal}, {});
  }

  void Forget(const CallContext& context, const std::string& iqn) {
    failed_.Forget(IsOf(context, iqn));
  }

 private:
  // The keys are a target and a portal.
  using Memory = TenantMemory<std::pair<std::string, std::string>, std::monostate>;

  // Returns a predicate for the failures of the caller's tenant at a target.
  static std::function<bool(const Memory::Entry&)> IsOf(const CallContext& context,
                                                        const std::string& iqn) {
    return [tenant = context.peer().tenant, target = FoldName(iqn)](const Memory::Entry& one) {
      return one.tenant == tenant && one.key.first == target;
    };
  }

  Memory failed_{1024};
};

}  // namespace csi_proxy::storage
