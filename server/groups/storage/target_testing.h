// A node and an array with one target at two portals, for tests of StageTarget and UnstageTarget.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/groups/storage/crash_testing.h"

namespace csi_proxy::storage {

inline constexpr char kTargetScenario[] = R"(
  behaviour { volume_cache_ms: 0 }
  disk { number: 0 size_bytes: 68719476736 style: GPT
         partition { type: EFI_SYSTEM size_bytes: 104857600 }
         partition { size_bytes: 60000000000 volume {
           id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\"
           file_system: "NTFS" drive_letter: "C" file { path: "var\\lib\\kubelet\\plugins" } } } }
  iscsi_portal {
    address: "10.0.0.5"
    target {
      iqn: "iqn.2026-01.example:data" chap: ONE_WAY username: "node" secret: "twelve-bytes"
      disk { number: 10 size_bytes: 1073741824 page83: "lun0" offline: true bus_type: BUS_ISCSI
             location: "iSCSI : Adapter 1 : Port 0 : Target 0 : LUN 0" }
      disk { number: 11 size_bytes: 1073741824 page83: "lun1" offline: true bus_type: BUS_ISCSI
             location: "iSCSI : Adapter 1 : Port 0 : Target 0 : LUN 1" } }
    target { iqn: "iqn.2026-01.example:other" disk { number: 12 size_bytes: 1073741824 } }
  }
  iscsi_portal { address: "10.0.0.6" target { iqn: "iqn.2026-01.example:data" } }
)";
inline constexpr char kIqn[] = "iqn.2026-01.example:data";
inline constexpr char kOtherTarget[] = R"(C:\var\lib\kubelet\plugins\pv\other)";

// Returns a request for LUN 0 by the first portal.
inline StageTargetRequest TargetRequest() {
  return {.portals = {"10.0.0.5"},
          .iqn = kIqn,
          .chap = ChapUse::kChapOneWay,
          .chap_username = "node",
          .chap_secret = "twelve-bytes",
          .lun_id = "0",
          .persistent = true,
          .target_path = kTarget};
}
// Returns a request for LUN 0 by both portals, with multipath.
inline StageTargetRequest MultipathRequest() {
  StageTargetRequest request = TargetRequest();
  request.portals = {"10.0.0.5:3260", "10.0.0.6"};
  request.multipath = true;
  return request;
}
inline UnstageTargetRequest UnstageRequest() {
  return {.target_path = kTarget, .iqn = kIqn, .lun_id = "0"};
}

// Returns the state of a node with or without MPIO. `more` contains further portals.
inline NodeState TargetState(bool mpio, absl::string_view more = "") {
  auto node = machine::simulator::LoadScenario(absl::StrCat(kTargetScenario, more), "test");
  EXPECT_TRUE(node.ok()) << node.status();
  NodeState state = (*node)->Snapshot();
  state.behaviour.mpio = mpio;
  return state;
}

class TargetTest : public testing::Test {
 protected:
  using Staged = absl::StatusOr<StageTargetResponse>;
  using Unstaged = absl::StatusOr<UnstageTargetResponse>;

  explicit TargetTest(bool mpio = false, absl::string_view more = "")
      : node_(NodeIn(TargetState(mpio, more))) {}

  Staged Stage(const StageTargetRequest& request) {
    return process_.storage->StageTarget(process_.context, request);
  }
  Staged StageLun(const char* lun, const std::string& path) {
    StageTargetRequest request = TargetRequest();
    request.lun_id = lun;
    request.target_path = path;
    return Stage(request);
  }
  Unstaged Unstage(const UnstageTargetRequest& request = UnstageRequest()) {
    return process_.storage->UnstageTarget(process_.context, request);
  }
  void ExpectFailed(const Staged& staged, absl::StatusCode code, const char* words) {
    EXPECT_EQ(staged.status().code(), code) << staged.status();
    EXPECT_THAT(std::string(staged.status().message()), testing::HasSubstr(words));
    EXPECT_EQ(process_.locks.size(), 0u);
  }

  // Returns the target at a portal.
  machine::simulator::IscsiTarget At(size_t portal) {
    return node_->Snapshot().iscsi_portals[portal].targets[0];
  }
  void Change(const std::function<void(NodeState&)>& change) { node_->core()->Change(change); }
  void Fail(const std::string& operation, uint32_t error) {
    machine::simulator::FaultRule rule;
    rule.operation = operation;
    rule.times = 1;
    rule.code = absl::StatusCode::kInternal;
    rule.error.code = error;
    ASSERT_TRUE(node_->InjectFault(rule).ok());
  }
  // Returns true if the volume at a path is writable.
  bool Writes(const std::string& path = kTarget) {
    return filesystem::NewFilesystemService(process_.deps)
        ->Mkdir(process_.context, {.path = absl::StrCat(path, "\\written")})
        .ok();
  }

  const std::unique_ptr<Machine> node_;
  Process process_{node_.get()};
};

class MpioTest : public TargetTest {
 protected:
  MpioTest() : TargetTest(true) {}
};

}  // namespace csi_proxy::storage
