#include "server/versioned_services.h"

#include <functional>
#include <iterator>
#include <utility>

#include "csi_proxy/disk/grpc_services.h"
#include "csi_proxy/filesystem/grpc_services.h"
#include "csi_proxy/iscsi/grpc_services.h"
#include "csi_proxy/smb/grpc_services.h"
#include "csi_proxy/system/grpc_services.h"
#include "csi_proxy/volume/grpc_services.h"

namespace csi_proxy {

struct VersionedServices::Group {
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

VersionedServices::VersionedServices(const Settings& settings,
                                     const groups::NodeServices& handlers) {
  const auto add = [&](const char* name, const auto& audited, auto new_services) {
    auto group = std::make_unique<Group>(name, settings);
    group->new_services = [service = audited.service.get(), runtime = &group->runtime,
                           new_services] { return new_services(service, runtime); };
    groups_.push_back(std::move(group));
  };
  add("disk", handlers.disk, disk::NewGrpcServices);
  add("filesystem", handlers.filesystem, filesystem::NewGrpcServices);
  add("iscsi", handlers.iscsi, iscsi::NewGrpcServices);
  add("smb", handlers.smb, smb::NewGrpcServices);
  add("system", handlers.system, system::NewGrpcServices);
  add("volume", handlers.volume, volume::NewGrpcServices);
}

VersionedServices::~VersionedServices() = default;

std::vector<std::pair<std::string, size_t>> VersionedServices::Queued() const {
  std::vector<std::pair<std::string, size_t>> depths;
  for (const auto& group : groups_) depths.emplace_back(group->name, group->executor.queued());
  return depths;
}

std::vector<shim::VersionedService> VersionedServices::NewServices() {
  std::vector<shim::VersionedService> all;
  for (const auto& group : groups_) {
    std::vector<shim::VersionedService> services = group->new_services();
    std::move(services.begin(), services.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace csi_proxy
