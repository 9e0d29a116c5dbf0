// Prints the calls of Windows that each rpc makes on nodes of 10, 100 and 1,000 disks.
//
//   build/release/integration/bench/call_counts
#include <cstdio>
#include <iostream>
#include <memory>

#include "server/groups/testing/rpc_costs.h"

int main() {
  using csi_proxy::groups::ScaledNode;
  constexpr int kSizes[] = {10, 100, 1000};
  std::unique_ptr<ScaledNode> nodes[std::size(kSizes)];
  std::printf("| Win32 calls, WMI requests, WMI objects |");
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    nodes[i] = std::make_unique<ScaledNode>(kSizes[i]);
    std::printf(" %d disks |", kSizes[i]);
  }
  std::printf(" Go v1.3.0 |\n|---|%s--:|\n", "--:|--:|--:|");
  for (const auto& rpc : csi_proxy::groups::RpcCosts()) {
    std::printf("| %s |", rpc.name);
    for (const auto& node : nodes) {
      const auto counts = CountsOf(rpc, *node);
      if (!counts.ok()) {
        std::cerr << counts.status() << "\n";
        return 1;
      }
      std::printf(" %d, %d, %d |", static_cast<int>(counts->win32_calls),
                  static_cast<int>(counts->wmi_calls), static_cast<int>(counts->wmi_objects));
    }
    std::printf(rpc.go < 0 ? " |\n" : " %d |\n", rpc.go);
  }
}
