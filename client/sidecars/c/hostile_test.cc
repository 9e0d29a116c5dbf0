// Arguments that are null, huge or malformed, handles that are stale or forged, and calls at the
// wrong time, for every function of the sidecars' C interface. No driver is needed: sidecars wait
// for one.
#include <atomic>
#include <iterator>
#include <thread>

#include "client/sidecars/c/testing.h"

namespace csi_proxy::c {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr char kWaits[] = R"({"csiAddress": "/none/csi.sock", "livenessprobe": {}})";
constexpr char kGivesUp[] =
    R"({"csiAddress": "/none/csi.sock", "connectTimeoutSeconds": 0.05, "livenessprobe": {}})";

TEST(HostileSidecarsTest, OnlyItsOwnAbi) {
  EXPECT_EQ(csi_proxy_sidecars_abi_version(), CSI_PROXY_SIDECARS_ABI_VERSION);
  for (const uint32_t version : {0u, 2u, UINT32_MAX}) {
    csi_proxy_sidecars sidecars = 7;
    csi_proxy_bytes error = {};
    EXPECT_EQ(csi_proxy_sidecars_start(version, nullptr, 0, nullptr, &sidecars, &error),
              kFailedPrecondition);
    EXPECT_EQ(sidecars, 0u);
    EXPECT_THAT(Take(&error), HasSubstr("abi_version"));
  }
}

TEST(HostileSidecarsTest, NullPointers) {
  csi_proxy_bytes error = {};
  EXPECT_EQ(csi_proxy_sidecars_start(1, kWaits, sizeof(kWaits) - 1, nullptr, nullptr, &error),
            kInvalidArgument);
  EXPECT_THAT(Take(&error), HasSubstr("sidecars: is null"));
  csi_proxy_sidecars sidecars = 7;
  EXPECT_EQ(csi_proxy_sidecars_start(1, nullptr, 1, nullptr, &sidecars, nullptr), kInvalidArgument);
  EXPECT_EQ(sidecars, 0u);
  EXPECT_EQ(csi_proxy_sidecars_start(1, nullptr, 0, nullptr, &sidecars, nullptr), kInvalidArgument);
  EXPECT_EQ(csi_proxy_sidecars_registered(1, nullptr), kInvalidArgument);
  csi_proxy_sidecars_free(nullptr);
  // Leaving out the callbacks, each of them, and the text of errors is not a mistake.
  const csi_proxy_sidecars_callbacks none = {};
  for (const csi_proxy_sidecars_callbacks* const callbacks :
       {static_cast<const csi_proxy_sidecars_callbacks*>(nullptr), &none}) {
    EXPECT_EQ(
        csi_proxy_sidecars_start(1, kGivesUp, sizeof(kGivesUp) - 1, callbacks, &sidecars, nullptr),
        kOk);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(csi_proxy_sidecars_stop(sidecars), kOk);
  }
}

TEST(HostileSidecarsTest, WhatWasInTheErrorIsNotRead) {
  csi_proxy_sidecars sidecars = 7;
  uint8_t somebody_elses = 1;
  csi_proxy_bytes error = {&somebody_elses, 1};
  ASSERT_EQ(csi_proxy_sidecars_start(1, kWaits, sizeof(kWaits) - 1, nullptr, &sidecars, &error),
            kOk);
  EXPECT_EQ(error.data, nullptr);
  EXPECT_EQ(error.size, 0u);
  EXPECT_EQ(csi_proxy_sidecars_stop(sidecars), kOk);
  csi_proxy_sidecars_free(&error);
}

TEST(HostileSidecarsTest, HugeOptions) {
  Heard heard;
  for (const size_t size : {size_t{1} << 31, SIZE_MAX / 2, SIZE_MAX}) {
    const Started started = Start(std::string_view(kWaits, size), &heard);
    EXPECT_EQ(started.code, kInvalidArgument);
    EXPECT_THAT(started.error, HasSubstr("options"));
  }
  EXPECT_EQ(Start("{\"registrar\": " + std::string(1'000'000, '['), &heard).code, kInvalidArgument);
}

TEST(HostileSidecarsTest, MalformedOptionsAreNamed) {
  struct {
    const char* json;
    const char* named;
  } const kBad[] = {
      {R"()", "csi_address"},
      {R"({)", "options"},
      {R"([])", "options"},
      {R"({} {})", "options"},
      {"{\"csiAddress\": \"\xff\"}", "options"},
      {R"({"colour": 1})", "colour"},
      {R"({"csiAddress": "/x", "livenessprobe": {"colour": 1}})", "colour"},
      {R"({"csiAddress": 7, "livenessprobe": {}})", "csi_address"},
      {R"({"csiAddress": "tcp://1.2.3.4:5", "livenessprobe": {}})", "csi_address"},
      {R"({"csiAddress": "/x"})", "livenessprobe"},
      {R"({"csiAddress": "/x", "livenessprobe": []})", "livenessprobe"},
      {R"({"csiAddress": "/x", "driverName": "../x", "livenessprobe": {}})", "../x"},
      {R"({"csiAddress": "/x", "connectTimeoutSeconds": 0, "livenessprobe": {}})",
       "connect_timeout_seconds"},
      {R"({"csiAddress": "/x", "connectTimeoutSeconds": "NaN", "livenessprobe": {}})",
       "connect_timeout_seconds"},
      {R"({"csiAddress": "/x", "connectTimeoutSeconds": "soon", "livenessprobe": {}})",
       "connect_timeout_seconds"},
      {R"({"csiAddress": "/x", "livenessprobe": {"probeTimeoutSeconds": -1}})",
       "livenessprobe.probe_timeout"},
      {R"({"csiAddress": "/x", "livenessprobe": {"probeTimeoutSeconds": "Infinity"}})",
       "livenessprobe.probe_timeout"},
      {R"({"csiAddress": "/x", "livenessprobe": {"httpEndpoint": ""}})",
       "livenessprobe.http_endpoint"},
      {R"({"csiAddress": "/x", "livenessprobe": {"httpEndpoint": "nowhere"}})",
       "livenessprobe.http_endpoint"},
      {R"({"csiAddress": "/x", "livenessprobe": {"metricsPath": "none"}})",
       "livenessprobe.metrics_path"},
      {R"({"csiAddress": "/x", "livenessprobe": {"serveMetrics": "maybe"}})", "serve_metrics"},
      {R"({"csiAddress": "/x", "registrar": {"pluginRegistrationPath": "/r"}})",
       "registrar.kubelet_registration_path"},
      {R"({"csiAddress": "/x", "registrar": {"kubeletRegistrationPath": "/k"}})",
       "registrar.plugin_registration_path"},
      {R"({"csiAddress": "/x", "registrar": {"kubeletRegistrationPath": "/k",
           "pluginRegistrationPath": "/r", "timeoutSeconds": 0}})",
       "registrar.timeout"},
      {R"({"csiAddress": "/x", "registrar": {"kubeletRegistrationPath": "/k",
           "pluginRegistrationPath": "/r", "httpEndpoint": "x"}})",
       "registrar.http_endpoint"},
  };
  Heard heard;
  for (const auto& bad : kBad) {
    const Started started = Start(bad.json, &heard);
    EXPECT_EQ(started.code, kInvalidArgument) << bad.json;
    EXPECT_EQ(started.sidecars, 0u) << bad.json;
    EXPECT_THAT(started.error, HasSubstr(bad.named)) << bad.json;
  }
  EXPECT_THAT(heard.log(), IsEmpty());
}

