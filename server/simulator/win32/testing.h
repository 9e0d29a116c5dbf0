// The common part of the simulated Win32's tests: the default scenario's node and its Os.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/names/win32_error.h"
#include "server/node/simulated_host.h"
#include "server/simulator/storage.h"
#include "server/simulator/testing.h"
#include "server/simulator/win32/os_double.h"

namespace csi_proxy::machine::simulator {

// Matches the Win32 error `code` with the status code of that error.
MATCHER_P(FailsWithWin32, code, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status;
  return HasWin32Code(status, static_cast<uint32_t>(code)) &&
         status.code() == Win32Status(static_cast<uint32_t>(code), "").code();
}

inline constexpr char kSystemVolume[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
inline constexpr char kNoVolume[] = R"(\\?\Volume{00000000-0000-0000-0000-00000000beef}\)";

class Win32Test : public testing::Test {
 protected:
  using File = machine::File;
  using Access = machine::Access;
  using OpenedFile = absl::StatusOr<std::unique_ptr<File>>;

  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Machine>> node = LoadScenario(DefaultScenarioText(), "default");
    ASSERT_THAT(node, IsOk());
    node_ = *std::move(node);
    Change([](NodeState& state) { state.volume_arrival_delay = absl::ZeroDuration(); });
    host_ = NewSimulatedHost(*node_);
    os_ = NewSimulatedOs(node_->core());
  }

  void Change(const std::function<void(NodeState&)>& change) { node_->core()->Change(change); }

  // Makes a volume on a raw disk, formatted if `formatted` is true.
  std::string NewVolume(uint32_t disk_number, bool formatted = true) {
    EXPECT_THAT(host_->disk().SetOnline(context_, disk_number, true), IsOk());
    const auto disk = *host_->disk().GetLayout(context_, disk_number);
    EXPECT_THAT(host_->disk().InitializeGpt(context_, disk), IsOk());
    EXPECT_THAT(host_->disk().CreateBasicPartition(context_, disk), IsOk());
    const auto volumes = host_->volume().ListVolumes(context_, disk_number, 0);
    EXPECT_THAT(volumes, IsOk());
    if (formatted) {
      EXPECT_THAT(host_->volume().Format(context_, volumes->front(), {}), IsOk());
    }
    return volumes->front().ToString();
  }

  // Opens `root`, and then each of `names` in the directory that was opened before. Only the last
  // file stays open.
  OpenedFile Open(const std::string& root, const std::vector<std::string>& names,
                  Access access = Access::kRead) {
    OpenedFile file = os_->OpenRoot(root);
    for (size_t i = 0; i < names.size() && file.ok(); ++i) {
      file = (*file)->Open(names[i], i + 1 == names.size() ? access : Access::kRead);
    }
    return file;
  }

  CallContext context_;
  std::unique_ptr<Machine> node_;
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<machine::Os> os_;
};

}  // namespace csi_proxy::machine::simulator
