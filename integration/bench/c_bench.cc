// Measures a call over the C interface, like those of embedded_bench. It is a separate program
// because protobuf refuses two copies of the messages in one process.
//
//   build/release/integration/bench/c_bench
#include <benchmark/benchmark.h>

#include <string>

#include "csi_proxy/csi_proxy.h"

namespace {

// Returns a serialized PathExistsRequest: field 1 is the path.
std::string PathExistsRequest() {
  const std::string path = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi)";
  return "\x0a" + std::string(1, static_cast<char>(path.size())) + path;
}

void OverC(benchmark::State& state, const char* method, const std::string& request) {
  csi_proxy_node node;
  if (csi_proxy_open(CSI_PROXY_ABI_VERSION, nullptr, 0, nullptr, nullptr, &node, nullptr) != 0) {
    return state.SkipWithError("the library does not open");
  }
  for ([[maybe_unused]] auto _ : state) {
    csi_proxy_bytes response, message;
    const int32_t code =
        csi_proxy_invoke(node, 0, method, reinterpret_cast<const uint8_t*>(request.data()),
                         request.size(), 60'000'000'000, &response, &message);
    if (code != 0) {
      state.SkipWithError("failed");
      break;
    }
    csi_proxy_free(&response);
  }
  csi_proxy_close(node);
}

void DiskStateOverC(benchmark::State& state) { OverC(state, "/v1.Disk/GetDiskState", "\x08\x01"); }
void PathExistsOverC(benchmark::State& state) {
  OverC(state, "/v1.Filesystem/PathExists", PathExistsRequest());
}
BENCHMARK(DiskStateOverC);
BENCHMARK(PathExistsOverC);

}  // namespace

BENCHMARK_MAIN();
