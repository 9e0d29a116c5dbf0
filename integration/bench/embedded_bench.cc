// Measures a call on the hub's service, through a version's embedded client, and over the socket,
// on the simulated machine and on one that answers immediately, which shows the product's own cost.
// c_bench measures the C interface, client/go the Go package.
//
//   build/release/integration/bench/embedded_bench
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/own_node.h"
#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"
#include "csi_proxy/steady_time.h"
#include "integration/bench/idle_machine.h"
#include "integration/support/server_process.h"
#include "server/host/host.h"
#include "server/node/simulated_host.h"
#include "server/simulator/named_scenarios.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::integration {
namespace {

constexpr char kPath[] = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi)";

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::cerr << result.status() << "\n";
  std::exit(1);
}

enum class Under { kSimulated, kIdle };

const std::shared_ptr<Node>& NodeOver(Under machine) {
  static const std::shared_ptr<Node> simulated = Must(Node::Simulated());
  static const std::shared_ptr<Node> idle =
      Must(client::OwnNode::Create({}, [](auto) -> absl::StatusOr<OpenedMachine> {
        OpenedMachine opened;
        opened.host = std::make_unique<host::Host>(std::make_unique<IdleSession>(),
                                                   std::make_unique<IdleOs>());
        return opened;
      }));
  return machine == Under::kSimulated ? simulated : idle;
}

ClientOptions Embedded(Under machine) {
  ClientOptions options;
  options.mode = Mode::kEmbedded;
  options.node = NodeOver(machine);
  return options;
}

ClientOptions Remote() {
  static const std::unique_ptr<ServerProcess> server = Must(ServerProcess::Start());
  return server->client_options();
}

void DiskStateDirect(benchmark::State& state, Under machine) {
  disk::Service& service = NodeOver(machine)->disk();
  const CallContext context;
  const disk::GetDiskStateRequest request = {.disk_number = 1};
  for ([[maybe_unused]] auto _ : state) {
    if (!service.GetDiskState(context, request).ok()) return state.SkipWithError("failed");
  }
}

void DiskState(benchmark::State& state, const ClientOptions& options) {
  const disk::v1::Client client(Must(Connect(options)));
  disk::v1::GetDiskStateRequest request;
  request.set_disk_number(1);
  for ([[maybe_unused]] auto _ : state) {
    if (!client.GetDiskState(request).ok()) return state.SkipWithError("failed");
  }
}
void DiskStateEmbedded(benchmark::State& state, Under machine) {
  DiskState(state, Embedded(machine));
}
void DiskStateRemote(benchmark::State& state) { DiskState(state, Remote()); }

void PathExistsDirect(benchmark::State& state, Under machine) {
  filesystem::Service& service = NodeOver(machine)->filesystem();
  const CallContext context;
  const filesystem::PathExistsRequest request = {.path = kPath};
  for ([[maybe_unused]] auto _ : state) {
    if (!service.PathExists(context, request).ok()) return state.SkipWithError("failed");
  }
}

void PathExists(benchmark::State& state, const ClientOptions& options) {
  const filesystem::v1::Client client(Must(Connect(options)));
  filesystem::v1::PathExistsRequest request;
  request.set_path(kPath);
  for ([[maybe_unused]] auto _ : state) {
    if (!client.PathExists(request).ok()) return state.SkipWithError("failed");
  }
}
void PathExistsEmbedded(benchmark::State& state, Under machine) {
  PathExists(state, Embedded(machine));
}
void PathExistsRemote(benchmark::State& state) { PathExists(state, Remote()); }

// Stages a disk that the cloud has just attached. Windows shows the disk after the first number of
// ms, and its volume after the second. `overhead_ms` is the time beyond both.
void StageOfANewDisk(benchmark::State& state) {
  using namespace machine::simulator;  // NOLINT: for this function alone
  const absl::Duration disk_delay = absl::Milliseconds(state.range(0));
  const absl::Duration volume_delay = absl::Milliseconds(state.range(1));
  const std::shared_ptr<Machine> machine = Must(LoadScenario(DefaultScenarioText(), "default"));
  const auto set_volume_delay = [&](NodeState& node) {
    node.volume_arrival_delay = volume_delay;
    return absl::OkStatus();
  };
  if (!machine->core()->Change(set_volume_delay).ok()) return state.SkipWithError("no delay");
  const std::shared_ptr<Node> node = Must(client::OwnNode::Create(
      {}, [&](auto) -> absl::StatusOr<OpenedMachine> { return OpenSimulatedMachine(machine); }));
  absl::Duration all;
  for (int64_t disks = 0; [[maybe_unused]] auto _ : state) {
    Disk disk;
    disk.size_bytes = uint64_t{1} << 30;
    disk.serial_number = absl::StrCat("new-", ++disks);
    const SteadyTime begin = SteadyTime::Now();
    disk.arrives_at = begin + disk_delay;
    Must(machine->AttachDisk(disk));
    storage::StageVolumeRequest request;
    request.disk.serial_number = disk.serial_number;
    request.target_path = absl::StrCat(R"(C:\var\lib\kubelet\plugins\pv-)", disks);
    Must(node->storage().StageVolume(CallContext(), request));
    all += SteadyTime::Now() - begin - disk_delay - volume_delay;
  }
  state.counters["overhead_ms"] =
      absl::ToDoubleMilliseconds(all) / static_cast<double>(state.iterations());
}
BENCHMARK(StageOfANewDisk)
    ->ArgsProduct({{0, 150, 1000}, {0, 150, 1000}})
    ->Iterations(5)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(DiskStateDirect, idle_machine, Under::kIdle);
BENCHMARK_CAPTURE(DiskStateEmbedded, idle_machine, Under::kIdle);
BENCHMARK_CAPTURE(DiskStateDirect, simulated_machine, Under::kSimulated);
BENCHMARK_CAPTURE(DiskStateEmbedded, simulated_machine, Under::kSimulated);
BENCHMARK(DiskStateRemote)->UseRealTime();
BENCHMARK_CAPTURE(PathExistsDirect, idle_machine, Under::kIdle);
BENCHMARK_CAPTURE(PathExistsEmbedded, idle_machine, Under::kIdle);
BENCHMARK_CAPTURE(PathExistsDirect, simulated_machine, Under::kSimulated);
BENCHMARK_CAPTURE(PathExistsEmbedded, simulated_machine, Under::kSimulated);
BENCHMARK(PathExistsRemote)->UseRealTime();

}  // namespace
}  // namespace csi_proxy::integration

BENCHMARK_MAIN();
