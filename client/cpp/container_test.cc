#include "client/cpp/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace csi_proxy::client {
namespace {

using testing::HasSubstr;
using Value = ContainerSigns::Value;

constexpr char kSystem[] = "S-1-5-18";

TEST(ContainerTest, OnTheNodeAndInAHostProcessContainerThereIsNoSign) {
  // SYSTEM, a local account, an account of a domain.
  for (const char* user : {kSystem, "S-1-5-21-1-2-3-1001", "S-1-5-21-9-9-9-500"}) {
    EXPECT_TRUE(CheckOutsideContainers({Value::kAbsent, user}).ok()) << user;
  }
}

TEST(ContainerTest, EitherSignIsEnough) {
  for (const ContainerSigns& signs :
       {ContainerSigns{Value::kPresent, kSystem}, ContainerSigns{Value::kAbsent, "S-1-5-93-2-1"},
        ContainerSigns{Value::kAbsent, "S-1-5-93-2-2"},
        ContainerSigns{Value::kUnknown, "S-1-5-93-2-1"}, ContainerSigns{Value::kPresent, ""}}) {
    const absl::Status status = CheckOutsideContainers(signs);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("runs in a container"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("CSI_PROXY_MODE=embedded"));
  }
}

TEST(ContainerTest, DoesNotEmbedWhenUnknown) {
  for (const ContainerSigns& signs : {ContainerSigns{Value::kUnknown, kSystem},
                                      ContainerSigns{Value::kAbsent, ""}, ContainerSigns{}}) {
    const absl::Status status = CheckOutsideContainers(signs);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("CSI_PROXY_MODE=embedded"));
  }
}

TEST(ContainerTest, AnotherAuthorityIsNotAContainers) {
  EXPECT_TRUE(CheckOutsideContainers({Value::kAbsent, "S-1-5-930-1"}).ok());
}

}  // namespace
}  // namespace csi_proxy::client
