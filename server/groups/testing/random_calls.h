// A call of a random sequence, and a process that runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "csi_proxy/steady_time.h"
#include "server/groups/node_services.h"
#include "server/groups/testing/dying_machine.h"
#include "server/host/host.h"
#include "server/locks/process_locks.h"
#include "server/locks/resource_locks.h"
#include "server/simulator/machine.h"

namespace csi_proxy::storage {

inline constexpr char kRoot[] = R"(C:\var\lib\kubelet)";

// Calls of the storage group, calls of the older groups that change disks, and further calls.
// clang-format off
enum class Api {
  kStage, kUnstage, kFormat, kSetReadOnly, kPartition, kSetState, kOldFormat, kResize,
  kMount, kUnmount, kFlush, kRescan, kRmdir, kMkdir, kLink, kReads, kEnd,
  // Calls of tenants only.
  kStageShare = kEnd, kUnstageShare, kMapShare, kUnmapShare, kStageTarget, kUnstageTarget, kConnect,
  kRemoveMount
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
  // The call's only flag: online, read only, force, overwrite or keep online.
  bool flag = false;
  // The time after which the caller leaves.
  absl::Duration limit = absl::InfiniteDuration();
  // The calling tenant, or -1.
  int caller = -1;
  std::string remote = {};
  std::string username = {};
  std::string password = {};
  std::string iqn = {};
  std::vector<std::string> portals = {};

  std::string Text() const {
    static constexpr const char* kNames[] = {
        "StageVolume",   "UnstageVolume", "storage.FormatVolume", "SetDiskReadOnly",
        "PartitionDisk", "SetDiskState",  "volume.FormatVolume",  "ResizeVolume",
        "MountVolume",   "UnmountVolume", "WriteVolumeCache",     "Rescan",
        "Rmdir",         "Mkdir",         "CreateSymlink",        "ListMounts and others",
        "StageShare",    "UnstageShare",  "NewSmbGlobalMapping",  "RemoveSmbGlobalMapping",
        "StageTarget",   "UnstageTarget", "ConnectTarget",        "RemoveMount"};
    return absl::StrCat(kNames[static_cast<int>(api)], " disk=", selector.number,
                        " serial=", selector.serial_number, " page83=", selector.page83,
                        " lun=", selector.lun_id, "@", selector.adapter, " number=", number,
                        " volume=", volume, " target=", target, " fs=", file_system, " size=", size,
                        " flag=", flag, " limit=", absl::FormatDuration(limit), " caller=", caller,
                        " remote=", remote, " user=", username, " password=", password,
                        " iqn=", iqn, " portals=", absl::StrJoin(portals, " "));
  }
};

// The locks of the calls. One thread makes all calls, so a call can never wait for another.
struct HeldLocks {
  std::set<std::string> names;
  // The longest time that a call held a lock, without the time of other calls and events.
  absl::Duration longest;
  // The time that other calls and events took while a call ran.
  absl::Duration others_time;

  // Returns the time by a clock that stops during other calls and events.
  SteadyTime OwnTime() const { return SteadyTime::Now() - others_time; }
};

// Calls `next` once, before a call takes a lock. `next` may set itself again.
class Meanwhile final : public ProcessLocks {
 public:
  Meanwhile(std::function<void()>* next, HeldLocks* held) : next_(*next), held_(*held) {}

  absl::StatusOr<std::unique_ptr<Held>> Acquire(const CallContext&,
                                                absl::string_view name) override {
    if (const auto happens = std::exchange(next_, nullptr)) {
      const SteadyTime own = held_.OwnTime();
      happens();
      held_.others_time = SteadyTime::Now() - own;
    }
    if (!held_.names.insert(std::string(name)).second) {
      return absl::DeadlineExceededError("another call has the lock");
    }
    return std::make_unique<Holder>(&held_, std::string(name));
  }

 private:
  struct Holder final : Held {
    Holder(HeldLocks* locks, std::string name) : held(*locks), name(std::move(name)) {}
    ~Holder() override {
      held.names.erase(name);
      held.longest = std::max(held.longest, held.OwnTime() - begin);
    }
    HeldLocks& held;
    const std::string name;
    const SteadyTime begin = held.OwnTime();
  };

