#include "server/service/admin_service.h"

#include <gtest/gtest.h>

#include <memory>

#include "server/simulator/admin.h"
#include "server/simulator/admin.pb.h"
#include "server/simulator/scenario.h"

namespace csi_proxy::machine::simulator {
namespace {

TEST(AdminServiceTest, TheAdminServiceIsServedUnderItsProtoName) {
  EXPECT_EQ(simulated::ResetRequest::descriptor()->file()->service(0)->full_name(),
            kAdminServiceName);
  const std::unique_ptr<rpc::RemoteService> served =
      NewAdminService(*LoadScenario(DefaultScenarioText(), "default.textproto"));
  EXPECT_TRUE(served->Has("/csi_proxy.simulated.Admin/Reset"));
  EXPECT_FALSE(served->Has("/csi_proxy.simulated.Admin/None"));
  EXPECT_FALSE(served->Has("/csi_proxy.simulated.Other/Reset"));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator
