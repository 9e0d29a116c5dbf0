#include "absl/time/clock.h"
#include "server/host/testing.h"

namespace csi_proxy::host {
namespace {

constexpr char kServices[] = R"(
  service { name: "Base" display_name: "The base" start_type: AUTOMATIC state: RUNNING
            stop_latency_ms: 40 }
  service { name: "Middle" start_type: MANUAL state: RUNNING depends_on: "base" }
  service { name: "Outer" state: RUNNING depends_on: "Middle" depends_on: "Base" }
  service { name: "Idle" depends_on: "Base" start_type: MANUAL }
  service { name: "Slow" start_type: MANUAL start_latency_ms: 40 }
  service { name: "OnSlow" start_type: MANUAL depends_on: "Slow" start_latency_ms: 1 }
  service { name: "Off" start_type: DISABLED }
  service { name: "OnOff" start_type: MANUAL depends_on: "Off" }
  service { name: "Starting" start_type: MANUAL state: START_PENDING start_latency_ms: 3600000 }
)";

class SystemTest : public testing::Test {
 protected:
  SystemHost& system() { return host_->system(); }
  ServiceState State(const std::string& name) {
    return system().GetService(context_, name).value_or(ServiceInfo{}).state;
  }
  void AwaitState(const std::string& name, ServiceState state) {
    const absl::Time limit = absl::Now() + absl::Seconds(10);
    while (State(name) != state && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(2));
    EXPECT_EQ(State(name), state);
  }

  CallContext context_;
  std::unique_ptr<Machine> node_ = TestNode(kServices);
  std::unique_ptr<Host> host_ = NewSimulatedHost(*node_);
};

TEST_F(SystemTest, GivesTheKnownFacts) {
  EXPECT_THAT(system().GetBiosSerialNumber(context_), Yields("BIOS-1"));
  const ServiceInfo info = *system().GetService(context_, "BASE");
  EXPECT_EQ(info.display_name, "The base");
  EXPECT_EQ(info.start_type, ServiceStartType::kAutomatic);
  EXPECT_EQ(info.state, ServiceState::kRunning);
  EXPECT_THAT(system().GetService(context_, "none"), HasCode(kNotFound));
  EXPECT_THAT(system().ListActiveDependents(context_, "none"), HasCode(kNotFound));
  EXPECT_THAT(system().RequestStart(context_, "none"), HasCode(kNotFound));
  EXPECT_THAT(system().RequestStop(context_, "none"), HasCode(kNotFound));
}

TEST_F(SystemTest, DependentsComeInTheOrderTheyCanStop) {
  EXPECT_THAT(system().ListActiveDependents(context_, "base"),
              Yields(std::vector<std::string>{"Outer", "Middle"}));
  EXPECT_THAT(system().RequestStop(context_, "Base"),
              FailsWith(kPrecondition, "Outer is running and depends on Base"));
  EXPECT_THAT(system().RequestStop(context_, "Middle"), HasCode(kPrecondition));
  EXPECT_THAT(system().RequestStop(context_, "Outer"), IsOk());
  EXPECT_THAT(system().RequestStop(context_, "Middle"), IsOk());
  EXPECT_THAT(system().RequestStop(context_, "Base"), IsOk());
  EXPECT_EQ(State("Base"), ServiceState::kStopPending);
  EXPECT_THAT(system().RequestStart(context_, "Base"), HasCode(absl::StatusCode::kUnavailable));
  AwaitState("Base", ServiceState::kStopped);
  EXPECT_THAT(system().RequestStop(context_, "Base"), IsOk());
}

TEST_F(SystemTest, StartsDependenciesFirst) {
  EXPECT_THAT(system().RequestStart(context_, "OnSlow"), IsOk());
  EXPECT_EQ(State("Slow"), ServiceState::kStartPending);
  EXPECT_EQ(State("OnSlow"), ServiceState::kStartPending);
  EXPECT_THAT(system().RequestStart(context_, "OnSlow"), HasCode(kExists));
  EXPECT_THAT(system().RequestStop(context_, "OnSlow"), HasCode(kPrecondition));
  AwaitState("OnSlow", ServiceState::kRunning);
  EXPECT_EQ(State("Slow"), ServiceState::kRunning);
  EXPECT_THAT(system().RequestStart(context_, "Slow"), HasCode(kExists));
}

TEST_F(SystemTest, DisabledServicesStartForNobody) {
  EXPECT_THAT(system().RequestStart(context_, "Off"), FailsWith(kPrecondition, "error 0x422"));
  EXPECT_THAT(system().RequestStart(context_, "OnOff"), FailsWith(kInternal, "error 0x42c"));
  EXPECT_EQ(State("OnOff"), ServiceState::kStopped);
}

TEST_F(SystemTest, AStartingServiceTakesNoStop) {
  EXPECT_EQ(State("Starting"), ServiceState::kStartPending);
  EXPECT_THAT(system().RequestStop(context_, "Starting"), HasCode(kPrecondition));
}

}  // namespace
}  // namespace csi_proxy::host
