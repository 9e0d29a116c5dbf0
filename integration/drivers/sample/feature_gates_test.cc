#include "integration/drivers/sample/feature_gates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::sample_driver {
namespace {

using ::testing::HasSubstr;

bool Enabled(absl::string_view text) {
  const auto gates = ParseFeatureGates(text);
  EXPECT_TRUE(gates.ok()) << gates.status();
  return gates.ok() && gates->csi_direct_env_injection;
}

TEST(FeatureGatesTest, AreOffUnlessTurnedOn) {
  EXPECT_FALSE(Enabled(""));
  EXPECT_TRUE(Enabled("CSIDirectEnvInjection=true"));
  EXPECT_FALSE(Enabled("CSIDirectEnvInjection=false"));
}

TEST(FeatureGatesTest, BooleansAreThoseOfGo) {
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_TRUE(Enabled(std::string("CSIDirectEnvInjection=") + text)) << text;
  }
  for (const char* text : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_FALSE(Enabled(std::string("CSIDirectEnvInjection=") + text)) << text;
  }
}

TEST(FeatureGatesTest, SpacesAndEmptyItemsAreSkippedAndTheLastCounts) {
  EXPECT_TRUE(Enabled(" CSIDirectEnvInjection = true ,"));
  EXPECT_FALSE(Enabled("CSIDirectEnvInjection=true,,CSIDirectEnvInjection=false"));
}

TEST(FeatureGatesTest, WhatIsNotKnownIsRefused) {
  const std::pair<const char*, const char*> kRefused[] = {
      {"CSIDirectEnvInjections=true", "unrecognized feature gate: CSIDirectEnvInjections"},
      {"csidirectenvinjection=true", "unrecognized feature gate"},
      {"AllAlpha=true", "unrecognized feature gate: AllAlpha"},
      {"CSIDirectEnvInjection=true,Other=false", "unrecognized feature gate: Other"},
      {"CSIDirectEnvInjection", "missing bool value for: CSIDirectEnvInjection"},
      {"CSIDirectEnvInjection=yes", "invalid bool value for: CSIDirectEnvInjection"},
      {"CSIDirectEnvInjection=", "invalid bool value for"},
      {"CSIDirectEnvInjection=true=true", "invalid bool value for"},
      {"=true", "unrecognized feature gate"}};
  for (const auto& [text, error] : kRefused) {
    const auto gates = ParseFeatureGates(text);
    EXPECT_EQ(gates.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(gates.status().message(), HasSubstr(error)) << text;
  }
}

}  // namespace
}  // namespace csi_proxy::sample_driver
