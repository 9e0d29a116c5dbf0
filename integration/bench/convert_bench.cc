// Measures the conversion of a message to the hub and back, and two protobuf copies for comparison.
#include <benchmark/benchmark.h>

#include "csi_proxy/disk/v1/convert.h"
#include "csi_proxy/iscsi/v1alpha2/convert.h"
#include "csi_proxy/volume/v1/convert.h"

namespace csi_proxy {
namespace {

v1::MountVolumeRequest Mount() {
  v1::MountVolumeRequest request;
  request.set_volume_id(R"(\\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\)");
  request.set_target_path(R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\staging\pvc-1)");
  return request;
}

v1::ListDiskLocationsResponse Locations() {
  v1::ListDiskLocationsResponse response;
  for (uint32_t i = 0; i < 16; ++i) {
    v1::DiskLocation& location = (*response.mutable_disk_locations())[i];
    location.set_adapter("0");
    location.set_bus("0");
    location.set_target("1");
    location.set_lunid(std::to_string(i));
  }
  return response;
}

v1alpha2::ConnectTargetRequest Connect() {
  v1alpha2::ConnectTargetRequest request;
  request.mutable_target_portal()->set_target_address("10.0.0.5");
  request.mutable_target_portal()->set_target_port(3260);
  request.set_iqn("iqn.2026-01.example.storage:disk-with-a-name");
  request.set_auth_type(v1alpha2::ONE_WAY_CHAP);
  request.set_chap_username("node-1");
  request.set_chap_secret("a-chap-secret");
  return request;
}

template <typename Message>
void Copy(benchmark::State& state, Message (*make)()) {
  const Message message = make();
  for ([[maybe_unused]] auto _ : state) {
    Message there = message;
    benchmark::DoNotOptimize(there);
    Message back = there;
    benchmark::DoNotOptimize(back);
  }
}

template <typename Hub, typename Message>
void Convert(benchmark::State& state, Message (*make)(), absl::Status (*to)(const Message&, Hub*),
             absl::Status (*from)(const Hub&, Message*)) {
  const Message message = make();
  for ([[maybe_unused]] auto _ : state) {
    Hub hub;
    Message back;
    if (!to(message, &hub).ok() || !from(hub, &back).ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(back);
  }
}

void CopyMountVolumeRequest(benchmark::State& state) { Copy(state, &Mount); }
void ConvertMountVolumeRequest(benchmark::State& state) {
  Convert<volume::MountVolumeRequest>(state, &Mount, &volume::v1::ToHub, &volume::v1::FromHub);
}
void CopyListDiskLocationsResponse(benchmark::State& state) { Copy(state, &Locations); }
void ConvertListDiskLocationsResponse(benchmark::State& state) {
  Convert<disk::ListDiskLocationsResponse>(state, &Locations, &disk::v1::ToHub, &disk::v1::FromHub);
}
void CopyConnectTargetRequest(benchmark::State& state) { Copy(state, &Connect); }
void ConvertConnectTargetRequest(benchmark::State& state) {
  Convert<iscsi::ConnectTargetRequest>(state, &Connect, &iscsi::v1alpha2::ToHub,
                                       &iscsi::v1alpha2::FromHub);
}

BENCHMARK(CopyMountVolumeRequest);
BENCHMARK(ConvertMountVolumeRequest);
BENCHMARK(CopyListDiskLocationsResponse);
BENCHMARK(ConvertListDiskLocationsResponse);
BENCHMARK(CopyConnectTargetRequest);
BENCHMARK(ConvertConnectTargetRequest);

}  // namespace
}  // namespace csi_proxy

BENCHMARK_MAIN();
