// A machine whose process dies at a chosen call, to test how the next process continues.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/machine/os_wrapper_testing.h"
#include "server/names/win32_error.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::storage {

// The event at the chosen call.
enum class Death {
  // The process dies before the call: neither this call nor a later one is made.
  kBefore,
  // The process dies after the call: it is made, but its result is lost.
  kBehind,
  // The process lives. Only this call fails.
  kNone,
};

// Counts the calls of a process, and lets the process die at one of them. Thread-safe. REQUIRES:
// `before_call` and `after_call` are set before the first call.
class Life {
 public:
  // Dies at call `at`, counted from 1. Never dies if `at` is 0.
  Life(Death death, int at) : death_(death), at_(at) {}

  int calls() const { return calls_; }
  // Returns the notification that cancels the process's calls when the process dies.
  const absl::Notification* end() const { return &end_; }

  // Called before each call of the process, with the call's number.
  std::function<void(int call)> before_call = [](int) {};
  // Called after each call except call `at`, before the process gets the result.
  std::function<void(int call)> after_call = [](int) {};

  // Makes the calls of an OsWrapper.
  struct Through {
    template <typename Call>
    auto operator()(Call call) const -> decltype(call()) {
      return life->Run(call);
    }
    Life* life;
  };

  template <typename Call>
  auto Run(Call call) -> decltype(call()) {
    const auto error = [] { return Win32Status(1117, "the I/O device error of a test"); };
    if (end_.HasBeenNotified()) return error();
    const int number = ++calls_;
    before_call(number);
    if (number != at_) {
      auto result = call();
      after_call(number);
      return result;
    }
    if (death_ == Death::kBehind) (void)call();
    if (death_ != Death::kNone) end_.Notify();
    return error();
  }

 private:
  const Death death_;
  const int at_;
  std::atomic<int> calls_ = 0;
  absl::Notification end_;
};

class DyingOs final : public machine::OsWrapper<Life::Through> {
 public:
  DyingOs(Life* life, machine::simulator::Core* core)
      : OsWrapper(machine::simulator::NewSimulatedOs(core), {life}) {}
};

class DyingSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  DyingSession(Life* life, machine::simulator::Core* core) : SimulatedSession(core), life_(*life) {}

  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override {
    return life_.Run([&] { return SimulatedSession::DoQuery(context, space, wql); });
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    return life_.Run(
        [&] { return SimulatedSession::DoInvoke(context, space, path, method, arguments); });
  }

 private:
  Life& life_;
};

}  // namespace csi_proxy::storage
