// Tests of Node on a machine that may be a Windows node.
#include <gtest/gtest.h>

#include "csi_proxy/node.h"

namespace csi_proxy {
namespace {

// Disks are pulled out of nodes in memory, and of no other.
TEST(NodeWindowsTest, CannotBeAdministered) {
  NodeOptions options;
  options.log = [](Severity, absl::string_view) {};
  const auto node = Node::Windows(options);
  ASSERT_TRUE(node.ok()) << node.status();
  for (const char* method : {"DetachDisk", "Reset", "DumpState", "InjectFault", "None"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition((*node)->Administer(method, "").status())) << method;
  }
}

}  // namespace
}  // namespace csi_proxy
