// The handlers of all groups over a simulated node, for tests.
#pragma once

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "server/groups/deps.h"
#include "server/groups/disk/disk_service.h"
#include "server/groups/filesystem/filesystem_service.h"
#include "server/groups/iscsi/iscsi_service.h"
#include "server/groups/smb/smb_service.h"
#include "server/groups/system/system_service.h"
#include "server/groups/volume/volume_service.h"
#include "server/host/simulated/scenario.h"

namespace csi_proxy::groups {

// The default scenario, and handlers confined to the kubelet's directory.
class HandlerTest : public testing::Test {
 protected:
  HandlerTest() {
    auto node = host::simulated::LoadScenario(host::simulated::DefaultScenarioText(), "default");
    EXPECT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
    deps_.host = node_.get();
    deps_.locks = &locks_;
    deps_.roots = std::make_shared<const PathRoots>(
        std::vector<WindowsPath>{*WindowsPath::Parse("root", R"(C:\var\lib\kubelet)")});
    Remake();
  }

  // Makes the handlers anew, after a change of `deps_`.
  void Remake() {
    disk_ = disk::NewDiskService(deps_);
    filesystem_ = filesystem::NewFilesystemService(deps_);
    iscsi_ = iscsi::NewIscsiService(deps_);
    smb_ = smb::NewSmbService(deps_);
    system_ = system::NewSystemService(deps_);
    volume_ = volume::NewVolumeService(deps_);
  }

  // `a\b` below the working directory.
  static std::string Below(const std::string& rest) { return R"(C:\var\lib\kubelet\)" + rest; }

  absl::Status Mkdir(const std::string& path) {
    return filesystem_->Mkdir(context_, {.path = path}).status();
  }
  absl::Status Rmdir(const std::string& path, bool force = false) {
    return filesystem_->Rmdir(context_, {.path = path, .force = force}).status();
  }
  bool Exists(const std::string& path) {
    const auto answer = filesystem_->PathExists(context_, {.path = path});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() && answer->exists;
  }
  absl::Status Link(const std::string& source, const std::string& target) {
    return filesystem_->CreateSymlink(context_, {.source_path = source, .target_path = target})
        .status();
  }

  // The volume of a disk, partitioned and, when `format` says so, formatted.
  std::string Volume(uint32_t disk_number, bool format = true) {
    EXPECT_TRUE(disk_->PartitionDisk(context_, {.disk_number = disk_number}).ok());
    const auto volumes = volume_->ListVolumesOnDisk(context_, {.disk_number = disk_number});
    EXPECT_TRUE(volumes.ok() && !volumes->volume_ids.empty()) << volumes.status();
    if (!volumes.ok() || volumes->volume_ids.empty()) return "";
    if (format) {
      EXPECT_TRUE(volume_->FormatVolume(context_, {.volume_id = volumes->volume_ids[0]}).ok());
    }
    return volumes->volume_ids[0];
  }

  void Fail(const std::string& operation, uint32_t times = 1) {
    host::simulated::FaultRule rule;
    rule.operation = operation;
    rule.times = times;
    rule.code = absl::StatusCode::kInternal;
    rule.error = host::simulated::KnownError(5);
    EXPECT_TRUE(node_->InjectFault(rule).ok());
  }

  const CallContext context_;
  std::unique_ptr<host::simulated::Node> node_;
  ResourceLocks locks_;
  Deps deps_;
  std::unique_ptr<disk::Service> disk_;
  std::unique_ptr<filesystem::Service> filesystem_;
  std::unique_ptr<iscsi::Service> iscsi_;
  std::unique_ptr<smb::Service> smb_;
  std::unique_ptr<system::Service> system_;
  std::unique_ptr<volume::Service> volume_;
};

}  // namespace csi_proxy::groups
