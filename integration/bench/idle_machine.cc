#include "integration/bench/idle_machine.h"

#include "server/base/win32_error.h"
#include "server/machine/layouts.h"
#include "server/machine/layouts_encode.h"

namespace csi_proxy::integration {
namespace {

using machine::Access;
using machine::Bytes;
using machine::File;

absl::Status No() { return Win32Status(win32_error::kNotSupported, "an idle machine"); }

class IdleFile final : public File {
 public:
  absl::StatusOr<machine::FileAttributes> GetAttributes() override {
    return machine::FileAttributes{.is_directory = true};
  }
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string&, Access) override {
    return std::make_unique<IdleFile>();
  }
  absl::StatusOr<std::unique_ptr<File>> CreateDirectory(const std::string&) override {
    return No();
  }
  absl::StatusOr<std::vector<std::string>> List() override { return std::vector<std::string>(); }
  absl::StatusOr<std::vector<machine::DirectoryEntry>> ListNext(bool) override {
    return std::vector<machine::DirectoryEntry>();
  }
  absl::Status Delete() override { return No(); }
  absl::StatusOr<Bytes> ReadReparsePoint() override { return No(); }
  absl::Status WriteReparsePoint(const Bytes&) override { return No(); }
  absl::Status DeleteReparsePoint(uint32_t) override { return No(); }
};

class IdleOs final : public machine::Os {
 public:
  absl::StatusOr<std::unique_ptr<File>> OpenRoot(const std::string&) override {
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
  absl::StatusOr<Bytes> Read(const std::string&, uint64_t, size_t) override { return No(); }
  absl::Status Flush(const std::string&) override { return No(); }
  absl::Status SetMountPoint(const std::string&, const std::string&) override { return No(); }
  absl::Status DeleteMountPoint(const std::string&) override { return No(); }
  absl::StatusOr<Bytes> Control(const std::string&, machine::DeviceAccess, uint32_t code,
                                const Bytes&, size_t) override {
    if (code != machine::control::kGetDiskAttributes) return No();
    return attributes_;
  }
  absl::StatusOr<machine::ServiceInfo> GetService(const std::string&) override { return No(); }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string&) override {
    return No();
  }
  absl::Status StartService(const std::string&) override { return No(); }
  absl::Status StopService(const std::string&) override { return No(); }
  absl::StatusOr<Bytes> GetSmbiosTable() override { return No(); }

 private:
  const Bytes attributes_ = machine::MakeDiskAttributes({});
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

}  // namespace

std::unique_ptr<machine::Os> NewIdleOs() { return std::make_unique<IdleOs>(); }
std::unique_ptr<cim::Session> NewIdleSession() { return std::make_unique<IdleSession>(); }

}  // namespace csi_proxy::integration
