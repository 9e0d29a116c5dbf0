// A machine whose process dies at a chosen call, to test how the next process continues.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/base/win32_error.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::storage {

// What happens at the chosen call.
enum class Death {
  // The process dies before the call: neither this call nor a later one is made.
  kBefore,
  // The process dies after the call: it is made, but its result is lost.
  kBehind,
  // The process lives and this one call fails.
  kNone,
};

// Counts the calls of a process. Thread-safe. REQUIRES: `before_call` and `after_call` are set
// before the first one.
class Life {
 public:
  // Dies at call `at`, counted from 1; never if `at` is 0.
  Life(Death death, int at) : death_(death), at_(at) {}

  int calls() const { return calls_; }
  // Returns the notification that cancels the process's calls when the process dies.
  const absl::Notification* end() const { return &end_; }

  // Called before each call of the process, with the call's number.
  std::function<void(int call)> before_call = [](int) {};
  // Called after each call that does not end the process, before the process gets the result.
  std::function<void(int call)> after_call = [](int) {};

  template <typename Call>
  auto Run(Call call) -> decltype(call()) {
    const auto error = [] { return Win32Status(1117, "the I/O device error of a test"); };
    if (end_.HasBeenNotified()) return error();
    const int number = ++calls_;
    before_call(number);
    if (number != at_) {
      auto result = call();
      after_call(number);
      return result;
    }
    if (death_ == Death::kBehind) (void)call();
    if (death_ != Death::kNone) end_.Notify();
    return error();
  }

 private:
  const Death death_;
  const int at_;
  std::atomic<int> calls_ = 0;
  absl::Notification end_;
};

class DyingFile final : public machine::File {
 public:
  DyingFile(Life* life, std::unique_ptr<File> file) : life_(*life), file_(std::move(file)) {}

  absl::StatusOr<machine::FileAttributes> GetAttributes() override {
    return life_.Run([&] { return file_->GetAttributes(); });
  }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name,
                                             machine::Access access) override {
    return Wrap(life_.Run([&] { return file_->Open(name, access); }));
  }
  absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                  machine::Access access) override {
    return Wrap(life_.Run([&] { return file_->OpenBelow(names, access); }));
  }
  absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) override {
    return Wrap(life_.Run([&] { return file_->CreateDirectory(name); }));
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    return life_.Run([&] { return file_->List(); });
  }
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool restart) override {
    return life_.Run([&] { return file_->ListNext(restart); });
  }
  absl::Status Delete() override {
    return life_.Run([&] { return file_->Delete(); });
  }
  absl::StatusOr<machine::Bytes> ReadReparsePoint() override {
    return life_.Run([&] { return file_->ReadReparsePoint(); });
  }
  absl::Status WriteReparsePoint(const machine::Bytes& data) override {
    return life_.Run([&] { return file_->WriteReparsePoint(data); });
  }
  absl::Status DeleteReparsePoint(uint32_t tag) override {
    return life_.Run([&] { return file_->DeleteReparsePoint(tag); });
  }

 private:
  absl::StatusOr<std::unique_ptr<File>> Wrap(absl::StatusOr<std::unique_ptr<File>> file) {
    if (!file.ok()) return file;
    return std::make_unique<DyingFile>(&life_, *std::move(file));
  }

  Life& life_;
  const std::unique_ptr<File> file_;
};

class DyingOs final : public machine::Os {
 public:
  DyingOs(Life* life, machine::simulator::Core* core)
      : life_(*life), os_(machine::simulator::NewSimulatedOs(core)) {}

  absl::StatusOr<std::unique_ptr<machine::File>> OpenRoot(const std::string& root) override {
    auto file = life_.Run([&] { return os_->OpenRoot(root); });
    if (!file.ok()) return file;
    return std::make_unique<DyingFile>(&life_, *std::move(file));
  }
  absl::Status Reach(const std::string& path) override {
    return life_.Run([&] { return os_->Reach(path); });
  }
  absl::StatusOr<std::vector<std::string>> ListVolumes() override {
    return life_.Run([&] { return os_->ListVolumes(); });
  }
  absl::StatusOr<std::string> GetVolumeOfDrive(char drive) override {
    return life_.Run([&] { return os_->GetVolumeOfDrive(drive); });
  }
  absl::StatusOr<machine::FileSystem> GetFileSystem(const std::string& volume) override {
    return life_.Run([&] { return os_->GetFileSystem(volume); });
  }
  absl::StatusOr<machine::VolumeSpace> GetSpace(const std::string& volume) override {
    return life_.Run([&] { return os_->GetSpace(volume); });
  }
  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) override {
    return life_.Run([&] { return os_->ListMountPoints(volume); });
  }
  absl::Status Flush(const std::string& volume) override {
    return life_.Run([&] { return os_->Flush(volume); });
  }
  absl::Status SetMountPoint(const std::string& directory, const std::string& volume) override {
    return life_.Run([&] { return os_->SetMountPoint(directory, volume); });
  }
  absl::Status DeleteMountPoint(const std::string& directory) override {
    return life_.Run([&] { return os_->DeleteMountPoint(directory); });
  }
  absl::StatusOr<machine::Bytes> Control(const std::string& device, machine::DeviceAccess access,
                                         uint32_t code, const machine::Bytes& input,
                                         size_t max_output) override {
    return life_.Run([&] { return os_->Control(device, access, code, input, max_output); });
  }
  absl::StatusOr<machine::Bytes> Read(const std::string& device, uint64_t offset,
                                      size_t size) override {
    return life_.Run([&] { return os_->Read(device, offset, size); });
  }
  uint64_t DeviceChanges() override { return os_->DeviceChanges(); }
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit) override {
    os_->AwaitDeviceChange(seen, limit);
  }
  absl::StatusOr<machine::ServiceInfo> GetService(const std::string& name) override {
    return os_->GetService(name);
  }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name) override {
    return os_->ListActiveDependents(name);
  }
  absl::Status StartService(const std::string& name) override { return os_->StartService(name); }
  absl::Status StopService(const std::string& name) override { return os_->StopService(name); }
  absl::StatusOr<machine::NetworkNames> GetNetworkNames() override {
    return os_->GetNetworkNames();
  }
  absl::StatusOr<machine::Bytes> GetSmbiosTable() override { return os_->GetSmbiosTable(); }

 private:
  Life& life_;
  const std::unique_ptr<machine::Os> os_;
};

class DyingSession final : public machine::simulator::wmi::SimulatedSession {
 public:
  DyingSession(Life* life, machine::simulator::Core* core) : SimulatedSession(core), life_(*life) {}

  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override {
    return life_.Run([&] { return SimulatedSession::DoQuery(context, space, wql); });
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    return life_.Run(
        [&] { return SimulatedSession::DoInvoke(context, space, path, method, arguments); });
  }

 private:
  Life& life_;
};

}  // namespace csi_proxy::storage
