// Sidecars by their C interface, with a driver and a kubelet.
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/sidecars/c/testing.h"
#include "client/sidecars/testing.h"
#include "client/sidecars/testing_driver.h"
#include "server/base/testing_posix.h"

namespace csi_proxy::c {
namespace {

using sidecars::Kubelet;
using sidecars::TestingDriver;
using testing::ElementsAre;
using testing::HasSubstr;

int32_t Registered(csi_proxy_sidecars handle) {
  int32_t registered = 7;
  EXPECT_EQ(csi_proxy_sidecars_registered(handle, &registered), kOk);
  return registered;
}

TEST(SidecarsLifeTest, FromTheStartToTheStop) {
  const TemporaryDirectory temporary;
  const std::string& directory = temporary.path();
  const std::string csi = directory + "/csi.sock";
  const std::string socket = directory + "/test.csi.example-reg.sock";
  const std::string marker = directory + "/registered";
  Heard heard;
  // Before the driver is there. Its port is the system's choice, which the test does not need.
  const Started started =
      Start(absl::StrCat(R"({"csiAddress": "unix://)", csi, R"(", "registrar": {
            "kubeletRegistrationPath": "/plugins/csi.sock", "pluginRegistrationPath": ")",
                         directory, R"(", "markerFile": ")", marker,
                         R"("}, "livenessprobe": {"httpEndpoint": "127.0.0.1:0"}})"),
            &heard);
  ASSERT_EQ(started.code, kOk) << started.error;
  const TestingDriver driver(csi);
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(socket); }));
  EXPECT_EQ(Registered(started.sidecars), 0);

  Kubelet kubelet(socket);
  const sidecars::wire::PluginInfo info = kubelet.GetInfo();
  EXPECT_EQ(info.name(), "test.csi.example");
  EXPECT_EQ(info.endpoint(), "/plugins/csi.sock");
  heard.StopInCallbacks(started.sidecars);
  kubelet.Notify(false, "no room");
  EXPECT_THAT(heard.refused(), ElementsAre("no room"));
  EXPECT_THAT(heard.stops(), ElementsAre(kFailedPrecondition));
  EXPECT_EQ(Registered(started.sidecars), 0);
  kubelet.Notify(true, "");
  EXPECT_EQ(Registered(started.sidecars), 1);
  EXPECT_TRUE(std::filesystem::exists(marker));
  EXPECT_TRUE(Eventually([&] { return heard.log().find("HTTP is served") != std::string::npos; }));

  EXPECT_EQ(csi_proxy_sidecars_stop(started.sidecars), kOk);
  EXPECT_FALSE(std::filesystem::exists(socket));
  EXPECT_FALSE(std::filesystem::exists(marker));
  EXPECT_TRUE(heard.failed().empty());
  EXPECT_THAT(heard.log(), HasSubstr("no room"));
}

}  // namespace
}  // namespace csi_proxy::c
