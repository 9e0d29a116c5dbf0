// Tests where a volume is mounted, and which mounts are drivers'.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/host/odd_machine_testing.h"
#include "server/host/operations_testing.h"

namespace csi_proxy::host {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The simulated Win32, whose mount manager names extra paths for each volume.
class RememberingOs final : public OddOs {
 public:
  RememberingOs(Machine& node, std::vector<std::string> also)
      : OddOs(node, -1, {}), also_(std::move(also)) {}
  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) override {
    auto points = OddOs::ListMountPoints(volume);
    if (points.ok()) points->insert(points->end(), also_.begin(), also_.end());
    return points;
  }

 private:
  const std::vector<std::string> also_;
};

class MountPointsTest : public testing::Test {
 protected:
  // Returns the volume's mount points: those of drivers, or the others.
  std::vector<std::string> Paths(bool of_drivers, std::vector<std::string> also,
                                 const PathRoots* roots) {
    const auto host =
        NewHost(std::make_unique<machine::simulator::wmi::SimulatedSession>(node_->core()),
                std::make_unique<RememberingOs>(*node_, std::move(also)));
    const auto points = host->volume().ListMountPoints(context_, kVolume, roots);
    EXPECT_THAT(points, IsOk());
    std::vector<std::string> paths;
    for (const MountPoint& point : *points) {
      if (point.is_drivers == of_drivers) paths.push_back(point.path);
    }
    return paths;
  }

  const CallContext context_ = CallContext();
  const std::unique_ptr<Machine> node_ = *Machine::Create(PreparedNode());
  const PathRoots roots_{{*WindowsPath::Parse("root", R"(C:\var\lib\kubelet)")}};
};

TEST_F(MountPointsTest, AFolderThatLeadsElsewhereByNowIsLeftOut) {
  const std::string mounted = R"(C:\var\lib\kubelet\mounted\)";
  const std::vector<std::string> stale = {
      R"(C:\var\lib\kubelet\gone\)", R"(C:\var\lib\kubelet\empty\)", R"(C:\var\lib\kubelet\link\)",
      R"(C:\gone\)", R"(C:\Windows\)"};
  EXPECT_THAT(Paths(true, stale, &roots_), UnorderedElementsAre(mounted));
  EXPECT_THAT(Paths(false, stale, &roots_), IsEmpty());
  // A path that cannot be checked may lead there.
  const std::string odd = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\odd\)";
  EXPECT_THAT(Paths(false, {odd, R"(Z:\)"}, &roots_), UnorderedElementsAre(odd, R"(Z:\)"));
  FaultRule rule;
  rule.operation = "win32.Open";
  rule.code = kInternal;
  rule.error = KnownError(5);
  ASSERT_THAT(node_->InjectFault(rule), IsOk());
  EXPECT_THAT(Paths(true, {}, &roots_), UnorderedElementsAre(mounted));
}

TEST_F(MountPointsTest, AFolderOutsideOfTheWorkingDirectoriesIsNoDrivers) {
  const std::string mounted = R"(C:\var\lib\kubelet\mounted\)";
  for (const char* root : {R"(C:\var\lib\kubelet\mounted)", R"(C:\var\lib\kubelet\m)", R"(D:\)"}) {
    const PathRoots roots{{*WindowsPath::Parse("root", root)}};
    EXPECT_THAT(Paths(true, {}, &roots), IsEmpty()) << root;
    EXPECT_THAT(Paths(false, {}, &roots), UnorderedElementsAre(mounted)) << root;
  }
  const PathRoots several{
      {*WindowsPath::Parse("root", R"(C:\a)"), *WindowsPath::Parse("root", R"(c:\VAR\lib)")}};
  EXPECT_THAT(Paths(true, {}, &several), UnorderedElementsAre(mounted));
  EXPECT_THAT(Paths(true, {}, nullptr), UnorderedElementsAre(mounted));
}

}  // namespace
}  // namespace csi_proxy::host