  std::function<void()>& next_;
  HeldLocks& held_;
};

// A process of the node: the service, or a driver with an embedded node. Its calls of the machine
// are reported to `life`.
struct NodeProcess {
  // Sets the host, the locks and the roots of `deps`; a test may set the other fields.
  NodeProcess(machine::simulator::Machine* node, std::function<void()>* meanwhile,
              HeldLocks* held = nullptr, groups::HandlerDeps deps = {})
      : locks(std::make_unique<Meanwhile>(meanwhile, held != nullptr ? held : &own_held)),
        host(std::make_unique<host::Host>(
            std::make_unique<DyingSession>(&life, node->core()),
            std::unique_ptr<machine::Os>(os = new DyingOs(&life, node->core())),
            [](absl::string_view) {})) {
    deps.host = host.get();
    deps.locks = &locks;
    deps.roots = std::make_shared<const PathRoots>(
        std::vector<WindowsPath>{*WindowsPath::Parse("root", kRoot)});
    disk = disk::NewDiskService(deps);
    filesystem = filesystem::NewFilesystemService(deps);
    iscsi = iscsi::NewIscsiService(deps);
    smb = smb::NewSmbService(deps);
    storage = NewStorageService(deps);
    volume = volume::NewVolumeService(deps);
  }

  // Makes the call and returns its status. Sets `text` to the rest of the answer.
  absl::Status Answer(const Call& c, std::string* text = nullptr) {
    const CallContext context = CallContext().WithTimeout(c.limit);
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
        return filesystem
            ->CreateSymlink(context,
                            {c.remote.empty() ? kRoot + std::string("\\pods") : c.remote, c.target})
            .status();
      case Api::kReads: {
        absl::Status status = storage->ListDisks(context, {}).status();
        status.Update(storage->ListMounts(context, {}).status());
        status.Update(storage->GetVolumeHealth(context, {c.volume}).status());
        status.Update(filesystem->IsSymlink(context, {c.target}).status());
        return status;
      }
      case Api::kStageShare:
        return storage->StageShare(context, {c.remote, c.target, c.username, c.password}).status();
      case Api::kUnstageShare:
        return storage->UnstageShare(context, {c.target, c.remote}).status();
      case Api::kMapShare:
        return smb->NewSmbGlobalMapping(context, {c.remote, c.target, c.username, c.password})
            .status();
      case Api::kUnmapShare:
        return smb->RemoveSmbGlobalMapping(context, {c.remote}).status();
      case Api::kStageTarget: {
        const auto chap = c.username.empty() ? ChapUse::kChapUnused : ChapUse::kChapOneWay;
        const auto done =
            storage->StageTarget(context, {.portals = c.portals,
                                           .iqn = c.iqn,
                                           .chap = chap,
                                           .chap_username = c.username,
                                           .chap_secret = c.username.empty() ? "" : c.password,
                                           .lun_id = "0",
                                           .persistent = c.flag,
                                           .target_path = c.target});
        if (!done.ok()) return done.status();
        for (const PortalFailure& failure : done->failed_portals) *text += failure.message;
        return absl::OkStatus();
      }
      case Api::kUnstageTarget:
        return storage->UnstageTarget(context, {c.target, c.iqn, "", c.portals}).status();
      case Api::kConnect:
        return iscsi
            ->ConnectTarget(context, {.target_portal = {c.portals.front(), 0},
                                      .iqn = c.iqn,
                                      .auth_type = iscsi::AuthenticationType::kOneWayChap,
                                      .chap_username = c.username,
                                      .chap_secret = c.password})
            .status();
      case Api::kRemoveMount:
        return storage->RemoveMount(context, {c.target, c.remote}).status();
    }
    return absl::OkStatus();
  }

  Life life{Death::kNone, 0};
  // The host's machine.
  machine::Os* os;
  HeldLocks own_held;
  ResourceLocks locks;
  std::unique_ptr<host::Host> host;
  std::unique_ptr<disk::Service> disk;
  std::unique_ptr<filesystem::Service> filesystem;
  std::unique_ptr<iscsi::Service> iscsi;
  std::unique_ptr<smb::Service> smb;
  std::unique_ptr<Service> storage;
  std::unique_ptr<volume::Service> volume;
};

}  // namespace csi_proxy::storage
