// Compares the heap allocations of embedded mode with those of the direct library. Unlike times,
// the counts are the same on every machine.
#include <gtest/gtest.h>

#include "csi_proxy/disk/v1/client.h"
#include "csi_proxy/filesystem/v1/client.h"
#include "csi_proxy/node.h"
#include "server/base/testing_allocations.h"

namespace csi_proxy::integration {
namespace {

using testing_allocations::AllocationsOf;

// A path that is too long for std::string's inline buffer.
constexpr char kPath[] = R"(C:\var\lib\kubelet\plugins\kubernetes.io\csi\pvc-1)";

class AllocationsTest : public testing::Test {
 protected:
  AllocationsTest() : node_(*Node::Simulated()) {
    options_.mode = Mode::kEmbedded;
    options_.node = node_;
  }

  const std::shared_ptr<Node> node_;
  ClientOptions options_;
};

TEST_F(AllocationsTest, AnEmbeddedCallWithoutStringsAddsNoAllocation) {
  const disk::v1::Client client(Connect(options_).value());
  disk::v1::GetDiskStateRequest request;
  request.set_disk_number(1);
  const int direct = AllocationsOf(
      [&] { EXPECT_TRUE(node_->disk().GetDiskState(CallContext(), {.disk_number = 1}).ok()); });
  const int embedded = AllocationsOf([&] { EXPECT_TRUE(client.GetDiskState(request).ok()); });
  EXPECT_EQ(embedded, direct);
}

TEST_F(AllocationsTest, EachStringOfAnEmbeddedRequestAddsOneAllocation) {
  const filesystem::v1::Client client(Connect(options_).value());
  filesystem::v1::PathExistsRequest request;
  request.set_path(kPath);
  const filesystem::PathExistsRequest hub_request = {.path = kPath};
  const int direct = AllocationsOf(
      [&] { EXPECT_TRUE(node_->filesystem().PathExists(CallContext(), hub_request).ok()); });
  const int embedded = AllocationsOf([&] { EXPECT_TRUE(client.PathExists(request).ok()); });
  EXPECT_EQ(embedded, direct + 1);
}

}  // namespace
}  // namespace csi_proxy::integration
