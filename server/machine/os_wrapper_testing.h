// Wrappers that forward all calls to a File or an Os. Tests use them to change or watch some calls.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/machine/os.h"

namespace csi_proxy::machine {

// Makes a call unchanged.
struct CallDirectly {
  template <typename Call>
  auto operator()(Call call) const -> decltype(call()) {
    return call();
  }
};

// Forwards each call to `file`, by calling `through` with a function that makes the call.
template <typename Through = CallDirectly>
class FileWrapper : public File {
 public:
  explicit FileWrapper(std::unique_ptr<File> file, Through through = {})
      : file_(std::move(file)), through_(std::move(through)) {}

  absl::StatusOr<FileAttributes> GetAttributes() override {
    return through_([&] { return file_->GetAttributes(); });
  }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& name, Access access) override {
    return Wrapped(through_([&] { return file_->Open(name, access); }));
  }
  absl::StatusOr<std::unique_ptr<File>> OpenBelow(const std::vector<std::string>& names,
                                                  Access access) override {
    return Wrapped(through_([&] { return file_->OpenBelow(names, access); }));
  }
  absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string& name) override {
    return Wrapped(through_([&] { return file_->CreateDirectory(name); }));
  }
  absl::StatusOr<std::vector<std::string>> List() override {
    return through_([&] { return file_->List(); });
  }
  absl::StatusOr<std::vector<DirectoryEntry>> ListNext(bool restart) override {
    return through_([&] { return file_->ListNext(restart); });
  }
  absl::Status Delete() override {
    return through_([&] { return file_->Delete(); });
  }
  absl::StatusOr<Bytes> ReadReparsePoint() override {
    return through_([&] { return file_->ReadReparsePoint(); });
  }
  absl::Status WriteReparsePoint(const Bytes& data) override {
    return through_([&] { return file_->WriteReparsePoint(data); });
  }
  absl::Status DeleteReparsePoint(uint32_t tag) override {
    return through_([&] { return file_->DeleteReparsePoint(tag); });
  }
  absl::StatusOr<std::vector<FileUser>> ListUsers(const std::string& name) override {
    return through_([&] { return file_->ListUsers(name); });
  }

 protected:
  // Wraps a file that was opened or created through this file.
  virtual std::unique_ptr<File> Wrap(std::unique_ptr<File> file) {
    return std::make_unique<FileWrapper>(std::move(file), through_);
  }

 private:
  absl::StatusOr<std::unique_ptr<File>> Wrapped(absl::StatusOr<std::unique_ptr<File>> file) {
    if (!file.ok()) return file;
    return Wrap(*std::move(file));
  }

  const std::unique_ptr<File> file_;
  const Through through_;
};

// Forwards each call to `os`, as FileWrapper does. DeviceChanges() and AwaitDeviceChange() do not
// use `through`.
template <typename Through = CallDirectly>
class OsWrapper : public Os {
 public:
  explicit OsWrapper(std::unique_ptr<Os> os, Through through = {})
      : os_(std::move(os)), through_(std::move(through)) {}

  absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string& root) override {
    auto file = through_([&] { return os_->OpenRoot(root); });
    if (!file.ok()) return file;
    return Wrap(*std::move(file));
  }
  absl::Status Reach(const std::string& path) override {
    return through_([&] { return os_->Reach(path); });
  }
  absl::StatusOr<std::vector<std::string>> ListVolumes() override {
    return through_([&] { return os_->ListVolumes(); });
  }
  absl::StatusOr<std::string> GetVolumeOfDrive(char drive) override {
    return through_([&] { return os_->GetVolumeOfDrive(drive); });
  }
  absl::StatusOr<FileSystem> GetFileSystem(const std::string& volume) override {
    return through_([&] { return os_->GetFileSystem(volume); });
  }
  absl::StatusOr<VolumeSpace> GetSpace(const std::string& volume) override {
    return through_([&] { return os_->GetSpace(volume); });
  }
  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string& volume) override {
    return through_([&] { return os_->ListMountPoints(volume); });
  }
  absl::Status Flush(const std::string& volume) override {
    return through_([&] { return os_->Flush(volume); });
  }
  absl::Status SetMountPoint(const std::string& directory, const std::string& volume) override {
    return through_([&] { return os_->SetMountPoint(directory, volume); });
  }
  absl::Status DeleteMountPoint(const std::string& directory) override {
    return through_([&] { return os_->DeleteMountPoint(directory); });
  }
  absl::StatusOr<Bytes> Control(const std::string& device, DeviceAccess access, uint32_t code,
                                const Bytes& input, size_t max_output) override {
    return through_([&] { return os_->Control(device, access, code, input, max_output); });
  }
  absl::StatusOr<Bytes> Read(const std::string& device, uint64_t offset, size_t size) override {
    return through_([&] { return os_->Read(device, offset, size); });
  }
  uint64_t DeviceChanges() override { return os_->DeviceChanges(); }
  void AwaitDeviceChange(uint64_t seen, absl::Duration limit) override {
    os_->AwaitDeviceChange(seen, limit);
  }
  absl::StatusOr<ServiceInfo> GetService(const std::string& name) override {
    return through_([&] { return os_->GetService(name); });
  }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name) override {
    return through_([&] { return os_->ListActiveDependents(name); });
  }
  absl::Status StartService(const std::string& name) override {
    return through_([&] { return os_->StartService(name); });
  }
  absl::Status StopService(const std::string& name) override {
    return through_([&] { return os_->StopService(name); });
  }
  absl::StatusOr<NetworkNames> GetNetworkNames() override {
    return through_([&] { return os_->GetNetworkNames(); });
  }
  absl::StatusOr<Bytes> GetSmbiosTable() override {
    return through_([&] { return os_->GetSmbiosTable(); });
  }

 protected:
  // Wraps the root of a drive or volume.
  virtual std::unique_ptr<File> Wrap(std::unique_ptr<File> file) {
    return std::make_unique<FileWrapper<Through>>(std::move(file), through_);
  }

 private:
  const std::unique_ptr<Os> os_;
  const Through through_;
};

}  // namespace csi_proxy::machine
