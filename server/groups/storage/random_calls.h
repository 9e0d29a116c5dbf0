// A call as a random sequence has it, and a process that answers it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/process_locks.h"
#include "server/base/resource_locks.h"
#include "server/groups/handlers.h"
#include "server/host/host.h"
#include "server/simulator/machine.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::storage {

inline constexpr char kRoot[] = R"(C:\var\lib\kubelet)";

// The four of the storage group, those of the older groups that change disks, and others.
// clang-format off
enum class Api {
  kStage, kUnstage, kFormat, kSetReadOnly, kPartition, kSetState, kOldFormat, kResize,
  kMount, kUnmount, kFlush, kRescan, kRmdir, kMkdir, kLink, kReads, kEnd
};
// clang-format on

struct Call {
  Api api = Api::kRescan;
  DiskSelector selector = {};
  uint32_t number = 0;
  std::string volume = {};
  std::string target = {};
  std::string file_system = {};
  int64_t size = 0;
  // Online, read only, force, overwrite, keep online.
  bool flag = false;

  std::string Text() const {
    static constexpr const char* kNames[] = {
        "StageVolume",   "UnstageVolume", "storage.FormatVolume", "SetDiskReadOnly",
        "PartitionDisk", "SetDiskState",  "volume.FormatVolume",  "ResizeVolume",
        "MountVolume",   "UnmountVolume", "WriteVolumeCache",     "Rescan",
        "Rmdir",         "Mkdir",         "CreateSymlink",        "ListMounts and others"};
    return absl::StrCat(kNames[static_cast<int>(api)], " disk=", selector.number,
                        " serial=", selector.serial_number, " page83=", selector.page83,
                        " lun=", selector.lun_id, "@", selector.adapter, " number=", number,
                        " volume=", volume, " target=", target, " fs=", file_system, " size=", size,
                        " flag=", flag);
  }
};

// Lets something happen while a call waits for its first lock.
class Meanwhile final : public ProcessLocks {
 public:
  explicit Meanwhile(std::function<void()>* next) : next_(*next) {}
  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext&, absl::string_view) override {
    if (const auto happens = std::exchange(next_, nullptr)) happens();
    return std::make_unique<Held>();
  }

 private:
  std::function<void()>& next_;
};

// A process of the node: the service, or a driver with an embedded node.
struct NodeProcess {
  NodeProcess(machine::simulated::Machine* node, std::function<void()>* meanwhile,
              groups::FormatWatch* formats = nullptr)
      : locks(std::make_unique<Meanwhile>(meanwhile)),
        host(host::NewHost(machine::simulated::wmi::NewSimulatedSession(node->core()),
                           machine::simulated::NewSimulatedOs(node->core()),
                           [](absl::string_view) {})) {
    groups::Deps deps;
    deps.host = host.get();
    deps.locks = &locks;
    deps.formats = formats;
    deps.roots = std::make_shared<const PathRoots>(
        std::vector<WindowsPath>{*WindowsPath::Parse("root", kRoot)});
    disk = disk::NewDiskService(deps);
    filesystem = filesystem::NewFilesystemService(deps);
    storage = NewStorageService(deps);
    volume = volume::NewVolumeService(deps);
  }

  absl::Status Answer(const Call& c) {
    const CallContext context;
    switch (c.api) {
      case Api::kStage:
        return storage->StageVolume(context, {c.selector, c.target, c.file_system, 0, ""}).status();
      case Api::kUnstage:
        return storage->UnstageVolume(context, {c.target, c.flag}).status();
      case Api::kFormat:
        return storage->FormatVolume(context, {c.volume, c.file_system, 0, "", c.flag}).status();
      case Api::kSetReadOnly:
        return storage->SetDiskReadOnly(context, {c.number, c.flag}).status();
      case Api::kPartition:
        return disk->PartitionDisk(context, {c.number}).status();
      case Api::kSetState:
        return disk->SetDiskState(context, {c.number, c.flag}).status();
      case Api::kOldFormat:
        return volume->FormatVolume(context, {c.volume, c.file_system, 0}).status();
      case Api::kResize:
        return volume->ResizeVolume(context, {c.volume, c.size}).status();
      case Api::kMount:
        return volume->MountVolume(context, {c.volume, c.target}).status();
      case Api::kUnmount:
        return volume->UnmountVolume(context, {c.volume, c.target}).status();
      case Api::kFlush:
        return volume->WriteVolumeCache(context, {c.volume}).status();
      case Api::kRescan:
        return disk->Rescan(context, {}).status();
      case Api::kRmdir:
        return filesystem->Rmdir(context, {c.target, c.flag}).status();
      case Api::kMkdir:
        return filesystem->Mkdir(context, {c.target}).status();
      case Api::kLink:
        return filesystem->CreateSymlink(context, {R"(C:\var\lib\kubelet\pods)", c.target})
            .status();
      case Api::kReads: {
        absl::Status status = storage->ListDisks(context, {}).status();
        status.Update(storage->ListMounts(context, {}).status());
        status.Update(storage->GetVolumeHealth(context, {c.volume}).status());
        return status;
      }
      case Api::kEnd:
        break;
    }
    return absl::OkStatus();
  }

  ResourceLocks locks;
  std::unique_ptr<host::Host> host;
  std::unique_ptr<disk::Service> disk;
  std::unique_ptr<filesystem::Service> filesystem;
  std::unique_ptr<Service> storage;
  std::unique_ptr<volume::Service> volume;
};

}  // namespace csi_proxy::storage
