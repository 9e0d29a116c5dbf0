#include "server/base/peer_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace csi_proxy {
namespace {

TEST(PeerProcessTest, AProcessIsKnownByItsImageAndItsStart) {
  const Peer own = OwnProcess();
  EXPECT_THAT(own.image_path, testing::HasSubstr("base_test"));
  const uint64_t start = StartOfProcess(own.process_id);
  EXPECT_NE(start, 0u);
  EXPECT_EQ(StartOfProcess(own.process_id), start);
}

TEST(PeerProcessTest, ProcessesOfOneUserAndImageOrSessionAreOneTenant) {
  const Peer own = OwnProcess();
  const std::string tenant = TenantOf(own);
  EXPECT_NE(tenant, "");
  EXPECT_EQ(TenantOf(own), tenant);
}

TEST(PeerProcessTest, OfAProcessThatIsNotThereNothingIsKnown) {
  constexpr int64_t kNobody = 0x7ffffff0;
  EXPECT_EQ(PeerOfProcess(kNobody).image_path, "");
  EXPECT_EQ(StartOfProcess(kNobody), 0u);
  EXPECT_EQ(TenantOf(PeerOfProcess(kNobody)), "");
}

}  // namespace
}  // namespace csi_proxy
