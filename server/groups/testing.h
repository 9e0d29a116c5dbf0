// The handlers of all groups over a simulated machine, for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/groups/handler_deps.h"
#include "server/groups/node_services.h"
#include "server/groups/testing/real_files.h"
#include "server/host/host.h"
#include "server/simulator/scenario.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::groups {

// Where a test's files are.
enum class Files {
  kSimulated,
  // Real files; see RealFiles. The rest of the machine is simulated.
  kReal,
};

inline std::string FilesName(const testing::TestParamInfo<Files>& info) {
  return info.param == Files::kReal ? "RealFiles" : "SimulatedFiles";
}

// Returns the parameters for a test: simulated files, and real ones if the machine has them.
inline auto AllFiles() {
  std::vector<Files> all = {Files::kSimulated};
  if (HaveRealFiles()) all.push_back(Files::kReal);
  return testing::ValuesIn(all);
}

// Handlers confined to the kubelet's directory, over the default scenario or another one.
class HandlerTest : public testing::Test {
 protected:
  explicit HandlerTest(Files files = Files::kSimulated,
                       absl::string_view scenario = machine::simulator::DefaultScenarioText()) {
    auto node = machine::simulator::LoadScenario(scenario, "test");
    EXPECT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
    auto wmi = machine::simulator::wmi::NewSimulatedSession(node_->core());
    auto os = machine::simulator::NewSimulatedOs(node_->core());
    if (files == Files::kReal) {
      real_files_ = NewRealFiles();
      os = real_files_->NewOs(std::move(os));
    }
    host_ = std::make_unique<host::Host>(
        std::move(wmi), std::move(os),
        [this](absl::string_view line) { warnings_.emplace_back(line); });
    deps_.host = host_.get();
    deps_.locks = &locks_;
    deps_.roots = std::make_shared<const PathRoots>(
        std::vector<WindowsPath>{*WindowsPath::Parse("root", R"(C:\var\lib\kubelet)")});
    Remake();
  }

  // Creates the handlers again after a change of `deps_`, as a restart of the service does.
  void Remake() {
    deps_.shares = std::make_shared<smb::KnownShares>(
        [this](absl::string_view line) { share_lines_.emplace_back(line); });
    disk_ = disk::NewDiskService(deps_);
    filesystem_ = filesystem::NewFilesystemService(deps_);
    iscsi_ = iscsi::NewIscsiService(deps_);
    smb_ = smb::NewSmbService(deps_);
    storage_ = storage::NewStorageService(deps_);
    system_ = system::NewSystemService(deps_);
    volume_ = volume::NewVolumeService(deps_);
  }

  // Returns the path of `rest` below the working directory.
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

  // Partitions a disk, formats its volume if `format` is set, and returns the volume.
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

  // Create an entry as another program would.
  absl::Status PlantLink(const std::string& path, const std::string& target) {
    return real_files_ != nullptr ? real_files_->MakeLink(path, target)
                                  : node_->MakeLink(path, target);
  }
  absl::Status PlantFile(const std::string& path, uint64_t size_bytes) {
    return real_files_ != nullptr ? real_files_->WriteFile(path, size_bytes)
                                  : node_->WriteFile(path, size_bytes, false);
  }

  // Makes a call of the machine, such as `win32.Flush`, fail with an error `times` times, or always
  // if `times` is 0. Unless `resource` is empty, only calls on it fail.
  void Fail(const std::string& call, uint32_t times = 1, uint32_t error = 5,
            const std::string& resource = "") {
    machine::simulator::FaultRule rule;
    rule.operation = call;
    rule.resource = resource;
    rule.times = times;
    rule.code = absl::StatusCode::kInternal;
    rule.error = machine::simulator::KnownError(error);
    EXPECT_TRUE(node_->InjectFault(rule).ok());
  }
  // Delays a call of the machine by `latency`. See Fail() for `times` and `resource`.
  void Delay(const std::string& call, absl::Duration latency, uint32_t times = 0,
             const std::string& resource = "") {
    machine::simulator::FaultRule rule;
    rule.operation = call;
    rule.resource = resource;
    rule.times = times;
    rule.latency = latency;
    EXPECT_TRUE(node_->InjectFault(rule).ok());
  }

  const CallContext context_{};
  // The host's warnings. REQUIRES: no concurrent calls.
  std::vector<std::string> warnings_;
  // Log lines about mappings. REQUIRES: no concurrent calls.
  std::vector<std::string> share_lines_;
  std::unique_ptr<machine::simulator::Machine> node_;
  std::unique_ptr<RealFiles> real_files_;
  std::unique_ptr<host::Host> host_;
  // The locks of all handlers.
  ResourceLocks locks_;
  HandlerDeps deps_;
  std::unique_ptr<disk::Service> disk_;
  std::unique_ptr<filesystem::Service> filesystem_;
  std::unique_ptr<iscsi::Service> iscsi_;
  std::unique_ptr<smb::Service> smb_;
  std::unique_ptr<storage::Service> storage_;
  std::unique_ptr<system::Service> system_;
  std::unique_ptr<volume::Service> volume_;
};

}  // namespace csi_proxy::groups
