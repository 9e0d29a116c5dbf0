// Helpers for the tests of StageVolume and UnstageVolume.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "gmock/gmock.h"
#include "server/groups/locks.h"
#include "server/groups/strict_disk_testing.h"

namespace csi_proxy::storage {

using machine::simulator::Disk;

class StageTest : public groups::StrictDiskTest {
 protected:
  using groups::StrictDiskTest::StrictDiskTest;
  using Response = absl::StatusOr<StageVolumeResponse>;

  Response Stage(const DiskSelector& disk, const std::string& target = Target(),
                 const std::string& file_system = "") {
    return storage_->StageVolume(context_,
                                 {.disk = disk, .target_path = target, .file_system = file_system});
  }
  Response StageDisk(uint32_t number, const std::string& target = Target()) {
    return Stage({.number = absl::StrCat(number)}, target);
  }
  absl::StatusOr<UnstageVolumeResponse> Unstage(const std::string& target = Target(),
                                                bool keep_online = false) {
    return storage_->UnstageVolume(context_, {.target_path = target, .keep_online = keep_online});
  }
  static constexpr char kSystemVolume[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
  static std::string Target() { return Below(R"(plugins\pv\globalmount)"); }

  void ChangeDisk(uint32_t number, const std::function<void(Disk&)>& change) {
    Change([&](groups::NodeState& state) { change(state.disks[number]); });
  }

  // Makes a call that waits for `lock`, runs `meanwhile` once calls hold or await `locks` locks,
  // releases `lock`, and returns the call's answer.
  template <typename Call>
  auto HeldUp(absl::StatusOr<ResourceLocks::Lock> lock, size_t locks, Call call,
              const std::function<void()>& meanwhile) {
    EXPECT_TRUE(lock.ok()) << lock.status();
    std::optional<decltype(call())> answer;
    std::thread thread([&] { answer = call(); });
    const SteadyTime end = SteadyTime::Now() + absl::Minutes(2);
    while (locks_.size() < locks && SteadyTime::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(locks_.size(), locks);
    meanwhile();
    { const ResourceLocks::Lock let_go = *std::move(lock); }
    thread.join();
    return *std::move(answer);
  }
  absl::StatusOr<ResourceLocks::Lock> LockTarget() {
    return groups::LockPath(locks_, context_,
                            {*WindowsPath::Parse("target", Target()), deps_.roots});
  }

  // Returns the whole state of the node.
  std::string Everything() {
    return machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  }

  // Returns the error of a call that must be refused and must not change the disk.
  absl::Status Refused(uint32_t number, const DiskSelector& selector) {
    const auto before = DiskNow(number);
    const absl::Status refused = Stage(selector).status();
    const auto after = DiskNow(number);
    EXPECT_EQ(after.online, before.online);
    EXPECT_EQ(after.style, before.style);
    EXPECT_EQ(after.partitions.size(), before.partitions.size());
    EXPECT_EQ(after.foreign.size(), before.foreign.size());
    for (size_t i = 0; i < before.partitions.size(); ++i) {
      if (!before.partitions[i].volume.has_value()) continue;
      EXPECT_EQ(after.partitions[i].volume->file_system, before.partitions[i].volume->file_system);
    }
    EXPECT_EQ(locks_.size(), 0u);
    return refused;
  }
  absl::Status RefusedAsForeign(uint32_t number, absl::string_view words) {
    const absl::Status refused = Refused(number, {.number = absl::StrCat(number)});
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr(std::string(words)));
    return refused;
  }
};

}  // namespace csi_proxy::storage
