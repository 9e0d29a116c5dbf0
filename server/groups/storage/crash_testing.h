// Kills a process of the service at each call to Windows and repeats its calls: the node must reach
// the same state as without the death.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/groups/storage/cloud_testing.h"

namespace csi_proxy::storage {

struct Start {
  const char* name;
  // Brings a node of the scenario into the state.
  std::function<void(Machine& node)> prepare;

  friend void PrintTo(const Start& start, std::ostream* out) { *out << start.name; }
};

// A change that Windows makes this long after its call, even if the caller has left by then.
inline machine::simulator::FaultRule Late(const std::string& operation,
                                          absl::Duration latency = absl::Seconds(40)) {
  machine::simulator::FaultRule late;
  late.operation = operation;
  late.latency = latency;
  late.goes_on = true;
  late.times = 1;
  return late;
}
// Waits until all late changes have been made. Their threads get real time to end.
inline void LetLateChangesEnd() {
  absl::SleepFor(absl::Minutes(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

using Act = std::function<absl::Status(Process&)>;
inline std::string Dump(Machine& node) {
  return machine::simulator::StateToProto(node.Snapshot()).DebugString();
}

// Runs `act` from `state`, killed at each of its calls in turn, and then again in a new process:
// immediately, after a reboot, or after `opposite`. The node must end in the same state as without
// a death. Calls `check` with each node after the death and at the end.
inline void KillEverywhere(
    const NodeState& state, const Act& act, const Act& opposite,
    const std::function<void(Machine&)>& check = [](Machine&) {}) {
  std::string wanted[2], wanted_again;
  int calls = 0;
  bool can_go_back = false;
  for (const bool reboots : {true, false}) {
    const auto undisturbed = NodeIn(state);
    if (reboots) undisturbed->Reboot();
    Process whole(undisturbed.get());
    ASSERT_TRUE(act(whole).ok()) << act(whole);
    wanted[reboots] = Dump(*undisturbed);
    calls = whole.life.calls();
    Process back(undisturbed.get());
    can_go_back = opposite(back).ok();
    if (can_go_back) {
      ASSERT_TRUE(act(back).ok());
    }
    wanted_again = Dump(*undisturbed);
  }
  ASSERT_GT(calls, 2);
  std::atomic<int> refused = 0;
  const auto kill = [&](Death death, int at) {
    for (const bool reboots : {false, true}) {
      if (reboots && death == Death::kNone) continue;
      SCOPED_TRACE(absl::StrCat("death ", static_cast<int>(death), " at call ", at, " of ", calls,
                                reboots ? ", then a reboot" : ""));
      const auto node = NodeIn(state);
      Process killed(node.get(), death, at);
      if (!act(killed).ok()) ++refused;
      check(*node);
      if (reboots) node->Reboot();
      Process next(node.get());
      const absl::Status repeated = act(next);
      ASSERT_TRUE(repeated.ok()) << repeated;
      ASSERT_EQ(Dump(*node), wanted[reboots]);
      check(*node);
    }
    if (!can_go_back || death != Death::kBehind) return;
    // The kubelet may also run the opposite call and then this one again.
    const auto node = NodeIn(state);
    Process killed(node.get(), death, at);
    (void)act(killed);
    Process next(node.get());
    const absl::Status undone = opposite(next);
    ASSERT_TRUE(undone.ok()) << undone;
    ASSERT_TRUE(act(next).ok());
    ASSERT_EQ(Dump(*node), wanted_again) << static_cast<int>(death) << " at call " << at;
  };
  // The nodes run in parallel, because some states wait for a disk to settle at every repetition.
  for (const Death death : {Death::kBefore, Death::kBehind, Death::kNone}) {
    std::vector<std::jthread> threads;
    for (int at = 1; at <= calls; ++at) threads.emplace_back(kill, death, at);
  }
  // Nearly all acts of dying processes fail, because the calls after the death fail.
  EXPECT_GT(refused, 2 * calls);
}

}  // namespace csi_proxy::storage
