// Tests the driver with a kubelet of a node that has no sidecar containers.
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/sidecars/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "integration/sample/csi.grpc.pb.h"
#include "integration/support/child_process.h"
#include "server/base/testing_posix.h"

namespace csi_proxy::integration {
namespace {

using sidecars::Eventually;
using sidecars::Get;
using sidecars::Kubelet;
using ::testing::HasSubstr;

class SidecarsTest : public testing::Test {
 protected:
  void Start() {
    auto started =
        ChildProcess::Start({SAMPLE_DRIVER_BINARY, "--mode=embedded", "--endpoint=unix://" + csi_,
                             "--register-with-kubelet=" + directory_.path(),
                             absl::StrCat("--http-endpoint=127.0.0.1:", port_)},
                            log_);
    ASSERT_TRUE(started.ok()) << started.status();
    driver_ = *std::move(started);
  }
  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }
  bool Serves() {
    return Eventually([&] { return Get(port_, "/healthz").code == 200 || !driver_->IsRunning(); });
  }

  const TemporaryDirectory directory_;
  const std::string csi_ = directory_.path() + "/csi.sock";
  const std::string log_ = directory_.path() + "/log";
  const int port_ = FreePort();
  std::unique_ptr<ChildProcess> driver_;
};

// Proves, too, that the driver's csi.v1 and the library's messages can be in one program.
TEST_F(SidecarsTest, TheDriverRegistersItselfAndServesItsHealth) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(Serves()) << Log();
  const sidecars::Answer answer = Get(port_, "/healthz");
  EXPECT_EQ(answer.code, 200) << answer.body;
  EXPECT_THAT(Get(port_, "/metrics").body, HasSubstr("csi_sidecar_operations_seconds"));

  csi::v1::GetPluginInfoResponse csi_info;
  {
    // Closes the connection here, because a driver that ends waits for connections.
    grpc::ClientContext context;
    const auto channel = grpc::CreateChannel("unix://" + csi_, grpc::InsecureChannelCredentials());
    ASSERT_TRUE(csi::v1::Identity::NewStub(channel)->GetPluginInfo(&context, {}, &csi_info).ok());
  }
  const std::string socket = absl::StrCat(directory_.path(), "/", csi_info.name(), "-reg.sock");
  ASSERT_TRUE(std::filesystem::exists(socket));
  Kubelet kubelet(socket);
  const sidecars::wire::PluginInfo info = kubelet.GetInfo();
  EXPECT_EQ(info.type(), "CSIPlugin");
  EXPECT_EQ(info.name(), csi_info.name());
  // The kubelet calls the driver at this endpoint.
  EXPECT_EQ(info.endpoint(), csi_);
  kubelet.Notify(true, "");
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Log(), "accepted"); })) << Log();

  EXPECT_EQ(driver_->Stop(absl::Seconds(20)), 0) << Log();
  EXPECT_FALSE(std::filesystem::exists(socket));
  EXPECT_EQ(Get(port_, "/healthz").code, 0);
}

}  // namespace
}  // namespace csi_proxy::integration
