// Tests which pipes a client trusts, by their owners, and that it does not embed in a container.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cpp/container.h"
#include "client/cpp/pipe_owner.h"

namespace csi_proxy::client {
namespace {

using testing::HasSubstr;
using Value = ContainerSigns::Value;

constexpr char kSystem[] = "S-1-5-18";

TEST(ContainerTest, OrdinaryAccountsAreNotInAContainer) {
  // SYSTEM, a local account, an account of a domain.
  for (const char* user : {kSystem, "S-1-5-21-1-2-3-1001", "S-1-5-21-9-9-9-500"}) {
    EXPECT_TRUE(CheckOutsideContainers({Value::kAbsent, user}).ok()) << user;
  }
}

TEST(ContainerTest, EitherTheRegistryValueOrTheUserShowsAContainer) {
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

TEST(ContainerTest, IfASignIsUnknownTheProcessCountsAsInAContainer) {
  for (const ContainerSigns& signs : {ContainerSigns{Value::kUnknown, kSystem},
                                      ContainerSigns{Value::kAbsent, ""}, ContainerSigns{}}) {
    const absl::Status status = CheckOutsideContainers(signs);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("CSI_PROXY_MODE=embedded"));
  }
}

TEST(ContainerTest, ASidThatOnlyBeginsLikeAContainersIsAccepted) {
  EXPECT_TRUE(CheckOutsideContainers({Value::kAbsent, "S-1-5-930-1"}).ok());
}

constexpr char kPipe[] = R"(\\.\pipe\csi-proxy-smb-v1)";
constexpr char kUser[] = "S-1-5-21-1-2-3-1001";
constexpr char kOther[] = "S-1-5-21-1-2-3-1002";

TEST(PipeOwnerTest, EveryClientTrustsAPipeOfSystem) {
  // SYSTEM as its own client; a user; a container's administrator.
  for (const char* client : {"S-1-5-18", kUser, "S-1-5-93-2-1"}) {
    EXPECT_TRUE(CheckPipeOwner(kPipe, {"S-1-5-18", true, client}).ok());
  }
}

TEST(PipeOwnerTest, OnlyTheSameUserTrustsAUsersPipe) {
  EXPECT_TRUE(CheckPipeOwner(kPipe, {kUser, false, kUser}).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPipeOwner(kPipe, {kUser, false, kOther})));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPipeOwner(kPipe, {kUser, false, "S-1-5-18"})));
}

// A container's administrator can make such a pipe.
TEST(PipeOwnerTest, AClientRefusesAPipeOfAdministrators) {
  for (const char* client : {"S-1-5-18", kUser, "S-1-5-93-2-1"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(CheckPipeOwner(kPipe, {"S-1-5-32-544", false, client})));
  }
}

TEST(PipeOwnerTest, AClientRefusesAPipeOfAnUnknownOwner) {
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPipeOwner(kPipe, {"", false, ""})));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPipeOwner(kPipe, {"", false, kUser})));
}

TEST(PipeOwnerTest, TheErrorNamesThePipeAndItsOwner) {
  const std::string text(CheckPipeOwner(kPipe, {kOther, false, kUser}).message());
  EXPECT_THAT(text, HasSubstr(kPipe));
  EXPECT_THAT(text, HasSubstr(kOther));
}

}  // namespace
}  // namespace csi_proxy::client
