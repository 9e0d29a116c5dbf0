// Tests how WMI shows, starts and stops services.
#include <string>

#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

constexpr char kServices[] = R"(
  service { name: "base" display_name: "The Base" start_type: AUTOMATIC state: RUNNING }
  service { name: "above" start_type: MANUAL state: RUNNING depends_on: "base" }
  service { name: "slow" start_type: MANUAL state: STOPPED start_latency_ms: 3600000 }
  service { name: "never" start_type: DISABLED state: STOPPED }
)";

class ServicesTest : public WmiTest {
 protected:
  ServicesTest() : WmiTest(kServices) {}

  cim::Object Service(const std::string& name) {
    return One(Query("Win32_Service").Where("Name", Value::String(name)), kCimV2);
  }
  absl::StatusOr<cim::MethodResult> Call(const std::string& name, const std::string& method) {
    return Invoke(Service(name), method, {}, kCimV2);
  }
};

TEST_F(ServicesTest, ServicesSayWhatTheyAre) {
  const cim::Object base = Service("BASE");
  EXPECT_EQ(base.path(), "Win32_Service.Name=\"base\"");
  EXPECT_THAT(base.GetString("DisplayName"), Yields("The Base"));
  EXPECT_THAT(base.GetString("StartMode"), Yields("Auto"));
  EXPECT_THAT(base.GetString("State"), Yields("Running"));
  EXPECT_THAT(Service("never").GetString("StartMode"), Yields("Disabled"));
}

TEST_F(ServicesTest, WhatDependsIsAssociated) {
  const auto dependents =
      session_->Associators(context_, kCimV2, Service("base").path(),
                            {"Win32_DependentService", "Win32_Service", "Dependent", "Antecedent"});
  ASSERT_THAT(dependents, IsOk());
  ASSERT_EQ(dependents->size(), 1U);
  EXPECT_EQ(dependents->front(), Service("above"));
}

TEST_F(ServicesTest, MethodsReturnWhatTheirPagesSay) {
  EXPECT_THAT(Call("base", "StartService"), Returns(10));
  EXPECT_THAT(Call("base", "StopService"), Returns(3));
  EXPECT_THAT(Call("above", "StopService"), Returns(0));
  EXPECT_THAT(Call("above", "StopService"), Returns(5));
  EXPECT_THAT(Call("base", "StopService"), Returns(0));
  EXPECT_THAT(Call("never", "StartService"), Returns(14));
  EXPECT_THAT(Call("slow", "StartService"), Returns(0));
  EXPECT_THAT(Service("slow").GetString("State"), Yields("Start Pending"));
  EXPECT_THAT(Call("slow", "StartService"), Returns(5));
  // The service's dependencies are started first.
  EXPECT_THAT(Call("above", "StartService"), Returns(0));
  EXPECT_THAT(Service("base").GetString("State"), Yields("Running"));
}

TEST_F(ServicesTest, TheAbstractClassHasTheInstancesToo) {
  EXPECT_EQ(One(Query("CIM_BIOSElement"), kCimV2), One(Query("Win32_BIOS"), kCimV2));
}

}  // namespace
}  // namespace csi_proxy::machine::simulator::wmi
