// A machine that returns constant answers at once, so that a call over it shows the product's own
// cost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/base/win32_error.h"
#include "server/machine/cim/session.h"
#include "server/machine/layouts.h"
#include "server/machine/os.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::integration {

inline absl::Status No() { return Win32Status(win32_error::kNotSupported, "an idle machine"); }

class IdleFile final : public machine::File {
 public:
  absl::StatusOr<machine::FileAttributes> GetAttributes() override {
    return machine::FileAttributes{.is_directory = true};
  }
  absl::StatusOr<std::unique_ptr<machine::File>> Open(const std::string&,
                                                      machine::Access) override {
    return std::make_unique<IdleFile>();
  }
  absl::StatusOr<std::unique_ptr<machine::File>> OpenBelow(const std::vector<std::string>&,
                                                           machine::Access) override {
    return std::make_unique<IdleFile>();
  }
  absl::StatusOr<std::unique_ptr<machine::File>> CreateDirectory(const std::string&) override {
    return No();
  }
  absl::StatusOr<std::vector<std::string>> List() override { return std::vector<std::string>(); }
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool) override {
    return std::vector<machine::DirectoryEntry>();
  }
  absl::Status Delete() override { return No(); }
  absl::StatusOr<machine::Bytes> ReadReparsePoint() override { return No(); }
  absl::Status WriteReparsePoint(const machine::Bytes&) override { return No(); }
  absl::Status DeleteReparsePoint(uint32_t) override { return No(); }
};

// Every path is a directory and every disk is online. Calls that would change the machine fail as
// not supported.
class IdleOs final : public machine::Os {
 public:
  absl::StatusOr<std::unique_ptr<machine::File>> OpenRoot(const std::string&) override {
    return std::make_unique<IdleFile>();
  }
  absl::Status Reach(const std::string&) override { return No(); }
  absl::StatusOr<std::vector<std::string>> ListVolumes() override {
    return std::vector<std::string>();
  }
  absl::StatusOr<std::string> GetVolumeOfDrive(char) override { return No(); }
  absl::StatusOr<machine::FileSystem> GetFileSystem(const std::string&) override { return No(); }
  absl::StatusOr<machine::VolumeSpace> GetSpace(const std::string&) override { return No(); }
  absl::StatusOr<std::vector<std::string>> ListMountPoints(const std::string&) override {
    return No();
  }
  absl::StatusOr<machine::Bytes> Read(const std::string&, uint64_t, size_t) override {
    return No();
  }
  absl::Status Flush(const std::string&) override { return No(); }
  absl::Status SetMountPoint(const std::string&, const std::string&) override { return No(); }
  absl::Status DeleteMountPoint(const std::string&) override { return No(); }
  absl::StatusOr<machine::Bytes> Control(const std::string&, machine::DeviceAccess, uint32_t code,
                                         const machine::Bytes&, size_t) override {
    if (code != machine::control::kGetDiskAttributes) return No();
    return attributes_;
  }
  uint64_t DeviceChanges() override { return 0; }
  void AwaitDeviceChange(uint64_t, absl::Duration) override {}
  absl::StatusOr<machine::ServiceInfo> GetService(const std::string&) override { return No(); }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string&) override {
    return No();
  }
  absl::Status StartService(const std::string&) override { return No(); }
  absl::Status StopService(const std::string&) override { return No(); }
  absl::StatusOr<machine::NetworkNames> GetNetworkNames() override { return No(); }
  absl::StatusOr<machine::Bytes> GetSmbiosTable() override { return No(); }

 private:
  const machine::Bytes attributes_ = machine::MakeDiskAttributes({});
};

class IdleSession final : public cim::Session {
 public:
  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext&, cim::Namespace,
                                                   const std::string&) override {
    return std::vector<cim::Object>();
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext&, cim::Namespace, const std::string&,
                                             const std::string&, const cim::Arguments&) override {
    return No();
  }
};

}  // namespace csi_proxy::integration
