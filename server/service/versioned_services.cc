#include "server/service/versioned_services.h"

#include "csi_proxy/all_served_versions.h"

namespace csi_proxy {

std::vector<rpc::VersionedService> NewVersionedServices(const groups::NodeServices& handlers,
                                                        const NodeCalls& calls) {
  std::vector<rpc::VersionedService> services;
  const auto add = [&](const char* group, const auto& audited, const auto& versions) {
    for (const auto* version : versions) {
      services.push_back(
          {group, version->name, version->service_name,
           rpc::NewRemoteService(version->methods, version->open(audited.service.get(), nullptr),
                                 calls.Find(group))});
    }
  };
#define ADD_GROUP(group) add(#group, handlers.group, group::ServedVersions());
  CSI_PROXY_FOR_EACH_GROUP(ADD_GROUP)
#undef ADD_GROUP
  return services;
}

}  // namespace csi_proxy
