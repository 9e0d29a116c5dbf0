#include "server/registration.h"

#include <functional>
#include <iterator>
#include <utility>

#include "csi_proxy/disk/grpc_services.h"
#include "csi_proxy/filesystem/grpc_services.h"
#include "csi_proxy/iscsi/grpc_services.h"
#include "csi_proxy/smb/grpc_services.h"
#include "csi_proxy/system/grpc_services.h"
#include "csi_proxy/volume/grpc_services.h"
#include "server/groups/disk/disk_service.h"
#include "server/groups/filesystem/filesystem_service.h"
#include "server/groups/iscsi/iscsi_service.h"
#include "server/groups/smb/smb_service.h"
#include "server/groups/system/system_service.h"
#include "server/groups/volume/volume_service.h"

namespace csi_proxy {

struct Registry::Group {
  Group(const char* group_name, const Settings& settings)
      : name(group_name), executor(settings.executor) {
    runtime.executor = &executor;
    runtime.observers = settings.observers;
    runtime.peers = settings.peers;
    runtime.gate = settings.gate;
    runtime.max_call_duration = settings.max_call_duration;
  }

  const char* const name;
  shim::Executor executor;
  shim::Runtime runtime;
  std::function<std::vector<shim::VersionedService>()> new_services;
};

namespace {

// Binds a handler, and its audit, to the generated services over it; both live in the function.
template <typename Service, typename NewServices>
std::function<std::vector<shim::VersionedService>()> Bind(std::unique_ptr<Service> handler,
                                                          std::unique_ptr<Service> audited,
                                                          NewServices new_services,
                                                          shim::Runtime* runtime) {
  return [handler = std::shared_ptr<Service>(std::move(handler)),
          audited = std::shared_ptr<Service>(std::move(audited)), new_services,
          runtime] { return new_services(audited.get(), runtime); };
}

}  // namespace

Registry::Registry(const Settings& settings, const groups::Deps& deps) {
  const auto add = [&](const char* name, auto handler, auto new_services) {
    auto group = std::make_unique<Group>(name, settings);
    // Found by the handler's type, in its group's namespace.
    auto audited = NewAudited(handler.get(), settings.audit);
    group->new_services =
        Bind(std::move(handler), std::move(audited), new_services, &group->runtime);
    groups_.push_back(std::move(group));
  };
  add("disk", disk::NewDiskService(deps), disk::NewGrpcServices);
  add("filesystem", filesystem::NewFilesystemService(deps), filesystem::NewGrpcServices);
  add("iscsi", iscsi::NewIscsiService(deps), iscsi::NewGrpcServices);
  add("smb", smb::NewSmbService(deps), smb::NewGrpcServices);
  add("system", system::NewSystemService(deps), system::NewGrpcServices);
  add("volume", volume::NewVolumeService(deps), volume::NewGrpcServices);
}

Registry::~Registry() = default;

std::vector<std::pair<std::string, size_t>> Registry::Queued() const {
  std::vector<std::pair<std::string, size_t>> depths;
  for (const auto& group : groups_) depths.emplace_back(group->name, group->executor.queued());
  return depths;
}

std::vector<shim::VersionedService> Registry::NewServices() {
  std::vector<shim::VersionedService> all;
  for (const auto& group : groups_) {
    std::vector<shim::VersionedService> services = group->new_services();
    std::move(services.begin(), services.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace csi_proxy