TEST(HostileSidecarsTest, StaleAndForgedHandles) {
  Heard heard;
  const Started first = Start(kWaits, &heard), second = Start(kWaits, &heard);
  ASSERT_EQ(first.code, kOk) << first.error;
  ASSERT_EQ(second.code, kOk) << second.error;
  EXPECT_NE(first.sidecars, second.sidecars);
  EXPECT_EQ(csi_proxy_sidecars_stop(first.sidecars), kOk);
  for (const csi_proxy_sidecars handle :
       {csi_proxy_sidecars{0}, first.sidecars, second.sidecars + 1, UINT64_MAX}) {
    int32_t registered = 7;
    EXPECT_EQ(csi_proxy_sidecars_registered(handle, &registered), kNotFound) << handle;
    EXPECT_EQ(registered, 0);
    EXPECT_EQ(csi_proxy_sidecars_stop(handle), kNotFound) << handle;
  }
  int32_t registered = 7;
  EXPECT_EQ(csi_proxy_sidecars_registered(second.sidecars, &registered), kOk);
  EXPECT_EQ(registered, 0);
  const Started third = Start(kWaits, &heard);
  EXPECT_GT(third.sidecars, second.sidecars);
  EXPECT_EQ(csi_proxy_sidecars_stop(second.sidecars), kOk);
  EXPECT_EQ(csi_proxy_sidecars_stop(third.sidecars), kOk);
}

TEST(HostileSidecarsTest, ADriverThatDoesNotComeIsToldOnce) {
  Heard heard;
  const Started started = Start(kGivesUp, &heard);
  ASSERT_EQ(started.code, kOk) << started.error;
  EXPECT_TRUE(Eventually([&] { return !heard.failed().empty(); }));
  EXPECT_EQ(csi_proxy_sidecars_stop(started.sidecars), kOk);
  EXPECT_THAT(heard.failed(), ElementsAre(Pair(kUnavailable, HasSubstr("has not answered"))));
  EXPECT_THAT(heard.log(), HasSubstr("has not answered"));
}

// It would wait for itself.
TEST(HostileSidecarsTest, ACallbackStopsNothing) {
  Heard heard;
  const Started other = Start(kWaits, &heard);
  ASSERT_EQ(other.code, kOk) << other.error;
  heard.StopInCallbacks(other.sidecars);
  const Started started = Start(kGivesUp, &heard);
  ASSERT_EQ(started.code, kOk) << started.error;
  EXPECT_TRUE(Eventually([&] { return !heard.failed().empty(); }));
  EXPECT_THAT(heard.stops(), ElementsAre(kFailedPrecondition));
  EXPECT_EQ(csi_proxy_sidecars_stop(started.sidecars), kOk);
  EXPECT_EQ(csi_proxy_sidecars_stop(other.sidecars), kOk);
}

TEST(HostileSidecarsTest, ThreadsThatStopTheSame) {
  Heard heard;
  for (int i = 0; i < 5; ++i) {
    const Started started = Start(kWaits, &heard);
    ASSERT_EQ(started.code, kOk) << started.error;
    std::atomic<int> stopped = 0, too_late = 0;
    std::thread threads[8];
    for (std::thread& thread : threads) {
      thread = std::thread([&] {
        int32_t registered;
        const int32_t seen = csi_proxy_sidecars_registered(started.sidecars, &registered);
        EXPECT_TRUE(seen == kOk || seen == kNotFound) << seen;
        const int32_t code = csi_proxy_sidecars_stop(started.sidecars);
        EXPECT_TRUE(code == kOk || code == kNotFound) << code;
        ++(code == kOk ? stopped : too_late);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(stopped, 1);
    EXPECT_EQ(too_late, static_cast<int>(std::size(threads)) - 1);
  }
}

}  // namespace
}  // namespace csi_proxy::c
