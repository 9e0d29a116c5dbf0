// Tests the library without a simulator: its node is this machine.
#include <gmock/gmock.h>

#include "client/c/method_paths.h"
#include "client/c/testing.h"

namespace csi_proxy::c {
namespace {

using testing::HasSubstr;

constexpr std::string_view kAdmin = "/csi_proxy.simulated.Admin/";

// The admin service exists only for simulated nodes.
TEST(WindowsTest, TheAdminServiceIsRefusedOnARealNode) {
  for (const char* options : {"", R"({"node": "WINDOWS"})"}) {
    const Node node(options);
    int methods = 0;
    for (const char* path : kMethodPaths) {
      if (std::string_view(path).substr(0, kAdmin.size()) != kAdmin) continue;
      EXPECT_EQ(node.Call(path).code, kFailedPrecondition) << path;
      ++methods;
    }
    EXPECT_GT(methods, 10);
    EXPECT_EQ(node.Call("/csi_proxy.simulated.Admin/None").code, kFailedPrecondition);
  }
}

TEST(WindowsTest, ErrorsNameTheLibraryThatCanSimulate) {
  for (const char* options : {kSimulated, R"({"scenario": "azure-scsi"})"}) {
    const Opened opened = Open(options);
    EXPECT_EQ(opened.code, kUnimplemented) << options;
    EXPECT_THAT(opened.error, HasSubstr("csi_proxy_simulated.dll")) << options;
  }
}

}  // namespace
}  // namespace csi_proxy::c
