#include "csi_proxy/sidecars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/sidecars/registrar.h"
#include "client/sidecars/socket.h"
#include "client/sidecars/testing.h"
#include "client/sidecars/wire.pb.h"
#include "server/base/testing_posix.h"
#include "server/rpc/testing_posix.h"

namespace csi_proxy::sidecars {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SidecarsTest : public ::testing::Test {
 protected:
  SidecarsTest() { std::filesystem::create_directory(registry_); }

  SidecarsOptions Options() {
    return {
        .csi_address = "unix://" + csi_,
        .registrar = RegistrarOptions{.kubelet_registration_path = "/kubelet/csi.sock",
                                      .plugin_registration_path = registry_,
                                      .marker_file = directory_.path() + "/registration"},
        .livenessprobe = LivenessProbeOptions{.http_endpoint = absl::StrCat("127.0.0.1:", port_),
                                              .probe_timeout = absl::Milliseconds(900)},
        .on_refused =
            [this](const std::string& reason) {
              const std::lock_guard lock(mutex_);
              refused_ = reason;
            },
        .on_failed =
            [this](const absl::Status& why) {
              const std::lock_guard lock(mutex_);
              failure_ = why;
            },
        .log =
            [this](Severity, absl::string_view line) {
              const std::lock_guard lock(mutex_);
              absl::StrAppend(&log_, line, "\n");
            }};
  }
  std::unique_ptr<Sidecars> Start(SidecarsOptions options) {
    auto sidecars = Sidecars::Start(std::move(options));
    EXPECT_TRUE(sidecars.ok()) << sidecars.status();
    return *std::move(sidecars);
  }
  Answer Healthz() { return Get(port_, "/healthz"); }
  bool Served() {
    return Eventually([this] {
      const Answer answer = Healthz();
      return answer.code != 0 && !absl::StrContains(answer.body, "not answered yet");
    });
  }
  // Waits until the sidecars fail, and returns the reason.
  absl::Status Failure() {
    absl::Status failure;
    EXPECT_TRUE(Eventually([this, &failure] {
      const std::lock_guard lock(mutex_);
      failure = failure_;
      return !failure.ok();
    }));
    return failure;
  }
  std::string Refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  std::string Log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  TemporaryDirectory directory_;
  const std::string csi_ = directory_.path() + "/csi.sock";
  const std::string registry_ = directory_.path() + "/registry";
  const std::string registration_ = registry_ + "/test.csi.example-reg.sock";
  const std::string marker_ = directory_.path() + "/registration";
  const int port_ = FreePort();
  std::mutex mutex_;  // Guards the members below.
  absl::Status failure_;
  std::string refused_, log_;
};

TEST_F(SidecarsTest, TheKubeletRegistersTheDriverOverTheSocket) {
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  ASSERT_TRUE(Served());
  struct stat file;
  ASSERT_EQ(stat(registration_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_FALSE(sidecars->registered());
  Kubelet kubelet(registration_);
  const wire::PluginInfo info = kubelet.GetInfo();
  EXPECT_EQ(info.type(), "CSIPlugin");
  EXPECT_EQ(info.name(), "test.csi.example");
  EXPECT_EQ(info.endpoint(), "/kubelet/csi.sock");
  ASSERT_EQ(info.supported_versions_size(), 1);
  EXPECT_EQ(info.supported_versions(0), "1.0.0");
  EXPECT_FALSE(std::filesystem::exists(marker_));
  EXPECT_THAT(Get(port_, "/metrics").body,
              HasSubstr("csi_sidecar_registered{driver_name=\"test.csi.example\"} 0"));
  kubelet.Notify(true, "");
  EXPECT_TRUE(sidecars->registered());
  EXPECT_TRUE(std::filesystem::exists(marker_));
  EXPECT_THAT(Get(port_, "/metrics").body,
              HasSubstr("csi_sidecar_registered{driver_name=\"test.csi.example\"} 1"));
  sidecars.reset();
  EXPECT_FALSE(std::filesystem::exists(registration_));
  EXPECT_FALSE(std::filesystem::exists(marker_));
}

TEST_F(SidecarsTest, OldAndNewConnectionsWorkAfterAnIdleTime) {
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  // Without a client, gRPC's server is not kept for this long.
  constexpr absl::Duration kRest = absl::Milliseconds(1300);
  Kubelet stays(registration_);
  EXPECT_EQ(stays.GetInfo().name(), "test.csi.example");
  absl::SleepFor(kRest);
  stays.Notify(true, "");
  EXPECT_TRUE(sidecars->registered());
  absl::SleepFor(kRest);
  EXPECT_EQ(Kubelet(registration_).GetInfo().name(), "test.csi.example");
}

TEST_F(SidecarsTest, AKubeletsRefusalIsReportedAndTheKubeletMayRetry) {
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  Kubelet kubelet(registration_);
  kubelet.Notify(false, "unsupported\nversion");
  EXPECT_TRUE(Eventually([this] { return Refused() == "unsupported\nversion"; }));
  EXPECT_FALSE(sidecars->registered());
  EXPECT_THAT(Log(), HasSubstr("unsupported\\nversion"));
  kubelet.Notify(true, "");
  EXPECT_TRUE(sidecars->registered());
}

TEST_F(SidecarsTest, ARemovedSocketIsMadeAgain) {
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  Kubelet(registration_).Notify(true, "");
  ASSERT_TRUE(sidecars->registered());
  std::filesystem::remove(registration_);
  EXPECT_TRUE(Eventually([this] { return std::filesystem::exists(registration_); }));
  EXPECT_FALSE(sidecars->registered());
  EXPECT_EQ(Kubelet(registration_).GetInfo().name(), "test.csi.example");
}

TEST_F(SidecarsTest, ANewerRegistrarsSocketIsNotRemoved) {
  TestingDriver driver(csi_);
  auto first = Start(Options());
  Kubelet(registration_).Notify(true, "");
  EXPECT_TRUE(first->registered());
  // When a pod is replaced, the new registrar takes over the socket before the old one ends.
  SidecarsOptions options = Options();
  options.livenessprobe.reset();
  auto second = Start(options);
  EXPECT_TRUE(Eventually([this] {
    return Log().find(absl::StrCat(
               registration_,
               ": another process has replaced this socket; waiting until it is gone")) !=
           std::string::npos;
  }));
  EXPECT_FALSE(first->registered());
  Kubelet(registration_).Notify(true, "");
  first.reset();
  EXPECT_TRUE(second->registered());
  EXPECT_TRUE(std::filesystem::exists(marker_));
  EXPECT_EQ(Kubelet(registration_).GetInfo().name(), "test.csi.example");
}

TEST_F(SidecarsTest, AStaleSocketIsReplaced) {
  ASSERT_TRUE(rpc::UnixSocket(registration_, bind).valid());
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  EXPECT_EQ(Kubelet(registration_).GetInfo().name(), "test.csi.example");
}

TEST_F(SidecarsTest, AFileInPlaceOfTheSocketIsNotChanged) {
  std::ofstream(registration_) << "mine";
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  EXPECT_EQ(Failure().code(), absl::StatusCode::kFailedPrecondition);
  sidecars.reset();
  // The probe runs without the registrar. The registrar starts when the path is free.
  SidecarsOptions options = Options();
  options.independent = true;
  options.registrar->http_endpoint = options.livenessprobe->http_endpoint;
  sidecars = Start(options);
  ASSERT_TRUE(Served());
  EXPECT_EQ(Get(port_, "/healthz/node-driver-registrar").code, 500);
  EXPECT_THAT(Log(), HasSubstr("not a socket; trying again"));
  EXPECT_EQ(std::filesystem::file_size(registration_), 4u);
  std::filesystem::remove(registration_);
  EXPECT_TRUE(Eventually([&] { return Get(port_, "/healthz/node-driver-registrar").code == 200; }));
}

TEST_F(SidecarsTest, ADriversNameCannotEscapeTheDirectory) {
  for (const char* name : {"../evil", "a/b", "a\\b", "", ".", "-a", "a_b", "a b", "a\nb"}) {
    EXPECT_FALSE(CheckDriverName(name).ok()) << name;
  }
  EXPECT_FALSE(CheckDriverName(std::string(64, 'a')).ok());
  for (const char* name : {"a", "disk.csi.azure.com", "Ebs.CSI-1.aws"}) {
    EXPECT_TRUE(CheckDriverName(name).ok()) << name;
  }
  TestingDriver driver(csi_, "../../evil");
  auto sidecars = Start(Options());
  EXPECT_EQ(Failure().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(registry_));
}

TEST_F(SidecarsTest, HealthzReturnsTheDriversHealth) {
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  ASSERT_TRUE(Served());
  const struct {
    ProbeMode mode;
    int code;
    const char* text;
  } kCases[] = {
      {ProbeMode::kReady, 200, "ok"},
      {ProbeMode::kReadyByOmission, 200, "ok"},
      {ProbeMode::kNotReady, 500, "not ready"},
      {ProbeMode::kFails, 500, "on fire"},
      {ProbeMode::kSlow, 200, "ok"},
      {ProbeMode::kHangs, 500, "Deadline"},
      {ProbeMode::kReady, 200, "ok"},
  };
  for (const auto& c : kCases) {
    driver.set_mode(c.mode);
    const absl::Time begin = absl::Now();
    const Answer answer = Healthz();
    EXPECT_EQ(answer.code, c.code) << static_cast<int>(c.mode);
    EXPECT_THAT(answer.body, HasSubstr(c.text));
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  }
  EXPECT_THAT(Get(port_, "/metrics").body,
              HasSubstr("csi_sidecar_operations_seconds_count{driver_name=\"test.csi.example\","
                        "grpc_status_code=\"DeadlineExceeded\","
                        "method_name=\"/csi.v1.Identity/Probe\"} 1"));
}

TEST_F(SidecarsTest, HealthzFailsWhileTheDriverIsDown) {
  TestingDriver driver(csi_);
  auto sidecars = Start(Options());
  ASSERT_TRUE(Served());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Healthz().code, 200);
    driver.End();
    EXPECT_EQ(Healthz().code, 500);
    driver.Begin();
  }
  EXPECT_EQ(Healthz().code, 200);
}

TEST_F(SidecarsTest, HealthzSaysWhyTheDriverHasNotAnsweredYet) {
  auto sidecars = Start(Options());
  EXPECT_TRUE(Eventually([this] {
    const Answer answer = Healthz();
    return answer.code == 500 &&
           absl::StrContains(answer.body, "the driver has not answered yet: " + csi_ + ": ") &&
           absl::StrContains(answer.body, ": No such file");
  })) << Healthz().body;
  EXPECT_EQ(Get(port_, "/metrics").code, 500);
  TestingDriver driver(csi_);
  EXPECT_TRUE(Served());
  EXPECT_EQ(Get(port_, "/").code, 404);
  EXPECT_EQ(Get(port_, "/healthz/").code, 404);
  const Answer head = Get(port_, "/healthz", "HEAD");
  EXPECT_EQ(head.code, 200);
  EXPECT_EQ(head.body, "");
}

TEST_F(SidecarsTest, OneAddressCanServeTheHealthOfBothSidecars) {
  TestingDriver driver(csi_);
  SidecarsOptions options = Options();
  options.registrar->http_endpoint = options.livenessprobe->http_endpoint;
  auto sidecars = Start(options);
  ASSERT_TRUE(Served());
  EXPECT_EQ(Get(port_, "/healthz/node-driver-registrar").code, 200);
  driver.set_mode(ProbeMode::kNotReady);
  EXPECT_EQ(Healthz().code, 500);
  EXPECT_EQ(Get(port_, "/healthz/node-driver-registrar").code, 200);
  std::filesystem::remove(registration_);
  EXPECT_EQ(Get(port_, "/healthz/node-driver-registrar").code, 404);
}

TEST_F(SidecarsTest, MetricsMayHaveASeparateAddress) {
  TestingDriver driver(csi_);
  SidecarsOptions options = Options();
  const int metrics = FreePort();
  options.livenessprobe->metrics_address = absl::StrCat("127.0.0.1:", metrics);
  options.livenessprobe->metrics_path = "/numbers";
  auto sidecars = Start(options);
  ASSERT_TRUE(Eventually([metrics] { return Get(metrics, "/numbers").code == 200; }));
  EXPECT_EQ(Get(metrics, "/healthz").code, 404);
  ASSERT_TRUE(Served());
  EXPECT_EQ(Get(port_, "/numbers").code, 404);
}

TEST_F(SidecarsTest, TheSidecarsFailIfTheDriverDoesNotAnswerInTime) {
  SidecarsOptions options = Options();
  options.connect_timeout = absl::Milliseconds(50);
  auto sidecars = Start(options);
  EXPECT_EQ(Failure().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SidecarsTest, ErrorsNameTheWrongOption) {
  const struct {
    const char* what;
    std::function<void(SidecarsOptions*)> spoil;
  } kCases[] = {
      {"csi_address", [](SidecarsOptions* o) { o->csi_address = ""; }},
      {"csi_address", [](SidecarsOptions* o) { o->csi_address = "unix://"; }},
      {"csi_address", [](SidecarsOptions* o) { o->csi_address = "tcp://1.2.3.4:5"; }},
      {"csi_address", [](SidecarsOptions* o) { o->csi_address = "dns:1.2.3.4"; }},
      {"name", [](SidecarsOptions* o) { o->driver_name = "a/b"; }},
      {"registrar.kubelet_registration_path",
       [](SidecarsOptions* o) { o->registrar->kubelet_registration_path = ""; }},
      {"registrar.plugin_registration_path",
       [](SidecarsOptions* o) { o->registrar->plugin_registration_path = ""; }},
      {"registrar.timeout",
       [](SidecarsOptions* o) { o->registrar->timeout = absl::ZeroDuration(); }},
      {"registrar.http_endpoint",
       [](SidecarsOptions* o) { o->registrar->http_endpoint = "127.0.0.1"; }},
      {"livenessprobe.http_endpoint",
       [](SidecarsOptions* o) { o->livenessprobe->http_endpoint = ""; }},
      {"livenessprobe.http_endpoint",
       [](SidecarsOptions* o) { o->livenessprobe->http_endpoint = "::1:80"; }},
      {"livenessprobe.http_endpoint",
       [](SidecarsOptions* o) { o->livenessprobe->http_endpoint = "a:65536"; }},
      {"livenessprobe.metrics_address",
       [](SidecarsOptions* o) { o->livenessprobe->metrics_address = "a:-1"; }},
      {"livenessprobe.metrics_path",
       [](SidecarsOptions* o) { o->livenessprobe->metrics_path = "/healthz"; }},
      {"livenessprobe.probe_timeout",
       [](SidecarsOptions* o) { o->livenessprobe->probe_timeout = absl::InfiniteDuration(); }},
      {"at least one must be set",
       [](SidecarsOptions* o) { o->registrar.reset(), o->livenessprobe.reset(); }},
  };
  for (const auto& c : kCases) {
    SidecarsOptions options = Options();
    c.spoil(&options);
    const auto sidecars = Sidecars::Start(options);
    EXPECT_EQ(sidecars.status().code(), absl::StatusCode::kInvalidArgument) << c.what;
    EXPECT_THAT(std::string(sidecars.status().message()), HasSubstr(c.what));
  }
}

}  // namespace
}  // namespace csi_proxy::sidecars
