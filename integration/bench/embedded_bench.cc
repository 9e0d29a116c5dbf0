// What a call costs by the door it takes: the hub's service itself, the versioned client embedded,
// and the versioned client over the service's socket. c_bench has the C interface, client/go the Go
// package.
//
//   build/release/integration/bench/embedded_bench
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

constexpr char kPath[] = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi)";

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::cerr << result.status() << "\n";
  std::exit(1);
}

Node& TheHost() {
  static const std::shared_ptr<Node> host = Must(Node::Simulated());
  return *host;
}

ClientOptions Embedded() {
  ClientOptions options;
  options.mode = Mode::kEmbedded;
  options.node = std::shared_ptr<Node>(std::shared_ptr<Node>(), &TheHost());
  return options;
}

ClientOptions Remote() {
  static const std::unique_ptr<ServerProcess> server = Must(ServerProcess::Start());
  return server->client_options();
}

void DiskStateDirect(benchmark::State& state) {
  disk::Service& service = TheHost().disk();
  const CallContext context;
  const disk::GetDiskStateRequest request = {.disk_number = 1};
  for (auto _ : state) benchmark::DoNotOptimize(service.GetDiskState(context, request));
}
BENCHMARK(DiskStateDirect);

void DiskState(benchmark::State& state, const ClientOptions& options) {
  const auto client = Must(disk::v1::Client::Create(options));
  disk::v1::GetDiskStateRequest request;
  request.set_disk_number(1);
  for (auto _ : state) {
    if (!client.GetDiskState(request).ok()) return state.SkipWithError("failed");
  }
}
void DiskStateEmbedded(benchmark::State& state) { DiskState(state, Embedded()); }
void DiskStateRemote(benchmark::State& state) { DiskState(state, Remote()); }
BENCHMARK(DiskStateEmbedded);

void PathExistsDirect(benchmark::State& state) {
  filesystem::Service& service = TheHost().filesystem();
  const CallContext context;
  const filesystem::PathExistsRequest request = {.path = kPath};
  for (auto _ : state) benchmark::DoNotOptimize(service.PathExists(context, request));
}

void PathExists(benchmark::State& state, const ClientOptions& options) {
  const auto client = Must(filesystem::v1::Client::Create(options));
  filesystem::v1::PathExistsRequest request;
  request.set_path(kPath);
  for (auto _ : state) {
    if (!client.PathExists(request).ok()) return state.SkipWithError("failed");
  }
}
void PathExistsEmbedded(benchmark::State& state) { PathExists(state, Embedded()); }
void PathExistsRemote(benchmark::State& state) { PathExists(state, Remote()); }

BENCHMARK(DiskStateRemote)->UseRealTime();
BENCHMARK(PathExistsDirect);
BENCHMARK(PathExistsEmbedded);
BENCHMARK(PathExistsRemote)->UseRealTime();

}  // namespace
}  // namespace csi_proxy::integration

BENCHMARK_MAIN();
